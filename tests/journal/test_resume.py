"""A run that a crash cut short goes on, makes no call twice, and keeps rules and deadline."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from harness import (
    AgentTurn,
    AgentView,
    AsyncHarness,
    Budget,
    CancelToken,
    Fact,
    Harness,
    Limits,
    RunState,
    SemanticVerdict,
    StopCause,
    tool,
)
from harness.errors import (
    DivergenceError,
    InvalidArgumentError,
    JournalConflictError,
    RunExistsError,
)
from harness.replay import replay, resume
from harness.stores.journal import MemoryJournal
from harness.stores.memory import MemoryCanonicalStore, MemoryRunStore
from harness.testing import RecordingClient, VirtualClock
from tests.journal.cuts import faults, main, positions
from tests.journal.test_replay import agent, build, search
from tests.journal.worlds import (
    CASES,
    RUN_ID,
    CrashedError,
    CrashingJournal,
    case,
    ending,
    generated,
)


def _cut(data: dict[str, Any], step: int, first: int) -> list[str]:
    whole, calls, appends = positions(data)
    places = [(at, stored) for at in range(1, appends + 1) for stored in (False, True)]
    return [
        f"append {at}: {fault}"
        for at, stored in places[first % step :: step]
        for fault in faults(data, whole, calls, at, stored=stored)
    ]


@pytest.mark.parametrize("place", range(len(CASES)), ids=[path.stem for path in CASES])
def test_a_bundled_scenario_goes_on_after_a_crash(place: int) -> None:
    """Crashed at some of its appends; ``python -m tests.journal.cuts`` takes all of them."""
    assert _cut(case(CASES[place]), 11, place) == []


@pytest.mark.parametrize("first", [0, 20])
def test_generated_scenarios_go_on_after_a_crash(first: int) -> None:
    """No call is made twice, and between two calls nothing is lost."""
    for seed in range(first, first + 20):
        assert _cut(generated(seed), 13, seed) == []


def test_the_command_counts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command says how many crashes there were, and names what was wrong."""
    monkeypatch.setattr("tests.journal.cuts.CASES", CASES[:1])
    assert main([]) == 0
    assert capsys.readouterr().out.endswith(" crashes, 0 wrong\n")
    monkeypatch.setattr("tests.journal.cuts.faults", lambda *_a, **_n: ["odd"])
    assert main(["1"]) == 1
    assert "append 1-: odd" in capsys.readouterr().out


# --- worlds of their own


class _Process:
    """What survives a crash, and a harness for each process."""

    def __init__(self, **named: Any) -> None:
        self.journal: Any = CrashingJournal()
        self.canonical, self.runs = MemoryCanonicalStore(), MemoryRunStore()
        self.clock = VirtualClock()
        self.calls: list[str] = []
        self.named = named

        @tool(name="search")
        def searching(text: str) -> list[Fact]:
            """Search."""
            self.calls.append(text)
            found: list[Fact] = search.function(text)
            return found

        self.tools = [searching]

    def harness(self, **named: Any) -> Harness:
        """The harness as a process builds it."""
        parts = {
            "tools": self.tools,
            "canonical_store": self.canonical,
            "run_store": self.runs,
            "clock": self.clock,
            **self.named,
            **named,
        }
        return build(self.journal, **parts)

    def crash(self, at: int, *, stored: bool = True, **given: Any) -> None:
        """Run until a crash at one append."""
        self.journal.at, self.journal.stored = at, stored
        with pytest.raises(CrashedError):
            self.harness().run("Why?", run_id=RUN_ID, **given)
        self.journal.at = 0

    def crash_after(self, text: str, **given: Any) -> None:
        """Run until a crash right after an entry with a text was stored."""
        self.journal.text = text
        with pytest.raises(CrashedError):
            self.harness().run("Why?", run_id=RUN_ID, **given)
        self.journal.text = ""


def test_a_run_that_has_ended_is_read_back() -> None:
    """Resuming it calls nothing and gives its record."""
    process = _Process()
    record = process.harness().run("Why?", run_id=RUN_ID).record
    made = list(process.calls)
    assert resume(process.journal, RUN_ID, process.harness()).record == record
    assert process.calls == made


def test_it_keeps_the_rules_that_it_was_begun_under() -> None:
    """Other limits of today's process change nothing of a run of yesterday's."""
    process = _Process()
    process.crash(4)
    today = process.harness(limits=Limits(deadline=1, tool_calls=1))
    record = resume(process.journal, RUN_ID, today).record
    assert record.stop_cause is StopCause.REPORT_APPROVED
    assert record.limits == Limits(deadline=60)


def test_the_deadline_counts_the_time_before_and_the_gap() -> None:
    """Forty seconds of work, and a gap of twenty-one: the minute is over."""
    process = _Process()
    process.crash(4)
    process.clock.advance(61_000)
    record = resume(process.journal, RUN_ID, process.harness()).record
    assert record.run_state is RunState.TIMED_OUT
    young = _Process()
    young.crash(4)
    young.clock.advance(30_000)
    assert resume(young.journal, RUN_ID, young.harness()).record.run_state is RunState.SUCCESS


def test_a_wall_clock_that_went_back_counts_for_nothing() -> None:
    """The gap is never below zero."""
    process = _Process()
    process.crash(4)
    process.clock = VirtualClock(process.clock.utc() - timedelta(days=400))
    record = resume(process.journal, RUN_ID, process.harness()).record
    assert record.run_state is RunState.SUCCESS


def test_a_call_whose_answer_is_unknown_is_spent() -> None:
    """Killed in the middle of a tool call: counted, TRANSPORT, and not made again."""
    process = _Process()
    process.crash(6, stored=False)
    assert process.calls == ["1"]
    record = resume(process.journal, RUN_ID, process.harness()).record
    assert process.calls == ["1", "2"]
    assert record.used.tool_calls == 2
    first = record.invocations[0]
    assert first.code is not None
    assert first.code.name == "TRANSPORT"


def test_the_journal_of_a_resumed_run_replays() -> None:
    """It tells the crash, and gives the same record again."""
    process = _Process()
    process.crash(8)
    record = resume(process.journal, RUN_ID, process.harness()).record
    assert replay(process.journal).record == record
    # and it may crash again and again
    again = _Process()
    again.crash(4)
    for at in (2, 3, 5):
        again.journal.at = again.journal.appends + at
        with pytest.raises(CrashedError):
            resume(again.journal, RUN_ID, again.harness())
        again.journal.at = 0
    last = resume(again.journal, RUN_ID, again.harness()).record
    assert replay(again.journal).record == last


def test_budgets_carry_on() -> None:
    """What was spent before the crash is spent, the parent's share included."""
    parent = Budget(tool_calls=2, model_attempts=9)
    process = _Process()
    process.crash(20, budget=parent)
    fresh = Budget(tool_calls=2, model_attempts=9)
    record = resume(process.journal, RUN_ID, process.harness(), budget=fresh).record
    assert record.used.tool_calls == 2
    assert fresh.used.tool_calls == 2
    assert fresh.used.model_attempts == record.used.model_attempts
    alone = _Process()
    alone.crash(4, budget=Budget(tool_calls=2))
    assert resume(alone.journal, RUN_ID, alone.harness()).record.used.tool_calls == 2


def test_a_client_that_is_there_again_gets_the_rest() -> None:
    """What was sent is not sent again; without a client it counts as gone."""
    process, client = _Process(), RecordingClient()
    process.crash_after('"site":"canonical_store.save"', client=client)
    kinds = [event.kind.name for event in client.events]
    record = resume(process.journal, RUN_ID, process.harness(), client=client).record
    assert record.delivered
    after = [event.kind.name for event in client.events][len(kinds) :]
    assert "METADATA" not in after
    assert after[-2:] == ["CONTENT", "DONE"]
    gone = _Process()
    gone.crash_after('"site":"canonical_store.save"', client=RecordingClient())
    assert resume(gone.journal, RUN_ID, gone.harness()).record.stop_cause is (
        StopCause.CLIENT_DISCONNECTED
    )


def test_content_that_may_have_arrived_is_not_sent_again() -> None:
    """Killed while the content was on its way: the client counts as gone, undelivered."""
    whole, client = _Process(), RecordingClient()
    whole.harness().run("Why?", run_id=RUN_ID, client=client)
    lines = whole.journal.read(RUN_ID)
    place = next(n for n, line in enumerate(lines, 1) if '"event":"CONTENT"' in line)
    process = _Process()
    process.runs, process.canonical = MemoryRunStore(), whole.canonical
    cut = MemoryJournal()
    cut.append(RUN_ID, 0, lines[:place])
    process.journal = cut
    opening = whole.runs.load(RUN_ID)
    assert opening is not None
    second = RecordingClient()
    record = resume(cut, RUN_ID, whole.harness(), client=second).record
    assert record.run_state is RunState.SUCCESS
    assert not record.delivered
    assert "CONTENT" not in [event.kind.name for event in second.events]


def test_of_two_that_resume_one_goes_on() -> None:
    """The journal has one writer: the other is told, and ends nothing."""
    process = _Process()
    process.crash(6)

    class Late(MemoryJournal):
        def read(self, run_id: str) -> Any:
            lines = process.journal.read(run_id)
            if not self.raced:
                self.raced = True
                resume(process.journal, RUN_ID, process.harness())
            return lines

        raced = False

        def append(self, run_id: str, number: int, lines: Any) -> None:
            process.journal.append(run_id, number, lines)

    with pytest.raises(JournalConflictError, match="it goes on elsewhere"):
        resume(Late(), RUN_ID, process.harness())
    assert len(process.calls) == 2


def test_code_that_would_run_it_differently_leaves_it_as_it_is() -> None:
    """A tool that was not there then: nothing is called, and nothing written."""
    process = _Process()
    process.crash(9)
    lines = process.journal.read(RUN_ID)
    changed = process.harness(tools=[*process.tools, _other_tool])
    with pytest.raises(DivergenceError, match="is new"):
        resume(process.journal, RUN_ID, changed)
    assert process.journal.read(RUN_ID) == lines


@tool
def _other_tool() -> str:
    """Search elsewhere."""
    return ""


def test_a_flow_that_goes_another_way_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where today's code decides otherwise, the step is named and nothing is written."""
    process = _Process()
    process.crash(14)
    lines = process.journal.read(RUN_ID)
    monkeypatch.setattr("harness._journal._seam.ask_of", lambda _site, _given: {"asks": "else"})
    with pytest.raises(DivergenceError, match=r"step 1, run_store.begin: run: expected 'run-1'"):
        resume(process.journal, RUN_ID, process.harness())
    # that it was taken over is all that was added
    assert process.journal.read(RUN_ID)[:-1] == lines


def _odd() -> Any:
    return object()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda j, h: resume(j, "nobody", h), "a run that the journal has"),
        (lambda _, h: resume(_odd(), RUN_ID, h), "journal"),
        (lambda j, _: resume(j, RUN_ID, _odd()), "a Harness; resume_async takes the other"),
        (lambda j, h: resume(j, RUN_ID, h, client=RecordingClient()), "begun without a client"),
        (lambda j, h: resume(j, RUN_ID, h, client=_odd()), "client"),
        (lambda j, h: resume(j, RUN_ID, h, budget=_odd()), "a Budget, or None"),
        (lambda j, h: resume(j, RUN_ID, h, budget=Budget()), "begun without a parent"),
        (lambda j, h: resume(j, RUN_ID, h, cancel=_odd()), "CancelToken"),
    ],
)
def test_wrong_arguments_are_named(call: Callable[..., Any], text: str) -> None:
    """Each names the argument and what is allowed; the run stays as it is."""
    process = _Process()
    process.crash(6)
    with pytest.raises(InvalidArgumentError, match=text):
        call(process.journal, process.harness())


def test_an_interrupt_that_is_read_back_interrupts_nobody() -> None:
    """It meant a process that is gone; one that comes now goes on to the caller."""

    def interrupting(_view: AgentView) -> AgentTurn:
        raise KeyboardInterrupt

    process = _Process(agent=interrupting)
    with pytest.raises(KeyboardInterrupt):
        process.harness().run("Why?", run_id=RUN_ID)
    record = resume(process.journal, RUN_ID, process.harness()).record
    assert record.stop_cause is StopCause.INTERRUPTED
    live = _Process(agent=interrupting)
    live.crash(3, stored=False)
    with pytest.raises(KeyboardInterrupt):
        resume(live.journal, RUN_ID, live.harness())


def test_a_begin_of_which_nobody_knows_asks_the_store() -> None:
    """Killed while the run was opened: it is opened once, and another run's id is refused."""
    process = _Process()
    process.crash(1)
    record = resume(process.journal, RUN_ID, process.harness()).record
    assert record.run_state is RunState.SUCCESS
    taken = _Process()
    taken.crash(1)
    other = _Process()
    other.clock.advance(5_000)
    other.runs = taken.runs
    other.harness().run("What else?", run_id=RUN_ID)
    with pytest.raises(RunExistsError):
        resume(taken.journal, RUN_ID, taken.harness())
    broken = _Process()
    broken.crash(1)

    class Broken(MemoryRunStore):
        def load(self, run_id: str) -> Any:
            raise OSError(run_id)

    ended = resume(broken.journal, RUN_ID, broken.harness(run_store=Broken())).record
    assert ended.stop_cause is StopCause.RECORD_NOT_SAVED


def test_a_journal_that_cannot_be_taken_over_says_why() -> None:
    """The first thing that a resume writes is that it goes on: what fails there is raised."""
    process = _Process()
    process.crash(4)

    class Full(MemoryJournal):
        def append(self, run_id: str, number: int, lines: Any) -> None:
            raise OSError(run_id)

    full = Full()
    full._lines = process.journal._lines
    with pytest.raises(OSError, match=RUN_ID):
        resume(full, RUN_ID, process.harness())
    assert len(process.calls) == 0


def test_a_cancel_while_a_wait_is_under_way_ends_it() -> None:
    """The token wakes the wait of a journaled run too, and the replay ends it likewise."""
    token = CancelToken()

    class Clock(VirtualClock):
        def wait(self, seconds: float, wake: Any) -> None:
            token.cancel("enough")
            assert wake.is_set()
            super().wait(seconds, wake)

    def failing(_request: object) -> Any:
        raise TimeoutError

    journal = MemoryJournal()
    harness = build(journal, router=failing, backoff=lambda *_: 10.0, clock=Clock())
    record = harness.run("Why?", run_id=RUN_ID, cancel=token).record
    assert record.run_state is RunState.CANCELLED
    assert replay(journal).record == record


def test_a_cancel_before_a_wait_keeps_it_from_waiting() -> None:
    """The event is set when the wait begins: the token was used while the backoff was drawn."""
    token = CancelToken()

    class Clock(VirtualClock):
        def wait(self, seconds: float, wake: Any) -> None:
            assert wake.is_set()
            super().wait(seconds, wake)

    def failing(_request: object) -> Any:
        raise TimeoutError

    def backoff(*_arguments: object) -> float:
        token.cancel("enough")
        return 10.0

    journal = MemoryJournal()
    harness = build(journal, router=failing, backoff=backoff, clock=Clock())
    record = harness.run("Why?", run_id=RUN_ID, cancel=token).record
    assert record.run_state is RunState.CANCELLED
    assert replay(journal).record == record


def test_a_journal_without_wall_clock_times_knows_no_gap() -> None:
    """Where the host's wall clock was broken, the run's own time is all that counts."""
    process = _Process()
    process.crash(4)
    lines = []
    for line in process.journal.read(RUN_ID):
        data = json.loads(line)
        data.pop("wall", None)
        lines.append(json.dumps(data))
    timeless = MemoryJournal()
    timeless.append(RUN_ID, 0, lines)
    process.clock.advance(61_000)
    record = resume(timeless, RUN_ID, process.harness()).record
    assert record.run_state is RunState.SUCCESS


def test_a_wait_that_raises_is_told_again() -> None:
    """What a host's clock raises in a wait is part of the journal."""

    class Clock(VirtualClock):
        def wait(self, seconds: float, wake: Any) -> None:
            raise OSError(seconds, wake)

    def failing(_request: object) -> Any:
        raise TimeoutError

    journal = MemoryJournal()
    harness = build(journal, router=failing, backoff=lambda *_: 10.0, clock=Clock())
    record = harness.run("Why?", run_id=RUN_ID).record
    assert record.stop_cause is StopCause.INTERNAL_ERROR
    assert replay(journal).record == record


def test_a_wait_that_was_cut_short_is_finished() -> None:
    """Of a backoff of ten seconds four had passed: six are left."""

    def failing(_request: object) -> Any:
        raise TimeoutError

    named: dict[str, Any] = {"router": failing, "backoff": lambda *_: 10.0}
    process = _Process(**named)
    process.crash(4)
    process.clock.advance(4_000)
    resume(process.journal, RUN_ID, process.harness())
    assert process.clock.monotonic() <= 14.0


def test_both_drivers_resume_what_either_began(tmp_path: Path) -> None:
    """The journal of a synchronous run goes on under asyncio, and ends the same."""
    import asyncio  # noqa: PLC0415  one test needs it

    from harness.replay import resume_async  # noqa: PLC0415  the same

    process = _Process(limits=Limits(deadline=None))
    whole = process.harness().run("Why?", run_id=RUN_ID).record
    for at in (4, 8, 12, 14):
        cut = _Process(limits=Limits(deadline=None))
        cut.crash(at)
        harness = AsyncHarness(
            agent,
            cut.tools,
            semantic_guard=lambda _case: whole.gates.verdict,
            canonical_store=cut.canonical,
            run_store=cut.runs,
            journal=cut.journal,
            max_parallel_tools=2,
        )
        record = asyncio.run(resume_async(cut.journal, RUN_ID, harness)).record
        assert ending(record) == ending(whole)
        assert replay(cut.journal).record == record
    with pytest.raises(InvalidArgumentError, match="an AsyncHarness; resume takes the other"):
        asyncio.run(resume_async(cut.journal, RUN_ID, process.harness()))  # type: ignore[arg-type]


def test_batches_that_ran_together_are_read_back_in_their_order() -> None:
    """The lanes of a concurrent batch replay one by one, and a cut batch is finished so."""
    import asyncio  # noqa: PLC0415  one test needs it

    from harness.replay import resume_async  # noqa: PLC0415  the same

    async def slow(text: str) -> list[Fact]:
        """Search."""
        for _ in range(3 - int(text)):
            await asyncio.sleep(0)
        calls.append(text)
        found: list[Fact] = search.function(text)
        return found

    calls: list[str] = []
    ran: list[Any] = []
    canonical, runs = MemoryCanonicalStore(), MemoryRunStore()

    def harness(journal: Any) -> AsyncHarness:
        return AsyncHarness(
            agent,
            [tool(name="search")(slow)],
            semantic_guard=lambda _case: SemanticVerdict.SUPPORTED,
            canonical_store=canonical,
            run_store=runs,
            journal=journal,
            max_parallel_tools=2,
        )

    journal = CrashingJournal()
    whole = asyncio.run(harness(journal).run("Why?", run_id="whole")).record
    assert replay(journal, "whole").record == whole
    total = journal.appends
    for at in range(2, total + 1):
        for stored in (False, True):
            calls.clear()
            crashing = CrashingJournal(at, stored=stored)
            canonical, runs = MemoryCanonicalStore(), MemoryRunStore()
            with pytest.raises(BaseException):  # noqa: B017, PT011  a crash, wrapped or not
                asyncio.run(harness(crashing).run("Why?", run_id=RUN_ID))
            if not crashing.read(RUN_ID):
                continue
            crashing.at = 0
            record = asyncio.run(resume_async(crashing, RUN_ID, harness(crashing))).record
            ran.append(record)
            assert len(calls) <= 2
            assert replay(crashing).record == record
    assert any(ending(record) == ending(whole) for record in ran)

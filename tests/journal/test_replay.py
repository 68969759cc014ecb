"""A journal gives the same record again, byte for byte, and calls nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness import (
    AgentTurn,
    AgentView,
    Budget,
    CancelToken,
    DiagnosisDraft,
    Fact,
    Harness,
    Limits,
    OnDisconnect,
    ReleasePolicy,
    RunRecord,
    RunState,
    SemanticVerdict,
    StopCause,
    ToolCall,
    tool,
)
from harness.codec import record_to_json
from harness.errors import InvalidArgumentError, JournalConflictError, RunExistsError
from harness.replay import cut_short, replay
from harness.stores.journal import MemoryJournal, SqliteJournal
from harness.testing import RecordingClient, VirtualClock, counting_ids
from tests.aio.worlds import asking, leaping, world
from tests.aio.worlds import tool as doubles
from tests.journal.worlds import CASES, RUN_ID, World, case, generated

POOL = "pool exhausted, 20 of 20 connections in use"


@tool
def search(text: str) -> list[Fact]:
    """Search."""
    return [Fact(POOL, f"payment.log:{text}")]


def agent(view: AgentView) -> AgentTurn:
    """Two tool calls of one batch, then a report."""
    if not view.records:
        calls = [ToolCall("search", {"n": str(n)}, {"text": str(n)}) for n in (1, 2)]
        return AgentTurn(calls)
    from harness import Citation  # noqa: PLC0415  beside its only use

    cited = [Citation(view.records[0].invocation_id, fact_id=1)]
    return AgentTurn(draft=DiagnosisDraft("The pool was exhausted.", cited))


def supported(_case: object) -> SemanticVerdict:
    """Approve."""
    return SemanticVerdict.SUPPORTED


def build(journal: Any, **named: Any) -> Harness:
    """A harness with a journal, in virtual time."""
    parts: dict[str, Any] = {
        "semantic_guard": supported,
        "clock": VirtualClock(),
        "ids": counting_ids(),
        "limits": Limits(deadline=60),
        **named,
    }
    return Harness(
        parts.pop("agent", agent), parts.pop("tools", [search]), journal=journal, **parts
    )


def recorded(**named: Any) -> tuple[MemoryJournal, RunRecord]:
    """A run with its journal."""
    journal = MemoryJournal()
    return journal, build(journal, **named).run("Why?", run_id=RUN_ID).record


def _same(world: World, record: RunRecord) -> None:
    result = world.replay()
    assert result.is_same
    assert result.record is not None
    assert record_to_json(result.record) == record_to_json(record)
    assert str(result).startswith(f"same     {result.steps} steps, {record.run_state.name}")


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_bundled_scenario_replays_byte_for_byte(path: Path) -> None:
    """Whatever happened, the journal tells it again; and with a journal the run is the same."""
    data = case(path)
    world = World(data)
    _same(world, world.run())


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_generated_scenarios_replay_byte_for_byte(first: int) -> None:
    """Faults, cancels, clock steps and interrupts included."""
    for seed in range(first, first + 50):
        world = World(generated(seed))
        _same(world, world.run())


def test_a_journal_changes_nothing_of_a_run() -> None:
    """The record with a journal is the record without one."""
    for seed in range(30):
        with_journal = World(generated(seed)).run()
        plain = World(generated(seed))
        harness = Harness(**plain.parts)
        from harness.testing.scenario import request_of  # noqa: PLC0415  beside its only use

        record, _ = harness._execute(
            request_of(plain.data), run_id=RUN_ID, cancel=plain.token, client=plain.client
        )
        assert record_to_json(record) == record_to_json(with_journal)


def test_a_parent_budget_s_answers_are_journaled() -> None:
    """A replay has no parent: what it granted stands in the journal."""
    parent = Budget(tool_calls=1, model_attempts=9)
    journal = MemoryJournal()
    record = build(journal).run("Why?", run_id=RUN_ID, budget=parent).record
    assert record.used.tool_calls == 1
    result = replay(journal)
    assert result.is_same
    assert result.record == record
    for attempts in (0, 1, 2):
        spent, run_id = Budget(model_attempts=attempts), f"run-with-{attempts}"
        ended = build(journal).run("Why?", run_id=run_id, budget=spent).record
        assert ended.run_state is not RunState.SUCCESS
        assert replay(journal, run_id).record == ended


def test_a_cancel_from_another_thread_is_journaled_where_the_flow_sees_it() -> None:
    """The replay is cancelled at the same step."""
    token = CancelToken()

    @tool
    def cancelling() -> list[Fact]:
        """Search, and let the caller cancel meanwhile."""
        token.cancel("enough")
        token.cancel("twice")
        return [Fact(POOL)]

    def asks(_view: AgentView) -> AgentTurn:
        return AgentTurn([ToolCall("cancelling")])

    journal = MemoryJournal()
    harness = build(journal, agent=asks, tools=[cancelling])
    record = harness.run("Why?", run_id=RUN_ID, cancel=token).record
    assert (record.run_state, record.cancel_reason) == (RunState.CANCELLED, "enough")
    result = replay(journal)
    assert result.is_same
    assert result.record == record


def test_a_client_and_a_deadline_of_the_caller_are_part_of_it() -> None:
    """The replay sends nothing, and knows what the client accepted."""
    journal, client = MemoryJournal(), RecordingClient()
    record = build(journal).run("Why?", run_id=RUN_ID, client=client, deadline=5).record
    sent = len(client.events)
    result = replay(journal)
    assert result.record == record
    assert record.delivered
    assert len(client.events) == sent


def test_an_interrupt_is_read_back_and_does_not_interrupt() -> None:
    """Who replays a run is not interrupted by what interrupted it."""

    def interrupting(_view: AgentView) -> AgentTurn:
        raise KeyboardInterrupt

    journal = MemoryJournal()
    with pytest.raises(KeyboardInterrupt):
        build(journal, agent=interrupting).run("Why?", run_id=RUN_ID)
    result = replay(journal)
    assert result.record is not None
    assert result.record.stop_cause is StopCause.INTERRUPTED


def _giving(value: object) -> Callable[[object], object]:
    return lambda _view: value


def test_odd_values_are_kept_as_far_as_the_flow_has_seen_them() -> None:
    """Huge numbers, infinities, and objects of the host's own: the refusal is the same."""

    class Odd:
        def __repr__(self) -> str:
            return "an odd one " * 40

    class Broken:
        def __repr__(self) -> str:
            raise ValueError

    for value in (10**400, float("inf"), Odd(), Broken(), (1, (2.5, None)), {"a": {1}}, b"x"):
        journal, record = recorded(agent=_giving(value))
        result = replay(journal)
        assert result.record == record
        assert result.is_same


# --- where nothing can be replayed


def test_a_run_that_was_refused_is_refused_again() -> None:
    """Its id existed: the replay says so."""
    _, record = recorded()
    other = MemoryJournal()

    class Full:
        def begin(self, opening: RunRecord) -> None:
            raise RunExistsError(opening.run_id, record.run_state)

        def finish(self, _record: RunRecord) -> None:
            raise AssertionError

        mark_delivered = load = finish

    with pytest.raises(RunExistsError):
        build(other, run_store=Full()).run("Why?", run_id=RUN_ID)
    with pytest.raises(RunExistsError):
        replay(other)
    assert cut_short(other) == ()


def test_a_second_run_of_an_id_is_refused_by_the_journal() -> None:
    """The journal has the run already, whatever the run store says."""
    journal, record = recorded()
    with pytest.raises(RunExistsError) as caught:
        build(journal).run("Why?", run_id=RUN_ID)
    assert caught.value.state is RunState.RUNNING
    assert replay(journal).record == record


def test_a_journal_of_several_runs_needs_a_name() -> None:
    """With one run it may be left out; with none or several it may not."""
    journal, _ = recorded()
    assert replay(journal).is_same
    build(journal).run("Why?", run_id="run-2")
    with pytest.raises(InvalidArgumentError, match="one of the journal's 2 runs"):
        replay(journal)
    with pytest.raises(InvalidArgumentError, match="a run that the journal has"):
        replay(journal, "run-9")
    with pytest.raises(InvalidArgumentError, match="a run that the journal has"):
        replay(journal, 7)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="journal"):
        replay(object())  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="harness"):
        replay(journal, RUN_ID, harness=object())  # type: ignore[arg-type]


def test_a_journal_that_was_cut_short_has_no_record() -> None:
    """Wherever it was cut, the replay goes as far as the journal does, and says so."""
    journal, _ = recorded()
    lines = journal.read(RUN_ID)
    for keep in range(1, len(lines) - 1):
        short = MemoryJournal()
        short.append(RUN_ID, 0, lines[:keep])
        result = replay(short)
        assert result.record is None
        assert not result.is_same
        assert str(result) == f"ends     after {result.steps} steps: the journal knows no more"
        assert cut_short(short) == (RUN_ID,)
    assert cut_short(journal) == ()


def test_a_backoff_of_today_is_followed_to_where_the_journal_ends() -> None:
    """Today there is a wait where there was none: time passes, and the router cannot be asked."""

    def failing(_request: object) -> Any:
        raise TimeoutError

    journal, _ = recorded(router=failing)
    result = replay(journal, harness=build(None, router=failing, backoff=lambda *_: 10.0))
    assert result.record is None
    assert result.divergences[0].actual == {"reads": "backoff"}


def test_an_interrupt_between_two_steps_is_read_back_at_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ctrl-C fell into the flow itself: the replay is interrupted at the step that came next."""

    def interrupted(*_arguments: object) -> Any:
        raise KeyboardInterrupt

    journal = MemoryJournal()
    with monkeypatch.context() as patch:
        patch.setattr("harness._flow.missing_context", interrupted)
        with pytest.raises(KeyboardInterrupt):
            build(journal).run("Why?", run_id=RUN_ID)
    result = replay(journal)
    assert result.record is not None
    assert result.record.stop_cause is StopCause.INTERRUPTED


def test_what_ids_raise_is_read_back() -> None:
    """An interrupt out of an id source, and an error that cannot even say what it is."""

    class Silent(Exception):  # noqa: N818  a host's
        def __str__(self) -> str:
            raise ValueError

    for error, cause in (
        (KeyboardInterrupt(), StopCause.INTERRUPTED),
        (Silent(), StopCause.INTERNAL_ERROR),
    ):

        def ids(error: BaseException = error) -> str:
            raise error

        journal = MemoryJournal()
        try:
            record = build(journal, ids=ids).run("Why?", run_id=RUN_ID).record
        except KeyboardInterrupt:
            record = None
        result = replay(journal)
        assert result.record is not None
        assert result.record.stop_cause is cause
        assert record in (None, result.record)


# --- a journal that fails


class _Failing(MemoryJournal):
    """Fails at an append, once."""

    def __init__(self, at: int, error: Exception) -> None:
        super().__init__()
        self.left = at
        self.error = error

    def append(self, run_id: str, number: int, lines: Any) -> None:
        """Store, or fail."""
        self.left -= 1
        if self.left == 0:
            raise self.error
        super().append(run_id, number, lines)


#: The append of the guard's answer in the run above.
_GUARD_ANSWERED = 17


def test_a_journal_that_cannot_store_ends_the_run() -> None:
    """What nobody could resume is not gone on with: the run ends as the harness's own fault."""
    for at in range(2, 24):
        journal = _Failing(at, OSError("disk full"))
        record = build(journal).run("Why?", run_id=RUN_ID).record
        # from the guard's answer on the report is approved: it is saved and published all the same
        is_late = at >= _GUARD_ANSWERED
        assert record.run_state is (RunState.SUCCESS if is_late else RunState.FAILED)
        assert (record.stop_cause is StopCause.INTERNAL_ERROR) is not is_late


def test_a_journal_that_cannot_even_begin_refuses_the_run() -> None:
    """Nothing was run, and the caller learns why."""
    journal = _Failing(1, OSError("disk full"))
    record = build(journal).run("Why?", run_id=RUN_ID).record
    assert record.run_state is RunState.FAILED


def test_a_run_that_goes_on_elsewhere_stops_here() -> None:
    """Somebody else has resumed it: this one ends nothing and publishes nothing."""
    for at in (3, 4, 5, 6):
        journal = _Failing(at, JournalConflictError("memory", "it goes on elsewhere"))
        client = RecordingClient()
        with pytest.raises(JournalConflictError):
            build(journal).run("Why?", run_id=RUN_ID, client=client)
        assert {event.kind.name for event in client.events} <= {"METADATA", "STATUS"}


def test_a_clock_that_breaks_is_told_by_the_flow() -> None:
    """The journal's own looks at the clock hide nothing and break nothing."""

    class Breaking(VirtualClock):
        reads = 0

        def monotonic(self) -> float:
            self.reads += 1
            if self.reads > 6:
                raise OSError
            return super().monotonic()

        def utc(self) -> Any:
            if self.reads > 6:
                raise OSError
            return super().utc()

    journal, record = recorded(clock=Breaking())
    assert record.stop_cause is StopCause.INTERNAL_ERROR
    assert replay(journal).record == record


# --- what today's rules would have done


Make = Callable[[], dict[str, Any]]


@pytest.mark.parametrize(
    ("changed", "site", "told"),
    [
        ({"limits": Limits(deadline=60, tool_calls=1)}, "reads", "limits.tool_calls"),
        (
            {"limits": Limits(deadline=60, model_attempts=1)},
            "DIAGNOSIS_AGENT",
            "limits.model_attempts",
        ),
        ({"limits": Limits(deadline=60, draft_bytes=3)}, "", "limits.draft_bytes"),
    ],
)
def test_other_limits_name_the_step_where_they_decide_otherwise(
    changed: dict[str, Any], site: str, told: str
) -> None:
    """The journal says which step differs, and how; a decision can be followed to its record."""
    journal, record = recorded()
    result = replay(journal, **changed)
    assert result.divergences
    assert not result.is_same
    first = result.divergences[0]
    assert first.differing
    assert f"step {first.step}" in str(first)
    assert "differs" in str(result)
    if site:
        assert first.site == site
    else:
        assert result.record is not None
        assert result.record.run_state is not record.run_state
        assert "today" in str(result)
    today = replay(journal, harness=build(None, **changed))
    assert any(told in text for text in today.changed)
    assert today.divergences == result.divergences


def test_another_policy_is_asked_what_it_would_have_released() -> None:
    """Would today's policy have released that text? The record of today says so."""

    def unsure(_case: object) -> SemanticVerdict:
        return SemanticVerdict.UNSUPPORTED

    journal, record = recorded(semantic_guard=unsure)
    assert record.fallback_type is not None
    for name in ("distinguish_unsupported",):
        policy = _policy(name)
        result = replay(journal, policy=policy)
        assert result.record is not None
        if result.divergences:
            assert result.divergences[0].site in {"run_store.finish", "client.send"}


def _policy(_name: str) -> ReleasePolicy:
    import attrs  # noqa: PLC0415  beside its only use

    values = {
        field.name: not getattr(ReleasePolicy(), field.name)
        for field in attrs.fields(ReleasePolicy)
        if isinstance(getattr(ReleasePolicy(), field.name), bool)
    }
    return ReleasePolicy(**values)


def test_a_harness_of_today_is_compared_with_the_one_of_then() -> None:
    """Tools that came, went or changed, and parts, are named; the rules as well."""

    @tool(name="search")
    def other(text: str, limit: int = 3) -> str:
        """Search otherwise."""
        return f"{text}{limit}"

    @tool
    def another() -> str:
        """Search elsewhere."""
        return ""

    journal, _ = recorded()
    changed = replay(
        journal,
        harness=build(
            None,
            tools=[other, another],
            router=lambda _request: None,
            on_disconnect=OnDisconnect.DETACH,
            required_context=["service"],
        ),
    ).changed
    assert "tools: 'search' has other parameters" in changed
    assert "tools: 'another' is new" in changed
    assert "parts: - -> router" in changed
    assert "on_disconnect: CANCEL -> DETACH" in changed
    gone = replay(journal, harness=build(None, tools=[another])).changed
    assert "tools: 'search' is gone" in gone
    assert replay(journal, harness=build(None)).changed == ()


def test_a_journal_on_a_file_replays_too(tmp_path: Path) -> None:
    """The journal of another process is read from its file."""
    with SqliteJournal(tmp_path / "runs.db") as journal:
        record = build(journal).run("Why?", run_id=RUN_ID).record
    with SqliteJournal(tmp_path / "runs.db", create=False) as journal:
        assert replay(journal).record == record


def test_a_retry_asks_the_parent_first() -> None:
    """Whether the parents have room for another attempt is journaled as well."""

    def failing(_request: object) -> Any:
        raise TimeoutError

    for attempts in (1, 2):
        journal, parent = MemoryJournal(), Budget(model_attempts=attempts)
        record = build(journal, router=failing).run("Why?", run_id=RUN_ID, budget=parent).record
        assert record.used.model_attempts == attempts
        assert replay(journal).record == record


def test_a_call_that_the_deadline_aborted_is_read_back_as_such() -> None:
    """Under asyncio a call is really cut short: the replay ends at the same instant."""

    async def hanging() -> str:
        await asyncio.sleep(1e6)
        return ""

    async def quick() -> str:
        return "found"

    journal = MemoryJournal()
    tools = [doubles("slow", hanging), doubles("fast", quick)]
    harness = world(asking(["slow", "fast"]), *tools, journal=journal, limits=Limits(deadline=1))
    record = leaping(lambda: harness.run("why?", run_id=RUN_ID)).record
    assert record.run_state is RunState.TIMED_OUT
    result = replay(journal)
    assert result.is_same
    assert result.record == record
    # and a model that hangs
    alone = MemoryJournal()

    async def stuck(_view: object) -> Any:
        await asyncio.sleep(1e6)

    single = world(stuck, journal=alone, limits=Limits(deadline=1))
    ended = leaping(lambda: single.run("why?", run_id=RUN_ID)).record
    assert ended.run_state is RunState.TIMED_OUT
    assert replay(alone).record == ended

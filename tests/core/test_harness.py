"""The synchronous driver: what it takes, what it refuses, and runs that share it."""

from __future__ import annotations

from threading import Barrier, Thread
from typing import Any

import pytest

from harness import (
    Budget,
    CancelToken,
    Citation,
    Fact,
    Harness,
    Limits,
    PreviousTurn,
    Request,
    RunRecord,
    RunResult,
    StopCause,
    Usage,
)
from harness.errors import AwaitableResultError, InvalidArgumentError
from harness.stores.journal import MemoryJournal
from harness.stores.memory import MemoryCanonicalStore, MemoryRunStore
from harness.testing import RecordingClient, Script, VirtualClock, counting_ids
from tests.core.doubles import (
    GOOD,
    Source,
    asking,
    drafting,
    ending,
    events_of,
    harness,
    supported,
)

NULL = drafting(None)
TURN = PreviousTurn("run-0", "why?", "report")

# --- building


def test_a_journal_changes_nothing() -> None:
    """A run that keeps a journal ends as one that keeps none, and the journal has its lines."""
    journal = MemoryJournal()
    plain = harness(list(GOOD), Source("pool size 5")).run("why?")
    kept = harness(list(GOOD), Source("pool size 5"), journal=journal).run("why?")
    assert kept.record == plain.record
    assert len(journal.read(kept.record.run_id)) > 2


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        ("classifier", 5, "a function, or None"),
        ("ids", "uuid", "a function, or None"),
        ("clock", object(), "an object with monotonic, utc and wait"),
        ("limits", 5, "a Limits"),
        ("policy", {}, "a ReleasePolicy"),
        ("tools", 5, "an iterable of tools"),
        ("journal", object(), "an object with append, read and last_lines, or None"),
        ("agent", None, "an object with next_turn, or a function"),
    ],
)
def test_a_bad_argument(option: str, value: Any, allowed: str) -> None:
    """A wrong argument is refused when the harness is built; the error names it."""
    given = {"agent": lambda view: NULL, option: value}
    with pytest.raises(InvalidArgumentError, match=f"^{option} is .*; allowed: {allowed}"):
        Harness(**given)


def test_defaults() -> None:
    """An agent alone makes a harness: stores in memory, sensible limits, the lexical guard."""
    made = Harness(lambda view: NULL)
    assert made.limits == Limits()
    assert isinstance(made.canonical_store, MemoryCanonicalStore)
    assert isinstance(made.run_store, MemoryRunStore)
    record = made.run("why?").record
    assert (record.stop_cause, len(record.run_id)) == (StopCause.NO_CONCLUSION, 32)


def test_the_default_guard_is_lexical() -> None:
    """Without a guard of its own a harness judges by the built-in one, and never fails open."""

    def agent(view: Any) -> Any:
        if not view.records:
            return asking({})
        return drafting(view.question, Citation(view.records[0].invocation_id, 1))

    made = Harness(agent, [Source(Fact("pool size 5 reached"), repeat_last=True)])
    record = made.run("pool size 5 reached").record
    assert record.stop_cause is StopCause.REPORT_APPROVED
    record = made.run("pool size 7 reached").record
    assert record.stop_cause is StopCause.SEMANTIC_UNSUPPORTED


# --- running


def test_a_result() -> None:
    """A run gives its record, its public content and its text."""
    result = harness(GOOD, Source("pool size 5")).run("why?")
    assert isinstance(result, RunResult)
    assert (result.text, result.public.text) == ("the pool ran out\n",) * 2
    assert result.record.stop_cause is StopCause.REPORT_APPROVED


def test_a_request() -> None:
    """A request may be handed over in parts, or whole."""
    made = harness(lambda view: NULL)
    parts = made.run("why?", context={"a": "b"}, previous=[TURN], conversation_id="c").record
    request = Request("why?", {"a": "b"}, [TURN], "c")
    whole = made.run(request).record
    assert parts.request == whole.request == request
    assert whole.request is request


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"context": {"a": 1}}, "context"),
        ({"previous": "turn"}, "previous"),
        ({"conversation_id": ""}, "conversation_id"),
        ({"run_id": ""}, "run_id"),
        ({"run_id": " "}, "run_id"),
        ({"run_id": 5}, "run_id"),
        ({"cancel": "token"}, "cancel"),
        ({"cancel": CancelToken}, "cancel"),
        ({"deadline": -1}, "deadline"),
        ({"deadline": "5"}, "deadline"),
        ({"deadline": float("nan")}, "deadline"),
        ({"client": print}, "client"),
        ({"client": object()}, "client"),
        ({"budget": 5}, "budget"),
        ({"budget": Limits()}, "budget"),
    ],
)
def test_a_bad_argument_of_a_run(options: dict[str, Any], named: str) -> None:
    """A wrong argument of a run is refused by name; nothing is run."""
    agent = Script([])
    with pytest.raises(InvalidArgumentError, match=f"^{named} is "):
        harness(agent).run("why?", **options)
    assert agent.calls == []


@pytest.mark.parametrize("question", ["", " \n", None, 5, b"why?"])
def test_a_bad_question(question: Any) -> None:
    """A question is text that is not blank."""
    with pytest.raises(InvalidArgumentError, match=r"^question is "):
        harness([]).run(question)


@pytest.mark.parametrize(
    "options", [{"context": {}}, {"previous": [TURN]}, {"conversation_id": "c"}]
)
def test_nothing_beside_a_whole_request(options: dict[str, Any]) -> None:
    """A whole request has its parts already."""
    with pytest.raises(InvalidArgumentError, match="allowed: nothing beside a whole Request"):
        harness([]).run(Request("why?"), **options)


@pytest.mark.parametrize("value", [5, None, "", "  "])
def test_an_id_source_that_gives_no_id(value: Any) -> None:
    """An id is text that is not blank, also where it comes from the host's own source."""
    with pytest.raises(InvalidArgumentError, match=r"^ids\(\) is "):
        harness([], ids=lambda: value).run("why?")


def test_a_run_id() -> None:
    """A run id may be given; it is repaired like all text."""
    made = harness(lambda view: NULL)
    assert made.run("why?", run_id="run\ud800").record.run_id == "run\ufffd"
    assert made.run("why?").record.run_id == "id-2"


def test_an_asynchronous_client() -> None:
    """An asynchronous client is refused with the name of the driver that takes it."""

    class Client:
        async def send(self, event: object) -> None: ...

    with pytest.raises(AwaitableResultError, match=r"^client is asynchronous; .*AsyncHarness"):
        harness([]).run("why?", client=Client())  # type: ignore[arg-type]


def test_an_awaitable_answer() -> None:
    """A plain function that hands back a coroutine is told which driver to use."""

    async def turn() -> Any:
        return NULL

    record = harness(lambda view: turn()).run("why?").record
    assert record.stop_cause is StopCause.INVALID_DRAFT
    [failed] = events_of(record, "ATTEMPT_FAILED")
    assert failed.detail["error"] == "AwaitableResultError"
    assert "use AsyncHarness" in failed.detail["detail"]


# --- deadlines


@pytest.mark.parametrize(
    ("limit", "given", "deadline"),
    [(30, None, 30), (None, 20, 20), (30, 20, 20), (20, 30, 20), (None, None, None), (30, 0, 0)],
)
def test_deadlines_shorten(limit: int | None, given: int | None, deadline: int | None) -> None:
    """A run's own deadline shortens the limits', and never extends it."""
    clock = VirtualClock()
    left: list[float | None] = []

    def agent(view: Any) -> Any:
        left.append(view.left.seconds)
        return NULL

    harness(agent, clock=clock, limits=Limits(deadline=limit)).run("why?", deadline=given)
    assert left == ([] if deadline == 0 else [deadline])


def test_the_deadline_counts_from_the_beginning() -> None:
    """A run's time begins with the run, whatever the clock showed before."""
    clock = VirtualClock()
    clock.advance(99_000)
    made = harness(GOOD, Source("a"), clock=clock, limits=Limits(deadline=10))
    record = made.run("why?").record
    assert record.stop_cause is StopCause.REPORT_APPROVED
    assert record.attempts[0].began == 0.0


def test_wall_clock_steps_change_nothing() -> None:
    """A wall clock that steps neither times a run out nor spares it."""
    clock = VirtualClock()

    def agent(view: Any) -> Any:
        clock.step_wall_clock(7200 if view.records else -3600)
        return NULL if view.records else asking({})

    made = harness(agent, Source("a"), clock=clock, limits=Limits(deadline=10))
    record = made.run("why?").record
    assert record.stop_cause is StopCause.NO_CONCLUSION
    assert record.started_at.utcoffset() == record.ended_at.utcoffset()  # type: ignore[union-attr]


# --- cancelling


def test_a_token_cancels_several_runs() -> None:
    """One token ends every run that has it, and a later run at once."""
    token, seen = CancelToken(), list[Any]()

    def outer(view: Any) -> Any:
        record = harness(inner).run("why?", cancel=token).record
        seen.append(record.stop_cause)
        return NULL

    def inner(view: Any) -> Any:
        assert token.cancel("all of you")
        return NULL

    seen.append(harness(outer).run("why?", cancel=token).record.stop_cause)
    seen.append(harness([]).run("why?", cancel=token).record.stop_cause)
    assert seen == [StopCause.CANCELLED_BY_CALLER] * 3


def test_cancelling_after_the_end_is_lost() -> None:
    """A cancel of a run that has ended says that it is lost, and changes nothing."""
    token, made = CancelToken(), harness([NULL])
    record = made.run("why?", cancel=token).record
    saved = made.run_store.load(record.run_id)
    assert not token.cancel("too late")
    assert made.run_store.load(record.run_id) == saved


def test_a_token_whose_run_has_a_broken_clock() -> None:
    """A clock that is broken keeps no token from cancelling its run, and the others."""
    token = CancelToken()

    class Breaking(VirtualClock):
        broken = False

        def monotonic(self) -> float:
            if self.broken:
                raise OSError
            return super().monotonic()

    clock = Breaking()

    def agent(_view: object) -> Any:
        clock.broken = True
        assert token.cancel("enough")
        return NULL

    record = harness(agent, clock=clock).run("why?", cancel=token).record
    assert (record.stop_cause, record.cancel_reason) == (StopCause.CANCELLED_BY_CALLER, "enough")


def test_an_exception_leaves_no_listener() -> None:
    """A run that ends by an interrupt listens to its token no more."""
    token = CancelToken()
    with pytest.raises(KeyboardInterrupt):
        harness([KeyboardInterrupt()]).run("why?", cancel=token)
    assert not token.cancel()


# --- sharing


def _marked(view: Any, attempt: Any) -> Any:
    mark = view.question
    attempt.report(Usage(int(mark), 0))
    if not view.records:
        return asking({"mark": mark})
    return drafting(f"found {mark}", Citation(view.records[0].invocation_id))


def test_runs_share_nothing() -> None:
    """Of 64 runs of one harness at once each sees, spends and publishes only its own."""
    tenant, barrier = Budget(), Barrier(64)
    source = Source(lambda call, attempt: call.arguments["mark"], repeat_last=True)
    made = Harness(_marked, [source], semantic_guard=supported, ids=None)
    records: dict[int, RunRecord] = {}

    def run(number: int) -> None:
        client = RecordingClient()
        barrier.wait()
        records[number] = made.run(str(number), client=client, budget=tenant).record

    threads = [Thread(target=run, args=(number,)) for number in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, record in records.items():
        assert record.public.text == f"found {number}\n"  # type: ignore[union-attr]
        assert record.used.tokens == 2 * number
        assert record.invocations[0].call.arguments == {"mark": str(number)}
        assert [event.sequence for event in record.trace] == [*range(1, len(record.trace) + 1)]
    assert tenant.used.tokens == 2 * sum(range(64))
    assert (tenant.used.model_attempts, tenant.used.tool_calls) == (64 * 3, 64)


def _once(view: Any) -> Any:
    return NULL if view.records else asking({})


def test_ids_of_one_harness() -> None:
    """Each run takes its id, and one for its evidence, from the id source."""
    source = Source("a", repeat_last=True)
    made = harness(_once, source, ids=counting_ids("x"))
    first, second = made.run("why?").record, made.run("why?").record
    assert [(one.run_id, one.invocations[0].invocation_id) for one in (first, second)] == [
        ("x-1", "E-x-2-1"),
        ("x-3", "E-x-4-1"),
    ]
    assert ending(first) == ending(second)

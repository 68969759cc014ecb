"""Save, then publish: what the run store and the client see, whatever they do (section 3.10)."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from harness import (
    CancelToken,
    EventKind,
    Harness,
    PublicContent,
    PublicKind,
    ReleaseOutcome,
    RunRecord,
    RunState,
    SemanticVerdict,
    StopCause,
    StreamEvent,
)
from harness.errors import RunExistsError
from harness.stores.memory import MemoryRunStore
from harness.testing import RecordingClient, Script
from tests.core.doubles import (
    GOOD,
    Source,
    asking,
    drafting,
    ending,
    events_of,
    harness,
)

METADATA, STATUS, CONTENT, FAILURE, DONE = EventKind
NULL = drafting(None)


class Store(MemoryRunStore):
    """A run store that raises, or answers otherwise, at one of its methods."""

    def __init__(self, what: str = "", fault: Any = None) -> None:
        super().__init__()
        self._what, self._fault = what, fault
        self.calls: list[str] = []

    def _answer(self, what: str) -> bool:
        self.calls.append(what)
        if what == self._what and isinstance(self._fault, BaseException):
            raise self._fault
        return what == self._what

    def begin(self, record: RunRecord) -> None:
        self._answer("begin")
        super().begin(record)

    def finish(self, record: RunRecord) -> Any:
        if self._answer("finish"):
            return self._fault(record, self) if callable(self._fault) else self._fault
        return super().finish(record)

    def mark_delivered(self, run_id: str) -> None:
        self._answer("mark_delivered")
        super().mark_delivered(run_id)


def _good(**options: Any) -> Harness:
    return harness(GOOD, Source("pool size 5"), **options)


def _run(made: Harness, client: Any = None, **options: Any) -> RunRecord:
    return made.run("why?", client=client, **options).record


# --- the order of things


class Journal:
    """What happened outside, in order."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.store = Store()
        self.store.calls = self.lines
        self.client = self

    def send(self, event: StreamEvent) -> None:
        self.lines.append(event.kind.name)


def test_the_order_of_a_run() -> None:
    """A run is opened, then streamed; it is saved before content leaves, and marked behind it."""
    journal = Journal()
    _run(_good(run_store=journal.store), journal.client)
    assert journal.lines == [
        "begin",
        "METADATA",
        *["STATUS"] * 5,
        "finish",
        "CONTENT",
        "mark_delivered",
        "DONE",
    ]


def test_what_the_client_receives() -> None:
    """Metadata has the run's id, content text, sources and limitations, done the outcome."""
    client = RecordingClient()
    record = _run(harness(GOOD, Source("pool size 5"), Source(name="docs")), client)
    data = {event.kind: event.data for event in client.events}
    assert data[METADATA] == {"run_id": record.run_id}
    assert data[CONTENT] == {
        "kind": "REPORT",
        "text": "the pool ran out\n",
        "fallback_type": None,
        "limitations": ({"kind": "NEVER_CONSULTED", "name": "docs", "code": None},),
        "sources": ({"tool": "logs", "source": "", "text": "pool size 5"},),
    }
    assert data[DONE] == {"outcome": "SUCCESS"}
    assert record.events == tuple(client.kinds)


def test_what_the_client_receives_of_a_fallback() -> None:
    """A fallback says its type, and a failed source its stable code."""
    client = RecordingClient()
    _run(harness([asking({"n": 1}, {"n": 2}), NULL], Source("a", TimeoutError())), client)
    data = {event.kind: event.data for event in client.events}
    assert (data[CONTENT]["kind"], data[CONTENT]["fallback_type"]) == (
        "FALLBACK",
        "INSUFFICIENT_EVIDENCE",
    )
    assert data[CONTENT]["limitations"] == (
        {"kind": "SOURCE_UNAVAILABLE", "name": "logs", "code": "TIMEOUT"},
    )
    assert data[DONE] == {"outcome": "FALLBACK"}


def test_what_the_client_receives_of_a_failure() -> None:
    """A failure carries the name of the stop cause, and nothing else."""
    client = RecordingClient()
    _run(harness([ValueError("secret")]), client)
    assert [(event.kind, event.data) for event in client.events[-2:]] == [
        (FAILURE, {"code": "AGENT_UNAVAILABLE"}),
        (DONE, {"outcome": "FAILED"}),
    ]


def test_the_record_is_stored_as_it_is_published() -> None:
    """The stored ending has the content that the client received."""
    made, client = _good(), RecordingClient()
    record = _run(made, client)
    saved = made.run_store.load(record.run_id)
    assert saved is not None
    assert (saved.public, saved.attempts, saved.used) == (
        record.public,
        record.attempts,
        record.used,
    )
    assert saved.delivered


# --- beginning


def test_a_run_id_that_exists() -> None:
    """A repeated request is refused with the stored state; nothing is run, sent or changed."""
    made, client = harness([NULL], ids=Script(["1", "2"])), RecordingClient()
    _run(made, run_id="run")
    saved = made.run_store.load("run")
    with pytest.raises(RunExistsError, match="run 'run' exists already; it is FAILED"):
        _run(made, client, run_id="run")
    assert client.events == []
    assert made.run_store.load("run") == saved


@pytest.mark.parametrize("error", [OSError("disk"), ValueError("x"), MemoryError()])
def test_a_run_that_cannot_be_opened(error: Exception) -> None:
    """A run that cannot be opened is not run: RECORD_NOT_SAVED, told and closed."""
    store, client = Store("begin", error), RecordingClient()
    record = _run(_good(run_store=store), client)
    assert ending(record) == ("FAILED", "RECORD_NOT_SAVED", "FAILED", None)
    assert (record.failure_code, record.record_saved) == ("RECORD_NOT_SAVED", False)
    assert client.kinds == [METADATA, STATUS, FAILURE, DONE]
    assert (len(record.attempts), store.calls) == (0, ["begin"])
    assert record.release_rule == "record-not-saved"


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupt_while_a_run_is_opened(error: type[BaseException]) -> None:
    """An interrupted begin may have opened the run: its ending is saved if it has."""

    class Opening(Store):
        def begin(self, record: RunRecord) -> None:
            super().begin(record)
            raise error

    store, client = Opening(), RecordingClient()
    with pytest.raises(error):
        _run(_good(run_store=store), client, run_id="run")
    saved = store.load("run")
    assert saved is not None
    assert ending(saved)[1] == "INTERRUPTED"
    assert client.kinds == [METADATA, STATUS, DONE]


def test_a_cancelled_run_that_cannot_be_opened() -> None:
    """A run that was cancelled before stays cancelled where its record cannot be saved."""
    token = CancelToken()
    token.cancel("early")
    record = _run(_good(run_store=Store("begin", OSError())), cancel=token)
    assert ending(record) == ("CANCELLED", "CANCELLED_BY_CALLER", "CANCELLED", None)
    assert (record.record_saved, record.public.kind) == (False, PublicKind.NONE)  # type: ignore[union-attr]


# --- saving


@pytest.mark.parametrize("fault", [OSError("disk"), "stored", 5, True])
def test_a_record_that_is_not_saved(fault: Any) -> None:
    """Unless the store says that it was saved nothing but a failure is published."""
    store, client = Store("finish", fault), RecordingClient()
    record = _run(_good(run_store=store), client)
    assert ending(record) == ("SUCCESS", "REPORT_APPROVED", "FAILED", None)
    assert (record.record_saved, record.failure_code) == (False, "RECORD_NOT_SAVED")
    assert client.kinds[-2:] == [FAILURE, DONE]
    assert client.events[-1].data == {"outcome": "FAILED"}
    assert "pool" not in repr(client.events)
    assert "mark_delivered" not in store.calls


def test_a_fallback_that_is_not_saved() -> None:
    """A fallback that could not be saved leaves nothing of itself in the record."""
    made = harness([asking({}), NULL], Source("a"), run_store=Store("finish", OSError()))
    record = _run(made)
    assert ending(record) == ("SUCCESS", "NO_CONCLUSION", "FAILED", None)
    assert (record.snapshot, record.public) == (
        None,
        PublicContent(kind=PublicKind.FAILURE, code="RECORD_NOT_SAVED"),
    )


def test_an_interrupt_while_the_record_is_saved() -> None:
    """An interrupt of the store goes on to the caller; the client is told a failure."""
    client = RecordingClient()
    with pytest.raises(KeyboardInterrupt):
        _run(_good(run_store=Store("finish", KeyboardInterrupt())), client)
    assert client.kinds[-2:] == [FAILURE, DONE]


def _cancelled_elsewhere(record: RunRecord, store: Store) -> RunRecord:
    """What another process has stored meanwhile."""
    opening = store.load(record.run_id)
    assert opening is not None
    return evolve(
        opening,
        run_state=RunState.CANCELLED,
        stop_cause=StopCause.CANCELLED_BY_CALLER,
        release_outcome=ReleaseOutcome.CANCELLED,
    )


def test_an_ending_that_stands_already() -> None:
    """Where another process has ended the run its ending stands, and this one publishes nothing."""
    store, client = Store("finish", _cancelled_elsewhere), RecordingClient()
    record = _run(_good(run_store=store), client)
    assert ending(record) == ("CANCELLED", "CANCELLED_BY_CALLER", "CANCELLED", None)
    assert (record.events, record.delivered) == ((), False)
    assert {*client.kinds} == {METADATA, STATUS}
    assert "mark_delivered" not in store.calls


# --- delivering


@pytest.mark.parametrize("error", [OSError("disk"), KeyError()])
def test_a_delivery_that_cannot_be_marked(error: Exception) -> None:
    """A store that cannot mark the delivery changes nothing for the client."""
    client = RecordingClient()
    record = _run(_good(run_store=Store("mark_delivered", error)), client)
    assert (record.delivered, client.kinds[-1]) == (True, DONE)
    assert events_of(record, "STORE_FAILED")[0].detail["error"] == type(error).__name__


def test_an_interrupt_while_a_delivery_is_marked() -> None:
    """An interrupt there goes on to the caller, behind the content and the end of the stream."""
    client, store = RecordingClient(), Store("mark_delivered", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        _run(_good(run_store=store), client)
    assert client.kinds[-1] is DONE
    saved = store.load("id-1")
    assert saved is not None
    assert ending(saved)[1] == "REPORT_APPROVED"


# --- a client that goes away


@pytest.mark.parametrize("at", [METADATA, STATUS])
def test_a_client_that_leaves_before_the_end(at: EventKind) -> None:
    """Leaving before the terminal state is a cancel: nothing more is asked, sent or published."""
    client, guard = RecordingClient(disconnects_at=at), Script([])
    record = _run(_good(semantic_guard=guard), client)
    assert ending(record) == ("CANCELLED", "CLIENT_DISCONNECTED", "CANCELLED", None)
    assert client.kinds == [METADATA][: [METADATA, STATUS].index(at)]
    assert (record.delivered, len(record.attempts), guard.calls) == (False, 0, [])
    [gone] = events_of(record, "CLIENT_GONE")
    assert gone.detail == {"at_event": at.name}


@pytest.mark.parametrize("at", [METADATA, STATUS])
def test_a_client_that_may_leave(at: EventKind) -> None:
    """With DETACH the run goes on, and its record keeps the outcome, undelivered."""
    made = _good(on_disconnect="DETACH")
    record = _run(made, RecordingClient(disconnects_at=at))
    assert ending(record)[:3] == ("SUCCESS", "REPORT_APPROVED", "SUCCESS")
    assert (record.delivered, record.record_saved) == (False, True)
    saved = made.run_store.load(record.run_id)
    assert saved is not None
    assert not saved.delivered


@pytest.mark.parametrize("on_disconnect", ["CANCEL", "DETACH"])
@pytest.mark.parametrize(
    ("at", "agent", "outcome"), [(CONTENT, GOOD, "SUCCESS"), (FAILURE, [NULL], "FAILED")]
)
def test_a_client_that_leaves_at_the_content(
    on_disconnect: str, at: EventKind, agent: Any, outcome: str
) -> None:
    """Its leaving after the terminal state leaves the record as decided, undelivered, unended."""
    client = RecordingClient(disconnects_at=at)
    record = _run(harness(agent, Source("a"), on_disconnect=on_disconnect), client)
    assert record.release_outcome is ReleaseOutcome[outcome]
    assert (record.delivered, DONE in record.events) == (False, False)
    late = [event.detail["cause"] for event in events_of(record, "LATE_SIGNAL")]
    assert late == (["CLIENT_DISCONNECTED"] if on_disconnect == "CANCEL" else [])


def test_a_client_that_leaves_at_the_end() -> None:
    """Content that was accepted is delivered, though the end was not."""
    record = _run(_good(), RecordingClient(disconnects_at=DONE))
    assert (record.delivered, record.events[-1]) == (True, CONTENT)


@pytest.mark.parametrize("error", [ValueError("x"), TimeoutError(), StopIteration()])
def test_a_sink_that_fails(error: Exception) -> None:
    """Whatever exception a sink raises, the client is gone."""

    class Sink:
        def send(self, event: StreamEvent) -> None:
            if event.kind is STATUS:
                raise error

    assert ending(_run(_good(), Sink()))[1] == "CLIENT_DISCONNECTED"


@pytest.mark.parametrize("on_disconnect", ["CANCEL", "DETACH"])
@pytest.mark.parametrize("at", [METADATA, STATUS, CONTENT, DONE])
def test_a_sink_that_is_interrupted(on_disconnect: str, at: EventKind) -> None:
    """An interrupt of a sink goes on to the caller, behind the saved record."""

    class Sink:
        def send(self, event: StreamEvent) -> None:
            if event.kind is at:
                raise KeyboardInterrupt

    made = _good(on_disconnect=on_disconnect)
    with pytest.raises(KeyboardInterrupt):
        _run(made, Sink())
    saved = made.run_store.load("id-1")
    assert saved is not None
    before = at in (METADATA, STATUS)
    assert saved.stop_cause is StopCause["INTERRUPTED" if before else "REPORT_APPROVED"]
    assert saved.delivered is (at is DONE)


def test_a_client_that_leaves_during_a_tool() -> None:
    """A client that leaves between two turns ends the run before the next model is asked."""
    client = RecordingClient()

    def leave(*_arguments: Any) -> str:
        client.gone = True
        return "a"

    made = harness([asking({"n": 1}), asking({"n": 2})], Source(leave, "never"))
    record = _run(made, client)
    assert ending(record)[1] == "CLIENT_DISCONNECTED"
    assert (record.used.model_attempts, record.used.tool_calls) == (1, 1)


# --- late signals


@pytest.mark.parametrize("what", ["finish", "mark_delivered"])
def test_a_cancel_after_the_decision(what: str) -> None:
    """A cancel that comes while a decided run is saved or published is lost, and traced."""
    token = CancelToken()
    told: list[bool] = []

    class Cancelling(Store):
        def _answer(self, method: str) -> bool:
            if method == what:
                told.append(token.cancel("late"))
            return super()._answer(method)

    record = _run(_good(run_store=Cancelling()), cancel=token)
    assert (ending(record)[1], told) == ("REPORT_APPROVED", [False])
    [late] = events_of(record, "LATE_SIGNAL")
    assert late.detail == {"cause": "CANCELLED_BY_CALLER"}


def test_a_cancel_that_came_before() -> None:
    """A run that is given a cancelled token is opened and ended, and nobody is asked."""
    token, client = CancelToken(), RecordingClient()
    token.cancel("early")
    record = _run(_good(), client, cancel=token)
    assert ending(record) == ("CANCELLED", "CANCELLED_BY_CALLER", "CANCELLED", None)
    assert (record.cancel_reason, len(record.attempts)) == ("early", 0)
    assert [event.kind for event in client.events] == [METADATA, STATUS, DONE]
    assert client.events[-1].data == {"outcome": "CANCELLED"}


def test_a_cancel_during_the_last_guard() -> None:
    """A cancel during the very last call before the decision still counts."""
    token = CancelToken()

    def guard(_case: object) -> SemanticVerdict:
        token.cancel()
        return SemanticVerdict.SUPPORTED

    record = _run(_good(semantic_guard=guard), cancel=token)
    assert ending(record)[1] == "CANCELLED_BY_CALLER"
    assert record.gates.verdict is None

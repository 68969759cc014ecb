"""What clock, ids and classifier raise between two calls of the flow (section 3.1)."""

from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

from harness import (
    AgentTurn,
    CancelToken,
    DiagnosisDraft,
    Fact,
    FailureKind,
    Harness,
    Request,
    RunRecord,
)
from harness._flow import run_flow
from harness._seam import SeamBroken
from harness._sync import SyncSeam, drive
from harness._values import Citation, ToolCall
from harness._view import AgentView
from harness.errors import InvalidArgumentError, ProviderError
from harness.stores.memory import MemoryRunStore
from harness.testing import VirtualClock, counting_ids

_INTERRUPTS = [KeyboardInterrupt, SystemExit, GeneratorExit]


class _Clock:
    """A clock that does something else at its n-th reading."""

    def __init__(self, at: int, then: Callable[[], Any], *, wall: bool = False) -> None:
        self._clock, self._at, self._then, self._wall = VirtualClock(), at, then, wall
        self.readings = {True: 0, False: 0}

    def _read(self, value: Any, *, wall: bool) -> Any:
        self.readings[wall] += 1
        due = wall is self._wall and self.readings[wall] == self._at
        return self._then() if due else value

    def monotonic(self) -> float:
        return float(self._read(self._clock.monotonic(), wall=False))

    def utc(self) -> Any:
        return self._read(self._clock.utc(), wall=True)

    def wait(self, seconds: float, wake: Event) -> None:
        raise AssertionError(seconds)


def _raising(error: BaseException | type[BaseException]) -> Callable[..., Any]:
    def fail(*_arguments: object) -> Any:
        raise error

    return fail


def _agent(view: AgentView) -> AgentTurn:
    if not view.records:
        return AgentTurn([ToolCall("logs")])
    return AgentTurn(draft=DiagnosisDraft("It broke.", [Citation(view.records[0].invocation_id)]))


def logs() -> Fact:
    """Find something."""
    return Fact("it broke", "log:1")


def _world(**parts: Any) -> tuple[Harness, MemoryRunStore]:
    store = MemoryRunStore()
    given = {"agent": _agent, "tools": [logs], "clock": VirtualClock(), "ids": counting_ids()}
    return Harness(**{**given, "run_store": store, **parts}), store


def _left(harness: Harness, kind: type[BaseException]) -> RunRecord:
    """Run; the interrupt has to come out of it, with its record saved."""
    with pytest.raises(kind):
        harness.run("why?", run_id="run")
    record = harness.run_store.load("run")
    assert record is not None
    return record


@pytest.mark.parametrize("interrupt", _INTERRUPTS)
@pytest.mark.parametrize("reading", range(2, 14))
def test_an_interrupt_of_the_clock_loses_nothing(
    reading: int, interrupt: type[BaseException]
) -> None:
    """Whenever the clock is interrupted, the run is saved and every call accounted."""
    harness, _ = _world(clock=_Clock(reading, _raising(interrupt)))
    record = _left(harness, interrupt)
    assert record.run_state.name in {"CANCELLED", "FAILED"}
    used = record.used.model_attempts + record.used.tool_calls
    assert len(record.attempts) == used


@pytest.mark.parametrize("interrupt", _INTERRUPTS)
def test_an_interrupt_of_the_wall_clock_loses_no_record(interrupt: type[BaseException]) -> None:
    """A run that is over is saved, whatever the wall clock raises when it is asked for its end."""
    harness, _ = _world(clock=_Clock(2, _raising(interrupt), wall=True), semantic_guard=_Refused())
    record = _left(harness, interrupt)
    assert record.ended_at == record.started_at
    assert record.stop_cause is not None
    assert record.stop_cause.name == "SEMANTIC_UNAVAILABLE"


class _Refused:
    """A semantic guard that always fails."""

    def judge(self, _case: object, _attempt: object) -> None:
        raise _OddError


class _OddError(ProviderError):
    """A provider's error that cannot even be looked at."""

    @property
    def kind(self) -> FailureKind:  # type: ignore[override]
        raise ValueError

    def __init__(self) -> None:
        Exception.__init__(self)


def test_an_error_that_cannot_be_looked_at_is_unclassified() -> None:
    """An error whose own kind raises is a failure of its component like any other."""
    harness, _ = _world(semantic_guard=_Refused())
    attempt = harness.run("why?").record.attempts[-1]
    assert (attempt.component.name, attempt.failure) == ("SEMANTIC_GUARD", FailureKind.UNCLASSIFIED)


@pytest.mark.parametrize("interrupt", _INTERRUPTS)
def test_an_interrupt_of_the_classifier_is_one_of_the_run(interrupt: type[BaseException]) -> None:
    """An attempt whose error could not be classified is accounted as interrupted."""
    harness, _ = _world(agent=_raising(ValueError()), classifier=_raising(interrupt))
    record = _left(harness, interrupt)
    assert [attempt.outcome.name for attempt in record.attempts] == ["INTERRUPTED"]


@pytest.mark.parametrize("interrupt", _INTERRUPTS)
def test_an_interrupt_of_the_id_source_ends_the_run(interrupt: type[BaseException]) -> None:
    """The ids of evidence come from the host too; what interrupts them ends the run."""
    harness, _ = _world(ids=_raising(interrupt))
    record = _left(harness, interrupt)
    assert (record.run_state.name, record.stop_cause and record.stop_cause.name) == (
        "CANCELLED",
        "INTERRUPTED",
    )


def test_the_first_interrupt_goes_on() -> None:
    """Where the clock is interrupted while it dates an interrupt, the first one leaves the run."""
    harness, _ = _world(agent=_raising(SystemExit(3)), clock=_Clock(5, _raising(KeyboardInterrupt)))
    assert _left(harness, SystemExit).attempts[0].outcome.name == "INTERRUPTED"


@pytest.mark.parametrize("then", [_raising(OSError()), lambda: float("nan"), lambda: "soon"])
def test_without_a_first_time_nothing_is_run(then: Callable[[], Any]) -> None:
    """A clock that cannot tell the time when a run begins is a wrong argument."""
    harness, store = _world(clock=_Clock(1, then))
    with pytest.raises(InvalidArgumentError, match="monotonic"):
        harness.run("why?")
    assert len(store) == 0


def test_without_an_id_nothing_is_run() -> None:
    """An id source that raises when a run begins is a wrong argument."""
    harness, store = _world(ids=_raising(OSError("full")))
    with pytest.raises(InvalidArgumentError, match="ids") as caught:
        harness.run("why?")
    assert isinstance(caught.value.__cause__, OSError)
    assert len(store) == 0


def test_an_id_that_cannot_be_encoded_is_repaired() -> None:
    """Evidence has ids that a store can encode, whatever the id source gives."""
    harness, _ = _world(ids=lambda: "half \ud83d")
    record = harness.run("why?", run_id="run").record
    assert record.invocations[0].invocation_id == "E-half \ufffd-1"


def test_a_cancel_is_kept_where_the_clock_is_interrupted() -> None:
    """A token cancels its runs even where the clock raises while it is asked when that was."""
    token = CancelToken()
    harness, _ = _world(
        agent=lambda _view: token.cancel("enough"), clock=_Clock(5, _raising(KeyboardInterrupt))
    )
    with pytest.raises(KeyboardInterrupt):
        harness.run("why?", run_id="run", cancel=token)
    record = harness.run_store.load("run")
    assert record is not None
    assert (record.stop_cause and record.stop_cause.name, record.cancel_reason) == (
        "CANCELLED_BY_CALLER",
        "enough",
    )


class _Closing(SyncSeam):
    """A way out that cannot tell a host's interrupt from the end of its own coroutine."""

    is_closing = True  # type: ignore[misc]


class _Gone(SyncSeam):
    """A way out that is gone when the run is over."""

    def utc(self) -> Any:
        if self.now() > 0:
            raise SeamBroken
        return super().utc()


def _driven(harness: Harness, seam: SyncSeam) -> None:
    drive(run_flow(harness._prepare(seam, Request("why?"), "run", None, None, None)))


def test_a_flow_that_is_closed_ends_nothing() -> None:
    """Where nobody is left to await, a run stays open for whoever recovers it."""
    clock = VirtualClock()
    harness, store = _world(clock=clock)
    with pytest.raises(GeneratorExit):
        _driven(harness, _Closing(clock, 0.0, _raising(GeneratorExit), None))
    record = store.load("run")
    assert record is not None
    assert record.run_state.name == "RUNNING"


def test_a_way_out_that_is_gone_ends_nothing() -> None:
    """A durable engine that stops between the last call and the record leaves the run open."""
    clock = VirtualClock()

    def agent(_view: AgentView) -> AgentTurn:
        clock.advance(1)
        return AgentTurn(draft=DiagnosisDraft(None))

    harness, store = _world(agent=agent, clock=clock)
    with pytest.raises(SeamBroken):
        _driven(harness, _Gone(clock, 0.0, counting_ids(), None))
    record = store.load("run")
    assert record is not None
    assert record.run_state.name == "RUNNING"

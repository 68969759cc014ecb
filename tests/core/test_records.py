"""What the harness keeps: immutable, and impossible to build in an illegal state (section 2)."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from itertools import product
from typing import Any

import pytest
from attrs import evolve
from attrs.exceptions import FrozenInstanceError

from harness import (
    AttemptOutcome,
    AttemptRecord,
    Component,
    FailureKind,
    FallbackType,
    PublicContent,
    PublicKind,
    ReleaseOutcome,
    RequestStatus,
    RunRecord,
    RunState,
    StopCause,
    Trace,
    TraceCode,
    TraceEvent,
    UsageKind,
)
from harness._json import freeze
from harness._records import Attempts
from harness.errors import IllegalCombinationError, InvalidArgumentError
from tests.core.doubles import NOON, begun, contract, ended, evidence

LEGAL = contract("legal-states")
SAVED = {(state, outcome) for state, outcome in LEGAL["run_x_release"]}
UNSAVED = {(state, outcome) for state, outcome in LEGAL["run_x_release_if_record_not_saved"]}
STATES = [state for state in RunState.__members__ if state != "RUNNING"]
OUTCOMES = [*ReleaseOutcome.__members__, None]
PAIRS = list(product(STATES, OUTCOMES))

# A cause of each run state.
CAUSE = {
    "SUCCESS": "NO_CONCLUSION",
    "FAILED": "NO_CONCLUSION",
    "CANCELLED": "INTERRUPTED",
    "TIMED_OUT": "DEADLINE_EXCEEDED",
    "BUDGET_EXHAUSTED": "BUDGET_EXHAUSTED",
}

# Section 4, retyped: the run states of each cause. The safe ones fail with nothing to release.
SAFE = (
    "REPORT_APPROVED REPLY_GIVEN MISSING_REQUIRED_CONTEXT NO_CONCLUSION STOP_IGNORED INVALID_DRAFT"
    " EVIDENCE_REJECTED SEMANTIC_UNSUPPORTED SEMANTIC_UNAVAILABLE"
)
STATES_OF = {
    **{cause: {"SUCCESS", "FAILED"} for cause in SAFE.split()},
    "DEADLINE_EXCEEDED": {"TIMED_OUT"},
    "BUDGET_EXHAUSTED": {"BUDGET_EXHAUSTED"},
    "CANCELLED_BY_CALLER": {"CANCELLED"},
    "CLIENT_DISCONNECTED": {"CANCELLED"},
    "INTERRUPTED": {"CANCELLED"},
}

# An outcome that each run state may always have.
OUTCOME = {"SUCCESS": "FAILED", "CANCELLED": "CANCELLED"}


def _build(state: str, outcome: str | None, *, saved: bool, cause: str = "") -> RunRecord:
    return ended(
        RunState[state],
        StopCause[cause or CAUSE[state]],
        None if outcome is None else ReleaseOutcome[outcome],  # type: ignore[arg-type]
        fallback_type=FallbackType.INSUFFICIENT_EVIDENCE if outcome == "FALLBACK" else None,
        record_saved=saved,
    )


# --- run state and release


@pytest.mark.parametrize(("state", "outcome"), PAIRS)
def test_enumeration_of_run_x_release(state: str, outcome: str | None) -> None:
    """A saved record has a legal pair of run state and release; no other can be built."""
    if (state, outcome) in SAVED:
        assert _build(state, outcome, saved=True).run_state.name == state
        return
    with pytest.raises(IllegalCombinationError, match=f"{state} {outcome} cannot occur") as caught:
        _build(state, outcome, saved=True)
    assert len(caught.value.allowed) == len(SAVED)


@pytest.mark.parametrize(("state", "outcome"), PAIRS)
def test_enumeration_of_run_x_release_if_not_saved(state: str, outcome: str | None) -> None:
    """A record that could not be saved may have published a failure in any state."""
    if (state, outcome) in SAVED | UNSAVED:
        assert _build(state, outcome, saved=False).release_outcome is ReleaseOutcome[str(outcome)]
        return
    with pytest.raises(IllegalCombinationError):
        _build(state, outcome, saved=False)


@pytest.mark.parametrize(("cause", "state"), list(product(StopCause.__members__, STATES)))
def test_enumeration_of_causes_and_run_states(cause: str, state: str) -> None:
    """A cause stands with its run state, or with FAILED where a safe one had nothing to release."""
    outcome = OUTCOME.get(state, "FAILED")
    if state in STATES_OF.get(cause, {"FAILED"}):
        assert _build(state, outcome, saved=False, cause=cause).stop_cause is StopCause[cause]
        return
    with pytest.raises(IllegalCombinationError, match=f"^RunState x StopCause: {state} {cause}"):
        _build(state, outcome, saved=False, cause=cause)


@pytest.mark.parametrize(
    "fields",
    [
        {"stop_cause": StopCause.INTERRUPTED},
        {"release_outcome": ReleaseOutcome.FAILED},
        {"fallback_type": FallbackType.INSUFFICIENT_EVIDENCE},
    ],
)
def test_a_running_record(fields: dict[str, Any]) -> None:
    """A run that is under way has neither cause, outcome nor fallback type."""
    with pytest.raises(IllegalCombinationError, match=r"RUNNING .* cannot occur; allowed: RUNNING"):
        begun(**fields)


def test_an_ended_record_has_a_cause() -> None:
    """A run that has ended says why."""
    with pytest.raises(InvalidArgumentError, match=r"^stop_cause is None"):
        ended(cause=None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("outcome", "fallback"),
    [(ReleaseOutcome.FALLBACK, None), (ReleaseOutcome.SUCCESS, FallbackType.SEMANTIC_UNSUPPORTED)],
)
def test_a_type_exactly_with_a_fallback(
    outcome: ReleaseOutcome, fallback: FallbackType | None
) -> None:
    """A fallback has a type, and nothing else has."""
    with pytest.raises(InvalidArgumentError, match=r"^fallback_type is "):
        ended(RunState.SUCCESS, StopCause.NO_CONCLUSION, outcome, fallback_type=fallback)


@pytest.mark.parametrize(
    ("record", "status"),
    [
        (begun(), RequestStatus.RUNNING),
        (_build("SUCCESS", "SUCCESS", saved=True), RequestStatus.SUCCESS),
        (_build("TIMED_OUT", "FALLBACK", saved=True), RequestStatus.SUCCESS),
        (_build("FAILED", "FAILED", saved=True), RequestStatus.FAILED),
        (_build("SUCCESS", "FAILED", saved=False), RequestStatus.FAILED),
        (_build("CANCELLED", "CANCELLED", saved=True), RequestStatus.CANCELLED),
    ],
)
def test_the_request_status(record: RunRecord, status: RequestStatus) -> None:
    """The host's row follows from the release outcome alone."""
    assert record.request_status is status


def test_the_code_of_a_failure() -> None:
    """A published failure has its code; a run without public content has none."""
    failure = PublicContent(kind=PublicKind.FAILURE, code="STORE_UNTRUSTED")
    assert begun().failure_code is None
    assert evolve(begun(), public=failure).failure_code == "STORE_UNTRUSTED"


# --- times


def _begun_with(name: str, time: datetime) -> RunRecord:
    given: dict[str, Any] = {name: time}
    return begun(**given)


@pytest.mark.parametrize(
    "time",
    [datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=1)))],  # noqa: DTZ001
)
@pytest.mark.parametrize("name", ["started_at", "ended_at"])
def test_times_are_utc(name: str, time: datetime) -> None:
    """Wall-clock time is timezone-aware UTC, and nothing else is accepted."""
    with pytest.raises(InvalidArgumentError, match=f"^{name} is .*; allowed: a timezone-aware"):
        _begun_with(name, time)
    utc = datetime(2026, 1, 1, tzinfo=UTC)
    assert getattr(_begun_with(name, utc), name) == utc


# --- sequences that are made when somebody reads them

ROW = evidence("a").invocation
RAW: list[tuple[Any, ...]] = [
    (TraceCode.RUN_STARTED, 0.0, {"run_id": "run"}),
    (TraceCode.ATTEMPT_STARTED, 0.5, Component.TOOL, 1, "logs"),
    (TraceCode.ATTEMPT_STARTED, 0.5, Component.DIAGNOSIS_AGENT, 1),
    (TraceCode.RECORD_SAVED, 1.0, ROW, 3),
    (TraceCode.EVIDENCE_CHECKED, 1.5, {"violations": ["UNCITED"], "count": 1}),
    (TraceCode.RUN_ENDED, 2.0, {"cause": StopCause.INTERRUPTED}),
    (TraceCode.RUN_SAVED, 2.5, {}),
]
SHOWN = [
    {"run_id": "run"},
    {"component": "TOOL", "number": 1, "tool": "logs"},
    {"component": "DIAGNOSIS_AGENT", "number": 1},
    {"invocation": "E-run-1", "tool": "logs", "status": "READY", "code": None, "facts": 3},
    {"violations": ("UNCITED",), "count": 1},
    {"cause": "INTERRUPTED"},
    {},
]


def test_a_trace() -> None:
    """A trace gives its events in order, numbered from 1, with members by name."""
    trace = Trace(RAW)
    assert [event.detail for event in trace] == SHOWN
    assert [event.sequence for event in trace] == [1, 2, 3, 4, 5, 6, 7]
    assert [event.at for event in trace] == [0.0, 0.5, 0.5, 1.0, 1.5, 2.0, 2.5]
    assert trace.codes == tuple(event.code for event in trace)
    assert len(trace) == 7


def test_a_trace_is_a_sequence() -> None:
    """Events are found by place and slice, keep their numbers, and compare as values."""
    trace = Trace(RAW)
    assert trace[-1] == trace[6] == TraceEvent(7, TraceCode.RUN_SAVED, 2.5, freeze({}))
    assert [event.sequence for event in trace[2:4]] == [3, 4]
    assert trace[:] == tuple(trace)
    assert trace[1] in trace
    with pytest.raises(IndexError):
        _ = trace[7]


def test_traces_are_values() -> None:
    """Two traces of the same events are equal, however they were noted, and hash alike."""
    trace = Trace(RAW)
    again = Trace([(event.code, event.at, event.detail) for event in trace])
    assert trace == again == tuple(trace)
    assert hash(trace) == hash(again)
    assert trace != Trace(RAW[:-1])
    assert trace != list(trace)
    assert pickle.loads(pickle.dumps(trace)) == trace  # noqa: S301


def test_a_trace_cannot_be_changed() -> None:
    """Nothing that a trace hands out alters it, nor does what it was noted from."""
    raw = [(TraceCode.EVIDENCE_CHECKED, 1.5, {"violations": ["UNCITED"]})]
    trace = Trace(raw)
    raw.clear()
    with pytest.raises(TypeError):
        trace[0].detail["count"] = 2
    with pytest.raises(FrozenInstanceError):
        trace[0].at = 0.0  # type: ignore[misc]
    assert trace[0].detail == {"violations": ("UNCITED",)}


ATTEMPT = AttemptRecord(
    component=Component.INTENT_ROUTER,
    number=2,
    outcome=AttemptOutcome.FAILED,
    failure=FailureKind.TIMEOUT,
    began=1.0,
    seconds=0.5,
    late=True,
    usage=UsageKind.REPORTED,
    tokens=7,
    cost=Decimal("0.1"),
)


def _attempts(times: int = 1) -> Attempts:
    return Attempts(
        [
            (
                Component.INTENT_ROUTER,
                2,
                AttemptOutcome.FAILED,
                FailureKind.TIMEOUT,
                1.0,
                1.5,
                True,
                UsageKind.REPORTED,
                7,
                Decimal("0.1"),
            )
        ]
        * times
    )


def test_attempts() -> None:
    """Attempts are read as records, in order."""
    assert list(_attempts()) == [ATTEMPT]
    assert _attempts(2).components == (Component.INTENT_ROUTER,) * 2
    assert _attempts(2) == (ATTEMPT, ATTEMPT)
    assert repr(_attempts()) == f"Attempts([{ATTEMPT!r}])"
    assert Attempts() == Trace() == ()


# --- all of them


def _records() -> Iterable[Any]:
    yield from (ROW, evidence("a"), ATTEMPT, begun(), ended(trace=Trace(RAW), ended_at=NOON))


@pytest.mark.parametrize("record", list(_records()), ids=lambda record: type(record).__name__)
def test_records_are_values(record: Any) -> None:
    """Every record is immutable and survives pickling."""
    assert pickle.loads(pickle.dumps(record)) == record  # noqa: S301
    with pytest.raises(FrozenInstanceError):
        setattr(record, record.__attrs_attrs__[0].name, 1)

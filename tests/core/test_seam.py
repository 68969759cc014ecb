"""The way out of the flow: answers, classification, attempts, time (sections 3.1 to 3.3)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from harness import Attempt, Component, FailureKind, StopCause, SystemClock, Usage
from harness._budget import judge_usage
from harness._lifecycle import Lifecycle
from harness._seam import Answer, Failure, classify
from harness._sync import OneByOne, SyncSeam, drive
from harness.errors import (
    InvalidArgumentError,
    MalformedOutputError,
    ProviderError,
    RateLimitedError,
    TransportError,
)
from harness.testing import VirtualClock

REJECTED, TIMEOUT = FailureKind.REJECTED, FailureKind.TIMEOUT


class ReadTimeout(Exception):  # noqa: N818  named as client libraries do
    """A client library's own error."""


class ForgetfulError(ProviderError):
    """A host's error whose constructor forgot its base."""

    def __init__(self) -> None:
        pass


class ForgetfulTimeoutError(ForgetfulError):
    """The same, with a kind of its class."""

    default_kind = TIMEOUT


class Unspeakable(Exception):  # noqa: N818  it is no error of ours
    """An error without a text."""

    def __str__(self) -> str:
        message = "no"
        raise RuntimeError(message)


# --- classification

KINDS = [
    (TimeoutError("connection reset"), "TIMEOUT"),
    (ConnectionError("timed out"), "TRANSPORT"),
    (ConnectionResetError("429"), "TRANSPORT"),
    (OSError("timeout"), "UNCLASSIFIED"),
    (ValueError("timeout 429 connection reset"), "UNCLASSIFIED"),
    (MemoryError(), "UNCLASSIFIED"),
    (RecursionError(), "UNCLASSIFIED"),
    (StopIteration(), "UNCLASSIFIED"),
    (StopAsyncIteration(), "UNCLASSIFIED"),
    (TimeoutError(), "TIMEOUT"),
    (TransportError("x"), "TRANSPORT"),
    (RateLimitedError("x", kind=REJECTED), "REJECTED"),
    (ProviderError("timeout"), "UNCLASSIFIED"),
    (ProviderError("x", kind="TIMEOUT"), "UNCLASSIFIED"),  # type: ignore[arg-type]
    (MalformedOutputError("x", 1, "y"), "INVALID_OUTPUT"),
    (ForgetfulError(), "UNCLASSIFIED"),
    (ForgetfulTimeoutError(), "TIMEOUT"),
]


@pytest.mark.parametrize(("error", "kind"), KINDS, ids=repr)
def test_the_kind_comes_from_the_type(error: Exception, kind: str) -> None:
    """An exception is classified by its type, never by its text."""
    failure = classify(error)
    assert (failure.kind.name, failure.error) == (kind, type(error).__name__)


def _broken(_error: BaseException) -> FailureKind:
    raise ReadTimeout


@pytest.mark.parametrize(
    ("classifier", "kind"),
    [
        (lambda error: TIMEOUT if type(error) is ReadTimeout else None, "TIMEOUT"),
        (lambda _error: None, "UNCLASSIFIED"),
        (lambda _error: "TIMEOUT", "UNCLASSIFIED"),
        (_broken, "UNCLASSIFIED"),
        (None, "UNCLASSIFIED"),
    ],
)
def test_a_classifier(classifier: Any, kind: str) -> None:
    """An installed classifier maps a client library's types; a broken one knows nothing."""
    assert classify(ReadTimeout(), classifier).kind.name == kind


@pytest.mark.parametrize(
    ("error", "kind"), [(TimeoutError(), "REJECTED"), (TransportError(), "TRANSPORT")]
)
def test_whom_a_classifier_overrules(error: Exception, kind: str) -> None:
    """A classifier counts before the builtin types, and not before the library's own errors."""
    assert classify(error, lambda _error: REJECTED).kind.name == kind


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        (None, None),
        (0, 0.0),
        (3, 3.0),
        (2.5, 2.5),
        (-1, None),
        (True, None),
        ("5", None),
        (float("nan"), None),
        (float("inf"), float("inf")),
        (10**400, float("inf")),
        (10**12, float("inf")),
    ],
)
def test_how_long_a_provider_asks_to_wait(given: Any, seconds: float | None) -> None:
    """A wait is a number of seconds; nonsense is no wait, and ages are for ever."""
    assert classify(RateLimitedError(retry_after=given)).retry_after == seconds
    assert classify(ValueError()).retry_after is None


def test_what_a_failure_carries() -> None:
    """A failure has a bounded and repaired text for the trace, and the usage of its error."""
    failure = classify(TransportError("\ud800" + "x" * 900, usage=Usage(1)))
    assert failure.detail.startswith("TRANSPORT: \ufffdxx")
    assert len(failure.detail) == 500
    assert failure.usage == Usage(1)
    assert classify(Unspeakable()) == Failure(FailureKind.UNCLASSIFIED, "Unspeakable")


# --- attempts


def _attempt(deadline: float | None = None, at: float = 0.0) -> tuple[Attempt, Lifecycle]:
    life = Lifecycle(deadline)
    return Attempt(Component.DIAGNOSIS_AGENT, 3, life, lambda: at), life


REPORTS: list[tuple[list[Any], Any]] = [
    ([], None),
    ([Usage(3, 4)], (7, "0")),
    ([Usage(1, 1, Decimal("0.1")), Usage(2, 2, 0.2), Usage(3, None, 1)], (9, "1.3")),
    ([Usage(5), None], (5, "0")),
    ([None, Usage(5)], (5, "0")),
    ([Usage(), Usage()], (0, "0")),
    ([Usage(input_tokens=True), Usage(5)], "invalid"),
    ([Usage(-50), Usage(100)], "invalid"),
    ([Usage(5), Usage("")], "invalid"),
    ([Usage(5), Usage(cost=float("nan")), Usage(5)], "invalid"),
    (["12", Usage(5)], "invalid"),
    ([Usage(5), {"input_tokens": 5}], "invalid"),
]


@pytest.mark.parametrize(("reports", "expected"), REPORTS)
def test_reports_add_up(reports: list[Any], expected: Any) -> None:
    """Several reports of one attempt add up; one that is unusable makes them all so."""
    attempt, _ = _attempt()
    for usage in reports:
        attempt.report(usage)
    kind, tokens, cost = judge_usage(attempt.reported)
    names = {"UNKNOWN": None, "INVALID": "invalid", "REPORTED": (tokens, str(cost))}
    assert names[kind.name] == expected


def test_what_an_attempt_says() -> None:
    """An attempt says who is asked, how long it may take, and whether it is still wanted."""
    attempt, life = _attempt(10.0, at=4.0)
    assert (attempt.component, attempt.number) == (Component.DIAGNOSIS_AGENT, 3)
    assert (attempt.is_cancelled, attempt.seconds_left()) == (False, 6.0)
    life.stop(StopCause.CANCELLED_BY_CALLER, 4.0)
    assert attempt.is_cancelled


@pytest.mark.parametrize(("deadline", "left"), [(None, None), (10.0, 0.0), (12.5, 0.5)])
def test_the_seconds_left(deadline: float | None, left: float | None) -> None:
    """The seconds left are never below zero, and None without a deadline."""
    attempt, _ = _attempt(deadline, at=12.0)
    assert attempt.seconds_left() == left
    assert attempt.is_cancelled is (deadline == 10.0)


# --- the synchronous seam


def _seam(clock: Any = None, classifier: Any = None) -> SyncSeam:
    clock = clock or VirtualClock()
    return SyncSeam(clock, clock.monotonic(), lambda: "id", classifier)


def _drive(coroutine: Any) -> Any:
    return drive(coroutine)


def _call(seam: SyncSeam, function: Callable[..., Any], *arguments: Any) -> Answer:
    answer: Answer = _drive(seam.call("TOOL", function, *arguments))
    return answer


def _raise(error: BaseException) -> Any:
    raise error


def test_a_value() -> None:
    """A plain function's value comes back with the instant at which it returned."""
    clock = VirtualClock()

    def slow(milliseconds: int) -> str:
        clock.advance(milliseconds)
        return "x"

    answer = _call(_seam(clock), slow, 500)
    assert (answer.value, answer.ended, answer.is_ok) == ("x", 0.5, True)
    assert (answer.failure, answer.interrupt, answer.error) == (None, None, None)


def test_a_failure() -> None:
    """An exception comes back classified, together with itself."""
    error = ReadTimeout("slow")
    answer = _call(_seam(classifier=lambda _error: TIMEOUT), _raise, error)
    assert answer.failure == Failure(TIMEOUT, "ReadTimeout", "slow")
    assert (answer.is_ok, answer.value, answer.error) == (False, None, error)


@pytest.mark.parametrize(
    "interrupt", [KeyboardInterrupt(), SystemExit(3), GeneratorExit(), asyncio.CancelledError()]
)
def test_an_interrupt(interrupt: BaseException) -> None:
    """An exception that is no Exception comes back as it is, and is never swallowed."""
    answer = _call(_seam(), _raise, interrupt)
    assert answer.interrupt is interrupt
    assert (answer.is_ok, answer.failure) == (False, None)


async def _coroutine() -> str:
    return "x"


class Awaitable_:  # noqa: N801  the name of the protocol, and not it
    """An awaitable that is no coroutine."""

    def __await__(self) -> Any:
        yield


@pytest.mark.parametrize("make", [_coroutine, Awaitable_])
def test_an_awaitable_is_refused(make: Callable[[], Any]) -> None:
    """A host that hands back an awaitable is told which driver to use, and nothing is left over."""
    failure = _call(_seam(), make).failure
    assert failure is not None
    assert (failure.kind, failure.error) == (FailureKind.INVALID_OUTPUT, "AwaitableResultError")
    assert f"{make.__qualname__} is asynchronous; " in failure.detail
    assert "use AsyncHarness" in failure.detail


def test_a_value_that_answers_nothing() -> None:
    """A value whose attributes raise is a value like any other."""

    class Proxy:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError(name)

    assert _call(_seam(), Proxy).is_ok


def test_ids_and_times() -> None:
    """Ids come from the source, times from the clock."""
    clock = VirtualClock()
    seam = _seam(clock)
    clock.advance(1500)
    assert (seam.new_id(), seam.now()) == ("id", 1.5)
    assert seam.utc() == clock.utc()


def test_a_wait_is_the_clocks() -> None:
    """A wait is the clock's, and ends at once when the run ends."""
    clock, life = VirtualClock(), Lifecycle(None)
    seam = _seam(clock)
    _drive(seam.wait(2.5, life))
    assert seam.now() == 2.5
    life.stop(StopCause.CANCELLED_BY_CALLER, 2.5)
    _drive(seam.wait(100.0, life))
    assert seam.now() == 2.5


def test_time_that_passed_elsewhere() -> None:
    """A run that another process began goes on with the time that had passed there."""
    clock = VirtualClock()
    seam = _seam(clock)
    seam.count_from(2.5)
    clock.advance(1000)
    assert seam.now() == 3.5


def test_steps_run_one_by_one() -> None:
    """A batch runs in order, each step when it is asked for, and what was not started is left."""
    made: list[int] = []

    def step(number: int) -> Callable[[], Awaitable[int]]:
        async def run() -> int:
            made.append(number)
            return number * 10

        return run

    batch: OneByOne[int] = _seam().start([step(1), step(2), step(3)])
    assert [_drive(batch.next()) for _ in range(2)] == [(0, 10), (1, 20)]
    assert made == [1, 2]
    assert _drive(batch.next()) == (2, 30)
    assert _drive(batch.next()) is None
    assert _drive(batch.close()) == ()


def test_the_flow_never_suspends() -> None:
    """A coroutine that suspends under the synchronous driver is a programming error."""

    async def suspends() -> None:
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="suspended under the synchronous driver"):
        _drive(suspends())


# --- clocks that misbehave


class Clock:
    """A clock that gives what it is told, one reading after another; an exception is raised."""

    def __init__(self, *readings: Any, utc: tuple[Any, ...] = ()) -> None:
        self._readings = [0.0, *readings]
        self._utc = list(utc)

    def monotonic(self) -> Any:
        return self._next(self._readings)

    def utc(self) -> Any:
        return self._next(self._utc)

    def wait(self, seconds: float, wake: object) -> None: ...

    @staticmethod
    def _next(readings: list[Any]) -> Any:
        reading = readings.pop(0)
        return _raise(reading) if isinstance(reading, Exception) else reading


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        ((1.0, 0.5, 2.0), [1.0, 1.0, 2.0]),
        ((1.0, float("nan"), 2.0), [1.0, 1.0, 2.0]),
        ((-5.0, 0.0, 1.0), [0.0, 0.0, 1.0]),
    ],
)
def test_time_never_runs_backwards(readings: tuple[float, ...], expected: list[float]) -> None:
    """Whatever the host's clock does, a run's time stands still or goes on."""
    seam = _seam(Clock(*readings))
    assert [seam.now() for _ in readings] == expected
    seam = _seam(Clock(*readings))
    assert [_call(seam, lambda: None).ended for _ in readings] == expected


@pytest.mark.parametrize(
    ("function", "succeeds"),
    [(lambda: "x", True), (lambda: _raise(ValueError("y")), False), (_coroutine, False)],
)
def test_a_broken_clock_loses_no_answer(function: Callable[[], Any], succeeds: bool) -> None:
    """An answer whose instant cannot be read has the last one; the next active check tells."""
    seam = _seam(Clock(1.0, OSError("clock"), OSError("clock")))
    seam.now()
    answer = _call(seam, function)
    assert (answer.ended, answer.is_ok) == (1.0, succeeds)
    with pytest.raises(OSError, match="clock"):
        seam.now()


GOOD = datetime(2026, 1, 1, tzinfo=UTC)
TOKYO = datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=9)))


@pytest.mark.parametrize("bad", [OSError("clock"), GOOD.replace(tzinfo=None), TOKYO, None, "now"])
def test_a_broken_wall_clock(bad: Any) -> None:
    """A wall clock that breaks keeps its last good time; one that never worked is refused."""
    seam = _seam(Clock(utc=(GOOD, bad)))
    assert (seam.utc(), seam.utc()) == (GOOD, GOOD)
    with pytest.raises(InvalidArgumentError, match=r"^clock\.utc\(\) is "):
        _seam(Clock(utc=(bad,))).utc()


def test_the_machines_clock() -> None:
    """The machine's clock goes on, gives UTC, and does not wait for a run that has ended."""
    clock, life = SystemClock(), Lifecycle(None)
    life.stop(StopCause.CANCELLED_BY_CALLER, 0.0)
    before = clock.monotonic()
    clock.wait(3600.0, life.wake())
    assert before <= clock.monotonic() < before + 60
    assert clock.utc().utcoffset() == timedelta(0)

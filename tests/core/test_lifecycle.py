"""The first terminal signal wins, whatever the order in which threads get through (section 3.1)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations, product
from threading import Barrier, Lock, Thread
from typing import Any

import pytest

from harness import RunState, StopCause
from harness._lifecycle import Lifecycle, Stop, next_run_state
from harness.errors import IllegalTransitionError
from tests.core.doubles import contract

CANCEL = StopCause.CANCELLED_BY_CALLER
GONE = StopCause.CLIENT_DISCONNECTED
DONE = StopCause.REPORT_APPROVED
TIMEOUT = StopCause.DEADLINE_EXCEEDED

TRANSITIONS = {(come, to) for come, to in contract("legal-states")["run_transitions"]}

# A time-out itself, and a run that could not be opened.
KEPT = [TIMEOUT, StopCause.RECORD_NOT_SAVED]

# Signals that reach a run with a deadline of 10: cause, instant.
SIGNALS = [(DONE, 4.0), (CANCEL, 5.0), (GONE, 6.0), (TIMEOUT, 10.0)]


class Interleaved:
    """
    A lock that lets another thread through first.

    What the other thread does runs where a real one could get in: between the moment at which
    this thread decides to enter the critical section and the moment at which it is inside.
    """

    def __init__(self, other: Callable[[], Any]) -> None:
        self._other: Callable[[], Any] | None = other

    def __enter__(self) -> None:
        other, self._other = self._other, None
        if other is not None:
            other()

    def __exit__(self, *_error: object) -> None:
        return None


def _interleave(life: Lifecycle, other: Callable[[], Any]) -> None:
    """Let another thread through the next critical section first."""
    life._lock = Interleaved(other)  # type: ignore[assignment]


@pytest.mark.parametrize(("come", "to"), list(product(RunState.__members__, repeat=2)))
def test_enumeration_of_run_transitions(come: str, to: str) -> None:
    """Each transition of the contract can be made, and no other; the error says what is allowed."""
    state, target = RunState[come], RunState[to]
    if (come, to) in TRANSITIONS:
        assert next_run_state(state, target) is target
        return
    with pytest.raises(IllegalTransitionError, match=f"RunState: {come} -> {to} cannot") as caught:
        next_run_state(state, target)
    allowed = tuple(RunState[b] for a, b in sorted(TRANSITIONS) if a == come)
    assert caught.value.args == ("RunState", state, target, allowed)


@pytest.mark.parametrize("cause", StopCause)
def test_a_stop(cause: StopCause) -> None:
    """The first signal wins, with its instant and what the caller said."""
    life = Lifecycle(None)
    assert life.stopped is None
    assert life.stop(cause, 3.0, "because")
    assert life.stopped == Stop(cause, 3.0, "because")
    assert life.late == []


@pytest.mark.parametrize("order", list(permutations(SIGNALS)))
def test_enumeration_of_orders_of_signals(order: tuple[tuple[StopCause, float], ...]) -> None:
    """In every order exactly one signal wins, the first; the others are kept as late, in order."""
    life = Lifecycle(10.0)
    won = [life.stop(cause, at) for cause, at in order]
    assert won == [True, False, False, False]
    assert life.stopped == Stop(*order[0])
    assert life.late == [Stop(*signal) for signal in order[1:]]


@pytest.mark.parametrize("first", StopCause)
@pytest.mark.parametrize("second", StopCause)
def test_enumeration_of_pairs_of_causes(first: StopCause, second: StopCause) -> None:
    """A terminal state is never overwritten, whatever comes behind it."""
    life = Lifecycle(None)
    assert life.stop(first, 1.0)
    assert not life.stop(second, 2.0)
    assert life.stopped == Stop(first, 1.0)
    assert life.late == [Stop(second, 2.0)]


@pytest.mark.parametrize("cause", [cause for cause in StopCause if cause not in KEPT])
@pytest.mark.parametrize("at", [10.0, 11.5])
def test_a_stop_at_the_deadline_is_a_time_out(cause: StopCause, at: float) -> None:
    """Whatever stops a run at or after its deadline comes too late, even where nobody noticed."""
    life = Lifecycle(10.0)
    assert not life.stop(cause, at, "why")
    assert life.stopped == Stop(TIMEOUT, at)
    assert life.late == [Stop(cause, at, "why")]


@pytest.mark.parametrize("cause", KEPT)
def test_what_is_no_time_out(cause: StopCause) -> None:
    """A time-out itself, and a run that could not be opened, keep their cause."""
    life = Lifecycle(10.0)
    assert life.stop(cause, 12.0)
    assert life.stopped == Stop(cause, 12.0)


@pytest.mark.parametrize(
    ("deadline", "now", "expired"),
    [
        (10.0, 9.999, False),
        (10.0, 10.0, True),
        (10.0, 11.0, True),
        (0.0, 0.0, True),
        (None, 1000000000.0, False),
    ],
)
def test_expired(deadline: float | None, now: float, expired: bool) -> None:
    """The deadline has passed at ``now >= deadline``, and the active check notices it."""
    life = Lifecycle(deadline)
    assert life.is_expired(now) is expired
    assert life.check(now) == (Stop(TIMEOUT, now) if expired else None)


def test_a_check_after_the_end() -> None:
    """The active check gives the signal that won, and adds no late one of its own."""
    life = Lifecycle(10.0)
    life.stop(CANCEL, 5.0)
    assert life.check(11.0) == Stop(CANCEL, 5.0)
    assert life.late == []


@pytest.mark.parametrize("cause", [DONE, GONE, TIMEOUT])
def test_a_cancel_overtakes_a_stop(cause: StopCause) -> None:
    """A cancel that gets into the critical section first wins over a stop under way."""
    life = Lifecycle(10.0)
    _interleave(life, lambda: life.stop(CANCEL, 5.0))
    assert not life.stop(cause, 10.0)
    assert life.stopped == Stop(CANCEL, 5.0)
    assert [late.cause for late in life.late] == [cause]


def test_a_cancel_overtakes_a_check() -> None:
    """The check gives the winner of a race, though it had seen the run active before."""
    life = Lifecycle(10.0)
    _interleave(life, lambda: life.stop(CANCEL, 9.9))
    assert life.check(10.0) == Stop(CANCEL, 9.9)
    assert [late.cause for late in life.late] == [TIMEOUT]


def test_a_wait_is_woken() -> None:
    """The wake event is set at the end, once, for whoever holds it."""
    life = Lifecycle(None)
    wake = life.wake()
    assert life.wake() is wake
    assert not wake.is_set()
    life.stop(CANCEL, 1.0)
    assert wake.is_set()


def test_a_wait_after_the_end() -> None:
    """A wait that begins after the end ends at once."""
    life = Lifecycle(None)
    life.stop(CANCEL, 1.0)
    assert life.wake().is_set()


def test_a_stop_overtakes_a_wait() -> None:
    """A wait whose run ends while it is set up ends at once too."""
    life = Lifecycle(None)
    _interleave(life, lambda: life.stop(CANCEL, 1.0))
    assert life.wake().is_set()


def test_threads() -> None:
    """Of signals that threads give at once exactly one wins, and all others are late."""
    life, barrier, lock, won = Lifecycle(None), Barrier(16), Lock(), []

    def signal(number: int) -> None:
        barrier.wait()
        if life.stop(CANCEL, float(number)):
            with lock:
                won.append(float(number))

    threads = [Thread(target=signal, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [life.stopped] == [Stop(CANCEL, at) for at in won]
    assert len(life.late) == 15

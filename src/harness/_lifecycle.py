"""
The first terminal signal wins (section 3.1).

1. One compare-and-set decides; it may be called from any thread.
2. The earlier instant wins: whatever stops a run at or after its deadline is a time-out.
3. Later signals change nothing; they are kept and end up in the trace.
"""

from __future__ import annotations

from math import inf
from threading import Event, Lock
from typing import Final

from attrs import frozen

from harness._states import RunState, StopCause
from harness._tables import RUN_TRANSITIONS
from harness.errors import IllegalTransitionError

__all__ = ["Lifecycle", "Stop", "next_run_state"]

#: A time-out itself, and the failure to open the run: no deadline can have come before that.
_NOT_TIMED_OUT: Final = frozenset({StopCause.DEADLINE_EXCEEDED, StopCause.RECORD_NOT_SAVED})


@frozen
class Stop:
    """
    A terminal signal.

    Attributes:
        cause: Why.
        at: The instant on the run's monotonic clock.
        reason: What the caller said.
    """

    cause: StopCause
    at: float
    reason: str | None = None


def next_run_state(state: RunState, target: RunState) -> RunState:
    """
    Make a transition of a run's state; a run store makes it where a run is finished.

    Raises:
        IllegalTransitionError: The table does not have it.
    """
    if (state, target) not in RUN_TRANSITIONS:
        allowed = tuple(to for come, to in sorted(RUN_TRANSITIONS, key=str) if come is state)
        raise IllegalTransitionError("RunState", state, target, allowed)
    return target


class Lifecycle:
    """
    The one place where a run's end is claimed.

    Args:
        deadline: The instant on the run's monotonic clock, or ``None``.
    """

    __slots__ = ("_lock", "_wake", "deadline", "expires", "late", "stopped")

    def __init__(self, deadline: float | None) -> None:
        self._lock = Lock()
        self._wake: Event | None = None
        self.deadline = deadline
        #: The deadline as a number: never, where there is none.
        self.expires = inf if deadline is None else deadline
        #: The signal that won, or ``None`` while the run is active.
        self.stopped: Stop | None = None
        #: Signals that lost, in order.
        self.late: list[Stop] = []

    def is_expired(self, now: float) -> bool:
        """
        Whether the deadline has passed: ``now >= deadline``.
        """
        return now >= self.expires

    def stop(self, cause: StopCause, at: float, reason: str | None = None) -> bool:
        """
        Claim the run's end.

        Args:
            cause: Why.
            at: The instant.
            reason: What the caller said.

        Returns:
            Whether this very signal won.
        """
        signal = Stop(cause, at, reason)
        with self._lock:
            if self.stopped is not None:
                self.late.append(signal)
                return False
            if self.is_expired(at) and cause not in _NOT_TIMED_OUT:
                self.stopped = Stop(StopCause.DEADLINE_EXCEEDED, at)
                self.late.append(signal)
            else:
                self.stopped = signal
            if self._wake is not None:
                self._wake.set()
            return self.stopped is signal

    def check(self, now: float) -> Stop | None:
        """
        Make the active check at an instant: the signal that ended the run, or ``None``.
        """
        if self.stopped is None and now >= self.expires:
            self.stop(StopCause.DEADLINE_EXCEEDED, now)
        return self.stopped

    def wake(self) -> Event:
        """
        Give an event that is set once the run has ended; for a wait to end at once.
        """
        with self._lock:
            if self._wake is None:
                self._wake = Event()
            if self.stopped is not None:
                self._wake.set()
            return self._wake

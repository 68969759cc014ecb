"""A clock that moves only when it is told to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from threading import Event, Lock

from harness.errors import InvalidArgumentError

__all__ = ["VirtualClock"]

_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class VirtualClock:
    """
    Virtual time in whole milliseconds: starts at 0 and moves only by :meth:`advance`.

    Waits take no real time; they advance the clock, unless the run has ended.

    Args:
        start: The wall-clock time at 0.
    """

    def __init__(self, start: datetime = _EPOCH) -> None:
        given: object = start
        if not isinstance(given, datetime) or given.utcoffset() != timedelta(0):
            raise InvalidArgumentError("start", start, "a timezone-aware time in UTC")
        self._start = start
        self._step = timedelta(0)
        self._milliseconds = 0.0
        self._lock = Lock()

    def advance(self, milliseconds: float) -> None:
        """
        Let time pass.

        Args:
            milliseconds: How long; not negative.
        """
        if not milliseconds >= 0:
            raise InvalidArgumentError("milliseconds", milliseconds, "a number, not negative")
        with self._lock:
            self._milliseconds += milliseconds

    def step_wall_clock(self, seconds: float) -> None:
        """
        Step the wall clock alone, as an operator or a leap second does.

        Args:
            seconds: How far; negative steps back.
        """
        self._step += timedelta(seconds=seconds)

    def monotonic(self) -> float:
        """
        Seconds that were let pass.
        """
        return self._milliseconds / 1000

    def utc(self) -> datetime:
        """
        The wall clock.
        """
        return self._start + self._step + timedelta(milliseconds=self._milliseconds)

    def wait(self, seconds: float, wake: Event) -> None:
        """
        Let a wait pass at once.

        Args:
            seconds: How long.
            wake: Set when the run ended.
        """
        if not wake.is_set():
            self.advance(seconds * 1000)

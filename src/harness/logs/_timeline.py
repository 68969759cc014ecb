"""
How many lines fell into which stretch of time, in memory that does not grow with the time.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from attrs import frozen

__all__ = ["Peak", "Timeline", "duration_name"]

_ORIGIN: Final = datetime(1, 1, 1, tzinfo=UTC)

# Stretches that people think in; each is a multiple of the one before, so that they can be merged.
_WIDTHS: Final = (
    timedelta(seconds=1),
    timedelta(seconds=10),
    timedelta(minutes=1),
    timedelta(minutes=10),
    timedelta(hours=1),
    timedelta(hours=6),
    timedelta(days=1),
    timedelta(days=10),
    timedelta(days=100),
    timedelta(days=1000),
    timedelta(days=100_000),
)
_UNITS: Final = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


def duration_name(length: timedelta) -> str:
    """
    Name a length of time in its largest unit.

    Args:
        length: A whole number of seconds.

    Returns:
        Such as ``10 minutes`` or ``1 day``.
    """
    seconds = int(length.total_seconds())
    unit, size = next((unit, size) for unit, size in _UNITS if seconds % size == 0)
    return f"{seconds // size} {unit}" + ("s" if seconds != size else "")


@frozen
class Peak:
    """
    The stretch of time with the most lines.

    Attributes:
        count: How many lines.
        line: The number of the first of them.
        begin: When it begins.
        width: How long it is.
    """

    count: int
    line: int
    begin: datetime
    width: timedelta

    @property
    def rate(self) -> float:
        """
        Lines per second.
        """
        return self.count / self.width.total_seconds()

    @property
    def end(self) -> datetime:
        """
        Its last second.
        """
        try:
            return self.begin + (self.width - timedelta(seconds=1))
        except OverflowError:
            return datetime.max.replace(tzinfo=UTC)


class Timeline:
    """
    Counts lines per stretch of time; the stretches become longer when there are too many.

    Args:
        most: The most stretches that are kept.
    """

    __slots__ = ("_bins", "_most", "_step")

    def __init__(self, most: int) -> None:
        # Stretch -> how many lines, and the number of the first.
        self._bins: dict[int, tuple[int, int]] = {}
        self._most = most
        self._step = 0

    def add(self, instant: datetime, line: int) -> None:
        """
        Count a line.

        Args:
            instant: When; in any order.
            line: Its number.
        """
        index = (instant - _ORIGIN) // _WIDTHS[self._step]
        count, first = self._bins.get(index, (0, line))
        self._bins[index] = (count + 1, first)
        while len(self._bins) > self._most and self._step < len(_WIDTHS) - 1:
            self._widen()

    def _widen(self) -> None:
        factor = _WIDTHS[self._step + 1] // _WIDTHS[self._step]
        merged: dict[int, tuple[int, int]] = {}
        for index, (count, line) in self._bins.items():
            before, first = merged.get(index // factor, (0, line))
            merged[index // factor] = (before + count, min(first, line))
        self._bins = merged
        self._step += 1

    def peak(self) -> Peak | None:
        """
        Find the stretch with the most lines, the earliest of several.

        Returns:
            The stretch, or ``None`` where no line was counted.
        """
        if not self._bins:
            return None
        index = min(self._bins, key=lambda one: (-self._bins[one][0], one))
        width = _WIDTHS[self._step]
        count, line = self._bins[index]
        return Peak(count, line, _ORIGIN + index * width, width)

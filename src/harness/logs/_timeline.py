"""
How many lines fell into which stretch of time, in memory that does not grow with the time.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from attrs import evolve, frozen

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
# A peak holds at least one of so many lines.
_GOOD_PART: Final = 10
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
        begin: When the earliest of them came.
        end: When the latest came.
        width: How long the stretch is.
    """

    count: int
    line: int
    begin: datetime
    end: datetime
    width: timedelta

    @property
    def rate(self) -> float:
        """
        Lines per second.
        """
        return self.count / self.width.total_seconds()

    def joined(self, other: Peak, width: timedelta) -> Peak:
        """
        Put two neighbouring stretches together.

        Args:
            other: The other one.
            width: How long both are together.

        Returns:
            The stretch that holds the lines of both.
        """
        return Peak(
            self.count + other.count,
            min(self.line, other.line),
            min(self.begin, other.begin),
            max(self.end, other.end),
            width,
        )


class Timeline:
    """
    Counts lines per stretch of time; the stretches become longer when there are too many.

    Args:
        most: The most stretches that are kept.
    """

    __slots__ = ("_bins", "_most", "_step")

    def __init__(self, most: int) -> None:
        self._bins: dict[int, Peak] = {}
        self._most = most
        self._step = 0

    def add(self, instant: datetime, line: int) -> None:
        """
        Count a line.

        Args:
            instant: When; in any order.
            line: Its number.
        """
        _put(self._bins, Peak(1, line, instant, instant, _WIDTHS[self._step]))
        while len(self._bins) > self._most and self._step < len(_WIDTHS) - 1:
            self._step += 1
            self._bins = _merged(self._bins, _WIDTHS[self._step])

    def peak(self) -> Peak | None:
        """
        Find the stretch with the most lines, the earliest of several.

        It is the shortest that holds a good part of the lines: one line in one second is no peak.

        Returns:
            The stretch, or ``None`` where no line was counted.
        """
        bins, total = self._bins, sum(stretch.count for stretch in self._bins.values())
        found = _fullest(bins)
        for width in _WIDTHS[self._step + 1 :]:
            if found is None or (found.count > 1 and found.count * _GOOD_PART >= total):
                break
            bins = _merged(bins, width)
            found = _fullest(bins)
        return found


def _fullest(bins: dict[int, Peak]) -> Peak | None:
    return min(bins.values(), key=lambda one: (-one.count, one.begin), default=None)


def _merged(bins: dict[int, Peak], width: timedelta) -> dict[int, Peak]:
    merged: dict[int, Peak] = {}
    for stretch in bins.values():
        _put(merged, evolve(stretch, width=width))
    return merged


def _put(bins: dict[int, Peak], stretch: Peak) -> None:
    index = (stretch.begin - _ORIGIN) // stretch.width
    there = bins.get(index)
    bins[index] = there.joined(stretch, stretch.width) if there else stretch

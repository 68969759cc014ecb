"""
The view of a query that counts: by level, from when to when, and when most of what is wrong came.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from harness._values import Fact
from harness.logs._levels import Level
from harness.logs._severity import FAILURE, severity_of
from harness.logs._timeline import Timeline
from harness.logs._wording import at_level, busiest, lines, stamped

if TYPE_CHECKING:
    from datetime import tzinfo

    from harness.logs._scan import Entry, Scan

__all__ = ["CountView"]

_BINS: Final = 240


class _Tally:
    """
    What was counted in one file.
    """

    def __init__(self) -> None:
        self.first = 0
        self.levels: Counter[Level | None] = Counter()
        self.continued = 0
        self.earliest: Entry | None = None
        self.latest: Entry | None = None
        self.wrong = 0
        self.timeline = Timeline(_BINS)

    def add(self, entry: Entry) -> None:
        self.first = self.first or entry.number
        if not entry.is_head:
            self.continued += 1
            return
        self.levels[entry.level] += 1
        if entry.stamp:
            self._place(entry)
        if _is_wrong(entry):
            self.wrong += 1
            if entry.instant:
                self.timeline.add(entry.instant, entry.number)

    def _place(self, entry: Entry) -> None:
        """
        Keep the earliest and the latest line: logs are not always in order.
        """
        if self.earliest is None or _key(entry) < _key(self.earliest):
            self.earliest = entry
        if self.latest is None or _key(entry) >= _key(self.latest):
            self.latest = entry


def _key(entry: Entry) -> float:
    return entry.instant.timestamp() if entry.instant else 0.0


def _is_wrong(entry: Entry) -> bool:
    """
    Whether a line reports a problem: by its level, or by its words where it has none.
    """
    if entry.level is not None:
        return entry.level >= Level.WARN
    return severity_of(None, entry.text) >= FAILURE


def _wrong(count: int) -> str:
    return f"{lines(count)} {'reports' if count == 1 else 'report'} a problem"


class CountView:
    """
    Counts of each file that holds a line that was asked for.

    Args:
        zone: The zone of computed times.
        everything: Whether every line is asked for.
    """

    def __init__(self, zone: tzinfo, *, everything: bool) -> None:
        self._zone = zone
        self._everything = everything
        self._facts: list[Fact] = []
        self._name = ""
        self._tally = _Tally()

    def begin(self, name: str) -> None:
        """
        Go on to another file.
        """
        self._name = name
        self._tally = _Tally()

    def add(self, entry: Entry) -> None:
        """
        Take a line.
        """
        self._tally.add(entry)

    def end(self, scan: Scan) -> None:
        """
        Finish the file: state what was counted.
        """
        tally = self._tally
        if not tally.first:
            return
        self._state(self._overview(tally, scan.lines), tally.first)
        peak = tally.timeline.peak()
        if peak and peak.count > 1 and tally.earliest and tally.earliest.stamp:
            when = busiest(peak, self._zone, yearless=tally.earliest.stamp.yearless)
            self._state(f"{_wrong(tally.wrong)}; {when}", peak.line)
        elif tally.wrong:
            self._state(_wrong(tally.wrong), tally.first)
        if scan.unplaced:
            text = f"left out: {lines(scan.unplaced)} before the first timestamp"
            self._state(text, tally.first)

    def _overview(self, tally: _Tally, read: int) -> str:
        """
        Word what was counted, most severe first.
        """
        total = tally.levels.total() + tally.continued
        parts = [
            f"{tally.levels[level]} {at_level(level)}"
            for level in sorted(tally.levels, key=lambda one: -(one or 0))
        ]
        if tally.continued:
            parts.append(f"{tally.continued} that continue the line before")
        text = lines(total) if self._everything else f"{total} of {lines(read)} match"
        text += ": " + ", ".join(parts)
        if tally.earliest and tally.latest:
            text += f"; earliest {stamped(tally.earliest)}, latest {stamped(tally.latest)}"
        return text

    def _state(self, text: str, line: int) -> None:
        self._facts.append(Fact(f"{self._name}: {text}", f"{self._name}:{line}"))

    def facts(self) -> tuple[Fact, ...]:
        """
        Give the counts.
        """
        return tuple(self._facts)

"""
What a query shows of the lines that it found: the lines, their templates, or their counts.

1. The text of a line's fact is the line, and its source is ``<file>:<line number>``.
2. Every other fact states counts, names the file, and has the first line that it counts as source.
3. Times that were computed are in the zone of the tool; without a year where the lines have none.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Final, Protocol

from harness._values import Fact
from harness.logs._levels import Level
from harness.logs._severity import FAILURE, severity_of
from harness.logs._templates import Template, TemplateGrouper
from harness.logs._timeline import Timeline, duration_name

if TYPE_CHECKING:
    from harness.logs._scan import Entry, Query, Scan
    from harness.logs._timeline import Peak

__all__ = ["VIEWS", "View", "make_view"]

#: What can be shown.
VIEWS: Final = ("lines", "templates", "count")

_BINS: Final = 240
# Texts inside a summary are shortened: the line itself can be asked for.
_SHOWN: Final = 600
_LISTED: Final = 10


class View(Protocol):
    """
    Takes the lines found in one file after the other, and gives facts in the end.
    """

    def begin(self, name: str) -> None:
        """
        Go on to another file.

        Args:
            name: What to call it.
        """

    def add(self, entry: Entry) -> None:
        """
        Take a line.

        Args:
            entry: The line.
        """

    def end(self, scan: Scan) -> None:
        """
        Finish the file.

        Args:
            scan: The pass, with what it counted.
        """

    def facts(self) -> tuple[Fact, ...]:
        """
        Give the facts.

        Returns:
            None where no line was found.
        """


def make_view(kind: str, query: Query, limit: int, zone: tzinfo) -> View:
    """
    Make the view of a query.

    Args:
        kind: One of :data:`VIEWS`.
        query: What is asked for.
        limit: The most lines or templates that are shown.
        zone: The zone of computed times.

    Returns:
        The view.
    """
    if kind == "lines":
        return _LinesView(limit)
    if kind == "templates":
        return _TemplatesView(limit, zone)
    return _CountView(query, zone)


class _LinesView:
    """
    The lines themselves, the first ones of each query; and what is not shown of them.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._facts: list[Fact] = []
        self._notes: list[Fact] = []

    def begin(self, name: str) -> None:
        self._name = name
        self._found = 0
        self._first_hidden = 0
        self._cut: list[int] = []

    def add(self, entry: Entry) -> None:
        self._found += 1
        if len(self._facts) >= self._limit:
            self._first_hidden = self._first_hidden or entry.number
            return
        self._facts.append(Fact(entry.text, f"{self._name}:{entry.number}"))
        if entry.cut:
            self._cut.append(entry.number)

    def end(self, _scan: Scan) -> None:
        if self._first_hidden:
            shown = len(self._facts) - self._before
            self._note(
                f"{self._found} lines match; {shown} of them are shown", self._first_hidden
            )
        if self._cut:
            numbers = ", ".join(str(number) for number in self._cut[:_LISTED])
            self._note(f"longer than what is shown of them: lines {numbers}", self._cut[0])

    def _note(self, text: str, line: int) -> None:
        self._notes.append(Fact(f"{self._name}: {text}", f"{self._name}:{line}"))

    def facts(self) -> tuple[Fact, ...]:
        return (*self._facts, *self._notes)


class _TemplatesView:
    """
    Groups of lines that say the same, what matters most first.
    """

    def __init__(self, limit: int, zone: tzinfo) -> None:
        self._limit = limit
        self._zone = zone
        self._kept: list[tuple[str, Template]] = []
        self._hidden = 0
        self._ungrouped = 0

    def begin(self, name: str) -> None:
        self._name = name
        self._grouper = TemplateGrouper()

    def add(self, entry: Entry) -> None:
        # The frames of a stack trace belong to the line that they explain.
        if entry.is_head or not entry.text[:1].isspace():
            self._grouper.add(entry)

    def end(self, _scan: Scan) -> None:
        self._ungrouped += self._grouper.ungrouped
        both = [*self._kept, *((self._name, one) for one in self._grouper.ranked())]
        both.sort(key=lambda item: item[1].rank)
        self._hidden += max(len(both) - self._limit, 0)
        self._kept = both[: self._limit]

    def facts(self) -> tuple[Fact, ...]:
        found = [self._fact(name, one) for name, one in self._kept]
        if self._hidden or self._ungrouped:
            name, last = self._kept[-1]
            text = f"not shown: {self._hidden} further templates"
            if self._ungrouped:
                text += f", and {self._ungrouped} lines that no template holds"
            found.append(Fact(text, f"{name}:{last.first}"))
        return tuple(found)

    def _fact(self, name: str, one: Template) -> Fact:
        text = f"{name}: {_lines(one.count)}{_at_level(one.level)}: {_shortened(one.text)}"
        if one.count == 1:
            return Fact(f"{text}; line {one.first}{_written(one.stamps[0])}", f"{name}:{one.first}")
        text += f"; from line {one.first}{_written(one.stamps[0])}"
        text += f" to line {one.last}{_written(one.stamps[1])}"
        if (peak := one.peak) and peak.count < one.count:
            text += f"; {_most(peak, self._zone, yearless=one.yearless)}"
        for value, count in one.usual:
            text += f"; {_lines(count)} with {_shortened(value)}"
        number, sample = one.samples[0]
        return Fact(f"{text}; line {number} is: {_shortened(sample)}", f"{name}:{one.first}")


class _CountView:
    """
    How many lines of which level, from when to when, and when most of what is wrong came.
    """

    def __init__(self, query: Query, zone: tzinfo) -> None:
        self._query = query
        self._zone = zone
        self._facts: list[Fact] = []

    def begin(self, name: str) -> None:
        self._name = name
        self._levels: Counter[Level | None] = Counter()
        self._first = 0
        self._earliest: Entry | None = None
        self._latest: Entry | None = None
        self._wrong = 0
        self._timeline = Timeline(_BINS)

    def add(self, entry: Entry) -> None:
        self._first = self._first or entry.number
        self._levels[entry.level] += 1
        if entry.stamp:
            instant = entry.stamp.instant
            if not self._earliest or instant < _instant(self._earliest):
                self._earliest = entry
            if not self._latest or instant > _instant(self._latest):
                self._latest = entry
        if _is_wrong(entry):
            self._wrong += 1
            if entry.instant:
                self._timeline.add(entry.instant, entry.number)

    def end(self, scan: Scan) -> None:
        if not self._first:
            return
        total = sum(self._levels.values())
        of = "" if self._query.is_everything else f" of {scan.lines}"
        named = sorted(self._levels.items(), key=lambda item: -(item[0] or 0))
        levels = ", ".join(f"{count}{_at_level(level)}" for level, count in named)
        text = f"{total}{of} lines: {levels}"
        if self._earliest and self._latest:
            text += f"; earliest{_stamped(self._earliest)}, latest{_stamped(self._latest)}"
        self._state(text, self._first)
        if scan.unplaced:
            self._state(f"{_lines(scan.unplaced)} without any time were left out", self._first)
        peak = self._timeline.peak()
        if peak and self._earliest and self._earliest.stamp:
            most = _most(peak, self._zone, yearless=self._earliest.stamp.yearless)
            self._state(f"of {_lines(self._wrong)} that report a problem, {most}", peak.line)

    def _state(self, text: str, line: int) -> None:
        self._facts.append(Fact(f"{self._name}: {text}", f"{self._name}:{line}"))

    def facts(self) -> tuple[Fact, ...]:
        return tuple(self._facts)

"""
The view of a query that groups lines which say the same, what matters most first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness._values import Fact
from harness.logs._templates import TemplateGrouper
from harness.logs._wording import at_level, busiest, in_brackets, lines, shortened

if TYPE_CHECKING:
    from datetime import tzinfo

    from harness.logs._scan import Entry, Scan
    from harness.logs._templates import Template

__all__ = ["TemplatesView"]


class TemplatesView:
    """
    One fact a group; then what is not shown.

    Args:
        limit: The most groups that are shown.
        zone: The zone of computed times.
    """

    def __init__(self, limit: int, zone: tzinfo) -> None:
        self._limit = limit
        self._zone = zone
        self._kept: list[tuple[str, Template]] = []
        self._hidden = 0
        self._ungrouped = 0
        self._name = ""
        self._grouper = TemplateGrouper()

    def begin(self, name: str) -> None:
        """
        Go on to another file.
        """
        self._name = name
        self._grouper = TemplateGrouper()

    def add(self, entry: Entry) -> None:
        """
        Take a line; the frames of a stack trace belong to the line that they explain.
        """
        if entry.is_head or not entry.text[:1].isspace():
            self._grouper.add(entry)

    def end(self, scan: Scan) -> None:  # noqa: ARG002  the view's signature
        """
        Finish the file: keep no more than is shown.
        """
        self._ungrouped += self._grouper.ungrouped
        both = [*self._kept, *((self._name, one) for one in self._grouper.ranked())]
        both.sort(key=lambda item: item[1].rank)
        self._hidden += max(len(both) - self._limit, 0)
        self._kept = both[: self._limit]

    def facts(self) -> tuple[Fact, ...]:
        """
        Give the groups, then the note.
        """
        found = [self._fact(name, one) for name, one in self._kept]
        if self._hidden or self._ungrouped:
            name, last = self._kept[-1]
            text = f"not shown: {self._hidden} further templates"
            if self._ungrouped:
                text += f", and {lines(self._ungrouped)} that no template holds"
            found.append(Fact(text, f"{name}:{last.first}"))
        return tuple(found)

    def _fact(self, name: str, one: Template) -> Fact:
        first, last = (in_brackets(stamp) for stamp in one.stamps)
        where = f", line {one.first}{first}"
        if one.count > 1:
            where = f" from line {one.first}{first} to line {one.last}{last}"
        parts = [f"{name}: {lines(one.count)} {at_level(one.level)}{where}"]
        if one.count > 1:
            parts.append(f"they say: {shortened(one.text)}")
        peak = one.peak
        if peak and 1 < peak.count < one.count:
            parts.append(busiest(peak, self._zone, yearless=one.yearless))
        parts += [f"{lines(count)} with {shortened(value)}" for value, count in one.usual]
        parts.append(f"line {one.first} says: {shortened(one.sample)}")
        return Fact("; ".join(parts), f"{name}:{one.first}")

"""
What a query shows of the lines that it found: the lines, their templates, or their counts.

1. The text of a line's fact is the line, and its source is ``<file>:<line number>``.
2. Every other fact states counts, and has the first line that it counts as its source.
3. Computed times are in the zone of the tool, and without a year where the lines have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from harness._values import Fact
from harness.logs._counts import CountView
from harness.logs._template_view import TemplatesView

if TYPE_CHECKING:
    from datetime import tzinfo

    from harness.logs._scan import Entry, Query, Scan

__all__ = ["VIEWS", "LinesView", "View", "make_view"]

#: What can be shown.
VIEWS: Final = ("lines", "templates", "count")

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
            The facts; empty where no line was found.
        """
        ...


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
        return LinesView(limit)
    if kind == "templates":
        return TemplatesView(limit, zone)
    return CountView(zone, everything=query.is_everything)


class LinesView:
    """
    The lines themselves, the first ones found; then what is not shown.

    Args:
        limit: The most lines that are shown.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._facts: list[Fact] = []
        self._notes: list[Fact] = []
        self._name = ""
        self._found = self._shown = self._hidden = 0
        self._cut: list[int] = []

    def begin(self, name: str) -> None:
        """
        Go on to another file.
        """
        self._name = name
        self._found = self._shown = self._hidden = 0
        self._cut = []

    def add(self, entry: Entry) -> None:
        """
        Take a line.
        """
        self._found += 1
        if len(self._facts) >= self._limit:
            self._hidden = self._hidden or entry.number
            return
        self._shown += 1
        self._facts.append(Fact(entry.text, f"{self._name}:{entry.number}"))
        if entry.cut:
            self._cut.append(entry.number)

    def end(self, scan: Scan) -> None:  # noqa: ARG002  the view's signature
        """
        Finish the file.
        """
        if self._hidden:
            self._note(f"{self._found} lines match; shown of them: {self._shown}", self._hidden)
        if self._cut:
            numbers = ", ".join(str(number) for number in self._cut[:_LISTED])
            self._note(f"these lines are longer than what is shown: {numbers}", self._cut[0])

    def _note(self, text: str, line: int) -> None:
        self._notes.append(Fact(f"{self._name}: {text}", f"{self._name}:{line}"))

    def facts(self) -> tuple[Fact, ...]:
        """
        Give the lines, then the notes.
        """
        return (*self._facts, *self._notes)

"""
One pass over one log file: the lines that a query asks for, one after the other.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, NamedTuple

from attrs import field, frozen

from harness.logs._levels import Level, level_of
from harness.logs._lines import MAX_LINE_BYTES, read_blocks
from harness.logs._stamps import Stamp, StampReader
from harness.logs._window import Window

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from harness.logs._lines import Block

__all__ = ["Entry", "Query", "Scan"]


class Entry(NamedTuple):
    """
    A line that a query asked for.

    Attributes:
        number: Its number in the file.
        text: Its text.
        cut: Whether the line was longer.
        level: Its level, or that of the line it belongs to; ``None`` where nothing was needed of
            it, or none is stated.
        stamp: Its own timestamp.
        instant: When: its own time, or that of the line it belongs to.
        is_head: Whether it begins an entry, and does not continue the line before it.
    """

    number: int
    text: str
    cut: bool
    level: Level | None
    stamp: Stamp | None
    instant: datetime | None
    is_head: bool


@frozen(kw_only=True)
class Query:
    """
    Which lines are asked for.

    Attributes:
        window: Between which times. A line without one counts as the line it belongs to.
        level: At least how severe; lines without a level are left out.
        pattern: What must be found in them.
    """

    window: Window = field(factory=Window)
    level: Level | None = None
    pattern: re.Pattern[str] | None = None

    @property
    def is_everything(self) -> bool:
        """
        Whether it asks for every line.
        """
        return self.window.is_open and self.level is None and self.pattern is None


class Scan:
    """
    A pass over one file. Iterate it once; blank lines are never asked for.

    Args:
        path: The file.
        query: Which lines.
        details: Whether time and level of every entry are wanted; else only what the query needs.
        zone: The zone of timestamps without one.
        max_bytes: The longest text of a line.
        check: Called now and then; what it raises ends the pass.

    Attributes:
        lines: How many lines were read so far.
        unplaced: How many of them a window left out because no timestamp stood before or on them.
    """

    def __init__(  # noqa: PLR0913  one pass has these six settings; all but two are keywords
        self,
        path: Path,
        query: Query,
        *,
        details: bool = True,
        zone: tzinfo = UTC,
        max_bytes: int = MAX_LINE_BYTES,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._query = query
        self._blocks = read_blocks(path, max_bytes=max_bytes)
        self._levels = details or query.level is not None
        self._stamps = self._levels or not query.window.is_open
        self._reader = StampReader(zone, query.window.near)
        self._check = check
        # Where the pass is: the entry that the current line belongs to.
        self._limits: tuple[datetime, datetime] | None = None
        self._inside = query.window.is_open
        self._begun = False
        self._instant: datetime | None = None
        self._level: Level | None = None
        self.lines = 0
        self.unplaced = 0

    def __iter__(self) -> Iterator[Entry]:
        for block in self._blocks:
            self._check()
            yield from self._asked_for(block)
            self.lines = block.first + len(block.texts) - 1

    def _asked_for(self, block: Block) -> Iterator[Entry]:
        """
        Give the lines of a block that the query asks for.
        """
        level, pattern = self._query.level, self._query.pattern
        read = self._reader.read if self._stamps else _no_stamp
        for number, text in enumerate(block.texts, block.first):
            stamp = read(text)
            is_head = self._begin(stamp, text) if stamp else self._continue(text)
            if not self._inside or not text or text.isspace():
                continue
            if level is not None and (self._level is None or self._level < level):
                continue
            if pattern is None or pattern.search(text):
                cut = number in block.cut
                yield Entry(number, text, cut, self._level, stamp, self._instant, is_head)

    def _begin(self, stamp: Stamp, text: str) -> bool:
        """
        Go on to a line with a timestamp.
        """
        if self._limits is None:
            self._limits = self._query.window.settle(stamp.instant)
        self._instant = stamp.instant
        self._inside = self._limits[0] <= stamp.instant <= self._limits[1]
        if self._levels and self._inside:
            self._level = level_of(text, stamp.end)
        return True

    def _continue(self, text: str) -> bool:
        """
        Go on to a line without one: in a file that has some, it belongs to the line before it.
        """
        is_head = self._limits is None and not (self._begun and text[:1].isspace())
        self._begun = True
        if not self._inside:
            self.unplaced += self._limits is None
        elif self._levels and (is_head or not text[:1].isspace()):
            stated = level_of(text)
            # A line that states its level does not continue another one.
            self._level = stated if is_head or stated else self._level
            is_head = is_head or stated is not None
        return is_head


def _no_stamp(_text: str) -> None:
    """
    Read no timestamp, where nothing depends on it.
    """

"""
The time window of a query: read from text, and settled for each file.

1. Both ends belong to the window. An end is as long as it is written: ``until`` 2015-10-18 18:06
   holds all of that minute, ``until`` 2015-10-18 all of that day.
2. An end without a year is in the year that brings it nearest to the file's first timestamp.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from attrs import frozen

from harness.errors import InvalidArgumentError
from harness.logs._stamps import nearest_year, parse_time

__all__ = ["TIME_FORMS", "Bound", "Window", "parse_bound", "parse_window"]

#: What a bound may look like, for error messages and descriptions.
TIME_FORMS: Final = (
    "a date, or a date with a time, as logs write them: '2015-10-18', '2015-10-18 18:06', "
    "'2015-10-18T18:06:11.5Z', 'Jun 14 15:16:01', '10/Oct/2000:13:55:36 -0700', '1445144423'"
)

_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)
_LATEST: Final = datetime.max.replace(tzinfo=UTC)
_TICK: Final = timedelta(microseconds=1)

# What completes a text to a time, and how long the text then is (None: as its clock is written).
_ENDINGS: Final[tuple[tuple[str, timedelta | None], ...]] = (
    ("", None),
    (":00", timedelta(minutes=1)),
    (" 00:00:00", timedelta(days=1)),
)
_CLOCK: Final = re.compile(r"[0-9]{2}:[0-9]{2}(:[0-9]{2})?(?:[.,]([0-9]+))?")
_NO_CLOCK: Final = re.compile(r"[0-9]{8}T|[0-9]{10}(?:\.([0-9]+)|([0-9]{3}))?$")


@frozen
class Bound:
    """
    One end of a window.

    Attributes:
        first: Its first moment.
        last: Its last one.
        yearless: Whether the year is missing.
    """

    first: datetime
    last: datetime
    yearless: bool = False

    def in_year(self, year: int, *, yearless: bool) -> Bound:
        """
        Move it to another year.

        Args:
            year: The year; the 29th of February becomes the 1st of March where there is none.
            yearless: Whether the year is still a guess.

        Returns:
            The bound in that year.
        """
        try:
            first = self.first.replace(year=year)
        except ValueError:
            first = self.first.replace(year=year, month=3, day=1)
        return Bound(first, first + (self.last - self.first), yearless)


@frozen
class Window:
    """
    A time window; an absent end is open.

    Attributes:
        since: Where it begins.
        until: Where it ends.
    """

    since: Bound | None = None
    until: Bound | None = None

    @property
    def is_open(self) -> bool:
        """
        Whether every time is inside.
        """
        return self.since is None and self.until is None

    @property
    def near(self) -> datetime | None:
        """
        A moment of the window, near which stamps without a year are looked for.
        """
        bound = self.since or self.until
        return bound.first if bound else None

    def settle(self, first: datetime) -> tuple[datetime, datetime]:
        """
        Give the moments between which a file's lines are looked for.

        Args:
            first: The file's first timestamp.

        Returns:
            The first and the last moment inside.
        """
        since, until = self.since, self.until
        anchor = since or until
        if anchor and anchor.yearless:
            years = nearest_year(anchor.first, first).year - anchor.first.year
            since = since and since.in_year(since.first.year + years, yearless=True)
            until = until and until.in_year(until.first.year + years, yearless=True)
        return since.first if since else _EARLIEST, until.last if until else _LATEST


def parse_window(since: str | None, until: str | None, zone: tzinfo = UTC) -> Window:
    """
    Read a window.

    Args:
        since: Its begin, or ``None``.
        until: Its end, or ``None``.
        zone: The zone of times without one.

    Returns:
        The window.

    Raises:
        InvalidArgumentError: One of them is no time, or the end lies before the begin.
    """
    begin = None if since is None else parse_bound("since", since, zone)
    end = None if until is None else parse_bound("until", until, zone)
    if begin and end:
        begin, end = _in_one_year(begin, end)
        if end.last < begin.first:
            raise InvalidArgumentError("until", until, f"a time that is not before {since!r}")
    return Window(begin, end)


def _in_one_year(begin: Bound, end: Bound) -> tuple[Bound, Bound]:
    """
    Give a missing year of one end by the other one: the end follows the begin within a year.
    """
    both = begin.yearless and end.yearless
    if end.yearless:
        end = end.in_year(begin.first.year, yearless=both)
        if end.last < begin.first:
            end = end.in_year(begin.first.year + 1, yearless=both)
    elif begin.yearless:
        begin = begin.in_year(end.first.year, yearless=False)
        if end.last < begin.first:
            begin = begin.in_year(end.first.year - 1, yearless=False)
    return begin, end


def parse_bound(name: str, text: str, zone: tzinfo = UTC) -> Bound:
    """
    Read one end of a window.

    Args:
        name: What to call it in an error.
        text: A time in one of the forms that logs use, or a date.
        zone: The zone of a time without one.

    Returns:
        The bound, as long as it is written.

    Raises:
        InvalidArgumentError: It is none of them.
    """
    stripped = text.strip().strip("[]")
    for ending, length in _ENDINGS:
        if found := parse_time(stripped + ending, zone):
            first, yearless = found
            try:
                last = first + (length or _length(stripped)) - _TICK
            except OverflowError:
                break
            return Bound(first, last, yearless)
    raise InvalidArgumentError(name, text, TIME_FORMS)


def _length(text: str) -> timedelta:
    """
    Tell how long a time is, by how exactly it is written.
    """
    if found := _NO_CLOCK.match(text):
        fraction = found[1] or found[2]
    else:
        clock = _CLOCK.search(text)
        if clock is None or not clock[1]:
            return timedelta(minutes=1)
        fraction = clock[2]
    return max(timedelta(seconds=10.0 ** -len(fraction or "")), _TICK)

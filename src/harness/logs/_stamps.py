"""
The timestamps of log lines: found in their usual forms, read fast, and made comparable.

1. A stamp without a zone is in the zone that the reader was given. Results are aware, in UTC.
2. A stamp without a year is in the year that brings it nearest to the stamp before it, the first
   one nearest to the time that is looked for: logs run over New Year without saying so.
3. A line without a stamp belongs to the line before it. A date inside a message is no stamp: once
   stamps mostly stand at the start of the lines, they are accepted nowhere else.
4. A time without a date is no stamp.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, NamedTuple

__all__ = ["ANY_YEAR", "MONTHS", "Stamp", "StampReader", "nearest_year", "parse_time"]

#: The year of a stamp while nothing tells it: a leap year, so that every day exists.
ANY_YEAR: Final = 2000

#: How far into a line a stamp may begin.
_WINDOW: Final = 160

#: How many stamps of the slower forms are remembered; lines of one second share theirs.
_REMEMBERED: Final = 512

# Whoever is this near in one year is nearer than in any other.
_HALF_A_YEAR: Final = timedelta(days=182)

#: The names that logs use for months.
MONTHS: Final = (
    *("Jan", "Feb", "Mar", "Apr", "May", "Jun"),
    *("Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
)


class Stamp(NamedTuple):
    """
    A timestamp that was found in a line.

    Attributes:
        instant: When.
        start: Where it begins in the line.
        end: Where it ends.
        yearless: Whether the year is a guess.
    """

    instant: datetime
    start: int
    end: int
    yearless: bool


_MONTH: Final = f"(?:{'|'.join(MONTHS)})"
_DAY: Final = "(?:[0-9][0-9]| ?[0-9])"
_CLOCK: Final = "[0-9]{2}:[0-9]{2}:[0-9]{2}"
_FRACTION: Final = "(?:[.,][0-9]{1,9})?"
_ZONE: Final = "(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)(?![0-9A-Za-z])"

# 2015-10-18 18:01:47,978 · 2015-10-18T18:01:47.978+02:00 · 2015/10/18 18:01:47
_ISO: Final = (
    f"[0-9]{{4}}[-/][0-9]{{2}}[-/][0-9]{{2}}[T ][0-9]{{2}}:[0-9]{{2}}"
    f"(?::[0-9]{{2}}{_FRACTION})?(?: ?{_ZONE})?"
)
# 20151018T180147Z
_COMPACT: Final = f"[0-9]{{8}}T[0-9]{{6}}(?:{_ZONE})?"
# 10/Oct/2000:13:55:36 -0700 · 18-Oct-2015 18:01:47.123 · 18 Oct 2015 18:01:47,123
_DAY_FIRST: Final = (
    f"[0-9]{{1,2}}[-/ ]{_MONTH}[-/ ][0-9]{{4}}[: ]{_CLOCK}{_FRACTION}(?: [+-][0-9]{{4}})?"
)
# Sun Dec 04 04:47:44 2005 · Wed Oct 11 14:32:52.123456 2000
_ASCTIME: Final = f"[MTWFS][a-z]{{2}} {_MONTH} {_DAY} {_CLOCK}{_FRACTION} [0-9]{{4}}"
# Jun 14 15:16:01 · Jun 14 2005 15:16:01
_SYSLOG: Final = f"{_MONTH} {_DAY} (?:[0-9]{{4}} )?{_CLOCK}{_FRACTION}"
# E0614 15:16:01.123456 · 03-17 16:13:38.811
_SHORT: Final = f"(?:[IWEF][0-9]{{4}}|[0-9]{{2}}-[0-9]{{2}}) {_CLOCK}{_FRACTION}"
# 1445144423 · 1445144423.978 · 1445144423978
_EPOCH: Final = "1[0-9]{9}(?:[0-9]{3}|[.][0-9]{1,9})?(?![0-9A-Za-z.:])"

# In front of a stamp at a line's start: a syslog priority, brackets and quotes.
_AT_START: Final = re.compile(
    "(?:<[0-9]{1,3}>(?:1 )?)?[ \\t\\[(\"'|-]{0,16}(?:"
    f"(?P<iso>{_ISO})|(?P<named>{_ASCTIME}|{_SYSLOG}|{_DAY_FIRST})|(?P<compact>{_COMPACT})"
    f"|(?P<short>{_SHORT})|(?P<epoch>{_EPOCH}))"
)
# Further on. Each begins with one literal or class, for which the search has a fast path.
_INSIDE: Final = (
    re.compile(f"(?P<iso>{_ISO})"),
    re.compile(f"(?P<named>{_DAY_FIRST})"),
    re.compile(f"\\[(?P<named>{_ASCTIME})"),
    re.compile(f't(?:s|ime|imestamp)"? ?[=:] ?"?(?P<epoch>{_EPOCH})'),
)

_PARTS: Final = re.compile(
    f"(?:(?P<first>[0-9]{{1,2}})[-/ ])?(?P<month>{_MONTH})[-/ ]"
    f"(?:(?P<day>{_DAY}) )?(?:(?P<year>[0-9]{{4}})[: ])?(?P<clock>{_CLOCK})"
    "(?:[.,](?P<fraction>[0-9]+))?(?: (?P<last>[0-9]{4}))?(?: (?P<zone>[+-][0-9]{4}))?"
)


def nearest_year(moment: datetime, near: datetime) -> datetime:
    """
    Move a moment to the year that brings it nearest to another one.

    Args:
        moment: The day and time; its year says nothing.
        near: The other one.

    Returns:
        The moment in that year. The 29th of February stays in a leap year.
    """
    here = _in_year(moment, near.year)
    if here is not None and abs(here - near) <= _HALF_A_YEAR:
        return here
    years = range(max(near.year - 4, 1), min(near.year + 4, 9999) + 1)
    moved = (_in_year(moment, year) for year in years)
    return min((one for one in moved if one), key=lambda one: abs(one - near))


def _in_year(moment: datetime, year: int) -> datetime | None:
    try:
        return moment.replace(year=year)
    except ValueError:
        return None


def _read(kind: str, text: str) -> tuple[datetime, bool]:
    """
    Read a stamp's text; without a zone where it has none, and whether its year is missing.

    Raises:
        ValueError: It only looks like a time: there is no such day, hour, minute or second.
    """
    if kind == "named":
        return _read_named(text)
    if kind == "short":
        date, _, clock = text.lstrip("IWEF").partition(" ")
        return datetime.fromisoformat(f"{ANY_YEAR}-{date[:2]}-{date[-2:]} {clock}"), True
    if kind == "epoch":
        whole, _, fraction = text.partition(".")
        micro = int((whole[10:] or fraction)[:6].ljust(6, "0"))
        return datetime.fromtimestamp(int(whole[:10]), UTC).replace(microsecond=micro), False
    iso = text.replace("/", "-").replace(" +", "+").replace(" -", "-").replace(" Z", "Z")
    return datetime.fromisoformat(iso), False


def _read_named(text: str) -> tuple[datetime, bool]:
    """
    Read a date with the name of its month.
    """
    found = _PARTS.search(text)
    if not found:
        raise ValueError(text)
    year = found["year"] or found["last"]
    day = int(found["first"] or found["day"])
    date = f"{year or ANY_YEAR}-{MONTHS.index(found['month']) + 1:02}-{day:02}"
    clock = f"{found['clock']}.{found['fraction'] or 0}{found['zone'] or ''}"
    return datetime.fromisoformat(f"{date}T{clock}"), year is None


def parse_time(text: str, zone: tzinfo = UTC) -> tuple[datetime, bool] | None:
    """
    Read a text that is a time and nothing else.

    Args:
        text: In any of the forms above.
        zone: The zone of a time without one.

    Returns:
        The moment in UTC and whether its year is missing; ``None`` where the text is no time.
    """
    found = _AT_START.match(text)
    kind = found.lastgroup if found else None
    if not found or not kind or found[kind] != text:
        return None
    try:
        moment, yearless = _read(kind, text)
        return to_utc(moment, zone), yearless
    except (ValueError, OverflowError):
        return None


class StampReader:
    """
    Reads the stamps of one file's lines, in their order.

    Args:
        zone: Where stamps without a zone were written.
        near: The year of the first stamp without one is the nearest to this moment.
    """

    def __init__(self, zone: tzinfo = UTC, near: datetime | None = None) -> None:
        self._zone = zone
        self._last = near
        self._at_start = 0
        self._inside = 0
        self._known: dict[str, tuple[datetime, bool]] = {}

    def read(self, text: str) -> Stamp | None:
        """
        Find and read the stamp of the next line.

        Args:
            text: The line.

        Returns:
            The stamp, or ``None`` where the line has none.
        """
        if found := _AT_START.match(text):
            stamp = self._stamp(found)
            self._at_start += stamp is not None
            return stamp
        if self._inside < self._at_start or not (found := _search(text)):
            return None
        stamp = self._stamp(found)
        self._inside += stamp is not None
        return stamp

    def _stamp(self, found: re.Match[str]) -> Stamp | None:
        """
        Read what was found; what only looks like a time is no stamp.
        """
        kind = found.lastgroup or ""
        start, end = found.span(kind)
        try:
            self._last, yearless = self._instant(kind, found[kind])
        except (ValueError, OverflowError):
            return None
        return Stamp(self._last, start, end, yearless)

    def _instant(self, kind: str, text: str) -> tuple[datetime, bool]:
        """
        Read a stamp as an aware moment in UTC, and tell whether its year is a guess.
        """
        if kind == "iso":
            return self._iso(text), False
        known = self._known.get(text)
        if known and (not known[1] or abs(known[0] - (self._last or known[0])) <= _HALF_A_YEAR):
            return known
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        moment, yearless = _read(kind, text)
        if yearless and self._last is not None:
            moment = nearest_year(moment.replace(tzinfo=UTC), self._last).replace(tzinfo=None)
        known = self._known[text] = to_utc(moment, self._zone), yearless
        return known

    def _iso(self, text: str) -> datetime:
        # The usual case first: giving the zone in the text costs half of setting it afterwards.
        if self._zone is UTC and text[-1] != "Z" and "+" not in text and "-" not in text[10:]:
            return datetime.fromisoformat(text.replace("/", "-") + "+00:00")
        return to_utc(_read("iso", text)[0], self._zone)


def to_utc(moment: datetime, zone: tzinfo) -> datetime:
    """
    Make a moment aware, in UTC.

    Args:
        moment: With a zone of its own, or without one.
        zone: The zone where it has none.

    Returns:
        The same moment in UTC.
    """
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    return moment if moment.tzinfo is UTC else moment.astimezone(UTC)


def _search(text: str) -> re.Match[str] | None:
    """
    Find a stamp that does not stand at the start of its line.
    """
    for pattern in _INSIDE:
        if found := pattern.search(text, 0, _WINDOW):
            return found
    return None

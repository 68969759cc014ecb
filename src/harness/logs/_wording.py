"""
The words of summary facts: numbers, levels and times, always in the same form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from harness.logs._stamps import MONTHS
from harness.logs._timeline import duration_name

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from harness.logs._levels import Level
    from harness.logs._scan import Entry
    from harness.logs._timeline import Peak

__all__ = ["at_level", "busiest", "in_brackets", "lines", "shortened", "stamped", "written_stamp"]

# Texts inside a summary are shortened: the line itself can be asked for.
_SHOWN: Final = 600


def lines(count: int) -> str:
    """
    Say how many lines.

    Args:
        count: How many.

    Returns:
        Such as ``1 line`` or ``12 lines``.
    """
    return f"{count} line" if count == 1 else f"{count} lines"


def at_level(level: Level | None) -> str:
    """
    Name a level.

    Args:
        level: The level, or ``None``.

    Returns:
        Such as ``at level error`` or ``without a level``.
    """
    return "without a level" if level is None else f"at level {level.name.lower()}"


def shortened(text: str) -> str:
    """
    Shorten a text that stands inside a summary.

    Args:
        text: The text.

    Returns:
        Its beginning, with three dots where more follows.
    """
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def written_stamp(entry: Entry) -> str:
    """
    Give a line's timestamp as the log writes it.

    Args:
        entry: The line.

    Returns:
        The text; empty where the line has none.
    """
    stamp = entry.stamp
    return entry.text[stamp.start : stamp.end] if stamp else ""


def in_brackets(text: str) -> str:
    """
    Put a text in brackets after another one, if there is any.

    Args:
        text: The text.

    Returns:
        The text in brackets with a space before, or nothing.
    """
    return f" ({text})" if text else ""


def stamped(entry: Entry) -> str:
    """
    Name a line by its time and number.

    Args:
        entry: The line.

    Returns:
        Such as ``Jun 14 15:16:01 (line 1)``.
    """
    return f"{written_stamp(entry)} (line {entry.number})"


def busiest(peak: Peak, zone: tzinfo, *, yearless: bool) -> str:
    """
    Say when most lines came.

    Args:
        peak: The stretch of time.
        zone: The zone to name times in.
        yearless: Whether the lines do not say their year.

    Returns:
        Such as ``the busiest 1 hour had 43 lines from 2005-12-04 06:01:30 to 2005-12-04
        06:59:47``; both times can be asked for.
    """
    begin = _time(peak.begin, zone, yearless=yearless)
    end = _time(peak.end, zone, yearless=yearless)
    length = duration_name(peak.width)
    return f"the busiest {length} had {lines(peak.count)} from {begin} to {end}"


def _time(moment: datetime, zone: tzinfo, *, yearless: bool) -> str:
    try:
        local = moment.astimezone(zone)
    except OverflowError:  # At either end of time.
        local = moment
    date = f"{MONTHS[local.month - 1]} {local.day:2}" if yearless else local.date().isoformat()
    return f"{date} {local:%H:%M:%S}"

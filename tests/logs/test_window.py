"""Time windows: as long as they are written, and settled for each file."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from harness.errors import InvalidArgumentError
from harness.logs._window import Window, parse_bound, parse_window

_BOUNDS = [
    ("2015-10-18", "2015-10-18T00:00:00", "2015-10-18T23:59:59.999999"),
    ("2015/10/18", "2015-10-18T00:00:00", "2015-10-18T23:59:59.999999"),
    ("2015-10-18 18:06", "2015-10-18T18:06:00", "2015-10-18T18:06:59.999999"),
    ("2015-10-18T18:06Z", "2015-10-18T18:06:00", "2015-10-18T18:06:59.999999"),
    ("2015-10-18 18:06:11", "2015-10-18T18:06:11", "2015-10-18T18:06:11.999999"),
    ("2015-10-18 18:06:11,5", "2015-10-18T18:06:11.5", "2015-10-18T18:06:11.599999"),
    (" 2015-10-18 18:06:11.500 ", "2015-10-18T18:06:11.5", "2015-10-18T18:06:11.500999"),
    ("2015-10-18 18:06:11.1234567", "2015-10-18T18:06:11.123456", "2015-10-18T18:06:11.123456"),
    ("[Sun Dec 04 04:47:44 2005]", "2005-12-04T04:47:44", "2005-12-04T04:47:44.999999"),
    ("10/Oct/2000:13:55:36 -0700", "2000-10-10T20:55:36", "2000-10-10T20:55:36.999999"),
    ("20151018T180611+02:00", "2015-10-18T16:06:11", "2015-10-18T16:06:11.999999"),
    ("1445144423", "2015-10-18T05:00:23", "2015-10-18T05:00:23.999999"),
    ("1445144423.5", "2015-10-18T05:00:23.5", "2015-10-18T05:00:23.599999"),
    ("1445144423500", "2015-10-18T05:00:23.5", "2015-10-18T05:00:23.500999"),
]


def _utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(("text", "first", "last"), _BOUNDS)
def test_a_bound_is_as_long_as_it_is_written(text: str, first: str, last: str) -> None:
    """A date is a day, a time to the minute is a minute, a fraction is as fine as its digits."""
    bound = parse_bound("since", text)
    assert (bound.first, bound.last, bound.yearless) == (_utc(first), _utc(last), False)


@pytest.mark.parametrize("text", ["Jun 14", "Jun 14 00:00", "Jun 14 00:00:00"])
def test_a_bound_without_a_year(text: str) -> None:
    """A bound may leave its year away, as logs do."""
    bound = parse_bound("since", text)
    assert bound.yearless
    assert (bound.first.month, bound.first.day) == (6, 14)


@pytest.mark.parametrize("text", ["", "yesterday", "18:06", "2015-10-18 25:00", "9999-12-31"])
def test_a_bound_that_is_no_time(text: str) -> None:
    """What is no time, or reaches beyond the end of time, is refused with examples."""
    with pytest.raises(InvalidArgumentError, match=r"until is .*; allowed: a date.*'Jun 14 15:16:"):
        parse_bound("until", text)


def test_a_window_that_ends_before_it_begins() -> None:
    """The end must not lie before the begin."""
    with pytest.raises(InvalidArgumentError, match="not before '2015-10-18'"):
        parse_window("2015-10-18", "2015-10-17")


def test_the_zone_of_a_window() -> None:
    """A bound without a zone is in the zone of the tool."""
    window = parse_window("2015-10-18 20:00", None, timezone(timedelta(hours=2)))
    assert window.near == _utc("2015-10-18T18:00:00")


def test_an_open_window() -> None:
    """Without bounds everything is inside."""
    window = parse_window(None, None)
    assert window == Window()
    assert window.is_open
    assert window.near is None
    assert window.settle(_utc("2015-01-01"))[0].year == 1


# (since, until, the file's first stamp, begin and end of what is looked for)
_SETTLED = [
    ("2015-10-18", "2015-10-19", "2003-01-01", "2015-10-18", "2015-10-19"),
    ("Dec 30", "Jan 2", "2005-12-29", "2005-12-30", "2006-01-02"),
    ("Dec 30", "Jan 2", "2006-01-01", "2005-12-30", "2006-01-02"),
    ("Jun 14", "Jun 15", "2005-06-10", "2005-06-14", "2005-06-15"),
    ("2005-12-30", "Jan 2", "2005-12-29", "2005-12-30", "2006-01-02"),
    ("2005-06-14", "Jun 15", "2005-06-10", "2005-06-14", "2005-06-15"),
    ("Dec 30", "2006-01-02", "2005-12-29", "2005-12-30", "2006-01-02"),
    ("Jun 14", "2005-06-15", "2005-06-10", "2005-06-14", "2005-06-15"),
    ("Feb 29", "Mar 2", "2005-02-20", "2004-02-29", "2004-03-02"),
]


@pytest.mark.parametrize(("since", "until", "first", "begin", "end"), _SETTLED)
def test_a_window_is_settled_by_the_first_stamp(
    since: str, until: str, first: str, begin: str, end: str
) -> None:
    """A missing year is given by the other bound, else by the file's first timestamp."""
    found = parse_window(since, until).settle(_utc(first))
    assert tuple(str(moment.date()) for moment in found) == (begin, end)


def test_one_bound_without_a_year() -> None:
    """A window of one bound is settled near the file's first timestamp too."""
    assert parse_window(None, "Jan 2").settle(_utc("2005-12-29"))[1].year == 2006


def test_a_leap_day_moves_to_march() -> None:
    """The 29th of February of a window becomes the 1st of March in a common year."""
    window = parse_window("Feb 29", "2005-03-02")
    assert window.settle(_utc("2005-02-20"))[0] == _utc("2005-03-01")

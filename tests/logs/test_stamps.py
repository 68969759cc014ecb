"""Timestamps in the forms that logs use."""

from datetime import UTC, datetime, timedelta, timezone
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.logs._stamps import MONTHS, StampReader, _read, nearest_year, parse_time

_AT = datetime(2015, 10, 18, 18, 1, 47, tzinfo=UTC)
_FINE = _AT.replace(microsecond=978_000)

# (a line, its stamp as it is written, the moment)
_STAMPED = [
    ("2015-10-18 18:01:47,978 INFO x", "2015-10-18 18:01:47,978", _FINE),
    ("2015-10-18 18:01:47.978 x", "2015-10-18 18:01:47.978", _FINE),
    ("2015-10-18T18:01:47.978Z x", "2015-10-18T18:01:47.978Z", _FINE),
    ("2015-10-18 18:01:47 Z x", "2015-10-18 18:01:47 Z", _AT),
    ("2015-10-18T20:01:47.978+02:00 x", "2015-10-18T20:01:47.978+02:00", _FINE),
    ("2015-10-18 13:01:47 -0500 x", "2015-10-18 13:01:47 -0500", _AT),
    ("2015/10/18 18:01:47 [error] 7#0: x", "2015/10/18 18:01:47", _AT),
    ("2015-10-18 18:01 x", "2015-10-18 18:01", _AT.replace(second=0)),
    ("[2015-10-18 18:01:47] x", "2015-10-18 18:01:47", _AT),
    ("20151018T180147Z x", "20151018T180147Z", _AT),
    ("[Sun Oct 18 18:01:47 2015] [error] x", "Sun Oct 18 18:01:47 2015", _AT),
    ("[Sun Oct 18 18:01:47.978 2015] x", "Sun Oct 18 18:01:47.978 2015", _FINE),
    ("Oct 18 2015 18:01:47 host x", "Oct 18 2015 18:01:47", _AT),
    ('1.2.3.4 - - [18/Oct/2015:11:01:47 -0700] "GET', "18/Oct/2015:11:01:47 -0700", _AT),
    ("18-Oct-2015 18:01:47.978 x", "18-Oct-2015 18:01:47.978", _FINE),
    ("18 Oct 2015 18:01:47,978 x", "18 Oct 2015 18:01:47,978", _FINE),
    ("1445191307 x", "1445191307", _AT),
    ("1445191307.978 x", "1445191307.978", _FINE),
    ("[1445191307978] x", "1445191307978", _FINE),
    ('{"ts":1445191307.978,"msg":"x"}', "1445191307.978", _FINE),
    ("level=info time=1445191307 msg=x", "1445191307", _AT),
    ('{"level":"info","time":"2015-10-18T18:01:47Z"}', "2015-10-18T18:01:47Z", _AT),
    ("<34>1 2015-10-18T18:01:47.978Z host x", "2015-10-18T18:01:47.978Z", _FINE),
    ("ERROR 2015-10-18 18:01:47 x", "2015-10-18 18:01:47", _AT),
    (
        "nova-api.log.1.2017-05-16_13:53:08 2015-10-18 18:01:47.978 25746 INFO x",
        "2015-10-18 18:01:47.978",
        _FINE,
    ),
    ("web1 [Sun Oct 18 18:01:47 2015] x", "Sun Oct 18 18:01:47 2015", _AT),
]

_YEARLESS = [
    ("Oct 18 18:01:47 combo sshd[1]: x", "Oct 18 18:01:47", _AT),
    ("<34>Oct 18 18:01:47 combo x", "Oct 18 18:01:47", _AT),
    ("Oct  8 18:01:47 combo x", "Oct  8 18:01:47", _AT.replace(day=8)),
    ("E1018 18:01:47.978000    1 server.go:12] x", "E1018 18:01:47.978000", _FINE),
    ("10-18 18:01:47.978  1702  2395 D x", "10-18 18:01:47.978", _FINE),
]

_UNSTAMPED = [
    "",
    "   at org.example.Main(Main.java:12)",
    "Caused by: java.net.ConnectException",
    "2015-13-18 18:01:47 no such month",
    "2015-10-18 25:01:47 no such hour",
    "Feb 30 18:01:47 no such day",
    "18:01:47.978 INFO no date",
    "1445191307977913 too many digits",
    "nova-api.log.1.2017-05-16_13:53:08 x",
    "9999-12-31 23:59:59-01:00 beyond the end of time",
]


@pytest.mark.parametrize(("line", "written", "moment"), _STAMPED)
def test_a_stamp_is_found_and_read(line: str, written: str, moment: datetime) -> None:
    """A stamp is found where it stands in the line, and is a moment in UTC."""
    stamp = StampReader().read(line)
    assert stamp is not None
    assert line[stamp.start : stamp.end] == written
    assert (stamp.instant, stamp.yearless) == (moment, False)
    assert stamp.instant.tzinfo is UTC


@pytest.mark.parametrize(("line", "written", "moment"), _YEARLESS)
def test_a_stamp_without_a_year(line: str, written: str, moment: datetime) -> None:
    """A stamp without a year is in the year nearest to what is looked for."""
    stamp = StampReader(near=datetime(2015, 9, 1, tzinfo=UTC)).read(line)
    assert stamp is not None
    assert line[stamp.start : stamp.end] == written
    assert (stamp.instant, stamp.yearless) == (moment, True)


@pytest.mark.parametrize("line", _UNSTAMPED)
def test_no_stamp(line: str) -> None:
    """What has no date, or only looks like a time, is no stamp."""
    assert StampReader().read(line) is None


@pytest.mark.parametrize("line", ["2015-10-18 20:01:47 x", "Oct 18 2015 20:01:47 x"])
def test_the_zone_of_a_stamp_without_one(line: str) -> None:
    """A stamp without a zone is in the zone that the reader was given."""
    stamp = StampReader(timezone(timedelta(hours=2))).read(line)
    assert stamp is not None
    assert stamp.instant == _AT


def test_a_log_that_runs_over_new_year() -> None:
    """Without years, January after December is in the next year, and back again."""
    reader = StampReader(near=datetime(2006, 1, 2, tzinfo=UTC))
    lines = ["Dec 30 10:00:00 x", "Jan  1 10:00:00 x", "Dec 30 10:00:00 x", "Jan  1 10:00:00 x"]
    years = [stamp.instant.year for stamp in map(reader.read, lines) if stamp]
    assert years == [2005, 2006, 2005, 2006]


def test_a_log_of_many_seconds() -> None:
    """Stamps are remembered in bounded memory, and read the same when they come again."""
    reader = StampReader()
    lines = [f"Oct 18 {n // 3600:02}:{n // 60 % 60:02}:{n % 60:02} x" for n in range(1200)]
    first = [reader.read(line) for line in lines]
    assert [reader.read(line) for line in lines] == first
    assert len(reader._known) <= 512


def test_a_leap_day_stays_in_a_leap_year() -> None:
    """The 29th of February without a year is in the nearest leap year."""
    near = datetime(2007, 1, 1, tzinfo=UTC)
    day = datetime(2000, 2, 29, tzinfo=UTC)
    assert nearest_year(day, near) == datetime(2008, 2, 29, tzinfo=UTC)


@given(
    day=st.datetimes(datetime(2000, 1, 1), datetime(2000, 12, 31)),  # noqa: DTZ001  made aware below
    near=st.datetimes(datetime(2, 1, 1), datetime(9990, 1, 1)),  # noqa: DTZ001
)
def test_the_nearest_year_is_the_nearest(day: datetime, near: datetime) -> None:
    """No other year brings the day nearer."""
    day, near = day.replace(tzinfo=UTC), near.replace(tzinfo=UTC)
    found = nearest_year(day, near)
    assert (found.month, found.day) == (day.month, day.day)
    for year in (found.year - 1, found.year + 1):
        if (day.month, day.day) != (2, 29):
            assert abs(found - near) <= abs(day.replace(year=year) - near)


def test_a_date_in_a_message_is_no_stamp() -> None:
    """Once stamps stand at the start of lines, a date inside a line is part of its message."""
    reader = StampReader()
    assert reader.read("log opened at 2015-10-18 18:01:40") is not None
    assert reader.read("2015-10-18 18:01:47 a") is not None
    assert reader.read("2015-10-18 18:01:48 b") is not None
    assert reader.read("Caused by: expired at 2014-01-01 00:00:00") is None


@pytest.mark.parametrize("text", ["2015-10-18 18:01:47 x", "", "soon", "2015-10-18 18:01:61"])
def test_a_text_that_is_no_time(text: str) -> None:
    """Only a text that is a time and nothing else is one."""
    assert parse_time(text) is None


def test_a_month_that_is_none() -> None:
    """A named date without a month's name is refused, not guessed."""
    with pytest.raises(ValueError, match="Foo 18"):
        _read("named", "Foo 18 18:01:47")
    assert len(set(MONTHS)) == 12


def test_two_thousand_lines_are_read_at_once() -> None:
    """Reading the stamps of 2,000 lines takes well under a tenth of a second."""
    lines = [line for line, _, _ in _STAMPED[:4]] * 500
    reader = StampReader()
    began = process_time()
    assert all(reader.read(line) for line in lines)
    assert process_time() - began < 0.1

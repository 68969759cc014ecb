"""Counts over time in bounded memory."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.logs._timeline import Peak, Timeline, duration_name

_AT = datetime(2015, 10, 18, 18, 0, tzinfo=UTC)


def _timeline(seconds: list[int], most: int = 4) -> Timeline:
    timeline = Timeline(most)
    for number, second in enumerate(seconds, 1):
        timeline.add(_AT + timedelta(seconds=second), number)
    return timeline


def test_the_peak_is_the_fullest_stretch() -> None:
    """The peak says how many lines, the first of them, when, and for how long."""
    seven = _AT + timedelta(seconds=7)
    assert _timeline([1, 7, 7, 7, 9]).peak() == Peak(3, 2, seven, seven, timedelta(seconds=1))


def test_the_earliest_of_equal_peaks() -> None:
    """Of several stretches with as many lines the earliest counts, in whatever order they came."""
    peak = _timeline([9, 9, 3, 3]).peak()
    assert peak is not None
    assert (peak.begin.second, peak.line) == (3, 3)


@pytest.mark.parametrize(
    ("seconds", "width", "count"),
    [
        ([0, 1, 2, 2], timedelta(seconds=1), 2),
        ([0, 1, 2, 3, 14], timedelta(seconds=10), 4),
        ([0, 70, 80, 200, 300, 400], timedelta(minutes=10), 6),
        ([n * 86_400 * 400 for n in range(-5, 6)], timedelta(days=100_000), 11),
    ],
)
def test_stretches_become_longer(seconds: list[int], width: timedelta, count: int) -> None:
    """Too many stretches are merged into longer ones, and no line is lost."""
    peak = _timeline(seconds).peak()
    assert peak is not None
    assert (peak.width, peak.count) == (width, count)


def test_nothing_counted() -> None:
    """Without lines there is no peak."""
    assert Timeline(4).peak() is None


def test_the_rate_of_a_peak() -> None:
    """A peak says how many lines a second it has."""
    assert Peak(30, 1, _AT, _AT, timedelta(minutes=1)).rate == 0.5


def test_a_stretch_ends_with_its_last_line() -> None:
    """A stretch goes from its earliest line to its latest, not from one round time to another."""
    peak = _timeline([14, 12, 13, 55, 11]).peak()
    assert peak is not None
    assert (peak.begin.second, peak.end.second, peak.width.seconds) == (11, 14, 10)


@pytest.mark.parametrize(
    ("seconds", "name"),
    [(1, "1 second"), (90, "90 seconds"), (3600, "1 hour"), (864_000, "10 days")],
)
def test_lengths_have_names(seconds: int, name: str) -> None:
    """A length is named in its largest unit."""
    assert duration_name(timedelta(seconds=seconds)) == name


@given(st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=60))
def test_memory_is_bounded_and_no_line_is_lost(seconds: list[int]) -> None:
    """However the lines are spread, few stretches are kept, and they hold every line."""
    timeline = _timeline(seconds, most=8)
    assert len(timeline._bins) <= 8
    assert sum(stretch.count for stretch in timeline._bins.values()) == len(seconds)

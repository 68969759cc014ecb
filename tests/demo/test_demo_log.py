"""The service's log file."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

from harness.demo._log import LogWriter, iso_milliseconds, utc_now

_MOMENT = datetime(2026, 1, 31, 11, 5, 7, 42_900, tzinfo=timezone(timedelta(hours=2)))


def test_times_are_utc_with_milliseconds() -> None:
    """A moment of any zone is written in UTC, cut to milliseconds."""
    assert iso_milliseconds(_MOMENT) == "2026-01-31T09:05:07.042Z"


def test_the_wall_clock_knows_its_zone() -> None:
    """Times of the demo are always aware."""
    assert utc_now().tzinfo is UTC


def test_a_line_holds_time_level_message_and_details(tmp_path: Path) -> None:
    """A line is on disk as soon as it is written, before the file is closed."""
    path = tmp_path / "service.log"
    with LogWriter(path, lambda: _MOMENT) as log:
        log.write("WARN", "slow connection acquire", waited_ms=70, payment="p-1")
        assert path.read_text() == (
            "2026-01-31T09:05:07.042Z WARN  slow connection acquire waited_ms=70 payment=p-1\n"
        )


def test_a_second_writer_appends(tmp_path: Path) -> None:
    """A restarted service continues the log of the one before."""
    for version in "12":
        with LogWriter(tmp_path / "service.log", lambda: _MOMENT) as log:
            log.write("INFO", "started", version=version)
    lines = (tmp_path / "service.log").read_text().splitlines()
    assert [line[-9:] for line in lines] == ["version=1", "version=2"]


def test_lines_of_many_threads_stay_whole_and_in_order(tmp_path: Path) -> None:
    """Lines never mix, and stand in the order of their timestamps."""
    path = tmp_path / "service.log"
    ticks = iter(range(400))
    with (
        LogWriter(path, lambda: _MOMENT + timedelta(milliseconds=next(ticks))) as log,
        ThreadPoolExecutor(8) as writers,
    ):
        list(writers.map(lambda number: log.write("INFO", "line", number=number), range(400)))
    lines = path.read_text().splitlines()
    assert lines == sorted(lines)
    assert sorted(int(line.split("number=")[1]) for line in lines) == list(range(400))

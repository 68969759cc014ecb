"""The tool: what a call finds, how it is shown, and what is refused."""

from collections.abc import Iterable
from datetime import timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness import Fact, ToolCall
from harness.errors import InvalidArgumentError
from harness.logs import LogNotFoundError, LogTool, ScanStoppedError, describe_scope
from harness.ports import Tool

_LOG = """\
banner without a time
2015-10-18 18:00:00,000 INFO [main] starting up
2015-10-18 18:00:01,000 WARN [pool] slow call took 70 ms
2015-10-18 18:05:00,000 ERROR [pool] cannot get a connection after 5000 ms
java.sql.SQLException: pool is empty
    at pool.Pool.get(Pool.java:12)
2015-10-18 18:05:01,000 ERROR [pool] cannot get a connection after 5001 ms

2015-10-18 18:06:00,000 INFO [main] recovered
"""

_SYSLOG = """\
Dec 30 23:59:50 web app[1]: request failed
Dec 31 23:59:59 web app[1]: request failed
Jan  1 00:00:01 web app[1]: request served
"""


@pytest.fixture
def logs(tmp_path: Path) -> LogTool:
    """A tool over the log above."""
    (tmp_path / "pay.log").write_text(_LOG)
    return LogTool(tmp_path / "pay.log")


def _ask(tool: LogTool, **arguments: Any) -> tuple[Fact, ...]:
    return tool.execute(tool.call(**arguments))


def _numbers(facts: Iterable[Fact]) -> list[int]:
    return [int(fact.source.rpartition(":")[2]) for fact in facts]


def _refused(tool: LogTool, **arguments: Any) -> InvalidArgumentError:
    with pytest.raises(InvalidArgumentError) as caught:
        _ask(tool, **arguments)
    return caught.value


def test_it_is_a_tool(logs: LogTool) -> None:
    """It has what the port asks for, and agents read its files and arguments."""
    assert isinstance(logs, Tool)
    assert logs.name == "logs"
    assert "pay.log" in logs.description
    assert set(logs.parameters) == {"path", "since", "until", "level", "pattern", "view", "limit"}
    assert repr(logs) == "LogTool(pay.log)"


def test_lines_are_verbatim(logs: LogTool) -> None:
    """Without arguments every line that is not blank is a fact: its text, and file and number."""
    facts = _ask(logs)
    lines = _LOG.splitlines()
    assert _numbers(facts) == [1, 2, 3, 4, 5, 6, 7, 9]
    assert facts[2] == Fact(lines[2], "pay.log:3")
    assert [fact.text for fact in facts] == [line for line in lines if line]


@pytest.mark.parametrize(
    ("arguments", "numbers"),
    [
        ({"since": "2015-10-18 18:05"}, [4, 5, 6, 7, 9]),
        ({"until": "2015-10-18 18:00"}, [2, 3]),
        ({"since": "2015-10-18 18:05", "until": "2015-10-18 18:05:00"}, [4, 5, 6]),
        ({"level": "warn"}, [3, 4, 5, 6, 7]),
        ({"level": "ERROR"}, [4, 5, 6, 7]),
        ({"pattern": "pool.*empty"}, [5]),
        ({"pattern": "(?i)POOL", "level": "error", "until": "Oct 18 18:05:00"}, [4, 5, 6]),
        ({"since": "2016-01-01"}, []),
        ({"pattern": "nowhere"}, []),
        ({"level": "fatal", "path": None, "limit": None}, []),
    ],
)
def test_what_is_found(logs: LogTool, arguments: dict[str, Any], numbers: list[int]) -> None:
    """Window, level and pattern narrow the lines; a stack trace goes with the line before it."""
    assert _numbers(_ask(logs, **arguments)) == numbers


def test_a_limit_says_what_it_leaves_away(logs: LogTool) -> None:
    """More lines than the limit: the first ones, and a note with the number of all."""
    *lines, note = _ask(logs, limit=2)
    assert _numbers(lines) == [1, 2]
    assert note == Fact("pay.log: 8 lines match; shown of them: 2", "pay.log:3")


def test_a_long_line_says_that_it_is_cut(tmp_path: Path) -> None:
    """A line beyond the bound is shown as far as the bound, and a note names it."""
    (tmp_path / "a.log").write_text("x" * 20 + "\nshort\n")
    long, short, note = _ask(LogTool(tmp_path / "a.log", max_line_bytes=8))
    assert (long.text, short.text) == ("x" * 8, "short")
    assert note == Fact("a.log: these lines are longer than what is shown: 1", "a.log:1")


def test_counts(logs: LogTool) -> None:
    """The count says how many lines of which level, from when to when, and how many are wrong."""
    overview, problems = _ask(logs, view="count")
    assert overview == Fact(
        "pay.log: 8 lines: 2 at level error, 1 at level warn, 2 at level info, 1 without a level, "
        "2 that continue the line before; earliest 2015-10-18 18:00:00,000 (line 2), "
        "latest 2015-10-18 18:06:00,000 (line 9)",
        "pay.log:1",
    )
    assert problems == Fact(
        "pay.log: 3 lines report a problem; the busiest 10 seconds had 2 lines from "
        "2015-10-18 18:05:00 to 2015-10-18 18:05:01",
        "pay.log:4",
    )


def test_counts_of_a_query(logs: LogTool) -> None:
    """A narrower count names how many of all lines match, and what no window can place."""
    overview, left_out = _ask(logs, view="count", since="2015-10-18 18:06")
    assert overview.text.startswith("pay.log: 1 of 9 lines match: 1 at level info; earliest")
    assert left_out.text == "pay.log: left out: 1 line before the first timestamp"


def test_the_worst_stretch_of_a_count(tmp_path: Path) -> None:
    """Problems are lines at warning or above, or lines without a level that speak of failure."""
    (tmp_path / "a.log").write_text(_SYSLOG * 2)
    _, peak = _ask(LogTool(tmp_path / "a.log"), view="count")
    assert peak == Fact(
        "a.log: 4 lines report a problem; the busiest 1 second had 2 lines from "
        "Dec 30 23:59:50 to Dec 30 23:59:50",
        "a.log:1",
    )


def test_a_count_without_times(tmp_path: Path) -> None:
    """Lines without times are counted all the same; an indented one continues the one before."""
    (tmp_path / "a.log").write_text("ERROR it failed\n  because\nfine\nWARN odd\n")
    overview, problems = _ask(LogTool(tmp_path / "a.log"), view="count")
    assert overview.text == (
        "a.log: 4 lines: 1 at level error, 1 at level warn, 1 without a level, "
        "1 that continue the line before"
    )
    assert problems == Fact("a.log: 2 lines report a problem", "a.log:1")


def test_times_that_are_out_of_order(tmp_path: Path) -> None:
    """Earliest and latest are those in time, and a window finds lines wherever they stand."""
    (tmp_path / "a.log").write_text("2015-10-18 18:05 b\n2015-10-18 18:04 a\n2015-10-18 18:06 c\n")
    tool = LogTool(tmp_path / "a.log")
    (overview,) = _ask(tool, view="count")
    assert "earliest 2015-10-18 18:04 (line 2), latest 2015-10-18 18:06 (line 3)" in overview.text
    assert _numbers(_ask(tool, until="2015-10-18 18:05")) == [1, 2]


def test_templates(logs: LogTool) -> None:
    """Templates give one fact a group, what matters most first, with its first line verbatim."""
    facts = _ask(logs, view="templates", limit=3)
    assert facts[1] == Fact(
        "pay.log: 2 lines at level error from line 4 (2015-10-18 18:05:00,000) to line 7 "
        "(2015-10-18 18:05:01,000); they say: ERROR [pool] cannot get a connection after <*> ms; "
        "line 4 says: 2015-10-18 18:05:00,000 ERROR [pool] cannot get a connection after 5000 ms",
        "pay.log:4",
    )
    assert facts[0].text == (
        "pay.log: 1 line at level error, line 5; line 5 says: java.sql.SQLException: pool is empty"
    )
    assert facts[-1].text == "not shown: 3 further templates"
    assert "Pool.java" not in str(facts)


def test_templates_name_usual_values_and_their_peak(tmp_path: Path) -> None:
    """A group says which value often stood in it, and when most of its lines came."""
    rows = [(0, "a"), (0, "a"), (30, "b"), (59, "a")]
    lines = [f"2015-10-18 18:05:{second:02} ERROR call of '{who}' failed" for second, who in rows]
    (tmp_path / "a.log").write_text("\n".join(lines))
    (fact,) = _ask(LogTool(tmp_path / "a.log", zone=timezone(timedelta(hours=2))), view="templates")
    assert (
        "; the busiest 1 second had 2 lines from 2015-10-18 18:05:00 to 2015-10-18 18:05:00; "
        "3 lines with 'a'; line 1 says: "
    ) in fact.text


def test_a_peak_at_the_beginning_of_time(tmp_path: Path) -> None:
    """A time that the tool's zone cannot name is named in UTC."""
    (tmp_path / "a.log").write_text("0001-01-01 00:00:00Z ERROR failed\n" * 2)
    tool = LogTool(tmp_path / "a.log", zone=timezone(timedelta(hours=-2)))
    _, peak = _ask(tool, view="count")
    assert "2 lines from 0001-01-01 00:00:00 to" in peak.text


def test_long_texts_are_shortened_in_summaries(tmp_path: Path) -> None:
    """A summary shows the beginning of a long line."""
    (tmp_path / "a.log").write_text("ERROR " + "x" * 2000)
    (fact,) = _ask(LogTool(tmp_path / "a.log"), view="templates")
    assert fact.text == f"a.log: 1 line at level error, line 1; line 1 says: ERROR {'x' * 594}..."


def test_more_groups_than_are_kept(tmp_path: Path) -> None:
    """Lines that no group holds are named."""
    words = [chr(97 + n // 26) * 3 + chr(97 + n % 26) * 2 for n in range(420)]
    (tmp_path / "a.log").write_text("\n".join(f"{word} {word}" for word in words))
    note = _ask(LogTool(tmp_path / "a.log"), view="templates", limit=1)[-1]
    assert note.text == ("not shown: 399 further templates, and 20 lines that no template holds")


@pytest.mark.parametrize("view", ["lines", "templates", "count"])
def test_nothing_found_gives_no_fact(logs: LogTool, view: str) -> None:
    """An empty answer holds no fact in any view: that scope is empty."""
    assert _ask(logs, view=view, pattern="nowhere") == ()


def test_a_window_over_new_year(tmp_path: Path) -> None:
    """A log without years is searched in the years of the window."""
    (tmp_path / "a.log").write_text(_SYSLOG)
    tool = LogTool(tmp_path / "a.log")
    assert _numbers(_ask(tool, since="2005-12-31", until="2006-01-01")) == [2, 3]
    assert _numbers(_ask(tool, since="Dec 31", until="Jan 1")) == [2, 3]
    assert _numbers(_ask(tool, since="2006-01-01")) == [3]
    assert _numbers(_ask(tool, until="2005-12-30")) == [1]


def test_a_zone_of_the_tool(tmp_path: Path) -> None:
    """Times without a zone are in the tool's zone, in the log and in the question."""
    (tmp_path / "a.log").write_text("2015-10-18 20:00:00 a\n2015-10-18T18:00:00Z b\n")
    tool = LogTool(tmp_path / "a.log", zone=timezone(timedelta(hours=2)))
    assert _numbers(_ask(tool, since="2015-10-18 20:00:00", until="2015-10-18 20:00:00")) == [1, 2]


def test_several_files(tmp_path: Path) -> None:
    """All files are searched in order, or one by its name; the limit holds for all together."""
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text("one\ntwo\n")
    tool = LogTool([tmp_path / "a.log", tmp_path / "b.log"])
    assert [fact.source for fact in _ask(tool)] == ["a.log:1", "a.log:2", "b.log:1", "b.log:2"]
    assert [fact.source for fact in _ask(tool, path="b.log")] == ["b.log:1", "b.log:2"]
    assert [fact.text for fact in _ask(tool, limit=2)[2:]] == [
        "b.log: 2 lines match; shown of them: 0"
    ]
    assert len(_ask(tool, view="count")) == 2


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["/x/a.log", "/x/b.log"], ["a.log", "b.log"]),
        (["/x/a.log", "/y/a.log"], ["x/a.log", "y/a.log"]),
        (["/x/a.log", "/y/z/a.log", "/y/x/a.log"], ["/x/a.log", "z/a.log", "y/x/a.log"]),
        (["a.log", "/x/a.log"], ["a.log", "x/a.log"]),
        (["a.log", "a.log"], ["a.log"]),
    ],
)
def test_files_have_short_names(paths: list[str], names: list[str]) -> None:
    """A file is named by the shortest end of its path that no other file has."""
    assert list(LogTool(paths).files) == names


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """A file is opened when it is asked for; the others can be asked for by name."""
    (tmp_path / "a.log").write_text("one\n")
    tool = LogTool([tmp_path / "a.log", tmp_path / "gone.log"])
    with pytest.raises(LogNotFoundError, match=r"gone.log: no such file"):
        _ask(tool)
    assert len(_ask(tool, path="a.log")) == 1


@pytest.mark.parametrize(
    ("arguments", "argument", "allowed"),
    [
        ({"view": "graph"}, "arguments", "argument 'view' is none of"),
        ({"path": "other.log"}, "arguments", "argument 'path' is none of"),
        ({"limit": "9"}, "arguments", "argument 'limit' is str"),
        ({"depth": 1}, "arguments", "unknown argument 'depth'"),
        ({"limit": 0}, "limit", "1 to 190"),
        ({"limit": 191}, "limit", "1 to 190"),
        ({"level": "loud"}, "level", "trace, debug, info, notice, warn, error, fatal"),
        ({"pattern": "(a+)+"}, "pattern", "none inside a repeated group"),
        ({"since": "soon"}, "since", "a date"),
        ({"since": "2015-10-18", "until": "2015-10-17"}, "until", "not before"),
    ],
)
def test_wrong_arguments(
    logs: LogTool, arguments: dict[str, Any], argument: str, allowed: str
) -> None:
    """A wrong argument is refused with its name and what is allowed, before a file is read."""
    error = _refused(logs, **arguments)
    assert error.argument == argument
    assert allowed in error.allowed


@pytest.mark.parametrize(
    ("settings", "argument"),
    [
        ({"paths": []}, "paths"),
        ({"paths": 7}, "paths"),
        ({"paths": [""]}, "paths"),
        ({"paths": [None]}, "paths"),
        ({"paths": "a.log", "name": " "}, "name"),
        ({"paths": "a.log", "name": 1}, "name"),
        ({"paths": "a.log", "zone": "UTC"}, "zone"),
        ({"paths": "a.log", "max_line_bytes": 0}, "max_line_bytes"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], argument: str) -> None:
    """A tool that could not work is not built."""
    with pytest.raises(InvalidArgumentError) as caught:
        LogTool(**settings)
    assert caught.value.argument == argument


def test_a_description_of_ones_own() -> None:
    """Name and description can be given."""
    tool = LogTool("a.log", name="app_logs", description="The app's log.")
    assert (tool.name, tool.description) == ("app_logs", "The app's log.")
    assert tool.call().tool == "app_logs"


def test_the_scope_says_what_is_searched(logs: LogTool) -> None:
    """A call's scope names files and filters, so that an empty answer says what it is about."""
    call = logs.call(since="2015-10-18", level="error", view="count", pattern=None)
    assert call.scope == {
        "files": "pay.log",
        "since": "2015-10-18",
        "level": "error or more severe",
    }
    assert describe_scope({"path": "b.log", "until": "Jan 1"}, ("a.log", "b.log")) == {
        "files": "b.log",
        "until": "Jan 1",
    }


def test_reading_stops_when_the_run_has_ended(logs: LogTool) -> None:
    """A call whose run was cancelled or timed out does not read on."""
    ended: Any = SimpleNamespace(is_cancelled=True)
    going: Any = SimpleNamespace(is_cancelled=False)
    call = ToolCall("logs")
    assert len(logs.execute(call, going)) == 8
    with pytest.raises(ScanStoppedError, match="stopped after 0 lines: the run has ended"):
        logs.execute(call, ended)

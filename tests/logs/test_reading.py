"""What the summary facts say can be read back from their texts."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import Fact
from harness.logs import Level, LogTool
from harness.logs._reading import (
    Overview,
    Stretch,
    read_group,
    read_overview,
    read_stretch,
)

_LOG = """\
2015-10-18 18:05:00 ERROR [pool] org.example.Pool: no connection for 'a' after 50 ms
2015-10-18 18:05:00 ERROR [pool] org.example.Pool: no connection for 'a' after 51 ms
2015-10-18 18:06:00 ERROR [pool] org.example.Pool: no connection for 'b' after 52 ms
2015-10-18 18:06:00 FATAL [main] java.lang.OutOfMemoryError: Java heap space
"""


def _facts(folder: Path, text: str, **arguments: Any) -> tuple[Fact, ...]:
    (folder / "a.log").write_text(text)
    tool = LogTool(folder / "a.log")
    return tool.execute(tool.call(**arguments))


def test_an_overview_is_read(tmp_path: Path) -> None:
    """An overview gives the levels of a file, whether all is stated and whether any is bad."""
    overview = read_overview(_facts(tmp_path, "plain\n" + _LOG + "WARN x\n  y\n", view="count")[0])
    assert overview == Overview(
        "a.log", ((Level.FATAL, 1), (Level.ERROR, 3), (Level.WARN, 1), (None, 1))
    )
    assert not overview.states_levels
    assert overview.may_report_problems


@pytest.mark.parametrize(
    ("text", "meant"),
    [("INFO a\n", (True, False)), ("WARN a\n", (True, True)), ("a\n", (False, True))],
)
def test_what_an_overview_means(tmp_path: Path, text: str, meant: tuple[bool, bool]) -> None:
    """A file of ordinary levels reports no problem; one without levels may."""
    overview = read_overview(_facts(tmp_path, text, view="count", since=None)[0])
    assert overview is not None
    assert (overview.states_levels, overview.may_report_problems) == meant


def test_an_overview_of_a_query_is_read(tmp_path: Path) -> None:
    """The overview of a narrower query is read too."""
    overview = read_overview(_facts(tmp_path, _LOG, view="count", level="fatal")[0])
    assert overview == Overview("a.log", ((Level.FATAL, 1),))


def test_a_stretch_is_read(tmp_path: Path) -> None:
    """The worst stretch gives two times that can be asked for."""
    _, stretch = _facts(tmp_path, _LOG, view="count")
    assert read_stretch(stretch) == Stretch(
        "the busiest 1 second had 2 lines from 2015-10-18 18:05:00 to 2015-10-18 18:05:00",
        "2015-10-18 18:05:00",
        "2015-10-18 18:05:00",
    )


def test_groups_are_read(tmp_path: Path) -> None:
    """A group gives what its lines have in common, without the name of what wrote them."""
    facts = _facts(tmp_path, _LOG, view="templates")
    fatal, errors = read_group(facts[0]), read_group(facts[1])
    assert fatal is not None
    assert errors is not None
    assert (errors.file, errors.count, errors.level, errors.severity) == (
        "a.log",
        3,
        Level.ERROR,
        5,
    )
    assert errors.said == "no connection for"
    assert errors.usual == "2 lines with 'a'"
    assert errors.stretch is not None
    assert errors.stretch.until == "2015-10-18 18:05:00"
    assert fatal.said == "java.lang.OutOfMemoryError: Java heap space"
    assert fatal.where == "line 4 (2015-10-18 18:06:00)"
    assert (fatal.usual, fatal.stretch) == ("", None)


@pytest.mark.parametrize("view", ["lines", "templates", "count"])
def test_other_facts_are_not_misread(tmp_path: Path, view: str) -> None:
    """What is no overview, stretch or group is not taken for one."""
    facts = _facts(tmp_path, _LOG, view=view, limit=1)
    for fact in facts:
        assert (view == "templates") or read_group(fact) is None
        assert (view == "count") or read_overview(fact) is None
        assert (view == "count") or read_stretch(fact) is None
    assert read_group(facts[-1]) is None


def test_a_long_text_is_quoted_in_whole_words(tmp_path: Path) -> None:
    """What a group says is shortened, and still stands in its line."""
    (fact,) = _facts(tmp_path, "ERROR " + "word " * 300, view="templates")
    group = read_group(fact)
    assert group is not None
    assert group.said in group.sample
    assert group.said.endswith("word word")
    assert len(group.said) <= 160


_WORDS = st.sampled_from(
    [
        *("a", "b", "ERROR", "error:", "17", "10.0.0.1", '"x y"', "'q'", "<*>", "<...>", "..."),
        *("; line 1 says: b", "they say:", "[x]", "] ", "(a", "/a/b", "\u00e9", "a\0"),
        "; 3 lines with",
    ]
)


@given(st.lists(st.lists(_WORDS, min_size=1, max_size=6).map(" ".join), min_size=1, max_size=8))
def test_every_group_is_read(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    """Whatever lines hold, each fact of the templates is read, and its words stand in its line."""
    facts = _facts(tmp_path_factory.mktemp("log"), "\n".join(texts), view="templates")
    groups = [read_group(fact) for fact in facts]
    assert None not in groups
    assert sum(group.count for group in groups if group) == len(texts)
    assert [group for group in groups if group and group.said not in group.sample] == []

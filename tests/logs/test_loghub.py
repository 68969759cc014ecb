"""The tool on real logs; skipped where the data is absent."""

from pathlib import Path
from time import process_time

import pytest

from harness import Fact
from harness.logs import LogTool, read_lines

_DATA = Path(__file__).parents[2].parent / "shared" / "data" / "loghub"

# (file, its overview, what its first templates speak of)
_KNOWN = [
    ("Apache", "2000 lines: 595 at level error, 1405 at level notice", ["mod_jk child workerEnv"]),
    (
        "Hadoop",
        "2000 lines: 2 at level fatal, 150 at level error, 808 at level warn, 1040 at level info",
        ["No Route to Host", "ERROR IN CONTACTING RM"],
    ),
    (
        "Linux",
        "2000 lines: 43 at level fatal, 2 at level warn, 1955 without a level",
        ["logrotate: ALERT exited abnormally", "authentication failure"],
    ),
    (
        "OpenSSH",
        "2000 lines: 1 at level fatal, 47 at level error, 1952 without a level",
        ["Failed password for <...> from", "277 lines with 183.62.140.253"],
    ),
    ("OpenStack", "2000 lines: 31 at level warn, 1969 at level info", ["Unknown base file"]),
    (
        "Zookeeper",
        "2000 lines: 13 at level error, 1318 at level warn, 669 at level info",
        ["Unexpected exception causing shutdown", "Connection broken for id"],
    ),
]
_NAMES = [name for name, _, _ in _KNOWN]


def _path(name: str) -> Path:
    path = _DATA / f"{name}_2k.log"
    if not path.exists():
        pytest.skip(f"{path} is absent")
    return path


def _ask(name: str, **arguments: object) -> tuple[Fact, ...]:
    tool = LogTool(_path(name))
    return tool.execute(tool.call(**arguments))


@pytest.mark.parametrize(("name", "overview", "_spoken"), _KNOWN)
def test_levels_and_times_are_found(name: str, overview: str, _spoken: list[str]) -> None:
    """Every line of each log has its level, and the overview names first and last time."""
    text = _ask(name, view="count")[0].text
    assert text.startswith(f"{name}_2k.log: {overview}; earliest ")
    assert "continue" not in text


@pytest.mark.parametrize(("name", "_overview", "spoken"), _KNOWN)
def test_what_is_wrong_comes_first(name: str, _overview: str, spoken: list[str]) -> None:
    """The first five templates of each log speak of what is known to be wrong in it."""
    text = "\n".join(fact.text for fact in _ask(name, view="templates", limit=5))
    assert [words for words in spoken if words not in text] == []


@pytest.mark.parametrize("name", _NAMES)
def test_lines_stand_where_they_are_said_to(name: str) -> None:
    """Each line's fact is the line of that number of the file, byte for byte."""
    lines = _path(name).read_bytes().split(b"\n")
    facts = [fact for fact in _ask(name, limit=190) if " lines match; shown" not in fact.text]
    for fact in facts:
        number = int(fact.source.rpartition(":")[2])
        assert fact.text == lines[number - 1].decode().removesuffix("\r")
    assert len(facts) == 190


@pytest.mark.parametrize("name", _NAMES)
def test_all_lines_are_read(name: str) -> None:
    """Each log has its 2,000 lines, the last of which has no line end."""
    assert [line.number for line in read_lines(_path(name))] == list(range(1, 2001))


@pytest.mark.parametrize("view", ["lines", "templates", "count"])
def test_a_log_is_read_at_once(view: str) -> None:
    """A log of 2,000 lines is answered well under a second."""
    path = _path("Hadoop")
    began = process_time()
    tool = LogTool(path)
    assert tool.execute(tool.call(view=view, since="2015-10-18 18:06"))
    assert process_time() - began < 0.5

"""Memory does not grow with the file, the line, or the number of different lines."""

import gzip
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from harness.logs import LogTool

_MIB = 1024 * 1024


@contextmanager
def _at_most(mebibytes: float) -> Iterator[None]:
    """Fails where more memory than that is in use at any moment."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < mebibytes * _MIB


def _line(number: int) -> str:
    return (
        f"2015-10-18 18:{number // 60 % 60:02}:{number % 60:02} "
        f"{'ERROR' if number % 9 else 'INFO'} [worker-{number % 31}] call {number} of "
        f"{chr(97 + number % 23)}{chr(97 + number % 19)} took {number % 1000} ms\n"
    )


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A gzip file whose content is much larger than the memory that reading it may take."""
    path = tmp_path_factory.mktemp("big") / "big.log.gz"
    with gzip.open(path, "wt", compresslevel=1) as file:
        for part in range(12):
            file.write("".join(_line(number) for number in range(part * 7000, part * 7000 + 7000)))
    return path


@pytest.mark.parametrize(
    "arguments",
    [
        {"since": "2015-10-18 18:30", "until": "2015-10-18 18:31", "level": "error"},
        {"pattern": "call 77777 "},
    ],
)
def test_a_long_file(big: Path, arguments: dict[str, Any]) -> None:
    """7 MB of lines are searched in 3 MB."""
    tool = LogTool(big)
    with _at_most(3):
        facts = tool.execute(tool.call(**arguments))
    assert facts


@pytest.mark.parametrize("view", ["templates", "count"])
def test_summaries_of_many_lines(tmp_path: Path, view: str) -> None:
    """Summaries of many different lines take bounded memory too."""
    path = tmp_path / "many.log"
    path.write_text("".join(_line(number) for number in range(8_000)))
    tool = LogTool(path)
    with _at_most(6):
        facts = tool.execute(tool.call(view=view))
    assert facts


@pytest.mark.parametrize("character", ["x", "\r", "\0"])
def test_a_line_without_an_end(tmp_path: Path, character: str) -> None:
    """A bomb of one line of 64 MB, packed in a few KB, is read in 4 MB."""
    path = tmp_path / "line.log.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(64):
            file.write(character.encode() * _MIB)
        file.write(b"\nlast")
    tool = LogTool(path)
    with _at_most(4):
        facts = tool.execute(tool.call())
    assert [fact.source for fact in facts if "last" in fact.text] == [f"{path.name}:2"]

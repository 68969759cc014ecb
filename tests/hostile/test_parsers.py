"""Every parser of the package, fed anything: a result, or one clear error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.__main__ import main
from harness.codec import canonical_from_json, record_from_json, record_to_json
from harness.errors import HarnessError
from harness.logs import LogTool
from harness.playbook import PlaybookAgent
from harness.testing import strategies
from harness.testing.scenario import load_scenario

_CASES = sorted((Path(__file__).parents[1] / "conformance" / "cases").glob("*.json"))
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def _places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(data, (dict, list)):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            found += _places(value, (*path, key))
    return found


def _replaced(data: Any, path: tuple[Any, ...], value: object) -> Any:
    if not path:
        return value
    at = data
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return data


@given(st.data(), _JSON)
def test_a_scenario_of_anything(data: st.DataObject, value: object) -> None:
    """A scenario in which one part is something else is accepted, or refused by its key."""
    scenario = json.loads(data.draw(st.sampled_from(_CASES)).read_text(encoding="utf-8"))
    path = data.draw(st.sampled_from(_places(scenario)))
    try:
        load_scenario(_replaced(scenario, path, value))
    except HarnessError as error:
        assert str(error)  # noqa: PT017  either is fine


@given(st.data(), _JSON)
def test_a_record_of_anything(data: st.DataObject, value: object) -> None:
    """A stored record in which one part is something else is read, or refused by its path."""
    record = json.loads(record_to_json(data.draw(strategies.run_records())))
    path = data.draw(st.sampled_from(_places(record)))
    try:
        record_from_json(json.dumps(_replaced(record, path, value)))
    except HarnessError as error:
        assert str(error)  # noqa: PT017  either is fine


@given(st.text() | st.binary())
def test_a_text_that_is_no_record(text: Any) -> None:
    """Whatever is read, there is one kind of error."""
    for read in (record_from_json, canonical_from_json):
        with pytest.raises(HarnessError):
            read(text)


@given(st.binary(max_size=2000))
def test_a_log_file_of_any_bytes(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    """A file is read, or refused in one line that names it; a diagnosis ends."""
    from harness import Harness  # noqa: PLC0415  beside its only use
    from harness.logs import LogFileError  # noqa: PLC0415  the same

    file = tmp_path_factory.mktemp("logs") / "any.log"
    file.write_bytes(raw)
    try:
        tool = LogTool([file])
    except LogFileError as error:
        assert "any.log" in str(error)  # noqa: PT017  either is fine
        return
    assert Harness(PlaybookAgent(), [tool]).run("q").record.public is not None


_COMMANDS = ("diagnose", "explain", "graph", "scenario", "sweep", "replay", "songs")
_OPTIONS = ("--db", "--json", "--since", "--batch", "--context", "--agent", "--depth", "--limit")
_VALUES = ("a=b", "=", "os:system", "nowhere.log", "9", "--", "-", "\x00", "\ud800", "\x1b[31m", "")
_WORDS = st.sampled_from((*_COMMANDS, *_OPTIONS, *_VALUES))


@given(st.lists(_WORDS, max_size=5))
def test_a_command_line_of_anything(
    tmp_path_factory: pytest.TempPathFactory, arguments: list[str]
) -> None:
    """Wrong arguments are told in one line with status 2; nothing is a traceback."""
    import os  # noqa: PLC0415  beside its only use

    before = Path.cwd()
    os.chdir(tmp_path_factory.getbasetemp())
    try:
        assert main(arguments) in {0, 1, 2}
    finally:
        os.chdir(before)

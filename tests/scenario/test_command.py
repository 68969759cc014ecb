"""``python -m harness scenario``: lines, counts, exit status, and what is said of bad files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.__main__ import main
from harness.testing import _files
from harness.testing.scenario import load_scenario, run_scenario

_GOOD: dict[str, Any] = {
    "name": "good",
    "agent": [{"draft": {"conclusion": None}}],
    "expect": {"stop_cause": "NO_CONCLUSION"},
}


def _write(folder: Path, name: str, *scenarios: Any) -> str:
    file = folder / name
    file.write_text("\n".join(json.dumps(one) for one in scenarios), encoding="utf-8")
    return str(file)


def test_a_line_each_and_a_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder's files, lines of a .jsonl among them, run in a stable order, each once."""
    _write(tmp_path, "a.json", _GOOD)
    _write(tmp_path, "b.jsonl", {**_GOOD, "name": "second"}, {**_GOOD, "name": "third"})
    assert main(["scenario", str(tmp_path), str(tmp_path / "a.json")]) == 0
    assert capsys.readouterr().out == "ok good\nok second\nok third\n3 passed, 0 failed\n"


def test_each_difference_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Scenario, key, expected, observed; exit status 1."""
    file = _write(tmp_path, "a.json", {**_GOOD, "expect": {"run_state": "SUCCESS"}})
    assert main(["scenario", file]) == 1
    out = capsys.readouterr().out
    assert "good: run_state: expected 'SUCCESS', observed 'FAILED'" in out
    assert out.endswith("0 passed, 1 failed\n")


def test_json_prints_every_key_of_the_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One object a scenario on stdout; everything else goes to stderr."""
    file = _write(tmp_path, "a.json", {**_GOOD, "expect": {"delivered": False}})
    assert main(["scenario", file, "--json"]) == 1
    seen = capsys.readouterr()
    observed = json.loads(seen.out)
    assert set(observed) == {
        *("name", "run_state", "stop_cause", "release_outcome", "fallback_type", "request_status"),
        *("collection_state", "stop_reason", "intent", "delivered", "record_saved", "next_turn"),
        *("public", "events", "attempts", "used", "invocations", "violations"),
        *("semantic_verdict", "trace", "explain"),
    }
    assert "delivered: expected False, observed True" in seen.err


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "file: is no JSON"),
        ("[1]", "scenario: [1] is no object"),
        ('{"name": NaN}', "file: is no JSON: NaN"),
        ('{"name": "a", "name": "b"}', "name: stands twice"),
        ("[" * 100_000, "file: is nested too deep"),
        ('{"name": "a", "agnt": []}', "agnt: unknown key"),
        ('{"name": " "}', "name: is blank"),
        ('{"name": "a", "agent": [{"draft": {"conclusion": 5}}]}', "agent[0].draft.conclusion: 5"),
        ('{"name": "a"}', "agent: no step is left for call 1"),
    ],
)
def test_a_malformed_scenario_names_file_key_and_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, reason: str
) -> None:
    """Exit status 2, one line on stderr, and the other scenarios still run."""
    bad = tmp_path / "bad.json"
    bad.write_text(text, encoding="utf-8")
    good = _write(tmp_path, "good.json", _GOOD)
    assert main(["scenario", str(bad), good]) == 2
    seen = capsys.readouterr()
    assert seen.err.startswith(f"malformed: {bad}: {reason.split(':', maxsplit=1)[0]}")
    assert reason in seen.err
    assert seen.out == "ok good\n1 passed, 0 failed, 1 malformed\n"


def test_a_line_of_a_jsonl_file_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error says which line; blank lines are no scenarios."""
    file = tmp_path / "many.jsonl"
    file.write_text(f"{json.dumps(_GOOD)}\n\nnot json\n", encoding="utf-8")
    assert main(["scenario", str(file)]) == 2
    assert f"{file}:3: file: is no JSON" in capsys.readouterr().err


def test_names_are_unique(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same name in two files says where the other one stands."""
    first = _write(tmp_path, "a.json", _GOOD)
    second = _write(tmp_path, "b.json", _GOOD)
    assert main(["scenario", first, second]) == 2
    assert f"{second}: name: 'good' is the name of {first} too" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["missing.json", "missing.jsonl", "binary.json", "binary.jsonl"])
def test_files_that_cannot_be_read_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """Missing files and files that are no text are malformed, not crashes."""
    if name.startswith("binary"):
        (tmp_path / name).write_bytes(b"\xff\xfe\x00")
    assert main(["scenario", str(tmp_path / name)]) == 2
    assert str(tmp_path / name) in capsys.readouterr().err


def test_an_empty_folder_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing to run is no success."""
    assert main(["scenario", str(tmp_path)]) == 2
    assert "no .json or .jsonl file" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["--from-record", "r.json", "a.json"]])
def test_paths_and_from_record_exclude_each_other(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    """Exactly one of them is needed."""
    assert main(["scenario", *arguments]) == 2
    assert capsys.readouterr().err.startswith("scenario: ")


def test_from_record_writes_a_scenario_that_passes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A stored record becomes a file that the command itself accepts."""
    from harness.codec import record_to_json  # noqa: PLC0415  loaded where it is needed

    record = run_scenario(load_scenario(_GOOD)).record
    stored = tmp_path / "record.json"
    stored.write_text(record_to_json(record), encoding="utf-8")
    assert main(["scenario", "--from-record", str(stored)]) == 0
    written = tmp_path / "written.json"
    written.write_text(capsys.readouterr().out, encoding="utf-8")
    assert main(["scenario", str(written)]) == 0


@pytest.mark.parametrize("content", [None, "{}", "not json"])
def test_from_record_names_a_file_that_is_no_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None
) -> None:
    """A missing file and a file of something else are one clear line each."""
    file = tmp_path / "record.json"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    assert main(["scenario", "--from-record", str(file)]) == 2
    assert capsys.readouterr().err.startswith(f"scenario: {file}: ")


def test_reading_is_lazy(tmp_path: Path) -> None:
    """A large file is read line by line, so that a run can begin at once."""
    file = _write(tmp_path, "many.jsonl", _GOOD, _GOOD)
    first = next(_files.read_scenarios([file]))
    assert first[0] == f"{file}:1"
    assert sys.getsizeof(first) < 1_000

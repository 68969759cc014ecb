"""``explain``: from a record's file, and from a database."""

import json
from pathlib import Path

import pytest

from harness.codec import record_from_json
from harness.explain import explain
from tests.cli.conftest import Call


@pytest.fixture
def record_file(log: Path, tmp_path: Path, call: Call) -> Path:
    """The file of a run's record."""
    file = tmp_path / "run.json"
    file.write_text(call("diagnose", log, "--json", "--db", tmp_path / "runs.db").out)
    return file


def test_a_file_is_explained(record_file: Path, call: Call) -> None:
    """The explanation of a record's file is that of the record."""
    called = call("explain", record_file)
    record = record_from_json(record_file.read_text())
    assert (called.status, called.err) == (0, "")
    assert called.out == f"{explain(record)}\n"


def test_a_run_of_a_database_is_explained(record_file: Path, tmp_path: Path, call: Call) -> None:
    """The stored record is explained by its id."""
    run_id = record_from_json(record_file.read_text()).run_id
    called = call("explain", run_id, "--db", tmp_path / "runs.db")
    assert called.status == 0
    assert called.out.startswith(f"run {run_id}\n1. Stream")
    assert "cites: logs payment.log:2" in called.out


def test_json_has_the_same_sections(record_file: Path, call: Call) -> None:
    """``--json`` prints the explanation as data."""
    data = json.loads(call("explain", record_file, "--json").out)
    assert [section["title"].partition(":")[0] for section in data["sections"]] == [
        "Stream",
        "Release",
        "Run",
        "Gates",
        "Tool invocations",
        "Canonical records",
        "Budget and stop reason",
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file or directory"),
        (b"", "strict JSON"),
        (b"[]", "allowed: a JSON object"),
        (b'{"schema_version": 1}', "is missing"),
        (b'{"schema_version": 999}', "allowed: "),
        (b"[" * 100_000, "strict JSON"),
        (b"\xff\xfe", "is no text in UTF-8"),
    ],
)
def test_a_file_that_is_no_record_is_refused(
    content: bytes | None, said: str, tmp_path: Path, call: Call
) -> None:
    """What cannot be read as a record is told in one line, with the file."""
    file = tmp_path / "run.json"
    if content is not None:
        file.write_bytes(content)
    called = call("explain", file)
    assert (called.status, called.out) == (2, "")
    assert called.err.startswith(f"harness: error: {file}: ")
    assert said in called.err
    assert called.err.count("\n") == 1


def test_an_unknown_state_is_named(record_file: Path, call: Call) -> None:
    """A state of a later version is named with where it stands."""
    data = json.loads(record_file.read_text())
    record_file.write_text(json.dumps({**data, "run_state": "PAUSED"}))
    called = call("explain", record_file)
    assert called.status == 2
    assert "run_state is 'PAUSED'" in called.err


def test_a_missing_database_is_not_made(tmp_path: Path, call: Call) -> None:
    """Asking about a run makes no file."""
    called = call("explain", "r-1", "--db", tmp_path / "none.db")
    assert (called.status, called.out) == (2, "")
    assert "does not exist" in called.err
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_run_is_named(record_file: Path, call: Call) -> None:
    """A run that the database does not have is named."""
    called = call("explain", "r-1", "--db", record_file.with_name("runs.db"))
    assert (called.status, called.out) == (2, "")
    assert "has no run 'r-1'" in called.err


def test_a_broken_database_is_named(tmp_path: Path, call: Call) -> None:
    """A file that is no database is named in one line."""
    file = tmp_path / "runs.db"
    file.write_text("no database " * 999)
    called = call("explain", "r-1", "--db", file)
    assert called.status == 2
    assert str(file) in called.err
    assert called.err.count("\n") == 1

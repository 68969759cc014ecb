"""``python -m harness sweep``: what it prints, where, and how it ends."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness import SemanticVerdict
from harness.__main__ import main
from harness.testing.faults import Fault
from harness.testing.invariants import INVARIANTS
from tests.testing.stages import FAILURE, REFUSED, REPLY


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two small scenarios."""
    for scenario in (FAILURE, REPLY):
        path = tmp_path / f"{str(scenario['name']).replace(' ', '-')}.json"
        path.write_text(json.dumps(scenario), encoding="utf-8")
    return tmp_path


@pytest.fixture
def refused(tmp_path: Path) -> str:
    """The file of a scenario whose draft the guard refuses."""
    path = tmp_path / "refused.json"
    path.write_text(json.dumps(REFUSED), encoding="utf-8")
    return str(path)


@pytest.fixture
def agreeing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gate that takes every answer for approval."""

    def agreed(_value: object) -> SemanticVerdict:
        return SemanticVerdict.SUPPORTED

    monkeypatch.setattr("harness._gating._verdict", agreed)


def test_a_folder_is_swept(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line a scenario, then the count; a quick sweep has nothing to tell meanwhile."""
    monkeypatch.setattr("harness.testing._command_sweep.monotonic", lambda: 0.0)
    assert main(["sweep", str(folder)]) == 0
    captured = capsys.readouterr()
    first, second, count = captured.out.splitlines()
    assert first.startswith("ok a failure: ")
    assert second.startswith("ok a reply: ")
    runs = sum(int(line.split()[-2]) for line in (first, second))
    assert count == f"2 scenarios, {runs} runs, 0 broken invariants"
    assert captured.err == ""


@pytest.mark.usefixtures("agreeing")
def test_what_is_broken_is_told(refused: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each broken invariant is named with its run, and the command that repeats it breaks too."""
    assert main(["sweep", refused, "--depth", "0", "--inject", "tool:1=clock:backward"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("BROKEN refused: ")
    assert lines[1].startswith("  refused: tool:1=clock:backward: report-is-proven: ")
    assert lines[2].startswith("    python -m harness sweep ")
    again = lines[2].split()[3:]
    assert main(again) == 1
    assert capsys.readouterr().out.splitlines() == lines


@pytest.mark.usefixtures("agreeing")
def test_json_has_everything(refused: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With ``--json`` one object a scenario goes to standard output, the count to the other."""
    assert main(["sweep", refused, "--depth", "0", "--json", "--driver", "async"]) == 1
    captured = capsys.readouterr()
    found: dict[str, Any] = json.loads(captured.out)
    assert (found["name"], found["file"], found["runs"]) == ("refused", refused, 1)
    assert found["broken"][0]["invariant"] == "report-is-proven"
    assert found["broken"][0]["injections"] == []
    assert found["broken"][0]["command"].endswith("refused.json --driver async --depth 0")
    assert captured.err.startswith("1 scenarios, 1 runs, ")


def test_pairs_are_swept_on_demand(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A depth of 0 makes one run; another depth than 0, 1 and 2 is refused."""
    path = str(folder / "a-failure.json")
    assert main(["sweep", path, "--depth", "0"]) == 0
    assert capsys.readouterr().out.endswith("1 scenarios, 1 runs, 0 broken invariants\n")
    assert main(["sweep", path, "--depth", "3"]) == 2


def test_progress_is_told_now_and_then(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long sweep says on standard error how far it is."""
    ticks = iter(range(0, 1_000_000, 4))
    monkeypatch.setattr("harness.testing._command_sweep.monotonic", lambda: next(ticks))
    assert main(["sweep", str(folder), "--depth", "0"]) == 0
    assert capsys.readouterr().err == "sweep: 2 runs, at a reply\n"


def test_the_faults_and_invariants_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """``--list`` names what can go wrong, and what must hold."""
    assert main(["sweep", "--list"]) == 0
    out = capsys.readouterr().out
    assert all(f"fault      {fault.value}\n" in out for fault in Fault)
    assert all(f"invariant  {name}: {text}\n" in out for name, text in INVARIANTS.items())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [([], "name at least one PATH"), (["x", "--inject", "agent=late"], "site:n")],
)
def test_wrong_usage_is_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot be run is told in one line."""
    assert main(["sweep", *arguments]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert said in captured.err


def test_a_malformed_scenario_does_not_keep_the_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files that are no scenario are named; what can be swept is swept."""
    (folder / "b.json").write_text("{", encoding="utf-8")
    (folder / "c.json").write_text('{"name": "c", "agnet": []}', encoding="utf-8")
    assert main(["sweep", str(folder), "--depth", "0"]) == 2
    captured = capsys.readouterr()
    assert captured.out.endswith("2 scenarios, 2 runs, 0 broken invariants, 2 malformed\n")
    assert captured.err.count("malformed: ") == 2

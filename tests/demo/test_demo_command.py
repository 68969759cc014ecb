"""The command: what it prints, and its exit status."""

import io
import tempfile
from pathlib import Path

import pytest
from attrs import evolve

from harness import ReleaseOutcome
from harness.__main__ import main
from harness.demo import ENDINGS, Incident, run_demo, run_every_ending
from harness.demo import _command as command
from harness.errors import InvalidArgumentError


@pytest.fixture
def made(incident: Incident, monkeypatch: pytest.MonkeyPatch) -> Incident:
    """The session's incident takes the place of a new one; only it and its time are saved."""
    monkeypatch.setattr(command, "make_incident", lambda _folder, progress: incident)
    return incident


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize(
    ("name", "status"),
    [(None, 0), ("tool-error", 0), ("budget", 3), ("failed", 4), ("cancelled", 130)],
)
def test_the_exit_status_follows_the_outcome(name: str | None, status: int) -> None:
    """0 for a report, 3 for a fallback, 4 for a failure, 130 for a cancelled run."""
    assert run_demo(name, out=io.StringIO(), err=io.StringIO()) == status


def test_an_ending_is_shown_whole(made: Incident) -> None:
    """The public text, its sources, the limitations, the four views and the explanation."""
    out, err = io.StringIO(), io.StringIO()
    run_demo("tool-error", out=out, err=err)
    shown = out.getvalue()
    assert "\nSources:\n- service.log:" in shown
    assert "\n- logs: nothing was found\n" in shown
    assert "\nLimitations:\n- `metrics` could not be asked (TRANSPORT)\n" in shown
    assert "\nrun       why did execution stop?          SUCCESS, REPORT_APPROVED\n" in shown
    assert "\n7. Budget and stop reason\n" in shown
    assert f"demo: before the deploy: {made.calm.paid} paid, 0 refused\n" in err.getvalue()
    assert "demo: judging, turn 4, 5 invocations\n" in err.getvalue()


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("failed", "(STORE_UNTRUSTED is all that became public)"),
        ("cancelled", "(nothing is all that became public)"),
        ("no-evidence", "No diagnosis: what could be checked does not carry a conclusion."),
    ],
)
def test_an_ending_without_a_report_says_so(name: str, said: str) -> None:
    """A failure shows its code, a cancelled run nothing, a fallback its own text and no more."""
    out = io.StringIO()
    run_demo(name, out=out, err=io.StringIO())
    assert f"\n{said}\n" in out.getvalue()
    assert "Sources:" not in out.getvalue()


def test_all_endings_are_one_table() -> None:
    """Over one real incident all twelve endings are reached; each is a line of the table."""
    out, err = io.StringIO(), io.StringIO()
    assert run_every_ending(out=out, err=err) == 0
    lines = out.getvalue().splitlines()
    assert [line.split()[0] for line in lines[1:13]] == [ending.name for ending in ENDINGS]
    assert all(line.endswith("yes") for line in lines[1:13])
    assert lines[-1] == "12 of 12 endings are as the specification states them"
    assert err.getvalue().count("demo: deploy ") == 2


@pytest.mark.usefixtures("made")
def test_another_ending_than_the_stated_one_is_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run that ends in another way is marked, and the command fails."""
    wrong = evolve(ENDINGS[0], outcome=ReleaseOutcome.FAILED)
    monkeypatch.setattr(command, "ENDINGS", (wrong, ENDINGS[1]))
    out = io.StringIO()
    assert run_every_ending(out=out, err=io.StringIO()) == 4
    assert "  NO\n" in out.getvalue()
    assert out.getvalue().endswith("1 of 2 endings are as the specification states them\n")


def test_an_unknown_ending_is_refused() -> None:
    """The name is refused with those that there are, before anything is made."""
    err = io.StringIO()
    with pytest.raises(InvalidArgumentError, match=r"ending is 'x'; allowed: report, no-evidence"):
        run_demo("x", out=io.StringIO(), err=err)
    assert err.getvalue() == ""


@pytest.mark.parametrize("every", [True, False])
def test_an_incident_that_cannot_be_made_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, every: bool
) -> None:
    """Where there is no place for the incident, one line says why, and the status is 4."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    out, err = io.StringIO(), io.StringIO()
    run = run_every_ending if every else run_demo
    assert run(out=out, err=err) == 4
    assert out.getvalue() == ""
    assert err.getvalue().startswith("demo: failed: ")
    assert len(err.getvalue().splitlines()) == 1


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The incident's folder is removed, whatever happened in it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert run_demo("failed", out=io.StringIO(), err=io.StringIO()) == 4
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize(
    ("arguments", "status", "shown"),
    [
        ([], 0, "Sources"),
        (["budget"], 3, "BUDGET_EXHAUSTED"),
        (["--all"], 0, "12 of 12 endings"),
    ],
)
def test_the_command_line_reaches_every_ending(
    arguments: list[str], status: int, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without argument the report, with a name that ending, with --all the table."""
    assert main(["demo", *arguments]) == status
    assert shown in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["nonsense"], ["budget", "--all"]])
def test_a_wrong_ending_is_one_clear_line(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is made; exit status 2."""
    assert main(["demo", *arguments]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1

"""The generated pages say what the code's tables say."""

import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from attrs import fields

from harness import Limits
from harness._cli._drawing import draw_graph
from harness._tables import COLLECTION_TRANSITIONS, RELEASE_ROWS, STREAM_TRANSITIONS

_ROOT = Path(__file__).parents[2]
_SCRIPT = _ROOT / "docs" / "generate.py"


@pytest.fixture(scope="module")
def generator() -> dict[str, Any]:
    """The script's functions."""
    return runpy.run_path(str(_SCRIPT))


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A copy of the pages."""
    shutil.copytree(_ROOT / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns("*.pyc"))
    shutil.copy(_ROOT / "README.md", tmp_path)
    return tmp_path


def _page(name: str) -> str:
    return (_ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")


def test_the_pages_are_up_to_date() -> None:
    """The command of CI finds no page that differs from the code."""
    done = subprocess.run(
        [sys.executable, str(_SCRIPT), "--check"],
        env={"PYTHONPATH": str(_ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("", 0)


def test_a_page_that_differs_is_named(
    clone: Path, generator: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """``--check`` names a page that was edited and fails; it changes nothing."""
    page = clone / "docs/reference/limits.md"
    page.write_text("edited")
    assert generator["main"](["--check", "--root", str(clone)]) == 1
    assert capsys.readouterr().out.startswith("docs/reference/limits.md: differs")
    assert page.read_text() == "edited"


def test_pages_are_written(
    clone: Path, generator: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """``--write`` makes missing pages and puts edited ones right, README's picture too."""
    (clone / "docs/reference/tables.md").unlink()
    readme = (clone / "README.md").read_text()
    (clone / "README.md").write_text(readme.replace("tool batch", "something"))
    assert generator["main"](["--write", "--root", str(clone)]) == 0
    written = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert written == ["docs/reference/tables.md", "README.md"]
    assert (clone / "README.md").read_text() == readme
    assert generator["main"](["--check", "--root", str(clone)]) == 0


def test_readme_shows_the_failure_graph() -> None:
    """The picture of README is the one that the command prints."""
    readme = (_ROOT / "README.md").read_text(encoding="utf-8")
    assert f"```mermaid\n{draw_graph()}```\n" in readme


def test_every_release_row_stands_in_the_table() -> None:
    """The page has the rows of the release decision, in their order."""
    rows = [line for line in _page("tables.md").splitlines() if line.startswith("| `")]
    assert [line.split("`")[1] for line in rows[: len(RELEASE_ROWS)]] == [
        row.id for row in RELEASE_ROWS
    ]


@pytest.mark.parametrize(
    "line",
    [
        "| `report-approved` | `REPORT_APPROVED` | yes | yes | - | `SUCCESS` | `SUCCESS` | - |",
        "| `DEADLINE_EXCEEDED` | `TIMED_OUT` |",
        "| `FALLBACK` | `SUCCESS` |",
        "| `AGENT_UNAVAILABLE` | `FAILED` |",
        "| `PROJECTING` | - |",
        "| `FAILED` | `FAILURE` |",
    ],
)
def test_a_line_is_as_the_contract_has_it(line: str) -> None:
    """Chosen lines of each table, typed out."""
    assert line in _page("tables.md").splitlines()


def test_attempts_are_as_the_contract_has_them() -> None:
    """The two components that are retried, and on what."""
    twice = "| 2 | `TIMEOUT` `TRANSPORT` `RATE_LIMITED` `INVALID_OUTPUT` | `CAPACITY` `REJECTED`"
    lines = [line for line in _page("tables.md").splitlines() if twice in line]
    assert [line.split("`")[1] for line in lines] == ["INTENT_ROUTER", "SEMANTIC_GUARD"]


def test_limits_have_their_defaults() -> None:
    """Every limit stands there with its default and what it means."""
    page = _page("limits.md")
    assert "| `no_gain` | `3` | Batches in a row without gain that saturate collection. |" in page
    assert page.count("\n| `") == len(fields(Limits))


def test_raised_errors_come_from_the_docstrings() -> None:
    """A call stands with the error that its docstring names, and with the whole sentence."""
    assert (
        "| `Harness.run` | `RunExistsError` | A run of that id exists; nothing was run. |"
        in _page("raises.md")
    )


@pytest.mark.parametrize(
    ("transitions", "lines"),
    [
        (
            COLLECTION_TRANSITIONS,
            ["[*] --> COLLECTING", "COLLECTING --> COLLECTING", "TERMINATED --> [*]"],
        ),
        (STREAM_TRANSITIONS, ["[*] --> METADATA", "STATUS --> STATUS", "DONE --> [*]"]),
    ],
)
def test_a_state_diagram_follows_from_its_transitions(
    transitions: frozenset[tuple[Any, Any]], lines: list[str], generator: dict[str, Any]
) -> None:
    """Every transition is an arrow; beginnings and ends follow from them."""
    drawn = [line.strip() for line in generator["draw_states"](transitions).splitlines()]
    assert set(lines) < set(drawn)
    assert len(drawn) == len(set(drawn))
    assert sum("[*]" not in line and "-->" in line for line in drawn) == len(
        [pair for pair in transitions if pair[0] is not None]
    )

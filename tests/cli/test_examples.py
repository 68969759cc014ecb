"""The examples do what they say."""

import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

_FOLDER = Path(__file__).parents[2] / "examples"
_SCRIPTS = ("conversation.py", "first_run.py", "service.py")

Play = Callable[..., str]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Play:
    """Run an example as a script, and give what it wrote."""

    def played(name: str, *arguments: object) -> str:
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        runpy.run_path(str(_FOLDER / name), run_name="__main__")
        out: str = capsys.readouterr().out
        return out

    return played


def test_every_example_is_tested() -> None:
    """No example stands there that no test runs."""
    assert sorted(file.name for file in _FOLDER.glob("*.py")) == sorted(_SCRIPTS)


@pytest.mark.parametrize("name", _SCRIPTS)
def test_an_example_can_be_read_at_once(name: str) -> None:
    """An example is short, and says how it is run."""
    text = (_FOLDER / name).read_text(encoding="utf-8")
    assert len(text.splitlines()) < 80
    assert f"python examples/{name}" in text


def test_the_first_run_releases_what_is_carried_and_nothing_else(play: Play) -> None:
    """The careful agent's report is released; the careless one's gives a fallback without it."""
    careful, careless = play("first_run.py").split("\n\n\n")[:2]
    assert "run      SUCCESS (REPORT_APPROVED)" in careful
    assert "The connection pool was exhausted" in careful
    assert "release  FALLBACK (SEMANTIC_UNSUPPORTED)" in careless
    assert "pool exhausted after 2000 ms" in careless
    assert "disk" not in careless


def test_the_service_streams_and_cancels(play: Play) -> None:
    """The client gets the report and what could not be asked; a cancelled run gives nothing."""
    first, second = play("service.py").split('data: {"outcome":"SUCCESS"}')
    assert 'data: {"kind":"REPORT"' in first
    assert '{"kind":"SOURCE_UNAVAILABLE","name":"metrics","code":"TRANSPORT"}' in first
    assert "event: CONTENT" not in second
    assert "run      CANCELLED (CANCELLED_BY_CALLER)" in second


def test_the_conversation_builds_on_its_report(play: Play) -> None:
    """Two questions are answered, stored and explained."""
    out = play("conversation.py")
    assert out.count("pool exhausted after 2000 ms") >= 2
    assert out.index("What went wrong?\nrun ") < out.index("Since when?\nrun ")
    assert out.endswith("0 runs were older than a month\n")


def test_a_fallback_is_nothing_to_build_on(play: Play, tmp_path: Path) -> None:
    """Where nothing was released the second question begins anew."""
    calm = tmp_path / "calm.log"
    calm.write_text("2024-05-04 10:00:01 INFO request served in 12 ms\n")
    assert "cannot become a previous turn" in play("conversation.py", calm)


@pytest.mark.parametrize("name", _SCRIPTS)
def test_importing_an_example_runs_nothing(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An example's parts can be taken without running it."""
    parts: dict[str, Any] = runpy.run_path(str(_FOLDER / name))
    assert parts["__doc__"]
    assert capsys.readouterr().out == ""

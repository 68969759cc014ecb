"""The guard against creeping cost: its decision, and a real slow-down that it catches."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import FrameType

import pytest

from benchmarks import guard
from benchmarks.counted import runner

_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


def calls(what: str, runs: int) -> int:
    """Count the calls of functions, Python's and C's: coarser than instructions, and quick."""
    run, count = runner(what), 0
    run()

    def counting(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(counting)
    try:
        for _ in range(runs):
            run()
    finally:
        sys.setprofile(before)
    return count


def fake(**costs: int) -> guard.Counter:
    """A counter by which a process takes a million, and each run its cost."""
    return lambda what, runs: 1_000_000 + costs[what] * runs


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The committed ratio: 4.0."""
    committed = tmp_path / "committed.json"
    committed.write_text(json.dumps({_VERSION: 4.0}))
    return committed


@pytest.mark.parametrize(
    ("cost", "status"), [(400, 0), (380, 0), (419, 0), (420, 0), (421, 1), (800, 1)]
)
def test_more_than_five_percent_fails(file: Path, cost: int, status: int) -> None:
    """The ratio may be five percent dearer than the committed one, and no more."""
    assert guard.main([], count=fake(floor=100, harness=cost), file=file) == status


def test_a_real_slow_down_is_caught(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One needless decoding and encoding a step: the same guard, counting calls, sees it."""
    measured = guard.ratios(["harness"], _in_one_thread)
    file.write_text(json.dumps({_VERSION: measured["harness"]}))
    assert guard.main([], count=_in_one_thread, file=file) == 0
    assert guard.main(["--self-test"], count=_in_one_thread, file=file) == 0
    assert "the planted slow-down was caught" in capsys.readouterr().out
    assert guard.main([], count=_planted, file=file) == 1


_counted: dict[tuple[str, int], int] = {}


def _in_one_thread(what: str, runs: int) -> int:
    key = (what, runs)
    if key not in _counted:
        _counted[key] = calls(what, runs)
    return _counted[key]


def _planted(what: str, runs: int) -> int:
    return _in_one_thread("planted" if what == "harness" else what, runs)


def test_a_guard_that_catches_nothing_fails_its_own_test(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A slow-down that goes unseen makes the self-test fail."""
    count = fake(floor=100, harness=400, planted=401)
    assert guard.main(["--self-test"], count=count, file=file) == 1
    assert "was not caught" in capsys.readouterr().out


def test_a_ratio_is_committed_by_version(file: Path) -> None:
    """``--write`` renews this version's ratio and leaves the others."""
    file.write_text(json.dumps({"2.7": 1.0}))
    assert guard.main([], count=fake(floor=100, harness=400), file=file) == 2
    assert guard.main(["--write"], count=fake(floor=100, harness=450), file=file) == 0
    assert json.loads(file.read_text()) == {"2.7": 1.0, _VERSION: 4.5}
    missing = file.with_name("none.json")
    assert guard.main(["--write"], count=fake(floor=100, harness=450), file=missing) == 0
    assert json.loads(missing.read_text()) == {_VERSION: 4.5}


def test_without_valgrind_nothing_is_guarded(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says how to install it, and does not pass."""
    monkeypatch.setattr("shutil.which", lambda _name: None)
    assert guard.main([], file=file) == 2
    assert "apt-get install valgrind" in capsys.readouterr().out


def test_what_cannot_be_counted_is_told(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A process that fails under valgrind gives no ratio."""
    monkeypatch.setattr("shutil.which", lambda _name: sys.executable)
    assert guard.main([], file=file) == 2
    assert "callgrind counted nothing" in capsys.readouterr().out


def test_there_is_nothing_else_to_count() -> None:
    """What is counted has a name."""
    with pytest.raises(ValueError, match="songs"):
        runner("songs")

"""The benchmark of many runs at once does the work that it measures."""

import json

import pytest

from benchmarks.many import WAYS, main


@pytest.mark.parametrize("way", WAYS)
def test_each_way_makes_its_runs(way: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A few runs are made and checked; seconds and peak memory come out as JSON."""
    assert main(["--only", way, "--runs", "3"]) == 0
    took, peak = json.loads(capsys.readouterr().out)
    assert took > 0
    assert peak > 1

"""One flow, two drivers: the same scenarios give the same records."""

import json
from pathlib import Path

import pytest

from harness.errors import InvalidArgumentError
from harness.testing.scenario import load_scenario, run_scenario
from tests.aio.drivers import differing, differing_seeds, main

_CASES = sorted((Path(__file__).parents[1] / "conformance/cases").glob("*.json"))


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.stem)
def test_a_conformance_case_through_the_asynchronous_driver(case: Path) -> None:
    """Every expectation of a case holds there too, and the record is the same."""
    scenario = load_scenario(json.loads(case.read_text(encoding="utf-8")))
    assert run_scenario(scenario, driver="async").differences == ()
    assert differing(scenario) == []


@pytest.mark.parametrize("first", range(0, 1000, 100))
def test_generated_scenarios_give_identical_records(first: int) -> None:
    """Generated scenarios end alike; ``python -m tests.aio.drivers N`` takes more of them."""
    assert list(differing_seeds(range(first, first + 100))) == []


def test_the_command_counts(capsys: pytest.CaptureFixture[str]) -> None:
    """The command says how many records were identical."""
    assert main(["3", "7"]) == 0
    assert capsys.readouterr().out == "3 scenarios with identical records, 0 without\n"


def test_the_command_names_what_differs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A seed whose records differ is named, and is a failure."""
    monkeypatch.setattr("tests.aio.drivers.differing", lambda _scenario: ["trace", "record"])
    assert main(["1", "5"]) == 1
    out = capsys.readouterr().out
    assert out == "seed 5 differs: trace, record\n0 scenarios with identical records, 1 without\n"


def test_there_are_two_drivers() -> None:
    """A driver that does not exist is named."""
    scenario = load_scenario({"name": "empty"})
    with pytest.raises(InvalidArgumentError, match="driver is 'trio'; allowed: sync or async"):
        run_scenario(scenario, driver="trio")

"""One flow, two drivers: the same scenarios give the same records."""

import json
from pathlib import Path

import pytest

from harness.codec import record_to_json
from harness.errors import InvalidArgumentError
from harness.testing.scenario import Scenario, load_scenario, run_scenario
from tests.model.generate import generate

_CASES = sorted((Path(__file__).parents[1] / "conformance/cases").glob("*.json"))
#: How many scenarios a test takes, so that a failure names a small range.
_RANGE = 100


def _differing(scenario: Scenario) -> list[str]:
    """What differs between the drivers: observed keys, and the records themselves."""
    plain, other = run_scenario(scenario), run_scenario(scenario, driver="async")
    keys = [key for key, value in plain.observed.items() if other.observed[key] != value]
    same = plain.record == other.record
    same = same and record_to_json(plain.record) == record_to_json(other.record)
    return keys if same else [*keys, "record"]


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.stem)
def test_a_conformance_case_through_the_asynchronous_driver(case: Path) -> None:
    """Every expectation of a case holds there too, and the record is the same."""
    scenario = load_scenario(json.loads(case.read_text(encoding="utf-8")))
    assert run_scenario(scenario, driver="async").differences == ()
    assert _differing(scenario) == []


@pytest.mark.parametrize("first", range(0, 1000, _RANGE))
def test_generated_scenarios_give_identical_records(first: int) -> None:
    """Generated scenarios, with every fault of the format, end alike through both drivers."""
    for seed in range(first, first + _RANGE):
        assert (seed, _differing(load_scenario(generate(seed)))) == (seed, [])


def test_there_are_two_drivers() -> None:
    """A driver that does not exist is named."""
    scenario = load_scenario({"name": "empty"})
    with pytest.raises(InvalidArgumentError, match="driver is 'trio'; allowed: sync or async"):
        run_scenario(scenario, driver="trio")

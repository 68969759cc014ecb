"""The harness and an independent model of the contract say the same of every scenario."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.testing import scenario as scenarios
from tests.model.compare import differences
from tests.model.generate import generate
from tests.model.malformed import CHANGES, malform
from tests.model.oracle import simulate

_CASES = sorted((Path(__file__).parents[1] / "conformance" / "cases").glob("*.json"))
_BLOCK = 250


def _case(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", _CASES, ids=lambda file: file.stem)
def test_every_conformance_case_passes(file: Path) -> None:
    """Each expectation of each bundled case holds."""
    outcome = scenarios.run_scenario(scenarios.load_scenario(_case(file)))
    assert [str(difference) for difference in outcome.differences] == []


@pytest.mark.parametrize("block", range(8))
def test_generated_scenarios_agree_with_the_model(block: int) -> None:
    """Where the contract has one reading, every observed key is the predicted one."""
    compared = 0
    for seed in range(block * _BLOCK, (block + 1) * _BLOCK):
        scenario = generate(seed)
        prediction = simulate(scenario)
        if prediction.touched:
            continue
        compared += 1
        outcome = scenarios.run_scenario(scenarios.load_scenario(scenario))
        found = {**outcome.observed, "trace": _in_order(outcome.observed["trace"])}
        expected = {**prediction.observed, "trace": _in_order(prediction.observed["trace"])}
        assert differences(expected, found) == [], f"seed {seed}"
    assert compared > _BLOCK // 2


def _in_order(trace: list[str]) -> list[str]:
    """Leave out where a client left: it may be noted before or after the delivery."""
    return [code for code in trace if code != "CLIENT_GONE"]


@pytest.mark.parametrize("seed", range(2 * len(CHANGES)))
def test_what_the_format_does_not_have_is_refused(seed: int) -> None:
    """Unknown keys, wrong types and steps that run out name the key and the reason."""
    malformed = malform(seed)
    with pytest.raises(scenarios.MalformedScenarioError) as caught:
        scenarios.run_scenario(scenarios.load_scenario(malformed.scenario))
    assert caught.value.key
    assert caught.value.reason

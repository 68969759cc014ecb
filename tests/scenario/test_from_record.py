"""A stored run becomes a scenario that ends as the run did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from harness import (
    AgentTurn,
    AttemptOutcome,
    Budget,
    Harness,
    Route,
    RunRecord,
    StopCause,
    ToolCall,
)
from harness._records import Attempts
from harness.errors import InvalidArgumentError
from harness.testing import scenario as scenarios
from harness.testing._from_record import scenario_of
from tests.model.generate import generate
from tests.model.oracle import simulate

_ENDING = ("run_state", "stop_cause", "release_outcome", "fallback_type", "request_status")


def _record(scenario: dict[str, Any]) -> RunRecord:
    return scenarios.run_scenario(scenarios.load_scenario(scenario)).record


@pytest.mark.parametrize("block", range(4))
def test_the_scenario_of_a_record_reproduces_its_ending(block: int) -> None:
    """For generated runs of every kind, the written scenario passes its own expectation."""
    for seed in range(block * 200, block * 200 + 200):
        scenario = generate(seed)
        if simulate(scenario).touched or "run_store" in scenario:
            continue
        written = scenario_of(_record(scenario))
        outcome = scenarios.run_scenario(scenarios.load_scenario(written))
        assert [str(difference) for difference in outcome.differences] == [], f"seed {seed}"


def test_a_written_scenario_is_plain_json_with_the_ending_as_expectation() -> None:
    """What is written can be stored as a file, and states the five keys of an ending."""
    written = scenario_of(_record(generate(1)))
    assert json.loads(json.dumps(written)) == written
    assert tuple(written["expect"]) == _ENDING


def test_a_run_that_has_not_ended_has_no_scenario() -> None:
    """A record that is still RUNNING is refused by name."""
    opened: list[RunRecord] = []

    class Store:
        def begin(self, record: RunRecord) -> None:
            opened.append(record)

        def finish(self, _record: RunRecord) -> None:
            return

        def mark_delivered(self, _run_id: str) -> None:
            return

        def load(self, _run_id: str) -> None:
            return

    Harness(lambda _: None, run_store=Store()).run("why?")
    with pytest.raises(InvalidArgumentError, match="RUNNING"):
        scenario_of(opened[0])


@pytest.mark.parametrize(("seed", "when"), [(77, "begin"), (23, "finish")])
def test_a_run_that_was_not_saved_says_where(seed: int, when: str) -> None:
    """Whether the record failed at the beginning or at the end is in the scenario."""
    record = _record(generate(seed))
    assert record.stop_cause is StopCause.RECORD_NOT_SAVED or not record.record_saved
    assert scenario_of(record)["run_store"] == {when: "raise"}


def test_a_parent_s_refusal_becomes_a_limit_of_the_run() -> None:
    """A scenario has no parent budget: the run's own limit stands in for it."""

    def failing(_request: object) -> Route:
        raise TimeoutError

    harness = Harness(lambda _view: AgentTurn([ToolCall("nobody's")]), router=failing)
    record = harness.run("why?", budget=Budget(model_attempts=1)).record
    assert record.stop_cause is StopCause.BUDGET_EXHAUSTED
    assert scenario_of(record)["limits"]["model_attempts"] == 1


def test_an_interrupt_that_was_not_the_last_attempt_is_a_step_that_raises() -> None:
    """Of a batch that ran together, one call was interrupted and another one came back."""
    path = Path(__file__).parents[1] / "conformance" / "cases" / "scene-01-both-gates-pass.json"
    record = _record(json.loads(path.read_text(encoding="utf-8")))
    component, number, _, *rest = record.attempts._raw[0]
    interrupted = (component, number, AttemptOutcome.INTERRUPTED, *rest)
    attempts = Attempts([interrupted, *record.attempts._raw[1:]])
    written = scenario_of(evolve(record, attempts=attempts, public=None))
    assert written["agent"][0]["raise"] == "KeyboardInterrupt"

"""The strategies: every value is one that the harness could have made."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest
from hypothesis import given

from harness import RunRecord, RunState
from harness._canonical import digest_of
from harness.codec import (
    canonical_from_json,
    canonical_to_json,
    record_from_json,
    record_to_json,
)
from harness.testing import strategies
from harness.testing.scenario import load_scenario, run_scenario


@given(strategies.run_records())
def test_run_records_have_ended_and_survive_json(record: RunRecord) -> None:
    """Records of every ending come back equal."""
    assert record.run_state is not RunState.RUNNING
    assert record_from_json(record_to_json(record)) == record


@given(strategies.canonical_records())
def test_canonical_records_survive_json_and_have_their_digest(record: Any) -> None:
    """What is read back has the digest that was noted."""
    again = canonical_from_json(canonical_to_json(record))
    assert again == record
    assert digest_of(again) == record.invocation.digest


@given(strategies.scenarios())
def test_scenarios_are_accepted_and_run(data: dict[str, Any]) -> None:
    """The same scenario gives the same record each time."""
    scenario = load_scenario(data)
    assert run_scenario(scenario).record == run_scenario(scenario).record


@pytest.mark.parametrize(
    "name",
    [name for name in strategies.__all__ if name not in {"run_records", "scenarios"}],
)
def test_values_are_values(name: str) -> None:
    """Each strategy gives values that equal themselves, and can be shown."""

    @given(getattr(strategies, name)())
    def holds(value: object) -> None:
        assert value == value  # noqa: PLR0124  records compare by content
        assert repr(value)

    holds()


def test_without_hypothesis_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kit itself needs no Hypothesis; this module does, and says so."""
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    monkeypatch.delitem(sys.modules, "harness.testing.strategies")
    with pytest.raises(ImportError, match="pip install hypothesis"):
        importlib.import_module("harness.testing.strategies")

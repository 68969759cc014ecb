"""Reported fault 23: records of other versions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness import AgentTurn, Citation, DiagnosisDraft, Harness, SemanticVerdict, ToolCall
from harness.codec import record_from_json, record_to_json
from harness.errors import RecordDecodeError, SchemaVersionError
from harness.testing import Script
from tests.faults.common import FACT


def logs() -> str:
    """A tool that finds the usual fact."""
    return FACT


def drafting(view: Any, _attempt: object) -> AgentTurn:
    """A draft that cites what was found first."""
    cite = Citation(view.records[0].invocation_id)
    return AgentTurn(draft=DiagnosisDraft("The pool ran out.", [cite]))


def _stored() -> dict[str, Any]:
    harness = Harness(
        Script([AgentTurn([ToolCall("logs")]), drafting]),
        [logs],
        semantic_guard=lambda _: SemanticVerdict.SUPPORTED,
    )
    data: dict[str, Any] = json.loads(record_to_json(harness.run("why?").record))
    return data


def test_fault_23_members_come_back_as_members_and_saves_are_equal() -> None:
    """Save, load, save: byte-equal, with enum members in between, and an extra key kept."""
    text = json.dumps({**_stored(), "from_the_future": {"kept": True}})
    record = record_from_json(text)
    once = record_to_json(record)
    assert record.run_state.name == "SUCCESS"
    assert record_to_json(record_from_json(once)) == once
    assert json.loads(once)["from_the_future"] == {"kept": True}


@pytest.mark.parametrize(
    "change",
    [
        {"run_state": "FOO"},
        {"run_state": "success"},
        {"fallback_type": "FOO"},
        {"schema_version": 0},
        {"schema_version": 99},
        {"run_id": None},
    ],
    ids=str,
)
def test_fault_23_what_cannot_be_read_is_a_typed_error(change: dict[str, Any]) -> None:
    """Unknown members and versions are refused by name, never read as SUCCESS."""
    with pytest.raises((RecordDecodeError, SchemaVersionError)):
        record_from_json(json.dumps({**_stored(), **change}))

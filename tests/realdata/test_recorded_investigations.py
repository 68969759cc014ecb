"""Every recorded investigation of an incident, replayed through the harness with its own calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness import AgentTurn, DiagnosisDraft, Harness, Limits, RunResult, ToolCall
from harness.errors import ProviderError

_FILE = Path(__file__).parents[3] / "shared" / "data" / "holmesgpt" / "incidents.jsonl"
_STATUSES = {
    "success": ("READY", "EVIDENCE_FOUND"),
    "no_data": ("READY", "NO_EVIDENCE"),
    "error": ("ERROR", "ERROR"),
}


def _incidents() -> list[Any]:
    if not _FILE.is_file():
        reason = f"the recorded investigations are not here: {_FILE}"
        return [pytest.param(None, marks=pytest.mark.skip(reason=reason))]
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    return [pytest.param(one, id=one["id"]) for one in map(json.loads, lines)]


class _Recorded:
    """A tool that answers as it was recorded."""

    description, parameters = "recorded", None

    def __init__(self, name: str, calls: list[dict[str, Any]]) -> None:
        self.name = name
        self._answers = {json.dumps(call["params"], sort_keys=True): call for call in calls}

    def execute(self, call: ToolCall, _attempt: object) -> str | None:
        """Answer with the recorded output, nothing, or the recorded error."""
        answer = self._answers[json.dumps(call.arguments, sort_keys=True)]
        if answer["status"] == "error":
            raise ProviderError(answer["error"])
        return None if answer["status"] == "no_data" else answer["output"]


def _replay(incident: dict[str, Any]) -> RunResult:
    """Ask what was asked, a call a turn, then draw no conclusion."""
    calls = incident["tool_calls"]
    names = dict.fromkeys(call["tool"] for call in calls)
    tools = [_Recorded(name, [c for c in calls if c["tool"] == name]) for name in names]

    def agent(view: Any) -> AgentTurn:
        if view.turn > len(calls) or view.stop:
            return AgentTurn(draft=DiagnosisDraft(None))
        call = calls[view.turn - 1]
        return AgentTurn([ToolCall(call["tool"], call["params"], call["params"])])

    limits = Limits(no_gain=None, fact_bytes=8192)
    return Harness(agent, tools, limits=limits, progress="INFERRED").run(
        incident["question"] or incident["id"]
    )


@pytest.mark.parametrize("incident", _incidents())
def test_each_recorded_status_becomes_its_pair_and_none_ends_the_run(
    incident: dict[str, Any],
) -> None:
    """A success is evidence, no data an empty scope, an error an error; the run goes on."""
    record = _replay(incident).record
    pairs = [
        (row.status.name, row.evidence_status and row.evidence_status.name)
        for row in record.invocations
    ]
    assert pairs == [_STATUSES[call["status"]] for call in incident["tool_calls"]]
    assert record.stop_cause is not None
    assert record.stop_cause.name == "NO_CONCLUSION"


@pytest.mark.parametrize("incident", _incidents())
def test_the_fallback_names_the_empty_scopes_and_the_failed_sources(
    incident: dict[str, Any],
) -> None:
    """Without a conclusion the user still learns what was empty and what could not be asked."""
    result = _replay(incident)
    statuses = {call["status"] for call in incident["tool_calls"]}
    if statuses == {"error"}:
        assert result.public.kind.name == "FAILURE"
        return
    empty = result.text.partition("Checked and found empty")[2].partition("\n\n")[0]
    for call in incident["tool_calls"]:
        if call["status"] == "no_data":
            assert f"`{call['tool']}`" in empty
        if call["status"] == "error":
            assert f"`{call['tool']}` could not be asked (UNCLASSIFIED)" in result.text
            assert call["error"] not in result.text

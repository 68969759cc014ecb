"""How the reported faults are told: as scenarios where the format can say it, else in Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from harness import RunRecord
from harness.testing.scenario import Outcome, load_scenario, run_scenario

#: A call of the log tool, with a scope of its own for each window.
FACT: Final = "pool size 5 reached, 37 waiters"


def call(window: str = "10:00", tool: str = "logs", **arguments: Any) -> dict[str, Any]:
    """One tool call as a scenario writes it."""
    return {"tool": tool, "scope": {"window": window}, "arguments": arguments}


def asks(*calls: dict[str, Any], progress: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A turn that asks for calls."""
    return {"calls": list(calls or (call(),))} | (
        {} if progress is None else {"progress": progress}
    )


def drafts(conclusion: str | None, *cites: str, **parts: Any) -> dict[str, Any]:
    """A turn that hands in a draft."""
    citations = [{"invocation": cite} for cite in cites]
    return {"draft": {"conclusion": conclusion, "citations": citations, **parts}}


def plays(**scenario: Any) -> Outcome:
    """Run a scenario; the log tool finds the usual fact where nothing else is said."""
    scenario.setdefault("tools", {"logs": [{"facts": [FACT], "repeat": True}]})
    scenario.setdefault("semantic_guard", [{"verdict": "SUPPORTED", "repeat": True}])
    return run_scenario(load_scenario({"name": "fault", **scenario}))


def ending(outcome: Outcome) -> tuple[Any, ...]:
    """Run state, release and fallback type: the outcome as the reports write it."""
    seen = outcome.observed
    return seen["run_state"], seen["release_outcome"], seen["fallback_type"]


def kinds(record: RunRecord, component: str) -> list[str | None]:
    """The failure kind of each attempt of a component, ``None`` for a success."""
    return [
        None if attempt.failure is None else attempt.failure.name
        for attempt in record.attempts
        if attempt.component.name == component
    ]

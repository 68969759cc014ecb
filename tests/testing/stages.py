"""Scenarios that the tests of faults, invariants and sweep play, and how they falsify a run."""

import copy
from collections.abc import Iterable
from typing import Any

from attrs import evolve

from harness import RunRecord
from harness._sync import drive
from harness.testing._stage import SyncStage
from harness.testing.faults import Call, Injection
from harness.testing.invariants import Observation, check_invariants
from harness.testing.scenario import load_scenario

REPORT: dict[str, Any] = {
    "name": "a report",
    "agent": [
        {"calls": [{"tool": "logs", "scope": {"window": "10:00"}}]},
        {
            "draft": {
                "conclusion": "Pool exhausted.",
                "citations": [{"invocation": "@1", "fact": 1, "quote": "size 5"}],
                "claims": [{"text": "The pool is small.", "citations": [{"invocation": "@1"}]}],
                "recommendations": ["Enlarge the pool."],
            }
        },
    ],
    "tools": {"logs": [{"facts": ["pool size 5 reached"]}]},
    "semantic_guard": [{"verdict": "SUPPORTED"}],
}
REFUSED = {**REPORT, "name": "refused", "semantic_guard": [{"verdict": "UNSUPPORTED"}]}
LEAVING = {**REPORT, "name": "leaving", "client": {"disconnects_at": "STATUS"}}
REPLY = {
    "name": "a reply",
    "router": [{"intent": "GENERAL"}],
    "responder": [{"reply": "Good morning."}],
}
FAILURE = {"name": "a failure", "agent": [{"fail": "TIMEOUT"}]}
UNSAVED = {**FAILURE, "name": "unsaved", "run_store": {"finish": "raise"}}
ELSEWHERE = {**REPORT, "name": "elsewhere", "run_store": {"finish": "lost"}}
UNAVAILABLE = {**REPORT, "name": "unavailable", "semantic_guard": [{"fail": "TIMEOUT"}]}
MISSING = {**REPORT, "name": "missing", "required_context": ["service"]}
SATURATED = {
    "name": "saturated",
    "limits": {"tool_calls": 1},
    "agent": [{"calls": [{"tool": "logs"}]}, {"draft": {"conclusion": None}}],
    "tools": {"logs": [{"facts": ["one"]}]},
}


def observed(scenario: dict[str, Any], *injections: Injection | str) -> Observation:
    """Play a scenario once, and keep what was observed."""
    found: list[Observation] = []

    async def play() -> None:
        found.append(await SyncStage(load_scenario(scenario)).play(injections))

    drive(play())
    return found[0]


def record_of(observation: Observation) -> RunRecord:
    """The record of a run that gave one."""
    assert observation.record is not None
    return observation.record


def forged(value: Any, **fields: Any) -> Any:
    """A copy of a record that says something else, which its constructor would refuse."""
    other = copy.copy(value)
    for name, field in fields.items():
        object.__setattr__(other, name, field)
    return other


def lying(observation: Observation, **fields: Any) -> Observation:
    """The same run with a record that says something else."""
    return evolve(observation, record=forged(record_of(observation), **fields))


def called(observation: Observation, site: str, nth: int = 1, **fields: Any) -> Observation:
    """The same run, one call of which came to something else."""
    calls = [copy.copy(call) for call in observation.calls]
    for call in calls:
        if call.place == f"{site}:{nth}":
            for name, field in fields.items():
                setattr(call, name, field)
    return evolve(observation, calls=calls)


def without(observation: Observation, place: str) -> Observation:
    """The same run without one of its calls."""
    return evolve(observation, calls=[c for c in observation.calls if c.place != place])


def last_call(observation: Observation, site: str) -> Call:
    """The last call that went somewhere."""
    return [call for call in observation.calls if call.site == site][-1]


def broken(observation: Observation) -> dict[str, str]:
    """The invariants that do not hold, with what was found."""
    found: dict[str, str] = {}
    for one in check_invariants(observation):
        found[one.invariant] = f"{found.get(one.invariant, '')}{one.detail}; "
    return found


def names(findings: Iterable[Any]) -> set[str]:
    """The invariants of a sweep's findings."""
    return {finding.broken.invariant for finding in findings}

"""Malformed scenarios of every kind, each with the reason, for the same seed the same one."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from tests.model.generate import generate
from tests.model.vocabulary import Json


class Malformed(NamedTuple):
    """A scenario that must be refused, and why."""

    scenario: Json
    reason: str


def _set(*path: Any) -> Callable[[Json], None]:
    """Return a change that writes the last of the values at the path of the others."""

    def change(scenario: Json) -> None:
        *parents, last, value = path
        target: Any = scenario
        for key in parents:
            if isinstance(target, dict) and key not in target:
                target[key] = {}
            target = target[key]
        target[last] = value

    return change


_CALL: Final = {"tool": "logs", "scope": {}, "arguments": {}}
_DRAFT: Final = {
    "conclusion": "It was the DNS.",
    "citations": [{"invocation": "@1"}],
    "claims": [],
    "recommendations": [],
    "missing_context": [],
}


def _agent(step: Json) -> Callable[[Json], None]:
    return _set("agent", [step])


def _draft(**changed: Any) -> Callable[[Json], None]:
    return _agent({"draft": {**_DRAFT, **changed}})


def _tool(step: Json) -> Callable[[Json], None]:
    return _set("tools", "logs", [step])


def _run_dry(scenario: Json) -> None:
    """Leave no step for the second turn."""
    for key in ("router", "cancel", "interrupt", "client", "run_store", "required_context"):
        scenario.pop(key, None)
    scenario["limits"] = {}
    scenario["canonical_store"] = {}
    scenario["agent"] = [{"calls": [{"tool": "nope", "scope": {}, "arguments": {}}]}]


def _nameless(scenario: Json) -> None:
    del scenario["name"]


CHANGES: Final[dict[str, Callable[[Json], None]]] = {
    "no name": _nameless,
    "name is a number": _set("name", 5),
    "unknown key": _set("colour", "red"),
    "unknown key of request": _set("request", {"query": "why?"}),
    "question is a list": _set("request", {"question": ["why?"]}),
    "context value is a number": _set("request", {"question": "why?", "context": {"a": 1}}),
    "required context is a string": _set("required_context", "service"),
    "unknown limit": _set("limits", "patience", 3),
    "negative limit": _set("limits", "tokens", -1),
    "limit is a bool": _set("limits", "tool_calls", True),  # noqa: FBT003  # The value.
    "limit is a string": _set("limits", "model_attempts", "5"),
    "cost limit is a number": _set("limits", "cost", 1.5),
    "cost limit is no decimal": _set("limits", "cost", "much"),
    "cost limit is NaN": _set("limits", "cost", "NaN"),
    "unknown progress mode": _set("progress", "GUESSED"),
    "distinguish_budget is a string": _set("distinguish_budget", "yes"),
    "agent is an object": _set("agent", {}),
    "unknown key of a step": _agent({"draft": _DRAFT, "mood": "good"}),
    "a step does two things": _agent({"draft": _DRAFT, "fail": "TIMEOUT"}),
    "unknown failure kind": _agent({"fail": "SOMEHOW"}),
    "unknown exception": _agent({"raise": "NoSuchError"}),
    "not an exception": _agent({"raise": "print"}),
    "repeat is a string": _agent({"draft": _DRAFT, "repeat": "yes"}),
    "repeat before the last": _set("agent", [{"draft": _DRAFT, "repeat": True}, {"draft": _DRAFT}]),
    "negative time": _agent({"draft": _DRAFT, "takes_ms": -1}),
    "time is a string": _agent({"draft": _DRAFT, "takes_ms": "10"}),
    "unknown key of usage": _agent({"draft": _DRAFT, "usage": {"tokens": 5}}),
    "call without a tool": _agent({"calls": [{"scope": {}, "arguments": {}}]}),
    "unknown key of a call": _agent({"calls": [{**_CALL, "why": "?"}]}),
    "arguments are a list": _agent({"calls": [{**_CALL, "arguments": []}]}),
    "unknown progress state": _agent({"calls": [_CALL], "progress": {"state": "MAYBE"}}),
    "progress is a string": _agent({"calls": [_CALL], "progress": "NO_GAIN"}),
    "unknown key of a draft": _draft(title="Report"),
    "conclusion is a number": _draft(conclusion=5),
    "claims are a string": _draft(claims="none"),
    "unknown key of a citation": _draft(citations=[{"invocation": "@1", "page": 3}]),
    "citation without an invocation": _draft(citations=[{"fact": 1}]),
    "fact is a string": _draft(citations=[{"invocation": "@1", "fact": "1"}]),
    "quote is a number": _draft(citations=[{"invocation": "@1", "quote": 5}]),
    "unknown intent": _set("router", [{"intent": "POEM"}]),
    "unknown verdict": _set("semantic_guard", [{"verdict": "MAYBE"}]),
    "reply is a number": _set("responder", [{"reply": 5}]),
    "tools are a list": _set("tools", []),
    "tool step does nothing": _tool({"takes_ms": 1}),
    "tool step reports usage": _tool({"facts": [], "usage": {"input_tokens": 1}}),
    "fact of a tool is a number": _tool({"facts": [5]}),
    "unknown key of a fact": _tool({"facts": [{"text": "a", "line": 3}]}),
    "raw size is negative": _tool({"raw_size": -1}),
    "unknown parameter type": _set("tool_parameters", {"logs": {"query": "text"}}),
    "save fault by no number": _set("canonical_store", {"save": {"first": "raise"}}),
    "unknown save fault": _set("canonical_store", {"save": {"1": "missing"}}),
    "unknown load fault": _set("canonical_store", {"load": {"1": "late"}}),
    "unknown store operation": _set("canonical_store", {"drop": {"1": "raise"}}),
    "unknown run store fault": _set("run_store", {"begin": "lost"}),
    "unknown event": _set("client", {"disconnects_at": "LUNCH"}),
    "unknown disconnect policy": _set("on_disconnect", "IGNORE"),
    "cancel without a number": _set("cancel", {"during": "agent"}),
    "cancel at call zero": _set("cancel", {"during": "agent:0"}),
    "interrupt of an unknown component": _set("interrupt", {"during": "cook:1"}),
    "unknown expectation": _set("expect", {"mood": "good"}),
    "no step is left": _run_dry,
}


def malform(seed: int) -> Malformed:
    """Return the scenario of a seed with one thing in it malformed."""
    rng = random.Random(f"malformed {seed}")  # noqa: S311  # No secret: a test input.
    reason = rng.choice(sorted(CHANGES))
    scenario = generate(seed)
    CHANGES[reason](scenario)
    return Malformed(scenario, reason)

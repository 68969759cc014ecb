"""
What a scenario file may say: checked key by key, nothing guessed.

Every check names the key, in the form ``agent[0].calls[1].tool``, and the reason.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from harness._states import (
    CollectionState,
    Component,
    EventKind,
    EvidenceStatus,
    FailureKind,
    FallbackType,
    Intent,
    InvocationCode,
    InvocationStatus,
    OnDisconnect,
    Progress,
    ProgressMode,
    PublicKind,
    ReleaseOutcome,
    RequestStatus,
    RunState,
    SemanticVerdict,
    StopCause,
    StopReason,
    TraceCode,
    ViolationKind,
)
from harness.errors import HarnessError

__all__ = ["MalformedScenarioError", "check_scenario"]

Check = Callable[[Any, str], None]


class MalformedScenarioError(HarnessError, ValueError):
    """
    A scenario file says something that the format does not have.

    Attributes:
        key: Where in the scenario.
        reason: What is wrong there.
        where: The file, with the line of a ``.jsonl`` file; empty for a scenario from memory.
    """

    def __init__(self, key: str, reason: str, where: str = "") -> None:
        super().__init__(key, reason, where)
        self.key = key
        self.reason = reason
        self.where = where

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.key}: {self.reason}"


def _refuse(key: str, reason: str) -> NoReturn:
    raise MalformedScenarioError(key, reason)


def _shown(value: object) -> str:
    return f"{value!r:.80}"


# --- checks of single values


def _text(value: Any, key: str) -> None:
    if not isinstance(value, str):
        _refuse(key, f"{_shown(value)} is no text")


def _name(value: Any, key: str) -> None:
    _text(value, key)
    if not value.strip():
        _refuse(key, "is blank")


def _flag(value: Any, key: str) -> None:
    if not isinstance(value, bool):
        _refuse(key, f"{_shown(value)} is neither true nor false")


def _anything(_value: Any, _key: str) -> None:
    return


def _duration(value: Any, key: str) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        _refuse(key, f"{_shown(value)} is no number of milliseconds from 0")


def _count(value: Any, key: str) -> None:
    if type(value) is not int or value < 0:
        _refuse(key, f"{_shown(value)} is no whole number from 0")


def _optional(check: Check) -> Check:
    def checked(value: Any, key: str) -> None:
        if value is not None:
            check(value, key)

    return checked


def _cost(value: Any, key: str) -> None:
    try:
        amount = Decimal(value) if isinstance(value, str) else None
    except InvalidOperation:
        amount = None
    if amount is None or not amount.is_finite() or amount < 0:
        _refuse(key, f"{_shown(value)} is no decimal string from 0")


def _member(*kinds: Any) -> Check:
    names = [name for kind in kinds for name in kind.__members__]

    def checked(value: Any, key: str) -> None:
        if not isinstance(value, str) or value not in names:
            _refuse(key, f"{_shown(value)} is none of {', '.join(names)}")

    return checked


def _list(check: Check) -> Check:
    def checked(value: Any, key: str) -> None:
        if not isinstance(value, list):
            _refuse(key, f"{_shown(value)} is no list")
        for place, item in enumerate(value):
            check(item, f"{key}[{place}]")

    return checked


def _mapping(check: Check, names: Check | None = None) -> Check:
    def checked(value: Any, key: str) -> None:
        if not isinstance(value, dict):
            _refuse(key, f"{_shown(value)} is no object")
        for name, item in value.items():
            if names is not None:
                names(name, f"{key}.{name}")
            check(item, f"{key}.{name}")

    return checked


def _object(fields: Mapping[str, Check], required: tuple[str, ...] = ()) -> Check:
    def checked(value: Any, key: str) -> None:
        if not isinstance(value, dict):
            _refuse(key, f"{_shown(value)} is no object")
        prefix = f"{key}." if key else ""
        for name, item in value.items():
            if name not in fields:
                _refuse(f"{prefix}{name}", f"unknown key; known: {', '.join(fields)}")
            fields[name](item, f"{prefix}{name}")
        for name in required:
            if name not in value:
                _refuse(f"{prefix}{name}", "is missing")

    return checked


# --- steps

_USAGE = _object({"input_tokens": _anything, "output_tokens": _anything, "cost": _anything})


def _usage(value: Any, key: str) -> None:
    """
    Let a misbehaving provider report anything; an object has the known fields only.
    """
    if isinstance(value, dict):
        _USAGE(value, key)


def _builtin(value: Any, key: str) -> None:
    kind = getattr(builtins, value, None) if isinstance(value, str) else None
    if not isinstance(kind, type) or not issubclass(kind, BaseException):
        _refuse(key, f"{_shown(value)} is no built-in exception")
    else:
        try:
            kind("message")
        except TypeError:
            _refuse(key, f"{_shown(value)} cannot be raised with a message")


_COMMON: Mapping[str, Check] = {
    "takes_ms": _duration,
    "repeat": _flag,
    "fail": _member(FailureKind),
    "raise": _builtin,
    "message": _text,
    "malformed": _anything,
}
_MODEL: Mapping[str, Check] = {**_COMMON, "usage": _usage}


def _whole(value: Any, key: str) -> None:
    if type(value) is not int:
        _refuse(key, f"{_shown(value)} is no whole number")


_CITATION = _object(
    {"invocation": _text, "fact": _optional(_whole), "quote": _optional(_text)}, ("invocation",)
)

_CLAIM = _object({"text": _text, "citations": _list(_CITATION)}, ("text",))
_DRAFT = _object(
    {
        "conclusion": _optional(_text),
        "citations": _list(_CITATION),
        "claims": _list(_CLAIM),
        "recommendations": _list(_text),
        "missing_context": _list(_text),
    },
    ("conclusion",),
)
_CALL = _object(
    {"tool": _text, "scope": _mapping(_anything), "arguments": _mapping(_anything)}, ("tool",)
)
_PROGRESS = _object({"state": _member(Progress), "facts": _list(_text)}, ("state",))
_FACT = _object({"text": _text, "source": _text}, ("text",))


def _fact(value: Any, key: str) -> None:
    if not isinstance(value, str):
        _FACT(value, key)


def _step(fields: Mapping[str, Check], answers: tuple[str, ...], *, empty: bool = False) -> Check:
    """
    A step says exactly one kind of thing: one of *answers*, or a common one.
    """
    check = _object(fields)
    others = ("fail", "raise", "malformed")

    def checked(value: Any, key: str) -> None:
        check(value, key)
        said = [name for name in others if name in value]
        answered = [name for name in answers if name in value]
        if len(said) > 1 or (said and answered):
            _refuse(key, f"says more than one of {', '.join((*answers, *others))}")
        if not said and not answered and not empty:
            _refuse(key, f"says none of {', '.join((*answers, *others))}")
        if "message" in value and "raise" not in value:
            _refuse(f"{key}.message", "belongs to raise")

    return checked


_ROUTER = _step({**_MODEL, "intent": _member(Intent), "missing_context": _list(_text)}, ("intent",))
_RESPONDER = _step({**_MODEL, "reply": _text}, ("reply",))
_AGENT = _step(
    {**_MODEL, "calls": _list(_CALL), "draft": _DRAFT, "progress": _optional(_PROGRESS)},
    ("calls", "draft", "progress"),
    empty=True,
)
_REPAIR = _step({**_MODEL, "draft": _DRAFT}, ("draft",))
_GUARD = _step({**_MODEL, "verdict": _member(SemanticVerdict)}, ("verdict",))


def _true(value: Any, key: str) -> None:
    if value is not True:
        _refuse(key, f"{_shown(value)} is not true")


_TOOL = _step(
    {
        **_COMMON,
        "facts": _list(_fact),
        "raw": _anything,
        "raw_size": _count,
        "projection_fails": _true,
    },
    ("facts", "raw", "raw_size", "projection_fails"),
)


def _steps(check: Check) -> Check:
    steps = _list(check)

    def checked(value: Any, key: str) -> None:
        steps(value, key)
        for place, step in enumerate(value[:-1]):
            if step.get("repeat"):
                _refuse(f"{key}[{place}].repeat", "only the last step may repeat")

    return checked


# --- where the caller cancels or interrupts

#: The components as scenario files name them.
COMPONENTS = {
    "router": Component.INTENT_ROUTER,
    "responder": Component.RESPONDER,
    "agent": Component.DIAGNOSIS_AGENT,
    "tool": Component.TOOL,
    "repair": Component.EVIDENCE_REPAIR,
    "semantic_guard": Component.SEMANTIC_GUARD,
}


def _during(value: Any, key: str) -> None:
    _text(value, key)
    component, _, number = value.partition(":")
    if component not in COMPONENTS or not number.isascii() or not number.isdigit():
        _refuse(key, f"{_shown(value)} is no component:number; known: {', '.join(COMPONENTS)}")
    elif int(number) < 1:
        _refuse(key, "calls are numbered from 1")


_MOMENT = _object({"during": _during}, ("during",))


def _number_key(value: Any, key: str) -> None:
    if not value.isascii() or not value.isdigit() or int(value) < 1:
        _refuse(key, "is no invocation number from 1")


def _one_of(*words: str) -> Check:
    def checked(value: Any, key: str) -> None:
        if value not in words:
            _refuse(key, f"{_shown(value)} is none of {', '.join(words)}")

    return checked


_EVENT = _member(EventKind)

_LIMITS = _object(
    {
        "deadline_ms": _optional(_duration),
        "cost": _optional(_cost),
        "release_reserve": _count,
        **{
            name: _optional(_count)
            for name in (
                "model_attempts",
                "tool_calls",
                "tokens",
                "evidence_bytes",
                "result_bytes",
                "draft_bytes",
                "fact_bytes",
                "facts_per_result",
                "no_gain",
                "violations",
            )
        },
    }
)

# --- expectations


def _events(value: Any, key: str) -> None:
    _text(value, key)
    for word in value.split():
        if word != "STATUS*":
            _EVENT(word, key)


def _row(value: Any, key: str) -> None:
    if not isinstance(value, list) or len(value) != len(_ROW):
        _refuse(key, "is no [tool, status, evidence status, code]")
    for place, (check, item) in enumerate(zip(_ROW, value, strict=True)):
        check(item, f"{key}[{place}]")


_ROW: tuple[Check, ...] = (
    _text,
    _member(InvocationStatus),
    _optional(_member(EvidenceStatus)),
    _optional(_member(InvocationCode)),
)

_PUBLIC = _object(
    {
        "kind": _member(PublicKind),
        "code": _optional(_text),
        "contains": _list(_text),
        "excludes": _list(_text),
    }
)

_USED_COUNTS = ("model_attempts", "tool_calls", "tokens", "evidence_bytes", "unknown_usage")

#: The keys of an expectation, in the order of the format.
EXPECT: Mapping[str, Check] = {
    "run_state": _member(RunState),
    "stop_cause": _optional(_member(StopCause)),
    "release_outcome": _optional(_member(ReleaseOutcome)),
    "fallback_type": _optional(_member(FallbackType)),
    "request_status": _member(RequestStatus),
    "collection_state": _member(CollectionState),
    "stop_reason": _optional(_member(StopReason)),
    "intent": _optional(_member(Intent)),
    "delivered": _flag,
    "record_saved": _flag,
    "next_turn": _flag,
    "public": _PUBLIC,
    "events": _events,
    "attempts": _mapping(_count, _member(Component)),
    "used": _object(
        {
            **dict.fromkeys(_USED_COUNTS, _count),
            "cost": _cost,
        }
    ),
    "invocations": _list(_row),
    "violations": _list(_member(ViolationKind)),
    "semantic_verdict": _optional(_member(SemanticVerdict)),
    "trace": _list(_member(TraceCode)),
    "explain": _object({"contains": _list(_text)}),
}

_SCENARIO = _object(
    {
        "name": _name,
        "request": _object({"question": _name, "context": _mapping(_text)}),
        "required_context": _list(_text),
        "limits": _LIMITS,
        "progress": _member(ProgressMode),
        "distinguish_budget": _flag,
        "router": _steps(_ROUTER),
        "responder": _steps(_RESPONDER),
        "agent": _steps(_AGENT),
        "repair": _steps(_REPAIR),
        "semantic_guard": _steps(_GUARD),
        "tools": _mapping(_steps(_TOOL), _name),
        "tool_parameters": _mapping(_mapping(_one_of("str", "int", "float", "bool"))),
        "canonical_store": _object(
            {
                "save": _mapping(_one_of("raise"), _number_key),
                "load": _mapping(_one_of("raise", "missing", "corrupt"), _number_key),
            }
        ),
        "run_store": _object({"begin": _one_of("raise"), "finish": _one_of("raise", "lost")}),
        "on_disconnect": _member(OnDisconnect),
        "client": _object({"disconnects_at": _EVENT}),
        "cancel": _MOMENT,
        "interrupt": _MOMENT,
        "expect": _object(EXPECT),
    },
    ("name",),
)


def check_scenario(data: object) -> Mapping[str, Any]:
    """
    Check everything that a scenario says.

    Args:
        data: A decoded JSON value.

    Returns:
        The same value, for a typed use.

    Raises:
        MalformedScenarioError: Something is unknown, missing or of another kind.
    """
    if not isinstance(data, dict):
        raise MalformedScenarioError("scenario", f"{_shown(data)} is no object")
    _SCENARIO(data, "")
    return data

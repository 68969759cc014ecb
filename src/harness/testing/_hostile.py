"""Hostile values: what a broken host returns where a proper answer was due."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from math import nan
from types import MappingProxyType
from typing import Any, Final

from attrs import evolve

from harness._records import CanonicalRecord
from harness._states import Intent
from harness._values import AgentTurn, DiagnosisDraft, Fact, Route, ToolCall, Usage

__all__ = ["CHANGED", "FLAWS", "hostile", "loosened"]

#: What a host object is changed to after it was handed over; nothing may ever show it.
CHANGED: Final = "changed after it was handed over"

#: Deeper than any strict JSON value may nest, and than the interpreter recurses by default.
_DEPTH: Final = 1_500
_SURROGATE: Final = "half \ud83d of a pair"
_FAR: Final = datetime.max.replace(tzinfo=UTC)


def _deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(_DEPTH):
        value = [value]
    return value


def _cyclic() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


#: The flaws of a value: each as plain data, for a value of so many bytes.
FLAWS: Final[Mapping[str, Callable[[int], Any]]] = MappingProxyType(
    {
        "wrong-type": lambda _size: object(),
        "oversized": lambda size: "x" * (size + 1),
        "nan": lambda _size: nan,
        "cyclic": lambda _size: _cyclic(),
        "deep": lambda _size: _deep(),
        "surrogate": lambda _size: _SURROGATE,
    }
)

Shape = Callable[[str, Any, Sequence[Any], Callable[[], Any]], Any]


def _route(flaw: str, value: Any, _arguments: Sequence[Any], _real: Callable[[], Any]) -> Any:
    return Route(Intent.DIAGNOSIS, [value]) if flaw in {"oversized", "surrogate"} else value


def _turn(flaw: str, value: Any, arguments: Sequence[Any], _real: Callable[[], Any]) -> Any:
    """
    Ask a tool with the value, draft it, or report it as usage.
    """
    if flaw == "wrong-type":
        return value
    if flaw in {"oversized", "surrogate"}:
        return AgentTurn(draft=DiagnosisDraft(value))
    tools = getattr(arguments[0], "tools", ()) if arguments else ()
    call = ToolCall(tools[0].name if tools else "no such tool", None, {"value": value})
    return AgentTurn([call], usage=Usage(value) if flaw == "nan" else None)


def _draft(flaw: str, value: Any, _arguments: Sequence[Any], _real: Callable[[], Any]) -> Any:
    return DiagnosisDraft(value) if flaw in {"oversized", "surrogate"} else value


def _result(flaw: str, value: Any, _arguments: Sequence[Any], _real: Callable[[], Any]) -> Any:
    """
    Give the value as a raw result: text as it is, anything else among facts.
    """
    return value if flaw in {"wrong-type", "oversized"} else ["a fact", value]


def _loaded(flaw: str, value: Any, _arguments: Sequence[Any], real: Callable[[], Any]) -> Any:
    """
    Give the stored record with the value as a fact more.
    """
    record = real() if flaw in {"oversized", "surrogate"} else None
    if type(record) is not CanonicalRecord:
        return value
    return evolve(record, facts=(*record.facts, Fact(value)))


def _seconds(flaw: str, value: Any, _arguments: Sequence[Any], _real: Callable[[], Any]) -> Any:
    return 1e300 if flaw == "oversized" else value


def _time(flaw: str, value: Any, _arguments: Sequence[Any], _real: Callable[[], Any]) -> Any:
    if flaw == "oversized":
        return _FAR
    # a time without a zone, which every record refuses
    return _FAR.replace(tzinfo=None) if flaw == "nan" else value


def _bare(_flaw: str, value: Any, _arguments: Sequence[Any], _real: Callable[[], Any]) -> Any:
    return value


_SHAPES: Final[Mapping[str, Shape]] = MappingProxyType(
    {
        "router": _route,
        "agent": _turn,
        "repair": _draft,
        "tool": _result,
        "tool.project": _result,
        "canonical_store.load": _loaded,
        "clock.monotonic": _seconds,
        "clock.utc": _time,
        "backoff": _seconds,
    }
)


def hostile(
    flaw: str, site: str, size: int, arguments: Sequence[Any], real: Callable[[], Any]
) -> Any:
    """
    Make the hostile value that a call returns.

    Args:
        flaw: One of :data:`FLAWS`.
        site: Whose answer it takes the place of; it has that shape where the shape can hold it.
        size: The bytes that an oversized value exceeds.
        arguments: What the call was given.
        real: Makes the real call, for a flawed copy of its answer.

    Returns:
        The value.
    """
    return _SHAPES.get(site, _bare)(flaw, FLAWS[flaw](size), arguments, real)


def loosened(value: Any) -> tuple[Any, Callable[[], None]]:
    """
    Copy an answer into parts that its host still holds, with the function that changes them.

    Args:
        value: The real answer.

    Returns:
        The answer as it is handed over, and what changes it afterwards; an answer of which nothing
        can be changed is handed over as it is.
    """
    held: list[Any] = []

    def keep(part: Any) -> Any:
        held.append(part)
        return part

    def change() -> None:
        for part in held:
            if isinstance(part, dict):
                part.clear()
                part[CHANGED] = CHANGED
            else:
                part[:] = [CHANGED]

    return _handed_over(value, keep), change


def _handed_over(value: Any, keep: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return keep(dict(value))
    if isinstance(value, list):
        return keep(list(value))
    if type(value) is Route:
        return Route(value.intent, keep(list(value.missing_context)))
    if type(value) is DiagnosisDraft:
        return _draft_of_lists(value, keep)
    if type(value) is AgentTurn:
        return evolve(
            value,
            calls=keep([_call_of_dicts(call, keep) for call in value.calls]),
            draft=None if value.draft is None else _draft_of_lists(value.draft, keep),
        )
    return value


def _call_of_dicts(call: ToolCall, keep: Callable[[Any], Any]) -> ToolCall:
    return ToolCall(call.tool, keep(call.scope.thaw()), keep(call.arguments.thaw()))


def _draft_of_lists(draft: DiagnosisDraft, keep: Callable[[Any], Any]) -> DiagnosisDraft:
    return DiagnosisDraft(
        draft.conclusion,
        keep(list(draft.citations)),
        keep([evolve(claim, citations=keep(list(claim.citations))) for claim in draft.claims]),
        keep(list(draft.recommendations)),
        keep(list(draft.missing_context)),
    )

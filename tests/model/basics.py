"""The small change of the model: constants, rows, and how single values are read."""

from __future__ import annotations

import builtins
import json
import math
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import Any, Final, NamedTuple

from tests.model.vocabulary import Json

#: Section 3.2: attempts per call, and the kinds that are retried.
ATTEMPTS: Final = {"router": 2, "semantic_guard": 2}
RETRIED: Final = frozenset({"TIMEOUT", "TRANSPORT", "RATE_LIMITED", "INVALID_OUTPUT"})

NAMES: Final = {
    "router": "INTENT_ROUTER",
    "responder": "RESPONDER",
    "agent": "DIAGNOSIS_AGENT",
    "tool": "TOOL",
    "repair": "EVIDENCE_REPAIR",
    "semantic_guard": "SEMANTIC_GUARD",
}


class EndedError(Exception):
    """The run reached its terminal state."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


class Fact(NamedTuple):
    """One fact of a record, and whether it was new evidence."""

    text: str
    is_new: bool


class Row(NamedTuple):
    """One finished invocation."""

    tool: str
    scope: Json
    status: str
    code: str | None
    facts: tuple[Fact, ...]


def arrived(text: str) -> str:
    """Replace what UTF-8 cannot encode, as section 3.5 says."""
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)


def texts_of(facts: Iterable[Any]) -> list[str]:
    """Return the texts of scripted facts."""
    return [fact if isinstance(fact, str) else fact["text"] for fact in facts]


def size_of(text: str) -> int:
    """Return the UTF-8 bytes of a text."""
    return len(arrived(text).encode())


def is_blank(text: str) -> bool:
    """Whether a text holds nothing but white space."""
    return not text.strip()


def is_strict(value: object) -> bool:
    """Whether a raw result is strict JSON: no NaN, no Infinity."""
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


def is_number(value: object) -> bool:
    """Whether a value counts something: finite, not negative, no bool."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and math.isfinite(value)
        and value >= 0
    )


def cost_of(value: object) -> Decimal | None:
    """Return a usable cost, or nothing."""
    if value is None:
        return Decimal(0)
    if isinstance(value, str):
        try:
            cost = Decimal(value)
        except InvalidOperation:
            return None
        return cost if cost.is_finite() and cost >= 0 else None
    return Decimal(str(value)) if is_number(value) else None


def accepts_kind(kind: str, value: object) -> bool:
    """Whether a declared parameter accepts an argument."""
    if kind == "bool":
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    allowed: dict[str, type | tuple[type, ...]] = {"str": str, "int": int, "float": (int, float)}
    return isinstance(value, allowed[kind])


def raised_kind(name: str) -> str | None:
    """Return the kind of a Python exception, or nothing where it is no ``Exception``."""
    error = getattr(builtins, name)
    if not issubclass(error, Exception):
        return None
    if issubclass(error, TimeoutError):
        return "TIMEOUT"
    return "TRANSPORT" if issubclass(error, ConnectionError) else "UNCLASSIFIED"

"""How single values are read: strictly, and never made into what they are not."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal, InvalidOperation
from enum import Enum
from math import isfinite
from typing import Any

from harness._json import FrozenDict, NotJsonError, freeze
from harness.errors import InvalidArgumentError, RecordDecodeError, UnknownMemberError

__all__ = [
    "Hook",
    "from_decimal",
    "is_enum",
    "same",
    "to_decimal",
    "to_float",
    "to_mapping",
    "to_member",
    "to_scalar",
    "to_time",
    "wrong",
]

#: Builds a value of a type from plain data.
Hook = Callable[[Any, Any], Any]


def wrong(value: object, allowed: str, field: str = "") -> RecordDecodeError:
    """
    Refuse a value; the rest of its place is known further out.
    """
    return RecordDecodeError(field, value, allowed)


def to_scalar(kind: type[Any], allowed: str) -> Hook:
    """
    Read values of a type, and of no subclass: ``true`` is no number.
    """

    def structure(value: Any, _kind: Any) -> Any:
        if type(value) is not kind:
            raise wrong(value, allowed)
        return value

    return structure


def to_float(value: Any, _kind: Any) -> float:
    """
    Read a finite number; a whole one stays one, so that it is written as it was.
    """
    if type(value) is not int and (type(value) is not float or not isfinite(value)):
        raise wrong(value, "a finite number")
    number: float = value
    return number


def to_decimal(value: Any, _kind: Any) -> Decimal:
    """
    Read money, which is text.
    """
    try:
        number = Decimal(value) if type(value) is str else None
    except InvalidOperation:
        number = None
    if number is None or not number.is_finite():
        raise wrong(value, "a finite decimal number as text, as '0.25'")
    return number


def from_decimal(value: Decimal) -> str:
    """
    Write money as text.
    """
    if not value.is_finite():
        raise InvalidArgumentError("cost", value, "a finite number")
    return str(value)


def to_time(value: Any, _kind: Any) -> datetime:
    """
    Read a time that says its offset; the record demands that of UTC.
    """
    try:
        time = datetime.fromisoformat(value) if type(value) is str else None
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise wrong(value, "a time in UTC with its offset, as '2026-01-31T23:59:59+00:00'")
    return time


def is_enum(kind: Any) -> bool:
    """
    Whether a type is a vocabulary.
    """
    return isinstance(kind, type) and issubclass(kind, Enum)


def to_member(value: Any, kind: type[Enum]) -> Enum:
    """
    Read a member by its wire string, exactly.
    """
    if type(value) is not str:
        raise wrong(value, "text")
    try:
        return kind(value)
    except ValueError:
        allowed = " ".join(str(member.value) for member in kind)
        raise UnknownMemberError("", value, allowed) from None


def to_mapping(value: Any, _kind: Any) -> FrozenDict:
    """
    Read a free mapping: any strict JSON object.
    """
    if type(value) is not dict:
        raise wrong(value, "an object")
    try:
        mapping: FrozenDict = freeze(value)
    except NotJsonError as why:
        raise wrong(value, f"strict JSON ({why})") from None
    return mapping


def same(value: FrozenDict) -> FrozenDict:
    """
    Write a frozen mapping, which the encoder takes as it is.
    """
    return value

"""Records to and from plain data, through one strict converter."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from functools import cache
from operator import attrgetter
from types import GenericAlias
from typing import Any, TypeVar, get_args, get_origin

from attrs import fields, frozen, has
from cattrs import ClassValidationError, Converter
from cattrs.errors import IterableValidationNote
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from harness._json import FrozenDict
from harness._records import TRACE_FIELDS, Attempts, RunRecord, Trace, _shown
from harness._states import AttemptOutcome, Component, FailureKind, TraceCode, UsageKind
from harness._values import ToolCall
from harness.codec._failures import first_failure
from harness.codec._hooks import (
    Hook,
    from_decimal,
    is_enum,
    same,
    to_decimal,
    to_float,
    to_mapping,
    to_member,
    to_scalar,
    to_time,
    wrong,
)
from harness.errors import HarnessError

__all__ = ["build", "plain"]

T = TypeVar("T")


@frozen
class _AttemptRow:
    """
    An attempt as it is stored, in the order of its plain values.

    It says when the attempt ended and not how long it took: a difference of floats does not add up.
    """

    component: Component
    number: int
    outcome: AttemptOutcome
    failure: FailureKind | None
    began: float
    ended: float
    late: bool
    usage: UsageKind
    tokens: int
    cost: Decimal


@frozen
class _EventRow:
    """
    A trace event as it is stored, in the order of its plain values; its place is its number.
    """

    code: TraceCode
    at: float
    detail: FrozenDict


def plain(record: Any) -> dict[str, Any]:
    """
    Give a record's data, ready to be written: fresh dictionaries and lists.

    Args:
        record: The record.
    """
    data: dict[str, Any] = _converter().unstructure(record)
    return data


def build(data: dict[str, Any], kind: type[T]) -> T:
    """
    Build a record of data of the current version.

    Args:
        data: The data.
        kind: The record's class.

    Raises:
        RecordDecodeError: Something is missing, has another type, or cannot stand together.
        UnknownMemberError: A state is not known.
    """
    try:
        return _converter().structure(data, kind)
    except ClassValidationError as error:
        raise first_failure(error) from None


@cache
def _converter() -> Converter:
    """
    Build the converter, at first use.
    """
    made = Converter(detailed_validation=True, unstruct_collection_overrides={tuple: list})
    made.register_structure_hook(str, to_scalar(str, "text"))
    made.register_structure_hook(int, to_scalar(int, "a whole number"))
    made.register_structure_hook(bool, to_scalar(bool, "true or false"))
    made.register_structure_hook(float, to_float)
    made.register_structure_hook(Decimal, to_decimal)
    made.register_structure_hook(datetime, to_time)
    made.register_structure_hook(FrozenDict, to_mapping)
    made.register_structure_hook_func(is_enum, to_member)
    made.register_structure_hook_factory(_is_tuple, lambda kind: _to_tuple(made, kind))
    made.register_structure_hook_factory(has, lambda kind: _to_record(made, kind))
    made.register_structure_hook(Attempts, _to_rows(made, Attempts, _AttemptRow))
    made.register_structure_hook(Trace, _to_rows(made, Trace, _EventRow))
    made.register_unstructure_hook(Decimal, from_decimal)
    made.register_unstructure_hook(datetime, datetime.isoformat)
    made.register_unstructure_hook(FrozenDict, same)
    made.register_unstructure_hook(Attempts, _from_attempts)
    made.register_unstructure_hook(Trace, _from_trace)
    from_call = make_dict_unstructure_fn(ToolCall, made, refused=override(omit=False))
    made.register_unstructure_hook(ToolCall, from_call)
    from_run = make_dict_unstructure_fn(RunRecord, made, extra=override(omit=True))
    made.register_unstructure_hook(RunRecord, from_run)
    return made


def _is_tuple(kind: Any) -> bool:
    return get_origin(kind) is tuple


def _to_tuple(made: Converter, kind: Any) -> Hook:
    item = get_args(kind)[0]
    hook = made.get_structure_hook(item)

    def structure(value: Any, _kind: Any) -> tuple[Any, ...]:
        if type(value) is not list:
            raise wrong(value, "a list")
        items = []
        for index, one in enumerate(value):
            try:
                items.append(hook(one, item))
            except (HarnessError, ClassValidationError) as error:
                error.add_note(IterableValidationNote("", index, item))
                raise
        return tuple(items)

    return structure


def _to_record(made: Converter, kind: type[Any]) -> Hook:
    # what a record does not know has no field of its own in the text
    extra = override(omit=True if kind is RunRecord else None)
    generated = make_dict_structure_fn(kind, made, extra=extra)

    def structure(value: Any, _kind: Any) -> Any:
        if type(value) is not dict:
            raise wrong(value, "an object")
        return generated(value, kind)

    def structure_call(value: Any, _kind: Any) -> ToolCall:
        call: ToolCall = structure(value, kind)
        # set by the call itself where its arguments were no JSON, and by nobody else
        refused = value.get("refused")
        if refused is not None and type(refused) is not str:
            raise wrong(refused, "text, or null", "refused")
        object.__setattr__(call, "refused", refused)
        return call

    return structure_call if kind is ToolCall else structure


def _to_rows(made: Converter, kind: type[Any], row: type[Any]) -> Hook:
    hook = made.get_structure_hook(GenericAlias(tuple, (row, ...)))
    values = attrgetter(*(attribute.name for attribute in fields(row)))

    def structure(value: Any, _kind: Any) -> Any:
        return kind(map(values, hook(value, None)))

    return structure


def _from_attempts(attempts: Attempts) -> list[dict[str, Any]]:
    names = [attribute.name for attribute in fields(_AttemptRow)]
    rows = [dict(zip(names, raw, strict=True)) for raw in attempts._raw]  # noqa: SLF001  the same
    for row in rows:
        for name in ("component", "outcome", "failure", "usage"):
            row[name] = row[name] and row[name]._value_
        row["cost"] = from_decimal(row["cost"])
    return rows


def _from_trace(trace: Trace) -> list[dict[str, Any]]:
    raws = enumerate(trace._raw)  # noqa: SLF001  read as they were noted, at a tenth of the cost
    return [
        {"code": code._value_, "at": at, "detail": _from_detail(trace, place, code, values)}
        for place, (code, at, *values) in raws
    ]


def _from_detail(trace: Trace, place: int, code: TraceCode, values: list[Any]) -> dict[str, Any]:
    """
    Give an event's detail; only one that was noted as a mapping must be read to be known.
    """
    if len(values) == 1:
        return values[0] if type(values[0]) is FrozenDict else trace[place].detail
    return dict(_shown(dict(zip(TRACE_FIELDS.get(code, ()), values, strict=False))))

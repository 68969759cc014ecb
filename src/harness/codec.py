"""
JSON for records: what is stored is read back without loss, or refused with a clear error (3.11).

1. One form: keys sorted, no blanks, text as itself; ``text -> record -> text`` gives the same
   bytes, and so does a second save of whatever could be read.
2. Members are written as their wire strings, money as text, times as ISO 8601 in UTC with their
   offset. A time without an offset is refused.
3. Fields that this version does not know are kept in ``RunRecord.extra``: those of the record under
   their name, those further down under their JSON pointer (``/gates/score``). A canonical record
   has no room for them, so there they are refused.
4. What was read is written again and compared before it is handed out; a value that would come out
   different is refused with its path. Nothing is dropped or altered silently.
5. Records of earlier versions are brought up to date by a table, one step a version; records of
   later versions are refused.

This module alone imports cattrs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import cache
from math import isfinite
from types import MappingProxyType
from typing import Any, Final, NoReturn, TypeAlias, TypeVar, get_args, get_origin

from attrs import evolve, has
from cattrs import ClassValidationError, Converter
from cattrs.errors import AttributeValidationNote, IterableValidationNote
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from harness._json import MAX_DEPTH, FrozenDict, NotJsonError, freeze
from harness._records import (
    SCHEMA_VERSION,
    TRACE_FIELDS,
    Attempts,
    CanonicalRecord,
    RunRecord,
    Trace,
    _shown,
)
from harness._states import (
    AttemptOutcome,
    Component,
    FailureKind,
    TraceCode,
    UsageKind,
)
from harness._values import ToolCall
from harness.errors import (
    IllegalCombinationError,
    InvalidArgumentError,
    MalformedOutputError,
    RecordDecodeError,
    SchemaVersionError,
    UnknownMemberError,
)

__all__ = [
    "canonical_from_data",
    "canonical_from_json",
    "canonical_to_data",
    "canonical_to_json",
    "record_from_data",
    "record_from_json",
    "record_to_data",
    "record_to_json",
]

T = TypeVar("T")
Data: TypeAlias = dict[str, Any]

#: Brings a record of one version to the next.
Migration: TypeAlias = Callable[[Data], Data]

#: How a record of version n becomes one of version n + 1. Version 1 is the first.
RUN_MIGRATIONS: Final[Mapping[int, Migration]] = MappingProxyType({})
#: The same for canonical records.
CANONICAL_MIGRATIONS: Final[Mapping[int, Migration]] = MappingProxyType({})

#: The record itself and the objects around a free mapping come on top of the mapping's nesting.
_DEPTH: Final = MAX_DEPTH + 8

#: What identifies an attempt's fields, in the order of its plain values.
_ATTEMPT_FIELDS: Final[tuple[tuple[str, Any], ...]] = (
    ("component", Component),
    ("number", int),
    ("outcome", AttemptOutcome),
    ("failure", FailureKind | None),
    ("began", float),
    ("ended", float),
    ("late", bool),
    ("usage", UsageKind),
    ("tokens", int),
    ("cost", Decimal),
)


class _Missing(Enum):
    """
    Stands for a key that is not there, in errors.
    """

    MISSING = "missing"

    def __repr__(self) -> str:
        return "missing"


def record_to_json(record: RunRecord) -> str:
    """
    Write a run record as JSON text.

    Args:
        record: The record, of the current schema version.

    Returns:
        The text, in the one form of this module.

    Raises:
        InvalidArgumentError: It is no record, or holds what JSON or UTF-8 cannot.
    """
    _check(record, RunRecord)
    return _encode(_run_data(record), record.run_id)


def record_from_json(text: str | bytes) -> RunRecord:
    """
    Read a run record from JSON text.

    Args:
        text: The text, in any layout; bytes are UTF-8.

    Returns:
        The record; fields that this version does not know are in ``extra``.

    Raises:
        RecordDecodeError: The text is no record; names path, value and what is allowed.
        UnknownMemberError: It names a state that this version does not know.
        SchemaVersionError: A later version wrote it.
        InvalidArgumentError: The argument is no text.
    """
    data = _migrated(_parse(text), RUN_MIGRATIONS)
    record = _structure(data, RunRecord)
    written = record_to_json(record)
    if written == text:
        return record
    strays = dict(_strays(data, json.loads(written), ()))
    if not strays:
        return record
    extra = {_pointer(steps): value for steps, value in strays.items()}
    return evolve(record, extra=_frozen(extra))


def record_to_data(record: RunRecord) -> Data:
    """
    Give a run record as plain data: dictionaries, lists and scalars of its JSON form.

    Args:
        record: The record.

    Raises:
        InvalidArgumentError: As for :func:`record_to_json`.
    """
    data: Data = json.loads(record_to_json(record))
    return data


def record_from_data(data: Mapping[str, Any]) -> RunRecord:
    """
    Read a run record from plain data, as :func:`record_to_data` gives it.

    Args:
        data: The data; left as it is.

    Raises:
        RecordDecodeError: As for :func:`record_from_json`.
    """
    return record_from_json(_as_text(data))


def canonical_to_json(record: CanonicalRecord) -> str:
    """
    Write a canonical record as JSON text.

    Args:
        record: The record.

    Returns:
        The text, in the one form of this module.

    Raises:
        InvalidArgumentError: It is no record, or holds what JSON or UTF-8 cannot.
    """
    _check(record, CanonicalRecord)
    data = _converter().unstructure(record)
    data["schema_version"] = SCHEMA_VERSION
    return _encode(data, record.invocation_id)


def canonical_from_json(text: str | bytes) -> CanonicalRecord:
    """
    Read a canonical record from JSON text.

    Args:
        text: The text, in any layout; bytes are UTF-8.

    Raises:
        RecordDecodeError: The text is no record, or has a field that this version does not know.
        UnknownMemberError: It names a state that this version does not know.
        SchemaVersionError: A later version wrote it.
        InvalidArgumentError: The argument is no text.
    """
    data = _migrated(_parse(text), CANONICAL_MIGRATIONS)
    record = _structure(data, CanonicalRecord)
    written = canonical_to_json(record)
    if written != text:
        for steps, value in _strays(data, json.loads(written), ()):
            raise RecordDecodeError(_path(steps), value, "no field of that name")
    return record


def canonical_to_data(record: CanonicalRecord) -> Data:
    """
    Give a canonical record as plain data: dictionaries, lists and scalars of its JSON form.

    Args:
        record: The record.

    Raises:
        InvalidArgumentError: As for :func:`canonical_to_json`.
    """
    data: Data = json.loads(canonical_to_json(record))
    return data


def canonical_from_data(data: Mapping[str, Any]) -> CanonicalRecord:
    """
    Read a canonical record from plain data, as :func:`canonical_to_data` gives it.

    Args:
        data: The data; left as it is.

    Raises:
        RecordDecodeError: As for :func:`canonical_from_json`.
    """
    return canonical_from_json(_as_text(data))


# --- text


_writer: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
)


def _check(record: object, kind: type[Any]) -> None:
    if not isinstance(record, kind):
        raise InvalidArgumentError("record", record, f"a {kind.__name__}")


def _encode(data: Data, name: str) -> str:
    """
    Write data in the one form.

    Raises:
        InvalidArgumentError: It is no strict JSON, or UTF-8 cannot encode its text.
    """
    try:
        text = _writer.encode(data)
        if not text.isascii():
            text.encode()
    except UnicodeEncodeError:
        raise InvalidArgumentError("record", name, "text that UTF-8 can encode") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgumentError("record", name, f"what JSON can hold ({error})") from None
    return text


def _refuse_constant(name: str) -> NoReturn:
    message = f"{name} is no JSON number"
    raise ValueError(message)


def _object(pairs: list[tuple[str, Any]]) -> Data:
    data = dict(pairs)
    if len(data) < len(pairs):
        message = "a key stands twice in one object"
        raise ValueError(message)
    return data


_reader: Final = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant)


def _parse(text: object) -> Data:
    """
    Read strict JSON of one object.
    """
    if not isinstance(text, (str, bytes)):
        raise InvalidArgumentError("text", text, "text, or bytes in UTF-8")
    try:
        data = _reader.decode(text if isinstance(text, str) else text.decode())
    except (ValueError, RecursionError) as error:
        raise RecordDecodeError("record", text[:80], f"strict JSON ({error})") from None
    if type(data) is not dict:
        raise RecordDecodeError("record", data, "a JSON object")
    return data


def _as_text(data: object) -> str:
    """
    Write plain data as text, after checking that it is strict JSON.
    """
    if not isinstance(data, Mapping):
        raise RecordDecodeError("record", data, "a mapping")
    try:
        return _writer.encode(freeze(dict(data), depth=_DEPTH))
    except (NotJsonError, ValueError) as error:
        raise RecordDecodeError("record", data, f"strict JSON ({error})") from None


# --- versions


def _migrated(data: Data, steps: Mapping[int, Migration]) -> Data:
    """
    Bring data to the current version.

    Raises:
        RecordDecodeError: It states no version that ever was.
        SchemaVersionError: It states a later version.
    """
    version = data.get("schema_version", _Missing.MISSING)
    if type(version) is not int or version < 1:
        raise RecordDecodeError("schema_version", version, f"1 to {SCHEMA_VERSION}")
    if version > SCHEMA_VERSION:
        why = f"schema version {version} is of a later release; this one reads 1 to"
        raise SchemaVersionError("record", f"{why} {SCHEMA_VERSION}")
    for earlier in range(version, SCHEMA_VERSION):
        data = {**steps[earlier](data), "schema_version": earlier + 1}
    return data


# --- unknown fields


def _strays(
    given: Any, written: Any, steps: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """
    Find what was given and would not be written again.

    Yields:
        Where a field stands that nobody knows, and its value.

    Raises:
        RecordDecodeError: A known field would be written with another value.
    """
    if type(given) is dict and type(written) is dict:
        for key, value in given.items():
            here = (*steps, key)
            if key in written:
                yield from _strays(value, written[key], here)
            else:
                yield here, value
    elif type(given) is list and type(written) is list and len(given) == len(written):
        for place, (value, again) in enumerate(zip(given, written, strict=True)):
            yield from _strays(value, again, (*steps, place))
    elif given != written:
        raise RecordDecodeError(_path(steps), given, f"the form in which it is written, {written}")


def _path(steps: tuple[str | int, ...]) -> str:
    """
    Write a place for a reader: ``field.field[index]``.
    """
    parts = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps]
    return "".join(parts).removeprefix(".") or "record"


def _pointer(steps: tuple[str | int, ...]) -> str:
    """
    Write a place as a key of ``extra``: a name of the record itself, else a JSON pointer.
    """
    first = str(steps[0])
    if len(steps) == 1 and not first.startswith("/"):
        return first
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def _frozen(extra: Data) -> FrozenDict:
    try:
        frozen: FrozenDict = freeze(extra)
    except NotJsonError as error:
        raise RecordDecodeError("record", sorted(extra), f"strict JSON ({error})") from None
    return frozen


def _run_data(record: RunRecord) -> Data:
    """
    Give a record's data, with its unknown fields back in their places.
    """
    if record.schema_version != SCHEMA_VERSION:
        raise InvalidArgumentError("schema_version", record.schema_version, str(SCHEMA_VERSION))
    data: Data = _converter().unstructure(record)
    for key, value in record.extra.items():
        _place(data, key, value)
    return data


def _place(data: Data, key: str, value: object) -> None:
    """
    Put an unknown field where its key says.

    Raises:
        InvalidArgumentError: There is no such place, or a known field stands there.
    """
    steps = [key]
    if key.startswith("/"):
        steps = [step.replace("~1", "/").replace("~0", "~") for step in key[1:].split("/")]
    *above, last = steps
    parent: Any = data
    for step in above:
        parent = _below(parent, step)
    if type(parent) is not dict:
        raise InvalidArgumentError("extra", key, "a place in the record")
    if last in parent:
        raise InvalidArgumentError("extra", key, "a field that this version does not know")
    parent[last] = value


def _below(parent: object, step: str) -> object:
    if type(parent) is dict:
        return parent.get(step)
    if type(parent) is list and step.isdecimal() and int(step) < len(parent):
        return parent[int(step)]
    return None


# --- errors


def _structure(data: Data, kind: type[T]) -> T:
    """
    Build a record from data of the current version.

    Raises:
        RecordDecodeError: Something is missing, of another type, or an illegal combination.
    """
    try:
        return _converter().structure(data, kind)
    except ClassValidationError as group:
        error, path = _first(group)
    raise _named(error, path) from None


def _first(error: Exception) -> tuple[Exception, str]:
    """
    Find the first thing that is wrong, and where.
    """
    path = ""
    while isinstance(error, ClassValidationError):
        error = error.exceptions[0]
        notes = getattr(error, "__notes__", ())
        # the innermost note was added first
        path += "".join(_note(note) for note in reversed(notes))
    return error, path.removeprefix(".")


def _note(note: object) -> str:
    if isinstance(note, IterableValidationNote):
        return f"[{note.index}]"
    return f".{note.name}" if isinstance(note, AttributeValidationNote) else ""


def _named(error: Exception, path: str) -> RecordDecodeError:
    """
    Name what is wrong with a record.
    """
    if isinstance(error, KeyError):
        return RecordDecodeError(path, _Missing.MISSING, "a value; the key is required")
    if isinstance(error, RecordDecodeError):
        return type(error)(path or "record", error.value, error.allowed)
    if isinstance(error, IllegalCombinationError):
        found = " ".join(str(getattr(one, "name", one)) for one in error.found)
        return RecordDecodeError(path or "record", found, str(error))
    if isinstance(error, MalformedOutputError):
        field = error.field.rpartition(".")[2]
        return RecordDecodeError(f"{path}.{field}".removeprefix("."), error.value, error.allowed)
    if isinstance(error, InvalidArgumentError):
        place = f"{path}.{error.argument}".removeprefix(".")
        return RecordDecodeError(place, error.value, error.allowed)
    return RecordDecodeError(path or "record", None, f"a value that can be read ({error})")


# --- hooks


@cache
def _converter() -> Converter:
    """
    Build the one converter, at first use.
    """
    made = Converter(detailed_validation=True, unstruct_collection_overrides={tuple: list})
    for kind, allowed in ((str, "text"), (int, "a whole number"), (bool, "true or false")):
        made.register_structure_hook(kind, _plain(kind, allowed))
    made.register_structure_hook(float, _to_float)
    made.register_structure_hook(Decimal, _to_decimal)
    made.register_unstructure_hook(Decimal, _from_decimal)
    made.register_structure_hook(datetime, _to_time)
    made.register_unstructure_hook(datetime, datetime.isoformat)
    made.register_structure_hook(FrozenDict, _to_mapping)
    made.register_unstructure_hook(FrozenDict, _same)
    made.register_structure_hook_func(_is_enum, _to_member)
    made.register_structure_hook_factory(_is_tuple, _tuple_hook)
    made.register_structure_hook_factory(has, _class_hook)
    made.register_structure_hook(ToolCall, _call_hook(made))
    made.register_structure_hook(Attempts, _attempts_hook(made))
    made.register_unstructure_hook(Attempts, _from_attempts)
    made.register_structure_hook(Trace, _trace_hook(made))
    made.register_unstructure_hook(Trace, _from_trace)
    _register_init_false(made)
    return made


def _same(value: T) -> T:
    return value

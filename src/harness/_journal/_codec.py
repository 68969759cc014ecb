"""
Values to strict JSON and back, exactly: what came through the seam, whatever it was.

1. Scalars are themselves. Everything else is an object that names its type under ``!``.
2. A value of a type that the harness does not know is kept as what its ``repr`` says: that is all
   the flow can have seen of it.
3. What is read back is the same value, built without its constructor, so that nothing is judged
   twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from enum import Enum
from hashlib import sha256
from math import isfinite
from types import MappingProxyType
from typing import Any, Final, NoReturn

from attrs import NOTHING, Factory, fields

from harness import _records, _states, _values
from harness._json import FrozenDict, frozen_dict
from harness._limits import Limits
from harness._records import Attempts, Trace, TraceEvent
from harness._release import ReleasePolicy
from harness._seam import Failure
from harness._tools import Parameter
from harness.errors import RecordDecodeError, UnknownMemberError

__all__ = ["Opaque", "digest", "from_data", "parse_line", "to_data", "to_line"]

#: The key under which an object names its type.
TYPE: Final = "!"
_SHOWN: Final = 200
#: Numbers beyond this are written in hexadecimal: Python refuses huge decimal ones.
_HUGE: Final = 10**18

_RECORDS: Final[Mapping[str, type[Any]]] = MappingProxyType(
    {
        kind.__name__: kind
        for kind in (
            *(getattr(_values, name) for name in _values.__all__),
            *(getattr(_records, name) for name in _records.__all__),
            Failure,
            Limits,
            Parameter,
            ReleasePolicy,
        )
        if hasattr(kind, "__attrs_attrs__")
    }
)
_ENUMS: Final[Mapping[str, type[Enum]]] = MappingProxyType(
    {
        name: kind
        for name, kind in vars(_states).items()
        if isinstance(kind, type) and issubclass(kind, Enum) and kind.__module__ == _states.__name__
    }
)


class Opaque:
    """
    Stands for a value that a host returned and the harness refused: it says the same of itself.
    """

    __slots__ = ("_length", "_shown")

    def __init__(self, shown: str, length: int) -> None:
        self._shown = shown
        self._length = length

    def __repr__(self) -> str:
        return self._shown.ljust(self._length)


# --- values to data


def to_data(value: object) -> Any:
    """
    Write a value as what JSON can carry.

    Args:
        value: Anything.
    """
    kind = type(value)
    if value is None or kind is bool:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    written = _WRITERS.get(kind)
    if written is not None:
        return written(value)
    if kind.__name__ in _RECORDS and _RECORDS[kind.__name__] is kind:
        return {TYPE: kind.__name__, **_fields(value)}
    if isinstance(value, Enum) and _ENUMS.get(kind.__name__) is kind:
        return {TYPE: kind.__name__, "is": value.name}
    return _opaque(value)


def _fields(record: Any) -> dict[str, Any]:
    return {name: to_data(getattr(record, name)) for name in _names(type(record))}


def _names(kind: type[Any]) -> list[str]:
    """
    Give the fields that are content; a private one is a note of the record to itself.
    """
    return [attribute.name for attribute in fields(kind) if attribute.name[0] != "_"]


def _whole(value: int) -> Any:
    return value if -_HUGE < value < _HUGE else {TYPE: "int", "is": hex(value)}


def _number(value: float) -> Any:
    return value if isfinite(value) else {TYPE: "float", "is": repr(value)}


def _items(value: Iterable[object]) -> list[Any]:
    return [to_data(item) for item in value]


def _mapping(value: Mapping[str, object]) -> dict[str, Any]:
    return {TYPE: "map", "is": {key: to_data(item) for key, item in value.items()}}


def _attempts(value: Attempts) -> dict[str, Any]:
    return {TYPE: "Attempts", "is": [_items(raw) for raw in value._raw]}  # noqa: SLF001  the same package


def _trace(value: Trace) -> dict[str, Any]:
    return {TYPE: "Trace", "is": _items(value)}


def _opaque(value: object) -> dict[str, Any]:
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001  the words of harness.errors for a broken repr
        text = f"<{type(value).__name__} whose repr raised {type(error).__name__}>"
    return {TYPE: "opaque", "is": text[:_SHOWN], "length": len(text)}


_WRITERS: Final[Mapping[type[Any], Callable[[Any], Any]]] = MappingProxyType(
    {
        int: _whole,
        float: _number,
        tuple: _items,
        FrozenDict: _mapping,
        Attempts: _attempts,
        Trace: _trace,
        Decimal: lambda value: {TYPE: "Decimal", "is": str(value)},
        datetime: lambda value: {TYPE: "time", "is": value.isoformat()},
    }
)


# --- data to values


def from_data(data: Any, path: str = "value") -> Any:
    """
    Read a value back.

    Args:
        data: What :func:`to_data` gave.
        path: Where it stands, for errors.

    Raises:
        RecordDecodeError: It is something else; names where.
        UnknownMemberError: It names a type or member that this version does not know.
    """
    if isinstance(data, list):
        return tuple([from_data(item, f"{path}[{place}]") for place, item in enumerate(data)])
    if not isinstance(data, dict):
        return data
    name = data.get(TYPE)
    reader = _READERS.get(name) if isinstance(name, str) else None
    try:
        if reader is not None:
            return reader(data["is"], path)
        if isinstance(name, str) and name in _ENUMS:
            return _ENUMS[name][data["is"]]
        if name == "opaque":
            return Opaque(data["is"], data["length"])
    except KeyError as error:
        raise UnknownMemberError(f"{path}.is", data.get("is"), f"a known {name}") from error
    except (TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise RecordDecodeError(f"{path}.is", data.get("is"), f"a {name}") from error
    kind = _RECORDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise UnknownMemberError(f"{path}.{TYPE}", name, "a type that this version knows")
    return _record(kind, data, path)


def _record(kind: type[Any], data: dict[str, Any], path: str) -> Any:
    """
    Build a record as it was, without judging it again.
    """
    strange = data.keys() - {TYPE, *_names(kind)}
    if strange:
        name = min(strange)
        raise RecordDecodeError(f"{path}.{name}", data[name], f"a field of {kind.__name__}")
    record = object.__new__(kind)
    for attribute in fields(kind):
        name = attribute.name
        value = from_data(data[name], f"{path}.{name}") if name in data else _default(attribute)
        if value is NOTHING:
            raise RecordDecodeError(f"{path}.{name}", None, f"a field of {kind.__name__}")
        object.__setattr__(record, name, value)
    return record


def _default(attribute: Any) -> Any:
    default = attribute.default
    return default.factory() if isinstance(default, Factory) else default  # type: ignore[arg-type]


def _read_trace(items: Any, path: str) -> Trace:
    events: tuple[TraceEvent, ...] = from_data(items, path)
    return Trace([(event.code, event.at, event.detail) for event in events])


_READERS: Final[Mapping[str, Callable[[Any, str], Any]]] = MappingProxyType(
    {
        "int": lambda text, _: int(text, 16),
        "float": lambda text, _: float(text),
        "Decimal": lambda text, _: Decimal(text),
        "time": lambda text, _: datetime.fromisoformat(text),
        "map": lambda items, path: frozen_dict(
            {key: from_data(item, f"{path}.{key}") for key, item in items.items()}
        ),
        "Attempts": lambda items, path: Attempts(from_data(items, path)),
        "Trace": _read_trace,
    }
)


# --- lines


_encode: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
_encode_sorted: Final = json.JSONEncoder(
    allow_nan=False, separators=(",", ":"), sort_keys=True
).encode


def to_line(data: Mapping[str, Any]) -> str:
    """
    Write data as one line of strict JSON, in ASCII.

    Args:
        data: What JSON can carry.
    """
    return _encode(data)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


_decode: Final = json.JSONDecoder(parse_constant=_no_constant).decode


def parse_line(line: object, path: str) -> dict[str, Any]:
    """
    Read a line.

    Args:
        line: The line.
        path: Which, for errors.

    Raises:
        RecordDecodeError: It is no JSON object.
    """
    try:
        data: object = _decode(line)  # type: ignore[arg-type]
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordDecodeError(path, line, "a line of strict JSON") from error
    if not isinstance(data, dict):
        raise RecordDecodeError(path, data, "a JSON object")
    return data


def digest(value: object) -> str:
    """
    Digest a value: what is asked need not be kept whole to be compared.

    Args:
        value: Anything that :func:`to_data` writes.
    """
    return sha256(_encode_sorted(to_data(value)).encode()).hexdigest()[:16]

"""
Strict JSON as values: frozen on arrival, measured without being encoded whole (section 3.5).

1. JSON is strict: no NaN or Infinity, no cycle, no key that is not text, bounded nesting.
2. Text that UTF-8 cannot encode is repaired here, before size, digest and store see it.
3. What is frozen here is never shared with whoever handed it over.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from json.encoder import encode_basestring
from math import isfinite
from typing import Any, Final, NoReturn, TypeAlias

__all__ = [
    "MAX_DEPTH",
    "FrozenDict",
    "NotJsonError",
    "canonical",
    "clean_text",
    "freeze",
    "frozen_dict",
    "measure",
]

#: How deep a value may nest; deeper is a projection error.
MAX_DEPTH: Final = 64

#: A frozen JSON value.
Frozen: TypeAlias = "bool | int | float | str | tuple[Any, ...] | FrozenDict | None"

#: Below the least digits that an interpreter may be told to write.
_LARGEST: Final = 10**600

_REPLACEMENT: Final = "�"


class NotJsonError(ValueError):
    """
    A value is no strict JSON; names where and why.
    """


class FrozenDict(dict[str, Any]):
    """
    A JSON object that nobody can change: its values are scalars, tuples and frozen objects.

    A subclass of ``dict`` so that the standard encoder writes it at full speed.

    Args:
        items: A mapping, or pairs; copied and frozen like everything inside it.

    Raises:
        NotJsonError: It is no strict JSON object.
    """

    __slots__ = ()

    def __init__(self, items: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()) -> None:
        super().__init__(_frozen_items(dict(items), MAX_DEPTH) if items else ())

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        message = "a record's mapping cannot be changed"
        raise TypeError(message)

    __setitem__ = __delitem__ = _refuse
    __ior__ = _refuse
    clear = pop = popitem = _refuse
    setdefault = update = _refuse  # pyright: ignore[reportAssignmentType]

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return (FrozenDict, (dict(self),))

    def __copy__(self) -> FrozenDict:
        return self

    def __deepcopy__(self, _memo: object) -> FrozenDict:
        return self

    def thaw(self) -> dict[str, Any]:
        """
        Give a plain, deep, private copy that its receiver may change.
        """
        return {key: _thaw(value) for key, value in self.items()}


def _thaw(value: Any) -> Any:
    if type(value) is FrozenDict:
        return value.thaw()
    if type(value) is tuple:
        return [_thaw(item) for item in value]
    return value


def clean_text(text: str) -> str:
    """
    Replace what UTF-8 cannot encode (a lone surrogate) by U+FFFD.

    Returns the very same object where nothing had to be replaced, so that ``is`` tells.
    """
    if text.isascii():
        return text if type(text) is str else str(text)
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(_REPLACEMENT if "\ud800" <= c <= "\udfff" else c for c in text)
    return text if type(text) is str else str(text)


def freeze(value: object, *, depth: int = MAX_DEPTH) -> Any:  # noqa: PLR0911  one return a kind
    """
    Copy a JSON value into immutable values.

    Args:
        value: Anything.
        depth: How deep it may nest.

    Returns:
        The frozen copy; tuples for lists, :class:`FrozenDict` with sorted keys for mappings.

    Raises:
        NotJsonError: The value is no strict JSON.
    """
    kind = type(value)
    if kind is str:
        return clean_text(value)  # type: ignore[arg-type]
    if value is None or kind is bool:
        return value
    if kind is int:
        return _written(value)  # type: ignore[arg-type]
    if kind is FrozenDict:
        return value
    if kind is float:
        return _finite(value)  # type: ignore[arg-type]
    if depth <= 0:
        message = f"nested deeper than {MAX_DEPTH}"
        raise NotJsonError(message)
    if isinstance(value, dict):
        return frozen_dict(_frozen_items(value, depth))
    if isinstance(value, (list, tuple)):
        return tuple([freeze(item, depth=depth - 1) for item in value])
    return _odd(value)


def _frozen_items(value: dict[Any, Any], depth: int) -> dict[str, Any]:
    """
    Freeze the items of an object, with sorted keys.
    """
    items = {_key(key): freeze(item, depth=depth - 1) for key, item in value.items()}
    return dict(sorted(items.items())) if len(items) > 1 else items


def frozen_dict(items: dict[str, Any]) -> FrozenDict:
    """
    Make a frozen object of items that are known to be frozen, at no cost.
    """
    made = FrozenDict.__new__(FrozenDict)
    dict.__init__(made, items)
    return made


def _odd(value: object) -> Any:
    """
    Freeze a subclass of a scalar, or refuse.
    """
    if isinstance(value, str):
        return clean_text(str.__str__(value))
    if isinstance(value, int):
        return _written(int(value))
    if isinstance(value, float):
        return _finite(float(value))
    message = f"{type(value).__name__} is no JSON value"
    raise NotJsonError(message)


def _written(value: int) -> int:
    if -_LARGEST < value < _LARGEST:
        return value
    message = "a whole number of more than 600 digits cannot be written"
    raise NotJsonError(message)


def _finite(value: float) -> float:
    if not isfinite(value):
        message = f"{value} is no JSON number"
        raise NotJsonError(message)
    return value


def _key(key: object) -> str:
    if not isinstance(key, str):
        message = f"the key {key!r:.80} is not text"
        raise NotJsonError(message)
    return clean_text(key)


_encode: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
).encode


def canonical(value: object) -> str:
    """
    Write a frozen value as canonical JSON: sorted keys, no blanks, text as itself.
    """
    return _encode(value)


def measure(value: object, limit: int | None) -> int:
    """
    Measure the bytes of a value's UTF-8 text or JSON encoding, as a stream.

    Text counts as its UTF-8 bytes; everything else as compact JSON. Nothing larger than *limit*
    is ever encoded, so the cost is bounded by the limit and not by the value.

    Args:
        value: Anything.
        limit: Stop here, or ``None`` to measure it all.

    Returns:
        The size, or some number above *limit* where it is larger.

    Raises:
        NotJsonError: The value is no strict JSON.
    """
    if isinstance(value, str):
        return _text_bytes(value, limit)
    if isinstance(value, (bytes, bytearray)):
        return len(value)
    return _Meter(limit).size(value, MAX_DEPTH, 0)


def _text_bytes(text: str, limit: int | None) -> int:
    length = len(text)
    if text.isascii() or (limit is not None and length > limit):
        return length
    return len(text.encode("utf-8", "surrogatepass"))


class _Meter:
    """
    Adds up the compact JSON encoding of a value and stops above its limit.
    """

    __slots__ = ("limit",)

    def __init__(self, limit: int | None) -> None:
        self.limit = limit

    def size(self, value: object, depth: int, before: int) -> int:
        """
        Give *before* plus the size of *value*.
        """
        if isinstance(value, str):
            return before + self._string(value, before)
        if value is None or isinstance(value, (bool, int, float)):
            return before + _scalar_bytes(value)
        if depth <= 0:
            message = f"nested deeper than {MAX_DEPTH}"
            raise NotJsonError(message)
        if isinstance(value, dict):
            return self._object(value, depth - 1, before)
        if isinstance(value, (list, tuple)):
            return self._array(value, depth - 1, before)
        message = f"{type(value).__name__} is no JSON value"
        raise NotJsonError(message)

    def _string(self, text: str, before: int) -> int:
        room = None if self.limit is None else self.limit - before
        if room is not None and len(text) > room:
            return len(text) + 2
        quoted = encode_basestring(text)
        return len(quoted) if quoted.isascii() else len(quoted.encode("utf-8", "surrogatepass"))

    def _object(self, value: dict[Any, Any], depth: int, before: int) -> int:
        total = before + 2 + max(0, len(value) - 1)
        for key, item in value.items():
            if not isinstance(key, str):
                message = f"the key {key!r:.80} is not text"
                raise NotJsonError(message)
            total += self._string(key, total) + 1
            total = self.size(item, depth, total)
            if self.limit is not None and total > self.limit:
                return total
        return total

    def _array(self, value: list[Any] | tuple[Any, ...], depth: int, before: int) -> int:
        total = before + 2 + max(0, len(value) - 1)
        for item in value:
            total = self.size(item, depth, total)
            if self.limit is not None and total > self.limit:
                return total
        return total


def _scalar_bytes(value: object) -> int:
    if value is True or value is None:
        return 4
    if value is False:
        return 5
    if isinstance(value, float):
        return len(repr(_finite(value)))
    return _digits(int(value))  # type: ignore[call-overload]


def _digits(value: int) -> int:
    """
    Count an integer's digits without hitting the interpreter's limit on huge ones.
    """
    if -_LARGEST < value < _LARGEST:
        return len(str(value))
    return value.bit_length() * 30103 // 100000 + 1 + (value < 0)

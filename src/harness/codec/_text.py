"""Strict JSON text of one object, in one form."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from harness._json import MAX_DEPTH, NotJsonError, freeze
from harness.errors import InvalidArgumentError, RecordDecodeError

__all__ = ["encode", "encode_plain", "parse"]

#: The objects of a record around a free mapping come on top of the mapping's own nesting.
_DEPTH: Final = MAX_DEPTH + 8

_SHOWN: Final = 80

_writer: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
)


#: Writes half of a character; a pair of them writes one.
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")


def encode(data: Mapping[str, Any], name: str) -> str:
    """
    Write data in the one form.

    Args:
        data: The data.
        name: The record's id, for errors.

    Raises:
        InvalidArgumentError: It is no strict JSON, or UTF-8 cannot encode its text.
    """
    try:
        text = _writer.encode(data)
        if not text.isascii():
            text.encode()
    except UnicodeEncodeError:
        raise InvalidArgumentError("record", name, "text that UTF-8 can encode") from None
    except (TypeError, ValueError, RecursionError) as why:
        allowed = f"what strict JSON can hold ({why})"
        raise InvalidArgumentError("record", name, allowed) from None
    return text


def _refuse_constant(name: str) -> NoReturn:
    message = f"{name} is no JSON number"
    raise ValueError(message)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        message = "a key stands twice in one object"
        raise ValueError(message)
    return data


_reader: Final = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant)


def parse(text: str | bytes) -> dict[str, Any]:
    """
    Read the strict JSON text of one object.

    Raises:
        RecordDecodeError: It is none.
        InvalidArgumentError: The argument is no text.
    """
    if not isinstance(text, (str, bytes)):
        raise InvalidArgumentError("text", text, "text, or bytes in UTF-8")
    try:
        shown = text if isinstance(text, str) else text.decode()
        data = _reader.decode(shown)
        # what no UTF-8 text can hold was never written, and could not be kept as it is
        if _SURROGATE.search(shown) or not shown.isascii():
            _writer.encode(data).encode()
    except (ValueError, RecursionError) as why:
        raise RecordDecodeError("record", text[:_SHOWN], f"strict JSON text ({why})") from None
    if type(data) is not dict:
        raise RecordDecodeError("record", data, "a JSON object")
    return data


def encode_plain(data: Mapping[str, Any]) -> str:
    """
    Write plain data as text.

    Raises:
        RecordDecodeError: It is no mapping, or no strict JSON.
    """
    if not isinstance(data, Mapping):
        raise RecordDecodeError("record", data, "a mapping")
    try:
        return _writer.encode(freeze(dict(data), depth=_DEPTH))
    except (NotJsonError, ValueError) as why:
        raise RecordDecodeError("record", type(data), f"strict JSON ({why})") from None

"""Fields that this version does not know: found by comparing, kept by place, written back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from harness._json import FrozenDict, NotJsonError, freeze, frozen_dict
from harness.errors import InvalidArgumentError, RecordDecodeError

__all__ = ["freeze_extra", "path_of", "put_back", "strays"]

#: A place in a record: names and indices, from the outside in.
Steps: TypeAlias = tuple[str | int, ...]


def path_of(steps: Steps) -> str:
    """
    Write a place for a reader, as ``field.field[index]``.
    """
    parts = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps]
    return "".join(parts).removeprefix(".") or "record"


def strays(given: Any, written: Any, steps: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """
    Find what was read and would not be written again.

    Args:
        given: The data as it was read.
        written: The data that is written for the record that was built of it.
        steps: Where the two stand.

    Yields:
        The place of each field that this version does not know, and its value.

    Raises:
        RecordDecodeError: A known field would be written with another value.
    """
    if type(given) is dict and type(written) is dict:
        for key, value in given.items():
            here = (*steps, key)
            if key in written:
                yield from strays(value, written[key], here)
            else:
                yield here, value
    elif type(given) is list and type(written) is list and len(given) == len(written):
        for place, (value, again) in enumerate(zip(given, written, strict=True)):
            yield from strays(value, again, (*steps, place))
    elif given != written:
        allowed = f"the form in which it is written, {written!r}"
        raise RecordDecodeError(path_of(steps), given, allowed)


def freeze_extra(found: Iterable[tuple[Steps, Any]]) -> FrozenDict:
    """
    Keep unknown fields under the keys of ``RunRecord.extra``.

    Raises:
        RecordDecodeError: A value nests too deeply.
    """
    kept: dict[str, Any] = {}
    for steps, value in found:
        try:
            kept[_key(steps)] = freeze(value)
        except NotJsonError as why:
            raise RecordDecodeError(path_of(steps), value, f"strict JSON ({why})") from None
    return frozen_dict(kept)


def _key(steps: Steps) -> str:
    """
    Name a place: a field of the record itself by its name, else by its JSON pointer.
    """
    first = str(steps[0])
    if len(steps) == 1 and not first.startswith("/"):
        return first
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def put_back(data: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """
    Put the fields of ``extra`` where their keys say.

    Args:
        data: A record's data; changed and given back.
        extra: The fields.

    Raises:
        InvalidArgumentError: There is no such place, or a known field stands there.
    """
    for key, value in extra.items():
        *above, last = _steps(key)
        parent: object = data
        for step in above:
            parent = _below(parent, step)
        if type(parent) is not dict:
            raise InvalidArgumentError("extra", key, "a name, or the JSON pointer of a field")
        if last in parent:
            raise InvalidArgumentError("extra", key, "a field that this version does not know")
        parent[last] = value
    return data


def _steps(key: str) -> list[str]:
    if not key.startswith("/"):
        return [key]
    return [step.replace("~1", "/").replace("~0", "~") for step in key[1:].split("/")]


def _below(parent: object, step: str) -> object:
    if type(parent) is dict:
        return parent.get(step)
    if type(parent) is list and step.isdecimal() and int(step) < len(parent):
        return parent[int(step)]
    return None

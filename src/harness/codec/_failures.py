"""What is wrong with a record, and where: one error out of the converter's tree of errors."""

from __future__ import annotations

from cattrs import ClassValidationError
from cattrs.errors import AttributeValidationNote, IterableValidationNote

from harness.codec._versions import MISSING
from harness.errors import (
    IllegalCombinationError,
    InvalidArgumentError,
    MalformedOutputError,
    RecordDecodeError,
)

__all__ = ["first_failure"]


def first_failure(error: Exception) -> RecordDecodeError:
    """
    Say what is wrong first, and where.

    Args:
        error: What the converter raised: groups of groups, with a note at each step inwards.

    Raises:
        Exception: What is no refusal of a value is a defect, and stays what it is.
    """
    path = ""
    while isinstance(error, ClassValidationError):
        error = error.exceptions[0]
        # the note of an element was added before the note of the field that holds it
        path += "".join(map(_step, reversed(getattr(error, "__notes__", ()))))
    return _named(error, path)


def _step(note: object) -> str:
    if isinstance(note, IterableValidationNote):
        return f"[{note.index}]"
    return f".{note.name}" if isinstance(note, AttributeValidationNote) else ""


def _named(error: Exception, path: str) -> RecordDecodeError:
    """
    Name the place, the value and what is allowed there.
    """
    if isinstance(error, KeyError):
        return RecordDecodeError(path[1:], MISSING, "a value; the key is required")
    if isinstance(error, RecordDecodeError):
        return type(error)(_join(path, error.path), error.value, error.allowed)
    if isinstance(error, MalformedOutputError):
        field = error.field.rpartition(".")[2]
        return RecordDecodeError(_join(path, field), error.value, error.allowed)
    if isinstance(error, InvalidArgumentError):
        return RecordDecodeError(_join(path, error.argument), error.value, error.allowed)
    if isinstance(error, IllegalCombinationError):
        found = " x ".join(str(getattr(state, "name", state)) for state in error.found)
        return RecordDecodeError(_join(path, ""), found, str(error))
    raise error  # pragma: no cover  a defect of this package, shown as it is


def _join(path: str, field: str) -> str:
    return (f"{path}.{field}" if field else path).removeprefix(".") or "record"

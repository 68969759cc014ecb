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


# --- errors


def _first(error: Exception) -> tuple[Exception, str]:
    """
    Find the first thing that is wrong, and where.
    """
    path = ""
    while isinstance(error, ClassValidationError):
        error = error.exceptions[0]
        # the note of an element was added before the note of the field that holds it
        path += "".join(map(_step, reversed(getattr(error, "__notes__", ()))))
    return error, path.removeprefix(".")


def _step(note: object) -> str:
    if isinstance(note, IterableValidationNote):
        return f"[{note.index}]"
    return f".{note.name}" if isinstance(note, AttributeValidationNote) else ""


def _named(error: Exception, path: str) -> RecordDecodeError:
    """
    Say what is wrong at a place of a record.
    """
    if isinstance(error, KeyError):
        return RecordDecodeError(path, MISSING, "a value; the key is required")
    if isinstance(error, RecordDecodeError):
        return type(error)(path or "record", error.value, error.allowed)
    if isinstance(error, MalformedOutputError):
        place = f"{path}.{error.field.rpartition('.')[2]}"
        return RecordDecodeError(place.removeprefix("."), error.value, error.allowed)
    if isinstance(error, InvalidArgumentError):
        place = f"{path}.{error.argument}"
        return RecordDecodeError(place.removeprefix("."), error.value, error.allowed)
    if isinstance(error, IllegalCombinationError):
        found = " x ".join(str(getattr(state, "name", state)) for state in error.found)
        return RecordDecodeError(path or "record", found, str(error))
    raise error



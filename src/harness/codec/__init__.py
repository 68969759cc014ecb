"""
JSON for records: what is stored is read back without loss, or refused with a clear error (3.11).

1. One form: keys sorted, no blanks, text as itself. ``text -> record -> text`` gives the same
   bytes; so does a second save of whatever could be read.
2. Members are written as their wire strings, money as text, times as ISO 8601 with the offset of
   UTC. A time without an offset, or with another one, is refused.
3. Fields that this version does not know are kept in ``RunRecord.extra``: those of the record
   itself under their name, those further down under their JSON pointer, as ``/gates/score``. A
   canonical record has no room for them and refuses them.
4. What was read is written again and compared before it is handed out: nothing is dropped or
   altered silently.
5. Records of earlier versions are brought up to date by a table, one step a version. Records of
   later versions are refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from attrs import evolve

from harness._records import SCHEMA_VERSION, CanonicalRecord, RunRecord
from harness.codec._converter import build, plain
from harness.codec._text import encode, encode_plain, parse
from harness.codec._unknown import freeze_extra, path_of, put_back, strays
from harness.codec._versions import CANONICAL_MIGRATIONS, RUN_MIGRATIONS, migrated
from harness.errors import InvalidArgumentError, RecordDecodeError

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


def _check(record: object, kind: type[Any]) -> None:
    if not isinstance(record, kind):
        raise InvalidArgumentError("record", record, f"a {kind.__name__}")


def record_to_json(record: RunRecord) -> str:
    """
    Write a run record as JSON text.

    Args:
        record: The record, of the current schema version.

    Returns:
        The text, in the one form of this module.

    Raises:
        InvalidArgumentError: It is no record, is of another version, or holds what JSON or UTF-8
            cannot.
    """
    _check(record, RunRecord)
    if record.schema_version != SCHEMA_VERSION:
        raise InvalidArgumentError("schema_version", record.schema_version, str(SCHEMA_VERSION))
    return encode(put_back(plain(record), record.extra), record.run_id)


def record_from_json(text: str | bytes) -> RunRecord:
    """
    Read a run record from JSON text.

    Args:
        text: The text, in any layout; bytes are UTF-8.

    Returns:
        The record. Keys that may be left out have their defaults, and fields that this version
        does not know are in ``extra``.

    Raises:
        RecordDecodeError: The text is no record; names path, value and what is allowed.
        UnknownMemberError: It names a state that this version does not know.
        SchemaVersionError: A later version wrote it.
        InvalidArgumentError: The argument is no text.
    """
    data = migrated(parse(text), RUN_MIGRATIONS)
    record = build(data, RunRecord)
    written = encode(plain(record), record.run_id)
    if written == text:
        return record
    extra = freeze_extra(strays(data, json.loads(written)))
    return evolve(record, extra=extra) if extra else record


def record_to_data(record: RunRecord) -> dict[str, Any]:
    """
    Give a run record as plain data: the dictionaries, lists and scalars of its JSON form.

    Args:
        record: The record.

    Raises:
        InvalidArgumentError: As for :func:`record_to_json`.
    """
    data: dict[str, Any] = json.loads(record_to_json(record))
    return data


def record_from_data(data: Mapping[str, Any]) -> RunRecord:
    """
    Read a run record from plain data, as :func:`record_to_data` gives it.

    Args:
        data: The data; left as it is.

    Raises:
        RecordDecodeError: As for :func:`record_from_json`.
    """
    return record_from_json(encode_plain(data))


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
    data = {**plain(record), "schema_version": SCHEMA_VERSION}
    return encode(data, record.invocation_id)


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
    data = migrated(parse(text), CANONICAL_MIGRATIONS)
    record = build(data, CanonicalRecord)
    again = {**plain(record), "schema_version": SCHEMA_VERSION}
    written = encode(again, record.invocation_id)
    if written != text:
        for steps, value in strays(data, json.loads(written)):
            raise RecordDecodeError(path_of(steps), value, "no field of that name")
    return record


def canonical_to_data(record: CanonicalRecord) -> dict[str, Any]:
    """
    Give a canonical record as plain data: the dictionaries, lists and scalars of its JSON form.

    Args:
        record: The record.

    Raises:
        InvalidArgumentError: As for :func:`canonical_to_json`.
    """
    data: dict[str, Any] = json.loads(canonical_to_json(record))
    return data


def canonical_from_data(data: Mapping[str, Any]) -> CanonicalRecord:
    """
    Read a canonical record from plain data, as :func:`canonical_to_data` gives it.

    Args:
        data: The data; left as it is.

    Raises:
        RecordDecodeError: As for :func:`canonical_from_json`.
    """
    return canonical_from_json(encode_plain(data))

"""Which versions of a record can be read, and how an earlier one becomes the current one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from harness._records import SCHEMA_VERSION
from harness.errors import RecordDecodeError, SchemaVersionError

__all__ = ["CANONICAL_MIGRATIONS", "MISSING", "RUN_MIGRATIONS", "Migration", "migrated"]

#: Brings the data of a record to the next version.
Migration: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]

#: How a run record of version n becomes one of version n + 1. Version 1 is the first.
RUN_MIGRATIONS: Final[Mapping[int, Migration]] = MappingProxyType({})
#: The same for canonical records.
CANONICAL_MIGRATIONS: Final[Mapping[int, Migration]] = MappingProxyType({})


class _Missing(Enum):
    """
    Stands in an error for a key that is not there.
    """

    MISSING = "missing"

    def __repr__(self) -> str:
        return self.value


#: The value that errors name where a key is not there.
MISSING: Final = _Missing.MISSING


def migrated(
    data: dict[str, Any], steps: Mapping[int, Migration], current: int = SCHEMA_VERSION
) -> dict[str, Any]:
    """
    Bring data to the current version, one step a version.

    Args:
        data: A record's data, of the version that it states.
        steps: The table: the step from each earlier version.
        current: The version that this release writes.

    Raises:
        RecordDecodeError: It states no version that ever was.
        SchemaVersionError: It states a later version.
    """
    version = data.get("schema_version", MISSING)
    if type(version) is not int or version < 1:
        raise RecordDecodeError("schema_version", version, f"a version from 1 to {current}")
    if version > current:
        why = f"its schema version is {version}, of a later release; allowed: 1 to {current}"
        raise SchemaVersionError("record", why)
    for earlier in range(version, current):
        data = {**steps[earlier](data), "schema_version": earlier + 1}
    return data

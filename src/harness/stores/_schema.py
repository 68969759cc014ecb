"""
What a database file holds, and how an older file becomes a current one.

1. The file states its version in ``user_version``; the n-th step brings it from n - 1 to n.
2. A step runs in the transaction that also raises the version: it is done whole, or not at all.
3. A file of a later version, or of another program, is left as it is.
4. Times are ISO 8601 text in UTC of one length, so that they sort as they follow each other.
"""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from typing import Final

from harness.errors import SchemaVersionError, StoreError

__all__ = ["STEPS", "is_current", "migrate", "to_text"]

#: Marks a file as one of this library, in its header.
_APPLICATION: Final = 0x48524E53

STEPS: Final[tuple[tuple[str, ...], ...]] = (
    (
        """
        CREATE TABLE runs (
            run_id TEXT NOT NULL PRIMARY KEY,
            conversation_id TEXT,
            run_state TEXT NOT NULL,
            started_at TEXT NOT NULL,
            ended_at TEXT,
            delivered INTEGER NOT NULL DEFAULT 0,
            record TEXT NOT NULL
        )
        """,
        """
        CREATE INDEX runs_by_conversation ON runs (conversation_id, started_at)
        WHERE conversation_id IS NOT NULL
        """,
        "CREATE INDEX runs_unfinished ON runs (started_at) WHERE run_state = 'RUNNING'",
        "CREATE INDEX runs_by_end ON runs (ended_at) WHERE ended_at IS NOT NULL",
        """
        CREATE TABLE canonical (
            invocation_id TEXT NOT NULL PRIMARY KEY,
            run_id TEXT NOT NULL,
            record TEXT NOT NULL
        )
        """,
        "CREATE INDEX canonical_by_run ON canonical (run_id)",
    ),
)


def to_text(time: datetime) -> str:
    """
    Write a time so that text and time sort alike.

    Args:
        time: A timezone-aware time.
    """
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    number: int = connection.execute(f"PRAGMA {pragma}").fetchone()[0]
    return number


def is_current(
    connection: sqlite3.Connection, path: str, steps: tuple[tuple[str, ...], ...] = STEPS
) -> bool:
    """
    Whether a file needs no step.

    Args:
        connection: The file.
        path: Its name, for errors.
        steps: The steps of this release.

    Raises:
        SchemaVersionError: A later version wrote it.
        StoreError: Another program wrote it.
    """
    version = _number(connection, "user_version")
    if _number(connection, "application_id") != _APPLICATION:
        if version or _number(connection, "schema_version"):
            raise StoreError(path, "is a database of another program")
        return False
    if version > len(steps):
        why = f"its version is {version}, of a later release; allowed: 1 to {len(steps)}"
        raise SchemaVersionError(path, why)
    return version == len(steps)


def migrate(
    connection: sqlite3.Connection, path: str, steps: tuple[tuple[str, ...], ...] = STEPS
) -> None:
    """
    Bring a file to the current version, inside the transaction of the caller.

    Args:
        connection: The file.
        path: Its name, for errors.
        steps: The steps of this release.
    """
    # another process may have been faster
    if is_current(connection, path, steps):
        return
    for step in steps[_number(connection, "user_version") :]:
        for statement in step:
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    connection.execute(f"PRAGMA user_version = {len(steps)}")

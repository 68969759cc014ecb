"""
Journals of runs: in memory for tests, on SQLite for runs that survive their process.

A journal may share its file with :class:`harness.stores.SqliteStores`; then one file holds all that
a run needs to go on.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from threading import Lock
from typing import Final

from harness.errors import JournalConflictError
from harness.stores._file_store import TIMEOUT, FileStore, is_key, one

__all__ = ["MemoryJournal", "SqliteJournal"]

_TABLE: Final = """
    CREATE TABLE IF NOT EXISTS journal (
        run_id TEXT NOT NULL,
        number INTEGER NOT NULL,
        line TEXT NOT NULL,
        PRIMARY KEY (run_id, number)
    ) WITHOUT ROWID
"""
_IS_THERE: Final = "SELECT 1 FROM sqlite_master WHERE name = ?"
_NUMBER: Final = "SELECT count(*) FROM journal WHERE run_id = ?"
_INSERT: Final = "INSERT INTO journal (run_id, number, line) VALUES (?, ?, ?)"
_LINES: Final = "SELECT line FROM journal WHERE run_id = ? ORDER BY number"
_LAST: Final = """
    SELECT run_id, line FROM journal AS one
    WHERE number = (SELECT max(number) FROM journal WHERE run_id = one.run_id)
    ORDER BY run_id
"""


def _conflict(where: str, run_id: str, found: int, number: int) -> JournalConflictError:
    why = f"the journal of run {run_id!r} has {found} lines, and not {number}: it goes on elsewhere"
    return JournalConflictError(where, why)


class MemoryJournal:
    """
    Keeps journals in a dictionary: for replays in tests. Safe for several threads.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._lines: dict[str, list[str]] = {}

    def append(self, run_id: str, number: int, lines: Sequence[str]) -> None:
        """
        Add lines to a run's journal.

        Args:
            run_id: The run.
            number: How many lines it must have so far.
            lines: The lines.

        Raises:
            JournalConflictError: It has another number of lines; nothing was added.
        """
        with self._lock:
            kept = self._lines.get(run_id, [])
            if len(kept) != number:
                raise _conflict("memory", run_id, len(kept), number)
            self._lines[run_id] = [*kept, *lines]

    def read(self, run_id: str) -> tuple[str, ...]:
        """
        Read a run's lines.

        Args:
            run_id: The run.
        """
        with self._lock:
            return tuple(self._lines.get(run_id, ()))

    def last_lines(self) -> tuple[tuple[str, str], ...]:
        """
        Give each run with its last line.
        """
        with self._lock:
            return tuple((run_id, lines[-1]) for run_id, lines in sorted(self._lines.items()))

    def delete(self, run_id: str) -> int:
        """
        Delete a run's journal.

        Args:
            run_id: The run.

        Returns:
            How many lines were deleted.
        """
        with self._lock:
            return len(self._lines.pop(run_id, ()))


class SqliteJournal(FileStore):
    """
    Keeps journals in an SQLite file. Safe for several threads and processes.

    Args:
        path: The file; made if it is not there. May be the one of the other stores.
        timeout: Seconds to wait for another process.
        create: Whether a file that is not there is made.
        durable: Whether an append waits until the disk has it; otherwise a power cut (never the
            end of the process) may lose the last entries, and a resumed run make calls again.

    Raises:
        StoreError: The file cannot be used; says why in one line.
        SchemaVersionError: A later version wrote it; it is left as it is.
        InvalidArgumentError: An argument is something else.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        timeout: float = TIMEOUT,
        create: bool = True,
        durable: bool = True,
    ) -> None:
        super().__init__(path, timeout=timeout, create=create, durable=durable)
        with self._database.reading() as connection:
            is_there = one(connection, _IS_THERE, "journal") is not None
        if not is_there:
            with self._database.writing() as connection:
                connection.execute(_TABLE)

    def append(self, run_id: str, number: int, lines: Sequence[str]) -> None:
        """
        Add lines to a run's journal.

        Args:
            run_id: The run.
            number: How many lines it must have so far.
            lines: The lines.

        Raises:
            JournalConflictError: It has another number of lines; nothing was added.
            StoreError: The file cannot be used; nothing was added.
        """
        with self._database.writing() as connection:
            found = _count(connection, run_id)
            if found != number:
                raise _conflict(self.path, run_id, found, number)
            rows = [(run_id, place, line) for place, line in enumerate(lines, number + 1)]
            connection.executemany(_INSERT, rows)

    def read(self, run_id: str) -> tuple[str, ...]:
        """
        Read a run's lines.

        Args:
            run_id: The run, compared literally.

        Raises:
            StoreError: The file cannot be used.
        """
        if not is_key(run_id):
            return ()
        with self._database.reading() as connection:
            return tuple(line for (line,) in connection.execute(_LINES, (run_id,)))

    def last_lines(self) -> tuple[tuple[str, str], ...]:
        """
        Give each run with its last line.

        Raises:
            StoreError: The file cannot be used.
        """
        with self._database.reading() as connection:
            return tuple(connection.execute(_LAST).fetchall())

    def delete(self, run_id: str) -> int:
        """
        Delete a run's journal.

        Args:
            run_id: The run.

        Returns:
            How many lines were deleted.

        Raises:
            StoreError: The file cannot be used; nothing was deleted.
        """
        if not is_key(run_id):
            return 0
        with self._database.writing() as connection:
            return connection.execute("DELETE FROM journal WHERE run_id = ?", (run_id,)).rowcount


def _count(connection: sqlite3.Connection, run_id: str) -> int:
    found: int = one(connection, _NUMBER, run_id)
    return found

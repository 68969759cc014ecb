"""
Stores on SQLite: one file, from the standard library, for several threads and processes.

A record that was saved survives the end of its process at any instant. Several services of one
machine may share a file; over a network file system SQLite's locks do not hold.
"""

from __future__ import annotations

import os
import sqlite3
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Final, Self

from attrs import evolve

from harness._records import CanonicalRecord, RunRecord
from harness._states import RunState
from harness.codec import (
    canonical_from_json,
    canonical_to_json,
    record_from_json,
    record_to_json,
)
from harness.errors import InvalidArgumentError, RunExistsError, StoreError, UnknownMemberError
from harness.stores._database import Database
from harness.stores._schema import to_text
from harness.stores.memory import check_utc

__all__ = ["SqliteCanonicalStore", "SqliteRunStore", "SqliteStores"]

_TIMEOUT: Final = 5.0


class _Store:
    """
    What the stores have in common: a file that is theirs, or that they share.
    """

    _database: Database

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        timeout: float = _TIMEOUT,
        create: bool = True,
        durable: bool = True,
    ) -> None:
        self._database = Database(path, timeout=timeout, create=create, durable=durable)

    @classmethod
    def _sharing(cls, database: Database) -> Self:
        store = cls.__new__(cls)
        store._database = database
        return store

    @property
    def path(self) -> str:
        """
        The file.
        """
        return self._database.path

    def close(self) -> None:
        """
        Close the file; whoever uses the store afterwards is refused. Closing twice is no error.
        """
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class SqliteCanonicalStore(_Store):
    """
    Keeps canonical records in an SQLite file. Safe for several threads and processes.

    Args:
        path: The file; made if it is not there.
        timeout: Seconds to wait for another process.
        create: Whether a file that is not there is made.
        durable: Whether a commit waits until the disk has it; otherwise a power cut (never the end
            of the process) may lose the last ones.

    Raises:
        StoreError: The file cannot be used; says why in one line.
        SchemaVersionError: A later version wrote it; it is left as it is.
        InvalidArgumentError: An argument is something else.
    """

    def save(self, record: CanonicalRecord) -> None:
        """
        Save a record. Saving the same content again is no error.

        Args:
            record: The record.

        Raises:
            StoreError: Another content has that id, and keeps it; or the file cannot be used.
        """
        text = canonical_to_json(record)
        key = record.invocation_id
        with self._database.writing() as connection:
            cursor = connection.execute(
                "INSERT INTO canonical (invocation_id, run_id, record) VALUES (?, ?, ?)"
                " ON CONFLICT (invocation_id) DO NOTHING",
                (key, record.invocation.run_id, text),
            )
            if cursor.rowcount != 1 and _one(connection, _CANONICAL, key) != text:
                raise StoreError(self.path, f"record {key!r} exists already, with another content")

    def load(self, invocation_id: str) -> CanonicalRecord | None:
        """
        Read a record.

        Args:
            invocation_id: Its id, compared literally.

        Raises:
            StoreError: The file cannot be used.
            RecordDecodeError: What is stored there is no record.
        """
        if not _is_key(invocation_id):
            return None
        with self._database.reading() as connection:
            text = _one(connection, _CANONICAL, invocation_id)
        return None if text is None else canonical_from_json(text)

    def delete_run(self, run_id: str) -> int:
        """
        Delete the records of a run.

        Args:
            run_id: The run.

        Returns:
            How many were deleted.

        Raises:
            StoreError: The file cannot be used; nothing was deleted.
        """
        if not _is_key(run_id):
            return 0
        delete = "DELETE FROM canonical WHERE run_id = ?"
        with self._database.writing() as connection:
            return connection.execute(delete, (run_id,)).rowcount

    def __len__(self) -> int:
        with self._database.reading() as connection:
            return _count(connection, "canonical")


class SqliteRunStore(_Store):
    """
    Keeps run records in an SQLite file. Safe for several threads and processes.

    Args:
        path: The file; made if it is not there.
        timeout: Seconds to wait for another process.
        create: Whether a file that is not there is made.
        durable: Whether a commit waits until the disk has it; otherwise a power cut (never the end
            of the process) may lose the last ones.

    Raises:
        StoreError: The file cannot be used; says why in one line.
        SchemaVersionError: A later version wrote it; it is left as it is.
        InvalidArgumentError: An argument is something else.
    """

    def begin(self, record: RunRecord) -> None:
        """
        Open a run.

        Args:
            record: The record, ``RUNNING``.

        Raises:
            RunExistsError: A run of that id exists; it is unaffected.
            StoreError: The file cannot be used; the run is not open.
            InvalidArgumentError: The record has ended.
        """
        text = record_to_json(record)
        if record.run_state is not RunState.RUNNING:
            raise InvalidArgumentError("record", record.run_state.name, "a record that is RUNNING")
        with self._database.writing() as connection:
            cursor = connection.execute(
                "INSERT INTO runs (run_id, conversation_id, run_state, started_at, record)"
                " VALUES (?, ?, ?, ?, ?) ON CONFLICT (run_id) DO NOTHING",
                (
                    record.run_id,
                    record.request.conversation_id,
                    record.run_state.value,
                    to_text(record.started_at),
                    text,
                ),
            )
            if cursor.rowcount != 1:
                raise RunExistsError(record.run_id, _state(connection, record.run_id))

    def finish(self, record: RunRecord) -> RunRecord | None:
        """
        End a run: a compare-and-set from ``RUNNING``, in one statement.

        Args:
            record: The ended record.

        Returns:
            ``None`` where *record* is stored now; else the ending that stood there before.

        Raises:
            StoreError: The run was never begun, or the file cannot be used; nothing was changed.
            InvalidArgumentError: The record has not ended.
        """
        text = record_to_json(record)
        if record.run_state is RunState.RUNNING:
            raise InvalidArgumentError("record", record.run_state.name, "a record that has ended")
        with self._database.writing() as connection:
            cursor = connection.execute(
                "UPDATE runs SET run_state = ?, ended_at = ?, delivered = ?, record = ?"
                " WHERE run_id = ? AND run_state = 'RUNNING'",
                (
                    record.run_state.value,
                    None if record.ended_at is None else to_text(record.ended_at),
                    record.delivered,
                    text,
                    record.run_id,
                ),
            )
            if cursor.rowcount == 1:
                return None
            row = _row(connection, record.run_id)
        if row is None:
            raise StoreError(self.path, f"run {record.run_id!r} was never begun")
        return _record(*row)

    def mark_delivered(self, run_id: str) -> None:
        """
        Note that the client accepted the content or the failure.

        Args:
            run_id: The run.

        Raises:
            StoreError: There is no such run, it has not ended, or the file cannot be used.
        """
        mark = "UPDATE runs SET delivered = 1 WHERE run_id = ? AND run_state <> 'RUNNING'"
        marked = 0
        if _is_key(run_id):
            with self._database.writing() as connection:
                marked = connection.execute(mark, (run_id,)).rowcount
        if not marked:
            raise StoreError(self.path, f"run {run_id!r} has not ended here")

    def load(self, run_id: str) -> RunRecord | None:
        """
        Read a run's record.

        Args:
            run_id: The run, compared literally.

        Raises:
            StoreError: The file cannot be used.
            RecordDecodeError: What is stored there is no record.
        """
        if not _is_key(run_id):
            return None
        with self._database.reading() as connection:
            row = _row(connection, run_id)
        return None if row is None else _record(*row)

    def runs_of(self, conversation_id: str) -> tuple[RunRecord, ...]:
        """
        Give the runs of a conversation, oldest first.

        Args:
            conversation_id: The conversation.

        Raises:
            StoreError: The file cannot be used.
            RecordDecodeError: What is stored there is no record.
        """
        if not _is_key(conversation_id):
            return ()
        return self._select("conversation_id = ?", conversation_id)

    def unfinished(self, older_than: timedelta, now: datetime) -> tuple[RunRecord, ...]:
        """
        Give the runs that are still ``RUNNING`` and were begun long ago, oldest first.

        Args:
            older_than: How long ago, at least.
            now: The present, timezone-aware.

        Raises:
            StoreError: The file cannot be used.
            RecordDecodeError: What is stored there is no record.
            InvalidArgumentError: The time is naive, or reaches too far back.
        """
        before = _instant(now, "now", older_than)
        return self._select("run_state = 'RUNNING' AND started_at <= ?", before)

    def _select(self, condition: str, value: str) -> tuple[RunRecord, ...]:
        query = f"SELECT record, delivered FROM runs WHERE {condition} ORDER BY started_at, rowid"  # noqa: S608  the conditions stand above
        with self._database.reading() as connection:
            rows = connection.execute(query, (value,)).fetchall()
        return tuple(_record(*row) for row in rows)

    def delete_before(self, time: datetime) -> int:
        """
        Delete the runs that ended before a time, and their canonical records; running ones stay.

        Canonical records in a file of their own stay: see :meth:`SqliteCanonicalStore.delete_run`.
        The room is used again; the file itself does not shrink.

        Args:
            time: The time, timezone-aware.

        Returns:
            How many runs were deleted.

        Raises:
            StoreError: The file cannot be used; nothing was deleted.
            InvalidArgumentError: The time is naive.
        """
        before = _instant(time, "time")
        with self._database.writing() as connection:
            connection.execute(
                "DELETE FROM canonical WHERE run_id IN"
                " (SELECT run_id FROM runs WHERE ended_at < ?)",
                (before,),
            )
            return connection.execute("DELETE FROM runs WHERE ended_at < ?", (before,)).rowcount

    def __len__(self) -> int:
        with self._database.reading() as connection:
            return _count(connection, "runs")


class SqliteStores(_Store):
    """
    Both stores on one file and one connection: what a service needs.

    Attributes:
        canonical: For ``Harness(canonical_store=...)``.
        runs: For ``Harness(run_store=...)``.

    Args:
        path: The file; made if it is not there.
        timeout: Seconds to wait for another process.
        create: Whether a file that is not there is made.
        durable: Whether a commit waits until the disk has it; otherwise a power cut (never the end
            of the process) may lose the last ones.

    Raises:
        StoreError: The file cannot be used; says why in one line.
        SchemaVersionError: A later version wrote it; it is left as it is.
        InvalidArgumentError: An argument is something else.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        timeout: float = _TIMEOUT,
        create: bool = True,
        durable: bool = True,
    ) -> None:
        super().__init__(path, timeout=timeout, create=create, durable=durable)
        self.canonical: Final = SqliteCanonicalStore._sharing(self._database)
        self.runs: Final = SqliteRunStore._sharing(self._database)


_CANONICAL: Final = "SELECT record FROM canonical WHERE invocation_id = ?"


def _is_key(value: object) -> bool:
    """
    Whether something like this can have been stored: SQLite finds the text "7" for the number 7.
    """
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def _instant(time: object, name: str, before: timedelta = timedelta(0)) -> str:
    """
    Write an instant that an argument names.

    Raises:
        InvalidArgumentError: It is naive, or out of the calendar.
    """
    try:
        return to_text(check_utc(time, name) - before)
    except OverflowError:
        raise InvalidArgumentError(name, time, "a time from the year 1 on") from None


def _one(connection: sqlite3.Connection, query: str, key: str) -> Any:
    """
    Give the one value of a key, or ``None``.
    """
    row = connection.execute(query, (key,)).fetchone()
    return None if row is None else row[0]


def _count(connection: sqlite3.Connection, table: str) -> int:
    count: int = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608  a literal
    return count


def _state(connection: sqlite3.Connection, run_id: str) -> RunState:
    value = _one(connection, "SELECT run_state FROM runs WHERE run_id = ?", run_id)
    try:
        return RunState(value)
    except ValueError:
        allowed = " ".join(state.value for state in RunState)
        raise UnknownMemberError("run_state", value, allowed) from None


def _row(connection: sqlite3.Connection, run_id: str) -> Any:
    query = "SELECT record, delivered FROM runs WHERE run_id = ?"
    return connection.execute(query, (run_id,)).fetchone()


def _record(text: str, delivered: int) -> RunRecord:
    record = record_from_json(text)
    return evolve(record, delivered=True) if delivered else record

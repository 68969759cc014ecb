"""Run records in an SQLite file: the host's database row (section 3.10)."""

from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta
from typing import Any

from attrs import evolve

from harness._lifecycle import next_run_state
from harness._records import RunRecord
from harness._states import RunState
from harness.codec import record_from_json, record_to_json
from harness.errors import InvalidArgumentError, RunExistsError, StoreError, UnknownMemberError
from harness.stores._file_store import FileStore, count, is_key, one
from harness.stores._schema import to_text
from harness.stores.memory import check_utc

__all__ = ["SqliteRunStore"]


class SqliteRunStore(FileStore):
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
            IllegalTransitionError: *record* has not ended.
        """
        text = record_to_json(record)
        next_run_state(RunState.RUNNING, record.run_state)
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
        if is_key(run_id):
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
        if not is_key(run_id):
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
        if not is_key(conversation_id):
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
            return count(connection, "runs")


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


def _state(connection: sqlite3.Connection, run_id: str) -> RunState:
    value = one(connection, "SELECT run_state FROM runs WHERE run_id = ?", run_id)
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

"""Stores in memory: for tests, and for services that keep nothing."""

from __future__ import annotations

from datetime import datetime, timedelta
from threading import Lock
from typing import Any

from attrs import evolve

from harness._lifecycle import next_run_state
from harness._records import CanonicalRecord, RunRecord
from harness._states import RunState
from harness.errors import InvalidArgumentError, RunExistsError, StoreError

__all__ = ["MemoryCanonicalStore", "MemoryRunStore"]


def check_utc(time: Any, name: str) -> datetime:
    """
    Refuse a time without a zone.

    Raises:
        InvalidArgumentError: The time is naive, or no time.
    """
    if not isinstance(time, datetime) or time.utcoffset() is None:
        raise InvalidArgumentError(name, time, "a timezone-aware datetime")
    return time


class MemoryCanonicalStore:
    """
    Keeps canonical records in a dictionary. Safe for several threads.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._records: dict[str, CanonicalRecord] = {}

    def save(self, record: CanonicalRecord) -> None:
        """
        Save a record.

        Args:
            record: The record.

        Raises:
            StoreError: A record of that id is there already; it is left as it is.
        """
        with self._lock:
            key = record.invocation.invocation_id
            if self._records.setdefault(key, record) is not record:
                raise StoreError("memory", f"record {record.invocation_id!r} exists already")

    def load(self, invocation_id: str) -> CanonicalRecord | None:
        """
        Read a record.

        Args:
            invocation_id: Its id, compared literally.
        """
        return self._records.get(invocation_id)

    def delete_run(self, run_id: str) -> int:
        """
        Delete the records of a run.

        Args:
            run_id: The run.

        Returns:
            How many were deleted.
        """
        with self._lock:
            gone = [i for i, r in self._records.items() if r.invocation.run_id == run_id]
            for invocation_id in gone:
                del self._records[invocation_id]
            return len(gone)

    def clear(self) -> None:
        """
        Forget everything.
        """
        with self._lock:
            self._records.clear()

    def __len__(self) -> int:
        return len(self._records)


class MemoryRunStore:
    """
    Keeps run records in a dictionary. Safe for several threads.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._records: dict[str, RunRecord] = {}
        self._delivered: set[str] = set()

    def begin(self, record: RunRecord) -> None:
        """
        Open a run.

        Args:
            record: The record, ``RUNNING``.

        Raises:
            RunExistsError: A run of that id exists; it is unaffected.
        """
        with self._lock:
            standing = self._records.get(record.run_id)
            if standing is not None:
                raise RunExistsError(record.run_id, standing.run_state)
            self._records[record.run_id] = record

    def finish(self, record: RunRecord) -> RunRecord | None:
        """
        End a run: a compare-and-set from ``RUNNING``.

        Args:
            record: The ended record.

        Returns:
            ``None`` where *record* is stored now; else the ending that stood there before.

        Raises:
            StoreError: The run was never begun.
            IllegalTransitionError: *record* has not ended.
        """
        with self._lock:
            standing = self._records.get(record.run_id)
            if standing is None:
                raise StoreError("memory", f"run {record.run_id!r} was never begun")
            if standing.run_state is not RunState.RUNNING:
                return self._as_marked(standing)
            next_run_state(standing.run_state, record.run_state)
            self._records[record.run_id] = record
            return None

    def mark_delivered(self, run_id: str) -> None:
        """
        Note that the client accepted the content or the failure.

        Args:
            run_id: The run.

        Raises:
            StoreError: There is no such run, or it has not ended.
        """
        with self._lock:
            record = self._records.get(run_id)
            if record is None or record.run_state is RunState.RUNNING:
                raise StoreError("memory", f"run {run_id!r} has not ended here")
            self._delivered.add(run_id)

    def load(self, run_id: str) -> RunRecord | None:
        """
        Read a run's record.

        Args:
            run_id: The run.
        """
        with self._lock:
            record = self._records.get(run_id)
            return None if record is None else self._as_marked(record)

    def _as_marked(self, record: RunRecord) -> RunRecord:
        return evolve(record, delivered=True) if record.run_id in self._delivered else record

    def runs_of(self, conversation_id: str) -> tuple[RunRecord, ...]:
        """
        Give the runs of a conversation, oldest first.

        Args:
            conversation_id: The conversation.
        """
        with self._lock:
            found = [
                self._as_marked(record)
                for record in self._records.values()
                if record.request.conversation_id == conversation_id
            ]
        return tuple(sorted(found, key=lambda record: record.started_at))

    def unfinished(self, older_than: timedelta, now: datetime) -> tuple[RunRecord, ...]:
        """
        Give the runs that are still ``RUNNING`` and were begun long ago.

        Args:
            older_than: How long ago, at least.
            now: The present, timezone-aware.
        """
        before = check_utc(now, "now") - older_than
        with self._lock:
            return tuple(
                record
                for record in self._records.values()
                if record.run_state is RunState.RUNNING and record.started_at <= before
            )

    def delete_before(self, time: datetime) -> int:
        """
        Delete the runs that ended before a time; running ones stay.

        Args:
            time: The time, timezone-aware.

        Returns:
            How many were deleted.

        Raises:
            InvalidArgumentError: The time is naive.
        """
        check_utc(time, "time")
        with self._lock:
            gone = [
                run_id
                for run_id, record in self._records.items()
                if record.ended_at is not None and record.ended_at < time
            ]
            for run_id in gone:
                del self._records[run_id]
                self._delivered.discard(run_id)
            return len(gone)

    def clear(self) -> None:
        """
        Forget everything.
        """
        with self._lock:
            self._records.clear()
            self._delivered.clear()

    def __len__(self) -> int:
        return len(self._records)

"""Canonical records in an SQLite file (section 3.5)."""

from __future__ import annotations

from typing import Final

from harness._records import CanonicalRecord
from harness.codec import canonical_from_json, canonical_to_json
from harness.errors import StoreError
from harness.stores._file_store import FileStore, count, is_key, one

__all__ = ["SqliteCanonicalStore"]

_CANONICAL: Final = "SELECT record FROM canonical WHERE invocation_id = ?"


class SqliteCanonicalStore(FileStore):
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
            if cursor.rowcount != 1 and one(connection, _CANONICAL, key) != text:
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
        if not is_key(invocation_id):
            return None
        with self._database.reading() as connection:
            text = one(connection, _CANONICAL, invocation_id)
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
        if not is_key(run_id):
            return 0
        delete = "DELETE FROM canonical WHERE run_id = ?"
        with self._database.writing() as connection:
            return connection.execute(delete, (run_id,)).rowcount

    def __len__(self) -> int:
        with self._database.reading() as connection:
            return count(connection, "canonical")

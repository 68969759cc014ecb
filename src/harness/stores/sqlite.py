"""
Stores on SQLite: one file, from the standard library, for several threads and processes.

A record that was saved survives the end of its process at any instant. Several services of one
machine may share a file; over a network file system SQLite's locks do not hold.
"""

from __future__ import annotations

import os
from typing import Final

from harness.stores._canonical_file import SqliteCanonicalStore
from harness.stores._file_store import TIMEOUT, FileStore
from harness.stores._runs_file import SqliteRunStore

__all__ = ["SqliteCanonicalStore", "SqliteRunStore", "SqliteStores"]


class SqliteStores(FileStore):
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
        timeout: float = TIMEOUT,
        create: bool = True,
        durable: bool = True,
    ) -> None:
        super().__init__(path, timeout=timeout, create=create, durable=durable)
        self.canonical: Final = SqliteCanonicalStore.sharing(self._database)
        self.runs: Final = SqliteRunStore.sharing(self._database)

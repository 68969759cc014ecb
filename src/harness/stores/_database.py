"""One SQLite file: opened, shared by threads and processes, and every error of it made clear."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from types import MappingProxyType
from typing import Any, Final

from harness._limits import to_seconds
from harness.errors import InvalidArgumentError, StoreError
from harness.stores._forks import FORKS
from harness.stores._schema import is_current, migrate

__all__ = ["Database"]

#: Why the file could not be used, by SQLite's primary result code.
_REASONS: Final = MappingProxyType(
    {
        sqlite3.SQLITE_BUSY: "is locked by another process; waited {timeout:g} s",
        sqlite3.SQLITE_CORRUPT: "is damaged ({error})",
        sqlite3.SQLITE_FULL: "has no room to grow: the disk is full ({error})",
        sqlite3.SQLITE_IOERR: "cannot be read or written: the disk failed or is full ({error})",
        sqlite3.SQLITE_NOTADB: "is no SQLite database",
        sqlite3.SQLITE_PERM: "may not be opened ({error})",
        sqlite3.SQLITE_READONLY: "is read-only",
        sqlite3.SQLITE_TOOBIG: "cannot hold a value of that size",
    }
)

#: What SQLite counts in milliseconds, it counts in 32 bits.
_LONGEST: Final = 2_000_000.0

#: The pause between two looks at a lock, where its busy handler does not help.
_PAUSE: Final = 0.01


class Database:
    """
    A file and this process's one connection to it. Safe for several threads and processes.

    Threads take turns; processes wait for each other, at most as long as the timeout. A fork
    closes the connection first, so that both sides open one of their own.

    Args:
        path: The file; made if it is not there.
        timeout: Seconds to wait for another process.
        create: Whether a file that is not there is made.
        durable: Whether a commit waits until the disk has it.

    Raises:
        StoreError: The file cannot be used; says why.
        SchemaVersionError: A later version wrote it.
        InvalidArgumentError: An argument is something else.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, timeout: float, create: bool, durable: bool
    ) -> None:
        self.path: Final = _to_path(path)
        self._timeout: Final = _to_timeout(timeout)
        self._durable: Final = durable
        self._lock: Final = Lock()
        self._connection: sqlite3.Connection | None = None
        self._closed = False
        if not create and not Path(self.path).exists():
            raise StoreError(self.path, "does not exist")
        FORKS.add(self)
        with self.reading():
            pass

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """
        Give the connection to one reader.

        Raises:
            StoreError: The file cannot be used.
        """
        with self._lock:
            try:
                yield self._connected()
            except sqlite3.Error as error:
                raise self._clear(error) from error

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """
        Give the connection to one writer, in a transaction: committed whole, or not at all.

        Raises:
            StoreError: The file cannot be used; nothing was changed.
        """
        with self.reading() as connection, _transaction(connection):
            yield connection

    def close(self) -> None:
        """
        Close the file; whoever uses it afterwards is refused. Closing twice is no error.
        """
        with self._lock:
            self._closed = True
            self._disconnect()

    def hold(self) -> None:
        """
        Let the transaction under way end, and close; nobody goes on before :meth:`release`.
        """
        self._lock.acquire()
        self._disconnect()

    def release(self) -> None:
        """
        Let whoever waits go on, with a connection of its own.
        """
        self._lock.release()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> sqlite3.Connection:
        if self._closed:
            raise StoreError(self.path, "is closed")
        if self._connection is None:
            self._connection = self._open()
        return self._connection

    def _open(self) -> sqlite3.Connection:
        try:
            return self._prepared(self.path)
        except sqlite3.Error:
            # an archive: SQLite wants to write beside it, unless it is told that nobody ever will
            if not _is_archive(self.path):
                raise
            return self._prepared(f"{Path(self.path).absolute().as_uri()}?immutable=1")

    def _prepared(self, name: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            name,
            timeout=self._timeout,
            isolation_level=None,
            check_same_thread=False,
            uri=name != self.path,
        )
        try:
            is_ready = is_current(connection, self.path)
            self._use_wal(connection)
            if not is_ready:
                with _transaction(connection):
                    migrate(connection, self.path)
            connection.execute(f"PRAGMA synchronous = {'FULL' if self._durable else 'NORMAL'}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _use_wal(self, connection: sqlite3.Connection) -> None:
        """
        Let readers and the writer work side by side; stays with the file, not with a copy of it.
        """
        give_up = monotonic() + self._timeout
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                code = _code(error)
                if code == sqlite3.SQLITE_READONLY:
                    return
                # two processes that make the same file: here SQLite does not wait by itself
                if code != sqlite3.SQLITE_BUSY or monotonic() >= give_up:
                    raise
                sleep(_PAUSE)
            else:
                return

    def _clear(self, error: sqlite3.Error) -> StoreError:
        """
        Say in one line what is wrong with the file.
        """
        code = _code(error)
        if code == sqlite3.SQLITE_CANTOPEN:
            return StoreError(self.path, _why_not_opened(Path(self.path)))
        reason = _REASONS.get(code, "cannot be used ({error})")
        return StoreError(self.path, reason.format(error=error, timeout=self._timeout))


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """
    Write alone, from here to the commit.
    """
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("COMMIT")
    except BaseException:
        # a full disk may have rolled back already, a broken one may refuse to
        with suppress(sqlite3.Error):
            connection.rollback()
        raise


def _to_path(path: object) -> str:
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidArgumentError("path", path, "the path of a file")
    name: Any = os.fspath(path)
    if not isinstance(name, str) or name in {"", ":memory:"} or "\0" in name:
        allowed = "the path of a file; the memory stores keep records without one"
        raise InvalidArgumentError("path", name, allowed)
    return name


def _to_timeout(timeout: object) -> float:
    seconds = to_seconds(timeout, "timeout")
    if seconds is None:
        raise InvalidArgumentError("timeout", timeout, "a number of seconds; 0 does not wait")
    return min(seconds, _LONGEST)


def _code(error: sqlite3.Error) -> int:
    """
    Give SQLite's primary result code; errors of Python's own module have none.
    """
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


def _is_archive(path: str) -> bool:
    """
    Whether a file can be read and not written, and nobody is writing it.
    """
    effective = os.access in os.supports_effective_ids
    return (
        os.access(path, os.R_OK, effective_ids=effective)
        and not os.access(Path(path).parent, os.W_OK, effective_ids=effective)
        and not Path(f"{path}-wal").exists()
    )


def _why_not_opened(path: Path) -> str:
    if path.is_dir():
        return "is a directory"
    if not path.parent.is_dir():
        return "cannot be made: its folder does not exist"
    return "cannot be opened: not allowed, or not a plain file"

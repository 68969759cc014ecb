"""What the SQLite stores have in common: a file that is theirs, or that they share."""

from __future__ import annotations

import os
import sqlite3
from types import TracebackType
from typing import Any, Final, Self

from harness.stores._database import Database

__all__ = ["TIMEOUT", "FileStore", "count", "is_key", "one"]

#: Seconds to wait for another process.
TIMEOUT: Final = 5.0


class FileStore:
    """
    What the stores have in common: a file that is theirs, or that they share.
    """

    _database: Database

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        timeout: float = TIMEOUT,
        create: bool = True,
        durable: bool = True,
    ) -> None:
        self._database = Database(path, timeout=timeout, create=create, durable=durable)

    @classmethod
    def sharing(cls, database: Database) -> Self:
        """
        Make a store on a file that is open already.

        Args:
            database: The file.
        """
        store = cls.__new__(cls)
        store._database = database  # noqa: SLF001  its own
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


def is_key(value: object) -> bool:
    """
    Whether something like this can have been stored: SQLite finds the text "7" for the number 7.
    """
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def one(connection: sqlite3.Connection, query: str, key: str) -> Any:
    """
    Give the one value of a key, or ``None``.
    """
    row = connection.execute(query, (key,)).fetchone()
    return None if row is None else row[0]


def count(connection: sqlite3.Connection, table: str) -> int:
    count: int = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608  a literal
    return count

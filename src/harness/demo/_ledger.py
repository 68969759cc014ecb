"""The payment service's SQLite ledger."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from attrs import field, frozen

from harness.demo._checks import printable, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

_BUSY_SECONDS = 10.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS payments (
    payment TEXT PRIMARY KEY,
    account TEXT NOT NULL,
    amount_cents INTEGER NOT NULL
)
"""


@frozen(kw_only=True)
class Payment:
    """
    One payment to be recorded.

    Attributes:
        payment: Its id; a second payment with the same id is refused by the ledger.
        account: Who pays.
        amount_cents: How much.
    """

    payment: str = field(validator=printable)
    account: str = field(validator=printable)
    amount_cents: int = field(validator=whole(1))


def create_ledger(path: Path) -> None:
    """
    Make the ledger's table where there is none yet.

    Args:
        path: The database file.
    """
    connection = connect_ledger(path)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(_SCHEMA)
    finally:
        connection.close()


def connect_ledger(path: Path) -> sqlite3.Connection:
    """
    Open one connection; whoever holds its lease is the one thread that uses it.

    Args:
        path: The database file.

    Returns:
        A connection that begins and ends transactions only when told to.
    """
    connection = sqlite3.connect(
        path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    # The ledger lives for seconds: no need to wait for the disk.
    connection.execute("PRAGMA synchronous = OFF")
    return connection


def check_fraud(
    connection: sqlite3.Connection, account: str, wait: Callable[[], object]
) -> tuple[int, int]:
    """
    Ask how often and how much an account has paid, and let the scoring take its time.

    The connection, and the snapshot that it reads from, are held until *wait* returns: this is
    what makes a small pool run out.

    Args:
        connection: A leased connection.
        account: Whose payments to look at.
        wait: Returns when the scoring is done.

    Returns:
        The number of earlier payments and their sum in cents.
    """
    with _transaction(connection, "BEGIN"):
        row = connection.execute(
            "SELECT COUNT(*), COALESCE(SUM(amount_cents), 0) FROM payments WHERE account = ?",
            (account,),
        ).fetchone()
        wait()
    return int(row[0]), int(row[1])


def record_payment(connection: sqlite3.Connection, payment: Payment) -> None:
    """
    Write a payment into the ledger.

    Args:
        connection: A leased connection.
        payment: What to record.

    Raises:
        sqlite3.Error: If the ledger refuses it; nothing is written, the connection stays usable.
    """
    with _transaction(connection, "BEGIN IMMEDIATE"):
        connection.execute(
            "INSERT INTO payments VALUES (?, ?, ?)",
            (payment.payment, payment.account, payment.amount_cents),
        )


@contextmanager
def _transaction(connection: sqlite3.Connection, begin: str) -> Generator[None]:
    connection.execute(begin)
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")

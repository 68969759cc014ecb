"""The payment service: three routes over a bounded pool of database connections."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Self

from attrs import asdict, frozen

from harness.demo._ledger import (
    Payment,
    check_fraud,
    connect_ledger,
    create_ledger,
    record_payment,
)
from harness.demo._pool import ConnectionPool, Lease, PoolExhaustedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import TracebackType

    from harness.demo._config import ServiceConfig
    from harness.demo._log import LogWriter

_PAYMENT_ALLOWED = "allowed: a JSON object with payment, account and amount_cents"


@frozen
class Reply:
    """
    What a route answers.

    Attributes:
        status: The HTTP status.
        body: What becomes the JSON body.
    """

    status: HTTPStatus
    body: Mapping[str, object]


class PaymentService:
    """
    Record payments, and tell how that is going.

    The service knows nothing of sockets: :mod:`harness.demo._http` puts it on a port.

    Args:
        config: What it runs with; read once.
        ledger: The database file.
        log: Where it writes what happens.
        clock: Seconds on a monotonic clock.
    """

    def __init__(
        self,
        config: ServiceConfig,
        ledger: Path,
        log: LogWriter,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self._log = log
        self._clock = clock
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._requests = dict.fromkeys(("total", "failed"), 0)
        create_ledger(ledger)
        self._pool = ConnectionPool(
            partial(connect_ledger, ledger),
            config.pool_size,
            acquire_timeout_ms=config.acquire_timeout_ms,
        )
        log.write("INFO", "payment service started", **asdict(config))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def handle(self, method: str, path: str, body: bytes) -> Reply:
        """
        Answer one request.

        Args:
            method: The HTTP method.
            path: The path asked for.
            body: What the client sent.

        Returns:
            The answer; an unknown route is answered ``404``.
        """
        routes: dict[tuple[str, str], Callable[[], Reply]] = {
            ("GET", "/health"): self._health,
            ("GET", "/metrics"): self._metrics,
            ("POST", "/pay"): partial(self._pay, body),
        }
        return routes.get((method, path), self._unknown)()

    def stop(self) -> None:
        """
        Let every fraud check that is under way end at once.
        """
        self._stopping.set()

    def close(self) -> None:
        """
        Close the connections; call it once no request is under way.
        """
        self.stop()
        self._pool.close()
        self._log.write("INFO", "payment service stopped", version=self._config.version)

    def _health(self) -> Reply:
        return Reply(HTTPStatus.OK, {"status": "ok", "version": self._config.version})

    def _unknown(self) -> Reply:
        return Reply(HTTPStatus.NOT_FOUND, {"error": "unknown route"})

    def _metrics(self) -> Reply:
        pool = {f"pool_{name}": value for name, value in asdict(self._pool.snapshot()).items()}
        with self._lock:
            requests = {f"requests_{name}": count for name, count in self._requests.items()}
        return Reply(HTTPStatus.OK, {"version": self._config.version, **pool, **requests})

    def _pay(self, body: bytes) -> Reply:
        start = self._clock()
        try:
            payment = parse_payment(body)
        except ValueError as error:
            return Reply(HTTPStatus.BAD_REQUEST, {"error": str(error)})
        status = self._attempt(payment)
        with self._lock:
            self._requests["total"] += 1
            self._requests["failed"] += status is not HTTPStatus.CREATED
        duration_ms = round((self._clock() - start) * 1000)
        self._log.write(
            "INFO",
            "POST /pay",
            payment=payment.payment,
            status=status.value,
            duration_ms=duration_ms,
        )
        return Reply(status, {"payment": payment.payment})

    def _attempt(self, payment: Payment) -> HTTPStatus:
        try:
            with self._pool.lease() as lease:
                self._warn_of_wait(payment, lease)
                self._settle(lease.connection, payment)
        except PoolExhaustedError as error:
            self._log.write("ERROR", f"payment refused because {error}", payment=payment.payment)
            return HTTPStatus.SERVICE_UNAVAILABLE
        except sqlite3.Error as error:
            self._log.write(
                "ERROR", f"payment refused by the ledger: {error}", payment=payment.payment
            )
            return HTTPStatus.INTERNAL_SERVER_ERROR
        return HTTPStatus.CREATED

    def _warn_of_wait(self, payment: Payment, lease: Lease[sqlite3.Connection]) -> None:
        if lease.waited_ms * 2 >= self._config.acquire_timeout_ms:
            self._log.write(
                "WARN",
                "slow connection acquire",
                waited_ms=lease.waited_ms,
                payment=payment.payment,
            )

    def _settle(self, connection: sqlite3.Connection, payment: Payment) -> None:
        if self._config.fraud_check_ms:
            scoring = partial(self._stopping.wait, self._config.fraud_check_ms / 1000)
            check_fraud(connection, payment.account, scoring)
        record_payment(connection, payment)


def parse_payment(body: bytes) -> Payment:
    """
    Read the body of ``POST /pay``.

    Args:
        body: A JSON object with ``payment``, ``account`` and ``amount_cents``.

    Returns:
        The payment.

    Raises:
        ValueError: If the body is anything else. The text says what, and what is allowed.
    """
    try:
        payment = Payment(**json.loads(body))
    except (TypeError, ValueError, RecursionError) as error:
        message = f"body: {error}; {_PAYMENT_ALLOWED}"
        raise ValueError(message) from error
    return payment

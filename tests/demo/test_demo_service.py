"""The payment service's routes and its ledger, without a port."""

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http import HTTPStatus
from pathlib import Path

import pytest

from harness.demo._ledger import Payment, check_fraud, connect_ledger, record_payment
from harness.demo._pool import Lease
from harness.demo._service import PaymentService, parse_payment


def _body(payment: str = "p-1", **changes: object) -> bytes:
    return json.dumps(
        {"payment": payment, "account": "a-1", "amount_cents": 1250, **changes}
    ).encode()


def test_a_payment_is_in_the_ledger(service: PaymentService, tmp_path: Path) -> None:
    """A payment that was answered 201 is in the database."""
    assert service.handle("POST", "/pay", _body()).status == HTTPStatus.CREATED
    with closing(connect_ledger(tmp_path / "payments.db")) as ledger:
        assert check_fraud(ledger, "a-1", lambda: None) == (1, 1250)


def test_a_payment_is_logged(service: PaymentService, tmp_path: Path) -> None:
    """The log names the payment and what was answered."""
    service.handle("POST", "/pay", _body())
    assert "INFO  POST /pay payment=p-1 status=201" in (tmp_path / "service.log").read_text()


def test_a_repeated_payment_is_refused(service: PaymentService, tmp_path: Path) -> None:
    """The ledger's refusal is logged, counted and answered 500; the service goes on."""
    answers = [service.handle("POST", "/pay", _body(id_)).status for id_ in ("p-1", "p-1", "p-2")]
    assert answers == [201, 500, 201]
    text = (tmp_path / "service.log").read_text()
    assert "ERROR payment refused by the ledger: UNIQUE constraint failed" in text
    metrics = service.handle("GET", "/metrics", b"").body
    assert (metrics["requests_total"], metrics["requests_failed"]) == (3, 1)


def test_a_payment_without_a_connection_is_refused(starved: PaymentService, tmp_path: Path) -> None:
    """With the only connection out, a payment gets 503 and an error line."""
    with starved._pool.lease():
        assert starved.handle("POST", "/pay", _body()).status == HTTPStatus.SERVICE_UNAVAILABLE
    text = (tmp_path / "service.log").read_text()
    assert "ERROR payment refused because the connection pool is exhausted: size=1 in_use=1" in text
    assert starved.handle("GET", "/metrics", b"").body["pool_timeouts"] == 1


def test_stopping_ends_a_fraud_check(starved: PaymentService) -> None:
    """A fraud check of a minute ends when the service stops, and its payment is recorded."""
    with ThreadPoolExecutor(1) as client:
        answer = client.submit(starved.handle, "POST", "/pay", _body())
        starved.stop()
        assert answer.result().status == HTTPStatus.CREATED


@pytest.mark.parametrize(("waited_ms", "warned"), [(4_999, False), (5_000, True)])
def test_a_long_wait_is_logged(
    service: PaymentService, tmp_path: Path, waited_ms: int, *, warned: bool
) -> None:
    """A wait of half the time-out or more is a warning."""
    with service._pool.lease() as lease:
        waited = Lease(connection=lease.connection, waited_ms=waited_ms)
    service._warn_of_wait(parse_payment(_body()), waited)
    line = f"WARN  slow connection acquire waited_ms={waited_ms} payment=p-1"
    assert (line in (tmp_path / "service.log").read_text()) is warned


def test_health_and_metrics_answer(service: PaymentService) -> None:
    """Both read-only routes name the version that runs."""
    assert service.handle("GET", "/health", b"").body == {"status": "ok", "version": "1.0.0"}
    assert service.handle("GET", "/metrics", b"").body == {
        "version": "1.0.0",
        "pool_size": 2,
        "pool_in_use": 0,
        "pool_waiting": 0,
        "pool_waiting_peak": 0,
        "pool_acquired": 0,
        "pool_timeouts": 0,
        "requests_total": 0,
        "requests_failed": 0,
    }


@pytest.mark.parametrize(("method", "path"), [("GET", "/pay"), ("POST", "/metrics"), ("GET", "/")])
def test_an_unknown_route_is_not_found(service: PaymentService, method: str, path: str) -> None:
    """Only the three routes exist, each with its own method."""
    assert service.handle(method, path, b"").status == HTTPStatus.NOT_FOUND


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff",
        b"[" * 4000,
        b"[]",
        b"{}",
        _body(amount_cents=1.5),
        _body(amount_cents=True),
        _body(amount_cents=0),
        _body(account=7),
        _body("p-1\n2026-01-31T09:05:07.042Z ERROR forged"),
        _body(tip=1),
    ],
)
def test_a_malformed_payment_is_refused(
    service: PaymentService, tmp_path: Path, body: bytes
) -> None:
    """A body of another shape is answered 400, says what is allowed, and writes nothing."""
    reply = service.handle("POST", "/pay", body)
    assert reply.status == HTTPStatus.BAD_REQUEST
    assert str(reply.body["error"]).endswith("a JSON object with payment, account and amount_cents")
    assert len((tmp_path / "service.log").read_text().splitlines()) == 1


def test_a_failed_transaction_leaves_the_connection_usable(
    service: PaymentService, tmp_path: Path
) -> None:
    """After a refusal the same connection can record the next payment."""
    service.handle("POST", "/pay", _body())
    with closing(connect_ledger(tmp_path / "payments.db")) as ledger:
        with pytest.raises(sqlite3.IntegrityError):
            record_payment(ledger, parse_payment(_body()))
        record_payment(ledger, Payment(payment="p-2", account="a-1", amount_cents=50))
        assert check_fraud(ledger, "a-1", lambda: None) == (2, 1300)

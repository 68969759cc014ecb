"""One real incident for all tests that only read it, and a service without a port."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import evolve

from harness.demo import Incident, make_incident
from harness.demo._config import ServiceConfig
from harness.demo._log import LogWriter
from harness.demo._service import PaymentService

CONFIG = ServiceConfig(version="1.0.0", pool_size=2, acquire_timeout_ms=10_000, fraud_check_ms=0)


@pytest.fixture(scope="session")
def incident(tmp_path_factory: pytest.TempPathFactory) -> Incident:
    """The incident that ``python -m harness demo`` makes."""
    return make_incident(tmp_path_factory.mktemp("incident"))


@pytest.fixture
def log(tmp_path: Path) -> Iterator[LogWriter]:
    """The log of the service under test, in ``service.log``."""
    with LogWriter(tmp_path / "service.log") as writer:
        yield writer


@pytest.fixture
def service(tmp_path: Path, log: LogWriter) -> Iterator[PaymentService]:
    """A service with two connections and no fraud check."""
    with PaymentService(CONFIG, tmp_path / "payments.db", log) as started:
        yield started


@pytest.fixture
def starved(tmp_path: Path, log: LogWriter) -> Iterator[PaymentService]:
    """A service with one connection, no patience, and a fraud check that lasts until it stops."""
    config = evolve(CONFIG, pool_size=1, acquire_timeout_ms=1, fraud_check_ms=60_000)
    with PaymentService(config, tmp_path / "payments.db", log) as started:
        yield started

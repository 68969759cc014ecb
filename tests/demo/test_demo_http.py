"""The service on its loopback port, and the load that is put on it."""

import http.client
import json
import socket
import threading
from contextlib import closing
from pathlib import Path

import pytest

from harness.demo._http import LOOPBACK, serving
from harness.demo._load import (
    LoadCounts,
    LoadPlan,
    count_answers,
    put_under_load,
    sampling_metrics,
)
from harness.demo._log import LogWriter
from harness.demo._service import PaymentService, Reply

_PLAN = LoadPlan(clients=3, requests=2)


def _ask(port: int, method: str, path: str, headers: dict[str, str]) -> tuple[int, object]:
    with closing(http.client.HTTPConnection(LOOPBACK, port, timeout=10)) as connection:
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())


def _refuses_connections(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((LOOPBACK, port)) != 0


def _closed_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def test_the_service_answers_over_http(service: PaymentService, log: LogWriter) -> None:
    """A route's status and body reach the client."""
    with serving(service, log) as port:
        assert _ask(port, "GET", "/health", {}) == (200, {"status": "ok", "version": "1.0.0"})


@pytest.mark.parametrize("length", ["-1", "4097", "x", "9" * 30])
def test_an_unusable_length_is_refused(
    service: PaymentService, log: LogWriter, length: str
) -> None:
    """No more is read than a payment can be long."""
    with serving(service, log) as port:
        status, body = _ask(port, "POST", "/pay", {"Content-Length": length})
    assert (status, body) == (400, {"error": "Content-Length: allowed is 0 to 4096"})


@pytest.mark.parametrize("error", [None, KeyboardInterrupt])
def test_nothing_outlives_the_block(
    service: PaymentService, log: LogWriter, error: type[BaseException] | None
) -> None:
    """After the block, however it ended, the port is closed and the threads are done."""
    before = threading.active_count()
    try:
        with serving(service, log) as port:
            put_under_load(port, _PLAN, label="t")
            if error:
                raise error
    except KeyboardInterrupt:
        assert error is KeyboardInterrupt
    assert _refuses_connections(port)
    assert threading.active_count() == before


def test_a_dropped_connection_goes_to_the_log(
    service: PaymentService,
    log: LogWriter,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A handler's exception is a line of the log and not a traceback on the terminal."""

    def drop(*_: object) -> Reply:
        raise ConnectionResetError

    monkeypatch.setattr(service, "handle", drop)
    with serving(service, log) as port:
        assert put_under_load(port, LoadPlan(clients=1, requests=1), label="t").broken == 1
    logged = (tmp_path / "service.log").read_text()
    assert "WARN  connection dropped error=ConnectionResetError" in logged
    assert capsys.readouterr().err == ""


def test_a_load_is_counted(service: PaymentService, log: LogWriter) -> None:
    """All planned requests are sent and counted, and the service counted the same."""
    with serving(service, log) as port:
        assert put_under_load(port, _PLAN, label="t") == LoadCounts(paid=6)
    assert service.handle("GET", "/metrics", b"").body["requests_total"] == 6


def test_a_load_ends_with_its_time(service: PaymentService, log: LogWriter) -> None:
    """Nothing is sent once the plan's seconds are over."""
    ticks = iter([0.0, 4.9, 5.0])
    plan = LoadPlan(clients=1, requests=9)
    with serving(service, log) as port:
        counts = put_under_load(port, plan, label="t", clock=lambda: next(ticks))
    assert counts == LoadCounts(paid=1)


def test_an_error_of_one_client_ends_the_load() -> None:
    """What a client raises reaches the caller, once all clients are done."""
    before = threading.active_count()
    ticks = [0.0]
    with pytest.raises(IndexError, match="pop from empty list"):
        put_under_load(_closed_port(), _PLAN, label="t", clock=ticks.pop)
    assert threading.active_count() == before


def test_a_service_that_is_not_there_is_a_broken_answer() -> None:
    """A refused connection is counted, and ends no client."""
    assert put_under_load(_closed_port(), _PLAN, label="t") == LoadCounts(broken=6)


def test_answers_are_counted_by_meaning() -> None:
    """201 is paid, 503 is exhausted, anything else and nothing at all are broken."""
    counts = count_answers([201, 503, 503, 500, None, 400])
    assert counts == LoadCounts(paid=1, exhausted=2, broken=3)


@pytest.mark.parametrize(
    "plan",
    [{"clients": 0}, {"requests": 0}, {"pause_ms": -1}, {"seconds": 0}, {"seconds": float("nan")}],
)
def test_an_impossible_plan_is_refused(plan: dict[str, float]) -> None:
    """A plan without clients, requests or time names the field that is wrong."""
    with pytest.raises(ValueError, match=next(iter(plan))):
        LoadPlan(**{"clients": 1, "requests": 1, **plan})  # type: ignore[arg-type]


def test_metrics_are_sampled_to_the_end(
    service: PaymentService, log: LogWriter, tmp_path: Path
) -> None:
    """The last sample is taken after the load, however short that was."""
    path = tmp_path / "metrics.jsonl"
    with serving(service, log) as port, sampling_metrics(port, path, every_ms=60_000):
        put_under_load(port, _PLAN, label="t")
    samples = [json.loads(line) for line in path.read_text().splitlines()]
    assert [sample["requests_total"] for sample in samples] == [6]
    assert samples[0]["time"].endswith("Z")


def test_metrics_that_cannot_be_read_are_an_error(tmp_path: Path) -> None:
    """A service that went away is reported, and the sampling thread is done."""
    before = threading.active_count()
    sampling = sampling_metrics(_closed_port(), tmp_path / "metrics.jsonl", every_ms=60_000)
    with pytest.raises(ConnectionRefusedError), sampling:
        pass
    assert threading.active_count() == before

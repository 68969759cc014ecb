"""A bounded load on the payment service, and a sampler of its metrics meanwhile."""

from __future__ import annotations

import http.client
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http import HTTPStatus
from itertools import chain
from typing import TYPE_CHECKING

from attrs import field, frozen
from attrs.validators import gt

from harness.demo._checks import whole
from harness.demo._http import LOOPBACK
from harness.demo._log import iso_milliseconds, utc_now

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from datetime import datetime
    from pathlib import Path

_CLIENT_TIMEOUT = 10.0
_AMOUNT_CENTS = 1250


@frozen(kw_only=True)
class LoadPlan:
    """
    How much load, at most.

    Attributes:
        clients: How many clients send at the same time.
        requests: How many requests each of them sends, one after the other.
        pause_ms: How long a client rests after each answer.
        seconds: When clients stop sending, whatever is left to send.
    """

    clients: int = field(validator=whole(1))
    requests: int = field(validator=whole(1))
    pause_ms: int = field(default=0, validator=whole(0))
    seconds: float = field(default=5.0, validator=gt(0))


@frozen(kw_only=True)
class LoadCounts:
    """
    What the clients saw.

    Attributes:
        paid: Answers that say the payment was recorded.
        exhausted: Answers that say the service had no connection to spare.
        broken: Any other answer, or none.
    """

    paid: int = 0
    exhausted: int = 0
    broken: int = 0


def count_answers(statuses: Iterable[int | None]) -> LoadCounts:
    """
    Count answers by what they mean to the client.

    Args:
        statuses: The HTTP status of each answer, or ``None`` where there was none.

    Returns:
        The counts, whose sum is the number of requests sent.
    """
    seen = list(statuses)
    paid = seen.count(HTTPStatus.CREATED)
    exhausted = seen.count(HTTPStatus.SERVICE_UNAVAILABLE)
    return LoadCounts(paid=paid, exhausted=exhausted, broken=len(seen) - paid - exhausted)


def put_under_load(
    port: int, plan: LoadPlan, *, label: str, clock: Callable[[], float] = time.monotonic
) -> LoadCounts:
    """
    Send payments to a service on loopback until the plan is used up.

    Args:
        port: Where the service listens.
        plan: How much load, at most.
        label: What payment ids start with, so that two loads never share one.
        clock: Seconds on a monotonic clock.

    Returns:
        What the clients saw. All of their threads are done by then, also after an exception.
    """
    stop = threading.Event()
    end = clock() + plan.seconds

    def send_all(client: str) -> list[int | None]:
        answers: list[int | None] = []
        for number in range(1, plan.requests + 1):
            if clock() >= end or stop.wait(plan.pause_ms / 1000):
                break
            answers.append(_pay(port, f"{client}-{number}", client))
        return answers

    names = [f"{label}-{number:02}" for number in range(1, plan.clients + 1)]
    with ThreadPoolExecutor(plan.clients, thread_name_prefix="payment-client") as clients:
        try:
            # `map` submits them all at once and hands the answers back in order.
            return count_answers(chain.from_iterable(clients.map(send_all, names)))
        finally:
            stop.set()


@contextmanager
def sampling_metrics(
    port: int, path: Path, *, every_ms: int, now: Callable[[], datetime] = utc_now
) -> Generator[None]:
    """
    Append the service's metrics to a file, regularly and once more at the end.

    Args:
        port: Where the service listens.
        path: The JSON lines file to append to.
        every_ms: How long to wait between two samples.
        now: The wall clock.

    Yields:
        Once. After the block the sampling thread is done.

    Raises:
        OSError: If the metrics could not be read or written.
    """
    stop = threading.Event()

    def sample_until_stopped() -> None:
        stopped = False
        # One sample is taken after the stop: it holds the final counters.
        while not stopped:
            stopped = stop.wait(every_ms / 1000)
            _, metrics = _request(port, "GET", "/metrics")
            file.write(json.dumps({"time": iso_milliseconds(now()), **metrics}) + "\n")

    with (
        path.open("a", encoding="utf-8", newline="\n") as file,
        ThreadPoolExecutor(1, thread_name_prefix="metrics-sampler") as sampler,
    ):
        done = sampler.submit(sample_until_stopped)
        try:
            yield
        finally:
            stop.set()
        done.result()


def _pay(port: int, payment: str, account: str) -> int | None:
    body = json.dumps({"payment": payment, "account": account, "amount_cents": _AMOUNT_CENTS})
    try:
        status, _ = _request(port, "POST", "/pay", body)
    except (OSError, http.client.HTTPException):
        return None
    return status


def _request(port: int, method: str, path: str, body: str = "") -> tuple[int, dict[str, object]]:
    with closing(http.client.HTTPConnection(LOOPBACK, port, timeout=_CLIENT_TIMEOUT)) as connection:
        connection.request(method, path, body)
        response = connection.getresponse()
        return response.status, dict(json.loads(response.read()))

"""Many runs, a bounded number of them at the same time, with one budget and one stop switch."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from typing import Any, Final, Self, TypeVar, cast

from attrs import frozen

from harness._budget import Budget
from harness._cancel import CancelToken
from harness._result import RunResult
from harness._sync import Harness
from harness._values import Request
from harness.errors import InvalidArgumentError

__all__ = ["ManyResult", "Switch", "check_many", "finished", "run_many"]

J = TypeVar("J")
R = TypeVar("R")

#: No job is left.
_NONE: Final = object()
_LEFT = "the batch of runs was left"


@frozen
class ManyResult:
    """
    What came of one request of many.

    Attributes:
        place: The request's place among all, from 0.
        request: The request as it was given.
        result: The run's result; ``None`` where nothing was run.
        error: Why nothing was run: the request, or the run's id, was refused.
    """

    place: int
    request: str | Request
    result: RunResult | None = None
    error: Exception | None = None


class Switch:
    """
    The token of a batch: the caller's stop switch, and the batch's own for when it is left.
    """

    __slots__ = ("_stop", "token")

    def __init__(self, stop: CancelToken | None) -> None:
        self._stop = stop
        #: What the runs of the batch are given.
        self.token = CancelToken()

    def __enter__(self) -> Self:
        if self._stop is not None:
            self._stop._join(id(self), self.token.cancel)  # noqa: SLF001  the token's other half
        return self

    def __exit__(self, *_error: object) -> None:
        if self._stop is not None:
            self._stop._leave(id(self))  # noqa: SLF001  likewise

    @property
    def is_off(self) -> bool:
        """
        Whether no further run is to start.
        """
        return self.token.is_cancelled

    def leave(self) -> None:
        """
        Cancel what is still under way.
        """
        self.token.cancel(_LEFT)


def check_many(  # noqa: PLR0913  the arguments of a batch
    harness: object,
    kind: type[Any],
    requests: object,
    workers: object,
    budget: object,
    stop: object,
) -> None:
    """
    Check the arguments of a batch before anything runs.

    Raises:
        InvalidArgumentError: One is something else; names it and what is allowed.
    """
    if not isinstance(harness, kind):
        raise InvalidArgumentError("harness", harness, f"an instance of {kind.__name__}")
    if isinstance(requests, (str, Request)) or not isinstance(requests, Iterable):
        raise InvalidArgumentError("requests", requests, "an iterable of questions or Requests")
    if type(workers) is not int or workers < 1:
        raise InvalidArgumentError("workers", workers, "a whole number from 1")
    if budget is not None and not isinstance(budget, Budget):
        raise InvalidArgumentError("budget", budget, "a Budget, or None")
    if stop is not None and not isinstance(stop, CancelToken):
        raise InvalidArgumentError("stop", stop, "a CancelToken, or None")


def run_many(
    harness: Harness,
    requests: Iterable[str | Request],
    *,
    workers: int = 4,
    budget: Budget | None = None,
    stop: CancelToken | None = None,
) -> Generator[ManyResult, None, None]:
    """
    Run many requests in threads, and give each result as it finishes.

    Requests are taken one at a time, as workers are free, so they may be as many as you like.
    Leaving early, by ``break`` or an exception, cancels what is under way and waits for it.

    Args:
        harness: Runs each of them.
        requests: Questions, or whole :class:`Request` values.
        workers: How many runs are under way at the same time, at most.
        budget: A parent budget that all of them draw from.
        stop: Cancels what is under way and starts nothing more; usable from any thread.

    Returns:
        The results, in the order in which they finish; :attr:`ManyResult.place` tells which.

    Raises:
        InvalidArgumentError: An argument is something else; nothing was run.
        BaseException: While iterating: what a host object raised that is no ``Exception``; the
            other runs were cancelled.
    """
    check_many(harness, Harness, requests, workers, budget, stop)
    switch = Switch(stop)
    run = partial(_one, harness, budget, switch.token)
    return finished(run, enumerate(requests), workers, switch)


def finished(
    run: Callable[[J], R], jobs: Iterator[J], workers: int, switch: Switch
) -> Generator[R, None, None]:
    """
    Keep workers busy with jobs, and give what they finish as they finish it.

    Args:
        run: Runs one job, in a thread; what it raises ends all.
        jobs: The jobs; one is taken when a worker is free for it.
        workers: How many are under way, at most.
        switch: Is turned off when the results are left; then no further job starts.

    Yields:
        What *run* returned, in the order in which jobs finish.
    """
    under_way: set[concurrent.futures.Future[R]] = set()
    with switch, concurrent.futures.ThreadPoolExecutor(workers, "harness") as pool:
        try:
            while True:
                while len(under_way) < workers and not switch.is_off:
                    taken = next(jobs, _NONE)
                    if taken is _NONE:
                        break
                    under_way.add(pool.submit(run, cast("J", taken)))
                if not under_way:
                    return
                done, _ = concurrent.futures.wait(
                    under_way, return_when=concurrent.futures.FIRST_COMPLETED
                )
                ended = done.pop()
                under_way.remove(ended)
                yield ended.result()
        finally:
            switch.leave()


def _one(
    harness: Harness, budget: Budget | None, token: CancelToken, numbered: tuple[int, str | Request]
) -> ManyResult:
    place, request = numbered
    try:
        return ManyResult(place, request, harness.run(request, budget=budget, cancel=token))
    except Exception as error:  # noqa: BLE001  one refused request is no reason to stop the others
        return ManyResult(place, request, None, error)

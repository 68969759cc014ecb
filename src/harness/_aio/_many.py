"""The asynchronous twin of :func:`harness.run_many`."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator
from functools import partial

from harness._aio._engine import Spawned, Waiter, engine_here
from harness._aio._harness import AsyncHarness
from harness._budget import Budget
from harness._cancel import CancelToken
from harness._many import ManyResult, Switch, check_many
from harness._values import Request

__all__ = ["run_many_async"]


def run_many_async(
    harness: AsyncHarness,
    requests: Iterable[str | Request],
    *,
    workers: int = 64,
    budget: Budget | None = None,
    stop: CancelToken | None = None,
) -> AsyncGenerator[ManyResult, None]:
    """
    Run many requests in tasks, and give each result as it finishes.

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
    check_many(harness, AsyncHarness, requests, workers, budget, stop)
    return _finished(harness, iter(requests), workers, budget, Switch(stop))


async def _finished(
    harness: AsyncHarness,
    requests: Iterator[str | Request],
    workers: int,
    budget: Budget | None,
    switch: Switch,
) -> AsyncGenerator[ManyResult, None]:
    """
    Keep the workers busy, and give what they finish.
    """
    numbered = enumerate(requests)
    batch = _Batch(harness, budget, switch)
    with switch:
        try:
            while True:
                while len(batch.tasks) + len(batch.done) < workers and not switch.is_off:
                    taken = next(numbered, None)
                    if taken is None:
                        break
                    batch.start(*taken)
                finished = await batch.next()
                if finished is None:
                    return
                yield finished
        finally:
            switch.leave()
            await batch.ended()


class _Batch:
    """
    The runs under way, and those that are finished and were not given yet.
    """

    def __init__(self, harness: AsyncHarness, budget: Budget | None, switch: Switch) -> None:
        self._harness = harness
        self._budget = budget
        self._token = switch.token
        self._engine = engine_here()
        self._waiter: Waiter | None = None
        self._fault: BaseException | None = None
        self.tasks: set[Spawned] = set()
        self.done: deque[ManyResult] = deque()

    def start(self, place: int, request: str | Request) -> None:
        """
        Start a run.
        """

        def ended(cancelled: bool) -> None:  # noqa: FBT001  told by place, by either engine
            self._finish(task, cancelled=cancelled)

        task = self._engine.spawn(partial(self._one, place, request), ended)
        self.tasks.add(task)

    async def next(self) -> ManyResult | None:
        """
        Give the next result; ``None`` where no run is under way.
        """
        while not self.done:
            if self._fault is not None:
                raise self._fault
            if not self.tasks:
                return None
            self._waiter = self._engine.waiter()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self.done.popleft()

    async def ended(self) -> None:
        """
        Wait until the runs have ended, and pass a cancel that came meanwhile on.
        """
        cancelled: asyncio.CancelledError | None = None
        while self.tasks:
            try:
                await self._engine.wait(next(iter(self.tasks)))
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled

    async def _one(self, place: int, request: str | Request) -> None:
        try:
            result = await self._harness.run(request, budget=self._budget, cancel=self._token)
        except Exception as error:  # noqa: BLE001  one refused request does not stop the others
            self.done.append(ManyResult(place, request, None, error))
        except BaseException as interrupt:  # noqa: BLE001  raised again where the batch is iterated
            self._fault = self._fault or interrupt
        else:
            self.done.append(ManyResult(place, request, result))

    def _finish(self, task: Spawned, *, cancelled: bool) -> None:
        self.tasks.discard(task)
        if cancelled:
            # before its first step
            self._fault = self._fault or asyncio.CancelledError()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

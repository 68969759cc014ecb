"""A batch of tool calls under way at the same time, no more of them than the harness allows."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from harness._run import Stopped

__all__ = ["Together"]

T = TypeVar("T")


class Ends(Protocol):
    """
    What a batch needs of its seam.
    """

    def abort(self, tasks: Iterable[asyncio.Task[Any]]) -> None:
        """
        Cut short the calls that tasks are in.
        """
        ...

    async def ended(self, tasks: Iterable[asyncio.Task[Any]]) -> None:
        """
        Wait until tasks have ended.
        """
        ...

    def interrupted(self, interrupt: BaseException) -> None:
        """
        Take note of what interrupted the run.
        """
        ...


class Together(Generic[T]):
    """
    Steps that a few workers take in turn; each is given back the moment it is finished.

    Args:
        seam: Ends what is left when the run ends.
        loop: The loop of the run.
        steps: The steps.
        workers: How many steps may be under way.
    """

    __slots__ = (
        "_done",
        "_fault",
        "_is_closed",
        "_left",
        "_loop",
        "_seam",
        "_untaken",
        "_waiter",
        "_workers",
    )

    def __init__(
        self,
        seam: Ends,
        loop: asyncio.AbstractEventLoop,
        steps: Sequence[Callable[[], Awaitable[T]]],
        workers: int,
    ) -> None:
        self._seam = seam
        self._loop = loop
        self._left = deque(enumerate(steps))
        self._untaken = len(steps)
        self._done: deque[tuple[int, T]] = deque()
        self._fault: BaseException | None = None
        self._is_closed = False
        self._waiter: asyncio.Future[None] | None = None
        self._workers = [loop.create_task(self._work()) for _ in steps[:workers]]
        for worker in self._workers:
            worker.add_done_callback(self._note_cancelled)

    async def next(self) -> tuple[int, T] | None:
        """
        Give the next finished step as its place and result; ``None`` when none is left.

        Raises:
            Stopped: The run has ended.
        """
        while not self._done:
            if self._fault is not None:
                raise self._fault
            if not self._untaken:
                return None
            await self._woken()
        self._untaken -= 1
        return self._done.popleft()

    async def close(self) -> list[int]:
        """
        Abort what is under way and wait for it; give the places that nobody took.
        """
        self._left.clear()
        self._seam.abort(self._workers)
        await self._seam.ended(self._workers)
        self._is_closed = True
        return [place for place, _ in self._done]

    async def _work(self) -> None:
        """
        Take step after step, until none is left or one of them ends the run.
        """
        try:
            while self._left:
                place, step = self._left.popleft()
                self._done.append((place, await step()))
                self._wake()
                if self._left:
                    # the run may end over this result: then nothing more is to start
                    await asyncio.sleep(0)
        except BaseException as fault:
            closed = isinstance(fault, GeneratorExit) and not self._is_working()
            if closed or isinstance(fault, asyncio.CancelledError):
                # no host raised it: this worker is being closed, or somebody cancelled it
                raise
            # raised again where the batch is awaited
            self._fail(fault)

    def _is_working(self) -> bool:
        """
        Whether a worker runs right now; none does while its coroutine is closed from outside.
        """
        try:
            return asyncio.current_task() in self._workers
        except RuntimeError:
            return False

    def _fail(self, fault: BaseException) -> None:
        self._left.clear()
        self._fault = self._fault or fault
        self._wake()

    def _note_cancelled(self, worker: asyncio.Task[None]) -> None:
        """
        Take note that somebody cancelled a worker itself: it counts as a cancel of the run.
        """
        if worker.cancelled() and not self._is_closed:
            self._seam.interrupted(asyncio.CancelledError())
            self._fail(Stopped())

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _woken(self) -> None:
        """
        Wait until a step is finished or the run has ended.
        """
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        except BaseException as interrupt:  # noqa: BLE001  carried to the caller by the flow
            self._seam.interrupted(interrupt)
            raise Stopped from None
        finally:
            self._waiter = None

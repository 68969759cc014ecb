"""
How the flow goes outside under asyncio.

1. The end of a run cuts the call under way short: one timer and one wake-up a run, no task a call.
2. The run's own abort is told from everybody else's cancel by counting, as ``asyncio.timeout``
   does: a host's ``TimeoutError`` stays a failure of the host, the caller's cancel an interrupt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from types import CoroutineType
from typing import Any, TypeVar

from harness._aio._seam import AsyncSeam
from harness._aio._together import Together
from harness._run import Stopped
from harness._seam import Aborted, Answer, Batch, Classifier, Failed
from harness._sync import OneByOne
from harness.ports import Clock, IdSource

__all__ = ["LoopSeam"]

T = TypeVar("T")


class LoopSeam(AsyncSeam):
    """
    Awaits in tasks of an asyncio loop.

    Args:
        clock: The host's clock.
        ids: Gives globally unique ids.
        classifier: The host's mapping of exceptions.
        loop: The loop that runs the run.
    """

    __slots__ = ("_aborting", "_calls", "_loop", "_timer", "closed")

    def __init__(
        self,
        clock: Clock,
        ids: IdSource,
        classifier: Classifier | None,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        super().__init__(clock, ids, classifier)
        self._loop = loop
        #: The tasks that are inside a call which the end of the run cuts short.
        self._calls: set[asyncio.Task[Any]] = set()
        #: Those of them that were told so.
        self._aborting: set[asyncio.Task[Any]] = set()
        self._timer: asyncio.TimerHandle | None = None
        #: Whether the run's coroutine is being closed, so that nothing can be awaited any more.
        self.closed = False

    def start(self, steps: Sequence[Callable[[], Awaitable[T]]]) -> Batch[T]:
        """
        Start a batch's steps, as many at once as the harness allows.
        """
        most = self.run.setup.max_parallel_tools
        return OneByOne(steps) if most == 1 else Together(self, self._loop, steps, most)

    @property
    def is_closing(self) -> bool:
        """
        Whether the run's coroutine is being closed: what else raises ``GeneratorExit`` is a host.
        """
        return self.closed

    async def _sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    # --- one call

    async def _awaited(self, value: Any, *, abortable: bool) -> Answer:
        """
        Await a call in the task that makes it; the run's end cuts it short where *abortable*.

        Raises:
            Stopped: The coroutine of that task is being closed.
        """
        if self.closed:
            return self._left(value)
        task = running_task()
        cancels = task.cancelling()
        if abortable:
            self._calls.add(task)
            if self._timer is None:
                self._arm()
        answer: Answer
        try:
            answer = Answer(await value, self.instant())
        except BaseException as error:  # noqa: BLE001  classified, or carried to the caller
            if isinstance(error, GeneratorExit) and not is_running(task):
                # closing a coroutine drops what the inner ones return, but not what they raise
                self.interrupted(error)
                raise Stopped from None
            answer = self.failed(error)
        self._calls.discard(task)
        if task in self._aborting or task.cancelling() > cancels:
            return self._cut(task, cancels, answer)
        return answer

    def _cut(self, task: asyncio.Task[Any], cancels: int, answer: Answer) -> Answer:
        """
        Tell apart who cut a call short.

        Args:
            task: Which task made it.
            cancels: How many cancels of that task were pending before.
            answer: What came of it.
        """
        if task in self._aborting:
            self._aborting.discard(task)
            if task.uncancel() <= cancels and _is_cancel(answer.interrupt):
                return Failed(answer.ended, interrupt=Aborted())
        if task.cancelling() > cancels and answer.interrupt is None:
            # the caller's cancel reached the host, and the host kept it to itself
            return Failed(answer.ended, interrupt=asyncio.CancelledError())
        return answer

    async def _shielded(self, value: Any) -> Answer:
        """
        Await a call in a task of its own, so that no cancel of the caller's cuts it short.
        """
        if self.closed:
            return self._left(value)
        task = self._loop.create_task(self._settled(value))
        await self.ended((task,))
        return task.result() if task.done() and not task.cancelled() else self._left(value)

    def _left(self, value: Any) -> Answer:
        """
        Leave what cannot be awaited, without a warning that nobody awaited it.
        """
        if isinstance(value, CoroutineType):
            value.close()
        return Failed(self.instant(), interrupt=asyncio.CancelledError())

    # --- the end of the run

    def abort(self, tasks: Iterable[asyncio.Task[Any]] | None = None) -> None:
        """
        Cut short the calls under way.

        Args:
            tasks: Whose calls; default: everybody's.
        """
        calls = self._calls if tasks is None else self._calls.intersection(tasks)
        for task in calls - self._aborting:
            self._aborting.add(task)
            task.cancel()

    def abort_soon(self) -> None:
        """
        Cut short the calls under way; from any thread.
        """
        # a loop that was closed meanwhile has no call under way
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self.abort)

    async def ended(self, tasks: Iterable[asyncio.Task[Any]]) -> None:
        """
        Wait until tasks have ended, whatever else is cancelled meanwhile.
        """
        while not self.closed and (left := [task for task in tasks if not task.done()]):
            try:
                await asyncio.wait(left)
            except asyncio.CancelledError as interrupt:
                self.interrupted(interrupt)

    def interrupted(self, interrupt: BaseException) -> None:
        """
        Take note of what interrupted the run while no call of its own was under way.
        """
        self.closed = isinstance(interrupt, GeneratorExit)
        self.run.interrupted(interrupt)

    def close(self) -> None:
        """
        Leave nothing behind, in the loop neither.
        """
        if self._timer is not None:
            self._timer.cancel()
        super().close()

    def _arm(self) -> None:
        """
        Have the deadline cut short what is under way then; the first call that waits needs it.
        """
        deadline = self.run.life.deadline
        if deadline is not None:
            # the active check before the call has just read the clock
            self._timer = self._loop.call_later(deadline - self._last, self._expire)

    def _expire(self) -> None:
        self._timer = None
        if self.run.life.check(self.instant()) is not None:
            self.abort()
        elif self._calls:
            # the host's clock is behind the loop's
            self._arm()


def running_task() -> asyncio.Task[Any]:
    """
    Give the task that runs now.
    """
    task = asyncio.current_task()
    if task is None:  # pragma: no cover  the flow runs in a task, and so does every call of it
        raise RuntimeError("no task is running")
    return task


def is_running(task: asyncio.Task[Any] | None) -> bool:
    """
    Whether a task runs right now; it does not while its coroutine is closed from outside.
    """
    try:
        return asyncio.current_task() is task
    except RuntimeError:
        return False


def _is_cancel(interrupt: BaseException | None) -> bool:
    return isinstance(interrupt, asyncio.CancelledError)

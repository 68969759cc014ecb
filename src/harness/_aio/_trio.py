"""
How the flow goes outside under trio; loaded only where trio runs.

1. The end of a run cancels the scope of each call under way; no other scope is touched.
2. The caller's cancel is trio's: it is carried to the caller behind the saved record, and ends the
   run as interrupted at its next call that waits.
3. Under a cancelled caller everything that waits is cancelled again. The run store is shielded from
   that for as long as it takes, a client that is still to be told the end for a second.

See sections 3.1 and 3.10.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from contextlib import suppress
from contextvars import copy_context
from typing import Any, Final, Generic, TypeVar, cast

import trio

from harness._aio._seam import AsyncSeam
from harness._records import RunRecord
from harness._run import Stopped
from harness._seam import Aborted, Answer, Batch, Classifier, Failed
from harness._states import FailureKind
from harness._sync import OneByOne
from harness.ports import Clock, IdSource

__all__ = ["TrioEngine", "TrioSeam", "to_thread"]

T = TypeVar("T")

#: Seconds for a client to take the last event of a run whose caller was cancelled.
_GRACE: Final = 1.0
#: The shortest wait for a deadline, in seconds, where the host's clock is behind.
_TICK: Final = 0.001


class TrioSeam(AsyncSeam):
    """
    Awaits in trio's tasks.

    Args:
        clock: The host's clock.
        ids: Gives globally unique ids.
        classifier: The host's mapping of exceptions.
    """

    __slots__ = ("_calls", "_is_armed", "_token", "nursery")

    #: Trio closes no coroutine that it runs: a ``GeneratorExit`` is a host's.
    is_closing: Final = False
    #: Holds the run's timer, and the workers of its batches.
    nursery: trio.Nursery

    def __init__(self, clock: Clock, ids: IdSource, classifier: Classifier | None) -> None:
        super().__init__(clock, ids, _with_time_outs(classifier))
        self._token = trio.lowlevel.current_trio_token()
        #: The scopes of the calls which the end of the run cuts short.
        self._calls: set[trio.CancelScope] = set()
        self._is_armed = False

    async def within(self, flow: Awaitable[RunRecord]) -> RunRecord:
        """
        Await the flow inside of a nursery, and leave nothing in it.
        """
        record: Any = None
        refused: Exception | None = None
        async with trio.open_nursery() as self.nursery:
            try:
                record = await flow
            except Exception as error:  # noqa: BLE001  raised below, outside of the nursery's group
                refused = error
            # the run has ended: a cancel of the caller's is the caller's again
            self.nursery.cancel_scope.shield = True
            self.nursery.cancel_scope.cancel()
        if refused is not None:
            raise refused
        return cast("RunRecord", record)

    def start(self, steps: Sequence[Callable[[], Awaitable[T]]]) -> Batch[T]:
        """
        Start a batch's steps, as many at once as the harness allows.
        """
        most = self.run.setup.max_parallel_tools
        return OneByOne(steps) if most == 1 else _Together(self, steps, most)

    def abort(self) -> None:
        """
        Cut short the calls under way.
        """
        for scope in tuple(self._calls):
            scope.cancel()

    def abort_soon(self) -> None:
        """
        Cut short the calls under way; from any thread.
        """
        # where trio has ended no call is under way
        with suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self.abort)

    async def _sleep(self, seconds: float) -> None:
        await trio.sleep(seconds)

    async def _awaited(self, value: Any, *, abortable: bool) -> Answer:
        """
        Await a call; the run's end cuts it short where *abortable*.
        """
        scope = trio.CancelScope()
        if abortable:
            self._calls.add(scope)
            self._arm()
        elif self.run.interrupt is not None:
            scope.shield = True
            scope.deadline = trio.current_time() + _GRACE
        try:
            with scope:
                value = await value
        except BaseException as error:  # noqa: BLE001  classified, or carried to the caller
            return self.failed(error)
        finally:
            self._calls.discard(scope)
        if scope.cancelled_caught:
            return Failed(self.instant(), interrupt=Aborted())
        return Answer(value, self.instant())

    async def _shielded(self, value: Any) -> Answer:
        """
        Await a call so that no cancel of the caller's cuts it short.
        """
        # a scope may swallow, says its type; a shield that nobody cancels does not
        answers: list[Answer] = []
        with trio.CancelScope(shield=True):
            answers.append(await self._settled(value))
        return answers[0]

    def _arm(self) -> None:
        """
        Have the deadline cut short what is under way then; the first call that waits needs it.
        """
        deadline = self.run.life.deadline
        if deadline is not None and not self._is_armed:
            self._is_armed = True
            self.nursery.start_soon(self._expire, deadline)

    async def _expire(self, deadline: float) -> None:
        # again where the host's clock is behind trio's
        while self.run.life.check(self.instant()) is None:  # noqa: ASYNC110  nobody tells the time
            await trio.sleep(max(deadline - self.instant(), _TICK))
        self.abort()


def _with_time_outs(classifier: Classifier | None) -> Classifier:
    """
    Let a host's ``trio.fail_after`` be what ``asyncio.timeout`` is: a time-out.
    """

    def classified(error: BaseException) -> FailureKind | None:
        kind = None if classifier is None else classifier(error)
        if kind is None and isinstance(error, trio.TooSlowError):
            return FailureKind.TIMEOUT
        return kind

    return classified


class _Together(Generic[T]):
    """
    Steps that a few workers take in turn; each is given back the moment it is finished.

    Args:
        seam: Ends what is left when the run ends, and holds the workers.
        steps: The steps.
        workers: How many steps may be under way.
    """

    def __init__(
        self, seam: TrioSeam, steps: Sequence[Callable[[], Awaitable[T]]], workers: int
    ) -> None:
        self._seam = seam
        self._left = deque(enumerate(steps))
        self._untaken = len(steps)
        self._done: deque[tuple[int, T]] = deque()
        self._fault: Exception | None = None
        self._woken = trio.Event()
        self._working = len(steps[:workers])
        for _ in steps[:workers]:
            seam.nursery.start_soon(self._work)

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
            self._woken = trio.Event()
            try:
                await self._woken.wait()
            except BaseException as interrupt:  # noqa: BLE001  carried to the caller by the flow
                self._seam.run.interrupted(interrupt)
                raise Stopped from None
        self._untaken -= 1
        return self._done.popleft()

    async def close(self) -> list[int]:
        """
        Abort what is under way and wait for it; give the places that nobody took.
        """
        self._left.clear()
        self._seam.abort()
        with trio.CancelScope(shield=True):
            while self._working:
                self._woken = trio.Event()
                await self._woken.wait()
        return [place for place, _ in self._done]

    async def _work(self) -> None:
        """
        Take step after step, until none is left or one of them ends the run.
        """
        try:
            while self._left:
                place, step = self._left.popleft()
                self._done.append((place, await step()))
                self._woken.set()
                if self._left:
                    # the run may end over this result: then nothing more is to start
                    await trio.lowlevel.cancel_shielded_checkpoint()
        except Exception as fault:  # noqa: BLE001  raised again where the batch is awaited
            self._left.clear()
            self._fault = self._fault or fault
        finally:
            self._working -= 1
            self._woken.set()


class _Waiter:
    """
    What one task waits for until another one says that it is there.
    """

    def __init__(self) -> None:
        self._event = trio.Event()
        self._error: Exception | None = None

    def done(self) -> bool:
        """
        Whether it was said, or nobody waits any more.
        """
        return bool(self._event.is_set())

    def set_result(self, _result: None) -> None:
        """
        Say that it is there.
        """
        self._event.set()

    def set_exception(self, error: Exception) -> None:
        """
        Say that it will never be there.
        """
        self._error = error
        self._event.set()

    def __await__(self) -> Generator[Any, None, None]:
        return self._wait().__await__()

    async def _wait(self) -> None:
        try:
            await self._event.wait()
        finally:
            # nobody waits any more
            self._event.set()
        if self._error is not None:
            raise self._error


class TrioEngine:
    """
    A trio that runs.
    """

    def __init__(self) -> None:
        self._token = trio.lowlevel.current_trio_token()

    def waiter(self) -> _Waiter:
        """
        Make something to wait for.
        """
        return _Waiter()

    def soon(self, function: Callable[[], object]) -> None:
        """
        Call a function in trio's thread; from any thread.
        """
        # a trio that has ended runs nothing
        with suppress(trio.RunFinishedError):
            self._token.run_sync_soon(function)

    def spawn(
        self, main: Callable[[], Coroutine[Any, Any, None]], ended: Callable[[bool], None]
    ) -> trio.Event:
        """
        Start a system task: it outlives who starts it, and not the whole program.
        """
        has_ended = trio.Event()

        async def task() -> None:
            try:
                await main()
            finally:
                # trio cancels no task before its first step
                ended(False)  # noqa: FBT003  as the other library says it
                has_ended.set()

        trio.lowlevel.spawn_system_task(task, context=copy_context())
        return has_ended

    async def wait(self, task: trio.Event) -> None:
        """
        Wait until a task has ended, a cancelled caller too: it ends soon.
        """
        with trio.CancelScope(shield=True):
            await task.wait()


async def to_thread(function: Callable[[], T]) -> T:
    """
    Call a function in a thread, which is left alone where the call is cut short.
    """
    value: T = await trio.to_thread.run_sync(function, abandon_on_cancel=True)
    return value

"""A run's events as an asynchronous iterator whose consumer may leave at any time (3.10)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from types import TracebackType
from typing import Any, Final, Self

from harness._aio._engine import Engine, Spawned, Waiter
from harness._aio._seam import AsyncSeam
from harness._records import RunRecord, StreamEvent
from harness._result import RunResult
from harness._run import Run
from harness._states import EventKind, OnDisconnect, StopCause
from harness.errors import ClientGoneError

__all__ = ["Channel", "RunEvents"]

#: What counts as received once it was taken; the run does not wait for a reader of the others.
_TAKEN: Final = frozenset({EventKind.CONTENT, EventKind.FAILURE, EventKind.DONE})

#: What comes of a run: its record, and the interrupt that goes on to the caller.
Ending = tuple[RunRecord, BaseException | None]


class Channel:
    """
    The client of a run whose events somebody iterates over; lives in one loop.

    Args:
        engine: Runs the run and its consumer.
    """

    __slots__ = (
        "_error",
        "_events",
        "_reader",
        "_run",
        "_seam",
        "engine",
        "gone",
        "is_awaited",
        "is_over",
        "record",
    )

    def __init__(self, engine: Engine) -> None:
        self.engine: Final = engine
        self._events: deque[tuple[StreamEvent, Waiter | None]] = deque()
        self._reader: Waiter | None = None
        self._error: BaseException | None = None
        self._run: Run | None = None
        self._seam: AsyncSeam | None = None
        #: Whether the consumer has left.
        self.gone = False
        #: Whether it waits for the run's end nevertheless.
        self.is_awaited = False
        #: Whether the run has ended.
        self.is_over = False
        #: The run's record, once it has ended.
        self.record: RunRecord | None = None

    def attach(self, run: Run, seam: AsyncSeam) -> None:
        """
        Take the run whose client this is.

        Args:
            run: The run.
            seam: Cuts short the run's call under way.
        """
        self._run = run
        self._seam = seam

    async def carry(self, drive: Callable[[], Coroutine[Any, Any, Ending]]) -> None:
        """
        Drive the run, and hand its ending over to the consumer.
        """
        error: BaseException | None = None
        try:
            self.record, error = await drive()
        except Exception as refused:  # noqa: BLE001  raised again where the consumer iterates
            error = refused
        self._end(error)
        if self.gone and not self.is_awaited:
            self.raise_interrupt()

    def raise_interrupt(self) -> None:
        """
        Raise what interrupted the run, where the consumer has not met it.

        Raises:
            BaseException: What a host raised that is no ``Exception``.
        """
        error, self._error = self._error, None
        if error is not None and not isinstance(error, Exception):
            raise error

    def ended(self, *, cancelled: bool) -> None:
        """
        Take note that the run's task has ended, maybe cancelled before its first step.
        """
        if not self.is_over and cancelled:
            self._end(asyncio.CancelledError())

    def _end(self, error: BaseException | None) -> None:
        self.is_over = True
        self._error = error
        # the run holds its client: a circle is freed late
        self._run = self._seam = None
        self._wake()

    def send(self, event: StreamEvent) -> Awaitable[None] | None:
        """
        Offer an event; content is accepted once the consumer has taken it.

        Raises:
            ClientGoneError: The consumer has left.
        """
        if self.gone:
            raise ClientGoneError
        taken = self.engine.waiter() if event.kind in _TAKEN else None
        self._events.append((event, taken))
        self._wake()
        return taken

    async def take(self) -> StreamEvent:
        """
        Take the next event.

        Raises:
            StopAsyncIteration: There is none any more.
        """
        while True:
            while self._events:
                event, taken = self._events.popleft()
                if taken is None:
                    return event
                # else the run was interrupted while it offered the event, and gave it up
                if not taken.done():
                    taken.set_result(None)
                    return event
            if self.gone or self.is_over:
                error, self._error = self._error, None
                raise error or StopAsyncIteration
            await self._offered()

    async def _offered(self) -> None:
        """
        Wait for an event, or for the end.
        """
        if self._reader is not None:
            raise RuntimeError("the events of a run have one reader at a time")
        self._reader = self.engine.waiter()
        try:
            await self._reader
        finally:
            self._reader = None

    def leave(self) -> None:
        """
        The consumer leaves: a cancel of the run, unless it has ended or is to go on.
        """
        run, seam = self._run, self._seam
        if self.gone or self.is_over or run is None or seam is None:
            return
        self.gone = True
        while self._events:
            _, taken = self._events.popleft()
            if taken is not None and not taken.done():
                taken.set_exception(ClientGoneError())
        self._wake()
        if run.setup.on_disconnect is OnDisconnect.CANCEL:
            run.life.stop(StopCause.CLIENT_DISCONNECTED, seam.instant())
            seam.abort_soon()

    def leave_soon(self) -> None:
        """
        The consumer was collected, in whichever thread.
        """
        if not self.is_over:
            self.engine.soon(self.leave)

    @property
    def goes_on(self) -> bool:
        """
        Whether the run does not end because its consumer left.
        """
        return self._run is not None and self._run.setup.on_disconnect is OnDisconnect.DETACH

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)


class RunEvents(AsyncIterator[StreamEvent]):
    """
    The events of one run, from ``METADATA`` to ``DONE``; made by :meth:`AsyncHarness.stream`.

    Iterate with ``async for``. Leaving early, by ``break``, by :meth:`aclose` or by dropping it,
    tells the run that its client is gone; with ``async with`` that is certain to happen at once,
    and the run's record is saved when the block is left. Cancelling one ``anext`` is no leaving.
    """

    __slots__ = ("__weakref__", "_channel", "_task")

    def __init__(self, channel: Channel, task: Spawned) -> None:
        self._channel = channel
        self._task = task

    @property
    def result(self) -> RunResult | None:
        """
        The run's result, once it has ended.
        """
        record = self._channel.record
        return None if record is None else RunResult(record)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> StreamEvent:
        return await self._channel.take()

    async def aclose(self) -> None:
        """
        Leave, and wait until the run has ended, unless it is to go on without its client.

        Raises:
            BaseException: What a host raised meanwhile that is no ``Exception``.
        """
        channel = self._channel
        channel.leave()
        if channel.is_over or not channel.goes_on:
            channel.is_awaited = True
            try:
                await channel.engine.wait(self._task)
            finally:
                channel.raise_interrupt()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __del__(self) -> None:
        self._channel.leave_soon()

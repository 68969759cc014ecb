"""Which library runs here, and the few things that the driver asks of either of them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from typing import Any, Protocol

__all__ = ["Engine", "LoopEngine", "Spawned", "Waiter", "engine_here", "in_trio", "running_loop"]

#: A task that was started, for :meth:`Engine.wait`; whoever starts one holds it until it has ended.
Spawned = Any


class Waiter(Protocol):
    """
    What one task waits for until another one says that it is there; an ``asyncio.Future``, say.
    """

    def done(self) -> bool:
        """
        Whether it was said, or nobody waits any more.
        """
        ...

    def set_result(self, result: None, /) -> None:
        """
        Say that it is there.
        """
        ...

    def set_exception(self, error: Exception, /) -> None:
        """
        Say that it will never be there.
        """
        ...

    def __await__(self) -> Generator[Any, None, None]: ...


class Engine(Protocol):
    """
    A library that runs coroutines.
    """

    def waiter(self) -> Waiter:
        """
        Make something to wait for.
        """
        ...

    def soon(self, function: Callable[[], object], /) -> None:
        """
        Call a function where the coroutines run; from any thread.
        """
        ...

    def spawn(
        self, main: Callable[[], Coroutine[Any, Any, None]], ended: Callable[[bool], None], /
    ) -> Spawned:
        """
        Start a task of its own; *ended* is told whether it was cancelled before its first step.
        """
        ...

    async def wait(self, task: Spawned, /) -> None:
        """
        Wait until a task has ended, who waits being cancelled or not.
        """
        ...


class LoopEngine:
    """
    An asyncio loop.
    """

    def __init__(self) -> None:
        self._loop = running_loop()

    def waiter(self) -> asyncio.Future[None]:
        """
        Make something to wait for.
        """
        return self._loop.create_future()

    def soon(self, function: Callable[[], object]) -> None:
        """
        Call a function in the loop; from any thread.
        """
        # a loop that was closed meanwhile runs nothing
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function)

    def spawn(
        self, main: Callable[[], Coroutine[Any, Any, None]], ended: Callable[[bool], None]
    ) -> asyncio.Task[None]:
        """
        Start a task of its own.
        """
        task = self._loop.create_task(main())
        task.add_done_callback(lambda task: ended(task.cancelled()))
        return task

    async def wait(self, task: Spawned) -> None:
        """
        Wait until a task has ended, and pass a cancel that came meanwhile on.
        """
        cancelled: asyncio.CancelledError | None = None
        while not task.done():
            try:
                await asyncio.wait((task,))
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled


def in_trio() -> bool:
    """
    Whether a task of trio's runs here; nobody's trio is loaded to find that out.
    """
    # nothing, or half of it, where another thread is importing trio right now
    current_task = getattr(sys.modules.get("trio.lowlevel"), "current_task", None)
    if current_task is None:
        return False
    try:
        current_task()
    except RuntimeError:
        return False
    return True


def running_loop() -> asyncio.AbstractEventLoop:
    """
    Give the asyncio loop that runs here.

    Raises:
        RuntimeError: There is none; says what to do instead.
    """
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        message = "AsyncHarness runs under asyncio or trio; elsewhere, run a Harness in a thread"
        raise RuntimeError(message) from None


def engine_here() -> Engine:
    """
    Give the library that runs here.

    Raises:
        RuntimeError: None does; says what to do instead.
    """
    if in_trio():
        # only here: whoever runs asyncio needs no trio
        from harness._aio._trio import TrioEngine  # noqa: PLC0415

        return TrioEngine()
    return LoopEngine()

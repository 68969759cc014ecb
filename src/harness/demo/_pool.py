"""A bounded connection pool that counts who waits for it and who waited in vain."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import TracebackType


class Closable(Protocol):
    """
    What the pool needs of a connection.
    """

    def close(self) -> None:
        """
        Give the connection's resources back.
        """


class Gate(Protocol):
    """
    The part of :class:`threading.Condition` that the pool uses, so that a test can script it.
    """

    def __enter__(self) -> bool:
        """
        Take the lock.
        """
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        """
        Give the lock back.
        """

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        """
        Give the lock away until *predicate* holds; its last value is the answer.
        """
        ...

    def notify(self) -> None:
        """
        Wake one waiter.
        """


ConnectionT = TypeVar("ConnectionT", bound=Closable)


@frozen(kw_only=True)
class PoolSnapshot:
    """
    The pool's counters at one instant.

    Attributes:
        size: How many connections there are.
        in_use: How many of them are out.
        waiting: How many callers wait for one.
        waiting_peak: The most callers that ever waited at once.
        acquired: How many times a connection was handed out.
        timeouts: How many callers gave up.
    """

    size: int
    in_use: int
    waiting: int
    waiting_peak: int
    acquired: int
    timeouts: int


class PoolExhaustedError(TimeoutError):
    """
    No connection came free within the acquire time-out.

    Attributes:
        snapshot: The pool's counters when the caller gave up, itself among the waiting.
        waited_ms: How long the caller had waited.
    """

    def __init__(self, snapshot: PoolSnapshot, waited_ms: int) -> None:
        super().__init__(snapshot, waited_ms)
        self.snapshot = snapshot
        self.waited_ms = waited_ms

    def __str__(self) -> str:
        at = self.snapshot
        return (
            f"the connection pool is exhausted: size={at.size} in_use={at.in_use} "
            f"waiting={at.waiting} waited_ms={self.waited_ms}"
        )


@frozen(kw_only=True)
class Lease(Generic[ConnectionT]):
    """
    A connection on loan.

    Attributes:
        connection: The connection, nobody else's until it is given back.
        waited_ms: How long the caller waited for it.
    """

    connection: ConnectionT
    waited_ms: int


class ConnectionPool(Generic[ConnectionT]):
    """
    Hand out at most *size* connections at a time.

    Args:
        connect: Opens one connection; called *size* times, at once.
        size: How many connections there are.
        acquire_timeout_ms: How long a caller waits for a connection.
        gate: The lock and wake-up that callers share.
        clock: Seconds on a monotonic clock.
    """

    def __init__(
        self,
        connect: Callable[[], ConnectionT],
        size: int,
        *,
        acquire_timeout_ms: int,
        gate: Gate | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._size = size
        self._timeout = acquire_timeout_ms / 1000
        self._gate: Gate = threading.Condition() if gate is None else gate
        self._clock = clock
        self._idle: list[ConnectionT] = []
        self._waiting = self._waiting_peak = self._acquired = self._timeouts = 0
        self._fill(connect)

    @contextmanager
    def lease(self) -> Generator[Lease[ConnectionT]]:
        """
        Lend a connection for the length of a ``with`` block.

        Yields:
            The connection, and how long it was waited for.

        Raises:
            PoolExhaustedError: If none came free in time. The pool stays usable.
        """
        lease = self._acquire()
        try:
            yield lease
        finally:
            self._release(lease.connection)

    def snapshot(self) -> PoolSnapshot:
        """
        Read all counters at one instant.

        Returns:
            The counters.
        """
        with self._gate:
            return self._counters()

    def close(self) -> None:
        """
        Close every connection that is not on loan; call it once the callers are gone.
        """
        with self._gate:
            while self._idle:
                self._idle.pop().close()

    def _fill(self, connect: Callable[[], ConnectionT]) -> None:
        try:
            self._idle.extend(connect() for _ in range(self._size))
        except BaseException:
            self.close()
            raise

    def _acquire(self) -> Lease[ConnectionT]:
        with self._gate:
            waited_ms = 0 if self._idle else self._wait()
            self._acquired += 1
            return Lease(connection=self._idle.pop(), waited_ms=waited_ms)

    def _wait(self) -> int:
        start = self._clock()
        self._waiting += 1
        self._waiting_peak = max(self._waiting_peak, self._waiting)
        try:
            came_free = self._gate.wait_for(lambda: bool(self._idle), self._timeout)
            waited_ms = round((self._clock() - start) * 1000)
            if not came_free:
                self._timeouts += 1
                raise PoolExhaustedError(self._counters(), waited_ms)
        finally:
            self._waiting -= 1
        return waited_ms

    def _release(self, connection: ConnectionT) -> None:
        with self._gate:
            self._idle.append(connection)
            self._gate.notify()

    def _counters(self) -> PoolSnapshot:
        return PoolSnapshot(
            size=self._size,
            in_use=self._size - len(self._idle),
            waiting=self._waiting,
            waiting_peak=self._waiting_peak,
            acquired=self._acquired,
            timeouts=self._timeouts,
        )

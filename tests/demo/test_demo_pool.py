"""The bounded connection pool, without threads and without real time."""

import pickle
from collections.abc import Callable
from types import TracebackType

import pytest

from harness.demo._pool import ConnectionPool, PoolExhaustedError, PoolSnapshot


class _Connection:
    """A connection that knows whether it was closed."""

    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True


class _Gate:
    """A condition whose wait lasts no time: it advances the clock, and does what a test planned."""

    def __init__(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.now = 0.0
        self.meanwhile = meanwhile
        self.woken = 0

    def __enter__(self) -> bool:
        return True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        pass

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        self.meanwhile()
        self.now += (timeout or 0.0) / (2 if predicate() else 1)
        return predicate()

    def notify(self) -> None:
        self.woken += 1


def _pool(size: int, gate: _Gate) -> ConnectionPool[_Connection]:
    return ConnectionPool(
        _Connection, size, acquire_timeout_ms=100, gate=gate, clock=lambda: gate.now
    )


def test_a_lease_is_exclusive_and_given_back() -> None:
    """Two leases hold two connections, and both are idle after their blocks."""
    pool = _pool(2, _Gate())
    with pool.lease() as one, pool.lease() as two:
        assert one.connection is not two.connection
        assert pool.snapshot().in_use == 2
    assert pool.snapshot() == PoolSnapshot(
        size=2, in_use=0, waiting=0, waiting_peak=0, acquired=2, timeouts=0
    )


def test_a_lease_is_given_back_after_an_error() -> None:
    """An exception in the block keeps no connection."""
    pool = _pool(1, _Gate())
    with pytest.raises(KeyError), pool.lease():
        raise KeyError
    assert pool.snapshot().in_use == 0


def test_a_free_connection_is_not_waited_for() -> None:
    """Nobody waits while a connection is idle."""
    gate = _Gate()
    with _pool(1, gate).lease() as lease:
        assert (lease.waited_ms, gate.now) == (0, 0.0)


def test_an_exhausted_pool_refuses_after_the_timeout() -> None:
    """With all connections out, a caller waits for the time-out and is told the pool's state."""
    gate = _Gate()
    pool = _pool(1, gate)
    with pool.lease(), pytest.raises(PoolExhaustedError) as refused, pool.lease():
        pass
    assert gate.now == 0.1
    assert str(refused.value) == (
        "the connection pool is exhausted: size=1 in_use=1 waiting=1 waited_ms=100"
    )
    assert pool.snapshot().timeouts == 1
    assert pool.snapshot().waiting == 0


def test_a_refused_caller_leaves_the_pool_usable() -> None:
    """After a time-out the next caller gets the connection that came free."""
    pool = _pool(1, _Gate())
    with pool.lease() as first, pytest.raises(PoolExhaustedError), pool.lease():
        pass
    with pool.lease() as second:
        assert second.connection is first.connection


def test_a_connection_that_comes_free_ends_the_wait() -> None:
    """A waiter gets the connection that another gives back, and knows how long it waited."""
    gate = _Gate()
    pool = _pool(1, gate)
    first = pool.lease()
    first.__enter__()
    gate.meanwhile = lambda: first.__exit__(None, None, None)
    with pool.lease() as lease:
        assert lease.waited_ms == 50
    assert gate.woken == 2
    assert pool.snapshot().timeouts == 0


def test_waiting_callers_are_counted() -> None:
    """The counters show who waits now, and the most that ever waited at once."""
    gate = _Gate()
    pool = _pool(1, gate)
    seen: list[PoolSnapshot] = []
    gate.meanwhile = lambda: seen.append(pool.snapshot())
    with pool.lease(), pytest.raises(PoolExhaustedError), pool.lease():
        pass
    assert [snapshot.waiting for snapshot in seen] == [1]
    assert (pool.snapshot().waiting, pool.snapshot().waiting_peak) == (0, 1)


def test_closing_closes_every_connection() -> None:
    """A closed pool leaves no connection open."""
    made: list[_Connection] = []

    def connect() -> _Connection:
        made.append(_Connection())
        return made[-1]

    ConnectionPool(connect, 3, acquire_timeout_ms=1).close()
    assert [connection.closed for connection in made] == [True, True, True]


def test_a_failed_start_closes_what_it_opened() -> None:
    """If one connection can't be opened, those opened before are closed."""
    made: list[_Connection] = []

    def connect() -> _Connection:
        if made:
            raise OSError("no more files")
        made.append(_Connection())
        return made[-1]

    with pytest.raises(OSError, match="no more files"):
        ConnectionPool(connect, 2, acquire_timeout_ms=1)
    assert made[0].closed


def test_the_error_survives_pickling() -> None:
    """The error keeps its values and its text through pickle."""
    at = PoolSnapshot(size=1, in_use=1, waiting=2, waiting_peak=2, acquired=1, timeouts=1)
    copy = pickle.loads(pickle.dumps(PoolExhaustedError(at, 7)))  # noqa: S301 - our own bytes
    assert (copy.snapshot, copy.waited_ms) == (at, 7)

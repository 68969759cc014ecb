"""What clock, ids and classifier raise between two awaited calls (section 3.1)."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from threading import Event
from typing import Any

import pytest

from harness import AgentTurn, AgentView, AsyncHarness, CancelToken, Fact, Limits, RunRecord
from harness.errors import InvalidArgumentError
from harness.stores.memory import MemoryRunStore
from tests.aio.worlds import LoopClock, approve, asking, leaping, only, tool

_INTERRUPTS = [KeyboardInterrupt, SystemExit, GeneratorExit]


class _Clock(LoopClock):
    """A clock that does something else at its n-th reading."""

    def __init__(self, at: int, then: Callable[[], Any]) -> None:
        self._at, self._then, self._readings = at, then, 0

    def monotonic(self) -> float:
        self._readings += 1
        return float(self._then()) if self._readings == self._at else super().monotonic()

    def utc(self) -> datetime:
        return LoopClock().utc()

    async def wait(self, seconds: float, wake: Event) -> None:
        raise AssertionError(seconds)


def _raising(error: BaseException | type[BaseException]) -> Callable[..., Any]:
    def fail(*_arguments: object) -> Any:
        raise error

    return fail


async def _found() -> Fact:
    await asyncio.sleep(1)
    return Fact("it broke", "log:1")


async def _agent(view: AgentView) -> AgentTurn:
    await asyncio.sleep(1)
    return asking(["logs"])(view)


def _world(*, plain: bool, **parts: Any) -> AsyncHarness:
    found: Any = (lambda: Fact("it broke", "log:1")) if plain else _found
    given: dict[str, Any] = {
        "agent": asking(["logs"]) if plain else _agent,
        "tools": [tool("logs", found)],
        "semantic_guard": approve,
        "limits": Limits(),
        "clock": LoopClock(),
    }
    return AsyncHarness(**{**given, **parts})


def _left(host: AsyncHarness, kind: type[BaseException]) -> RunRecord:
    """Run; the interrupt has to come out of it, with its record saved."""

    async def main() -> None:
        with pytest.raises(kind):
            await host.run("why?")

    leaping(main)
    return only(host)


@pytest.mark.parametrize("interrupt", _INTERRUPTS)
@pytest.mark.parametrize("plain", [True, False], ids=["plain", "awaited"])
@pytest.mark.parametrize("reading", range(2, 14))
def test_an_interrupt_of_the_clock_loses_nothing(
    reading: int, plain: bool, interrupt: type[BaseException]
) -> None:
    """Whenever the clock is interrupted, the run is saved and every call accounted."""
    record = _left(_world(plain=plain, clock=_Clock(reading, _raising(interrupt))), interrupt)
    assert record.run_state.name in {"CANCELLED", "FAILED"}
    assert len(record.attempts) == record.used.model_attempts + record.used.tool_calls


@pytest.mark.parametrize("interrupt", _INTERRUPTS)
def test_an_interrupt_of_the_id_source_ends_the_run(interrupt: type[BaseException]) -> None:
    """The ids of evidence come from the host too, a ``GeneratorExit`` of theirs included."""
    ids = iter(["run"])

    def next_id() -> str:
        for given in ids:
            return given
        raise interrupt

    record = _left(_world(plain=True, ids=next_id), interrupt)
    assert record.stop_cause is not None
    assert record.stop_cause.name == "INTERRUPTED"


def test_without_a_first_time_nothing_is_run() -> None:
    """A clock that cannot tell the time when a run begins is a wrong argument."""
    store = MemoryRunStore()
    host = _world(plain=True, clock=_Clock(1, _raising(OSError)), run_store=store)
    with pytest.raises(InvalidArgumentError, match="monotonic"):
        leaping(lambda: host.run("why?"))
    assert len(store) == 0


def test_a_token_aborts_where_the_clock_is_interrupted() -> None:
    """The call under way is cut, though the clock raises when it is asked when that was."""
    clock, token = LoopClock(), CancelToken()

    async def stuck() -> None:
        await asyncio.Future()

    def cancel() -> None:
        clock.monotonic = _raising(KeyboardInterrupt)  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt):
            token.cancel("enough")
        del clock.monotonic

    class Host(LoopClock):
        def monotonic(self) -> float:
            return clock.monotonic()

    host = _world(plain=True, agent=lambda _view: stuck(), clock=Host())

    async def main() -> RunRecord:
        asyncio.get_running_loop().call_later(3, cancel)
        return (await host.run("why?", cancel=token)).record

    record = leaping(main)
    assert record.cancel_reason == "enough"
    assert [attempt.outcome.name for attempt in record.attempts] == ["INTERRUPTED"]

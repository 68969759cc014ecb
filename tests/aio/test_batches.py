"""A batch of tools runs together, as many as allowed; rows keep the order of the calls."""

import asyncio
from collections import deque
from typing import Any

import pytest

from harness import AsyncHarness, FunctionTool, Limits, RunRecord, TraceCode
from harness.stores.memory import MemoryCanonicalStore
from tests.aio.worlds import (
    LoopClock,
    asking,
    ending,
    leaping,
    only,
    sleeping,
    tool,
    until,
    world,
)

_NAMES = ("a", "b", "c", "d")


class _Under:
    """Counts how many of its tools are under way."""

    def __init__(self) -> None:
        self.now = self.most = 0

    def tool(self, name: str, seconds: float) -> FunctionTool:
        async def body() -> str:
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(seconds)
            self.now -= 1
            return name

        return tool(name, body)


class _Kept(MemoryCanonicalStore):
    """Notes when each record was saved."""

    def __init__(self) -> None:
        super().__init__()
        self.saved: list[tuple[str, float]] = []

    def save(self, record: Any) -> None:
        self.saved.append((record.invocation.tool, asyncio.get_running_loop().time()))
        super().save(record)


def _run(host: AsyncHarness, **given: Any) -> RunRecord:
    return leaping(lambda: host.run("why?", **given)).record


def test_a_batch_runs_together() -> None:
    """Each result is saved the moment it is there; rows and ids keep the order of the calls."""
    store = _Kept()
    tools = [sleeping(name, 4 - place) for place, name in enumerate(_NAMES)]
    record = _run(world(asking(_NAMES), *tools, canonical_store=store))
    assert store.saved == [("d", 1), ("c", 2), ("b", 3), ("a", 4)]
    assert [row.tool for row in record.invocations] == list(_NAMES)
    assert [row.number for row in record.invocations] == [1, 2, 3, 4]
    assert [row.invocation_id[-1] for row in record.invocations] == ["1", "2", "3", "4"]


@pytest.mark.parametrize(("most", "seconds"), [(1, 4), (2, 2), (3, 2), (9, 1)])
def test_no_more_run_together_than_allowed(most: int, seconds: float) -> None:
    """The bound holds, and a free place is taken at once."""
    under = _Under()
    tools = [under.tool(name, 1) for name in _NAMES]
    record = _run(world(asking(_NAMES), *tools, max_parallel_tools=most))
    assert under.most == min(most, 4)
    assert record.trace[-1].at == seconds


def test_the_agent_sees_the_order_of_its_calls() -> None:
    """The batch that an agent is shown stands in the order in which it asked."""
    shown: list[list[str]] = []
    found = asking(_NAMES)

    def agent(view: Any) -> Any:
        shown.append([record.invocation.tool for record in view.batch])
        return found(view)

    _run(world(agent, *[sleeping(name, 4 - place) for place, name in enumerate(_NAMES)]))
    assert shown == [[], list(_NAMES)]


def test_the_deadline_aborts_what_is_left_of_a_batch() -> None:
    """What was there in time has its row; what was cut short has an attempt alone."""
    tools = (sleeping("a", 99), sleeping("b", 1), sleeping("c", 2), sleeping("d", 99))
    record = _run(world(asking(_NAMES), *tools), deadline=10)
    assert ending(record) == ("TIMED_OUT", "DEADLINE_EXCEEDED", "FALLBACK")
    assert [row.tool for row in record.invocations] == ["b", "c"]
    late = [attempt.late for attempt in record.attempts[1:]]
    assert sorted(late) == [False, False, True, True]


def test_a_result_that_is_too_large_ends_the_others() -> None:
    """A run that ends amid a batch aborts what is under way, and starts nothing more."""
    tools = (sleeping("a", 99), sleeping("b", 2, "x" * 100), sleeping("c", 1), sleeping("d", 1))
    few = world(
        asking(_NAMES),
        *tools,
        limits=Limits(deadline=None, result_bytes=50, tool_calls=9),
        max_parallel_tools=2,
    )
    record = _run(few)
    assert ending(record) == ("FAILED", "RESULT_TOO_LARGE", "FAILED")
    assert [row.tool for row in record.invocations] == ["b"]
    assert record.used.tool_calls == 2


def test_an_interrupt_in_a_batch_ends_the_others() -> None:
    """What one tool raises that is no ``Exception`` comes out after the others were aborted."""
    closed = []

    async def interrupted() -> None:
        await asyncio.sleep(1)
        raise KeyboardInterrupt

    async def waiting() -> None:
        try:
            await asyncio.Future()
        finally:
            closed.append(1)

    host = world(asking(["a", "b"]), tool("a", interrupted), tool("b", waiting))

    async def main() -> None:
        with pytest.raises(KeyboardInterrupt):
            await host.run("why?")

    leaping(main)
    assert closed == [1]
    assert ending(only(host)) == ("CANCELLED", "INTERRUPTED", "CANCELLED")


def test_a_result_that_nobody_took_is_traced() -> None:
    """What another tool finished in the instant that ended the run is discarded, and said to be."""
    tools = (sleeping("a", 1, "x" * 100), sleeping("b", 1), sleeping("c", 1))
    record = _run(world(asking("abc"), *tools, limits=Limits(deadline=None, result_bytes=50)))
    assert [row.tool for row in record.invocations] == ["a"]
    discarded = [e for e in record.trace if e.code is TraceCode.LATE_RESULT_DISCARDED]
    assert sorted(event.detail["tool"] for event in discarded) == ["b", "c"]


def test_a_cancelled_task_ends_its_batch() -> None:
    """The caller's cancel aborts every tool of the batch, however slowly they end."""
    ended = []

    async def slowly() -> None:
        try:
            await asyncio.Future()
        finally:
            await asyncio.sleep(3)
            ended.append(asyncio.get_running_loop().time())

    host = world(asking(["a", "b"]), tool("a", slowly), tool("b", slowly))

    async def main() -> None:
        loop = asyncio.get_running_loop()
        task = loop.create_task(host.run("why?"))
        loop.call_at(2, task.cancel)
        loop.call_at(4, task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task

    leaping(main)
    assert ended == [5, 5]
    assert ending(only(host)) == ("CANCELLED", "INTERRUPTED", "CANCELLED")


def test_a_fault_of_the_harness_in_a_batch_fails_closed() -> None:
    """What goes wrong beside a tool call ends the run, and the other calls with it."""

    class Breaking(LoopClock):
        breaks = False

        def monotonic(self) -> float:
            if self.breaks:
                raise OSError
            return super().monotonic()

    clock = Breaking()

    async def body() -> None:
        clock.breaks = True

    record = _run(
        world(asking("aab"), tool("a", body), sleeping("b", 99), clock=clock, max_parallel_tools=2)
    )
    assert ending(record) == ("FAILED", "INTERNAL_ERROR", "FAILED")


def test_a_worker_that_a_stranger_cancels_before_it_began() -> None:
    """Cancelling a batch's own task is a cancel of the run: the batch does not wait for ever."""
    host = world(asking(["a", "b"]), sleeping("a", 1), sleeping("b", 99))

    async def main() -> None:
        task = asyncio.create_task(host.run("why?"))
        await until(lambda: len(asyncio.all_tasks()) > 2)
        workers = deque(asyncio.all_tasks() - {asyncio.current_task(), task})
        assert len(workers) == 2
        worker = workers.pop()
        assert worker is not None
        worker.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    leaping(main)
    assert ending(only(host)) == ("CANCELLED", "INTERRUPTED", "CANCELLED")


def test_calls_that_no_tool_can_take_stand_in_their_place() -> None:
    """Unknown tools have their rows between those of the others."""
    record = _run(world(asking(["a", "nobody", "b"]), sleeping("a", 2), sleeping("b", 1)))
    codes = [None if row.code is None else row.code.name for row in record.invocations]
    assert codes == [None, "UNKNOWN_TOOL", None]

"""What clock or ids raise while a batch of tools runs together (section 3.1)."""

import asyncio
from typing import Any

import pytest

from harness import AgentTurn, AsyncHarness, DiagnosisDraft, SemanticVerdict
from harness._aio._together import Together
from harness._values import ToolCall
from harness._view import AgentView
from harness.stores.memory import MemoryRunStore
from harness.testing import VirtualClock
from harness.testing.faults import FaultPlan


def _agent(view: AgentView) -> AgentTurn:
    if view.records:
        return AgentTurn(draft=DiagnosisDraft(None))
    return AgentTurn([ToolCall("logs", {"window": window}, {}) for window in "ab"])


async def logs() -> str:
    """Find something."""
    await asyncio.sleep(0)
    return "it broke"


def _judge(_case: object) -> SemanticVerdict:
    return SemanticVerdict.SUPPORTED


def _harness(plan: FaultPlan, store: MemoryRunStore) -> AsyncHarness:
    return AsyncHarness(
        _agent,
        [logs],
        semantic_guard=_judge,
        run_store=store,
        clock=plan.wrap("clock", VirtualClock()),
        max_parallel_tools=2,
    )


@pytest.mark.parametrize("reading", range(3, 14))
def test_an_interrupt_of_the_clock_ends_a_batch(reading: int) -> None:
    """Whichever worker reads a clock that is interrupted, the run is saved and nothing hangs."""
    store = MemoryRunStore()
    plan = FaultPlan([f"clock.monotonic:{reading}=raise:GeneratorExit"])

    async def run() -> Any:
        return await asyncio.wait_for(_harness(plan, store).run("why?", run_id="run"), 5)

    with pytest.raises(GeneratorExit):
        asyncio.run(run())
    record = store.load("run")
    assert record is not None
    assert record.run_state.name in {"CANCELLED", "FAILED"}
    assert plan.unused == ()


def test_a_worker_that_is_closed_raises_nothing() -> None:
    """A worker that a loop left behind is closed without a word: nobody interrupted the run."""

    class Ends:
        def abort(self, tasks: Any) -> None:
            raise AssertionError(tasks)

        async def ended(self, tasks: Any) -> None:
            raise AssertionError(tasks)

        def interrupted(self, interrupt: BaseException) -> None:
            raise AssertionError(interrupt)

    async def start() -> Any:
        batch: Together[None] = Together(Ends(), asyncio.get_running_loop(), [], 0)
        return batch, batch._work()

    async def stuck() -> None:
        await asyncio.Event().wait()

    async def close_within() -> None:
        batch, work = await start()
        batch._left.append((0, stuck))
        work.send(None)
        work.close()
        assert batch._fault is None

    asyncio.run(close_within())

    async def left_behind() -> Any:
        batch, work = await start()
        batch._left.append((0, stuck))
        work.send(None)
        return batch, work

    batch, work = asyncio.run(left_behind())
    work.close()
    assert batch._fault is None

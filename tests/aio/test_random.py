"""Random worlds: whatever falls together, a run ends once, is saved, and leaves nothing behind."""

import asyncio
import random
from contextlib import suppress
from typing import Any

import pytest

from harness import (
    AgentTurn,
    AgentView,
    AsyncHarness,
    Budget,
    CancelToken,
    FunctionTool,
    Limits,
    RunRecord,
    ToolCall,
)
from harness.errors import ProviderTimeoutError
from harness.stores.memory import MemoryCanonicalStore, MemoryRunStore
from tests.aio.worlds import Slow, asking, leaping, only, sleeping, world

#: How many worlds a test makes, so that a failure names a small range.
_SEEDS = 20
#: Seconds; small whole numbers, so that many things fall together.
_SECONDS = range(4)


class _World:
    """A harness whose tools take their time, fail, resist, and one that is cancelled meanwhile."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)  # noqa: S311  no secret
        self.open = 0
        self.budget = Budget(tool_calls=self.dice.choice([None, 3, 50]))
        names = "abcd"
        batches = [self.dice.choices(names, k=self.dice.randint(1, 6)) for _ in range(3)]
        self.harness: AsyncHarness = world(
            self._agent(batches),
            *(self._tool(name) for name in names),
            canonical_store=self._slow(MemoryCanonicalStore(), "save", "load"),
            run_store=MemoryRunStore(),
            max_parallel_tools=self.dice.randint(1, 4),
            limits=Limits.none(),
        )

    def _slow(self, host: Any, *methods: str) -> Any:
        if self.dice.random() < 0.5:
            return host
        return Slow(host, **{name: self.dice.choice(_SECONDS) for name in methods})

    def _agent(self, batches: list[list[str]]) -> Any:
        turns = asking(*batches)

        async def agent(view: AgentView) -> AgentTurn:
            await asyncio.sleep(self.dice.choice(_SECONDS))
            found = any(record.facts for record in view.records)
            return turns(view) if found or view.turn < 4 else AgentTurn(calls=[ToolCall("a")])

        return agent

    def _tool(self, name: str) -> FunctionTool:
        kind = self.dice.choice(["plain", "quick", "slow", "slow", "fails", "resists", "leaves"])
        if kind == "plain":
            return FunctionTool(lambda: f"{name} found", name=name)
        if kind == "quick":
            return sleeping(name, 0)

        async def body() -> str:
            self.open += 1
            try:
                await asyncio.sleep(self.dice.choice(_SECONDS))
                if kind == "fails":
                    raise ProviderTimeoutError
                if kind == "leaves" and self.dice.random() < 0.3:
                    raise SystemExit
            except asyncio.CancelledError:
                if kind == "resists":
                    await asyncio.sleep(self.dice.choice(_SECONDS))
                    return "kept the cancel to itself"
                raise
            finally:
                self.open -= 1
            return f"{name} found something"

        return FunctionTool(body, name=name)

    async def run(self) -> None:
        """Run once, with a deadline, a token and a cancelled task as the dice fall."""
        loop, token = asyncio.get_running_loop(), CancelToken()
        deadline = self.dice.choice([None, 0, *range(1, 12)])
        given: dict[str, Any] = {"cancel": token, "budget": self.budget, "deadline": deadline}
        if self.dice.random() < 0.4:
            loop.call_later(self.dice.randint(0, 12), token.cancel)
        streamed = self.dice.random() < 0.4
        task = asyncio.ensure_future(self._streamed(given) if streamed else self._awaited(given))
        for _ in range(self.dice.choice([0, 0, 0, 1, 2])):
            loop.call_later(self.dice.randint(1, 12), task.cancel)
        await asyncio.wait([task])
        if not task.cancelled():
            assert isinstance(task.exception(), (SystemExit, type(None)))

    async def _awaited(self, given: dict[str, Any]) -> None:
        await self.harness.run("why?", **given)

    async def _streamed(self, given: dict[str, Any]) -> None:
        leave = self.dice.randint(1, 12)
        async with self.harness.stream("why?", **given) as events:
            async for _ in events:
                leave -= 1
                if not leave:
                    break


def _record(seed: int) -> tuple[_World, RunRecord]:
    made = _World(seed)
    # a task's SystemExit goes through the loop, which is asyncio's way with it
    with suppress(SystemExit):
        leaping(made.run)
    return made, only(made.harness)


@pytest.mark.parametrize("first", range(0, 4 * _SEEDS, _SEEDS))
def test_a_run_ends_once_and_accounts_for_everything(first: int) -> None:
    """The record is saved and ended, every call is counted once, and no call is still under way."""
    for seed in range(first, first + _SEEDS):
        made, record = _record(seed)
        assert made.open == 0, seed
        assert record.stop_cause is not None, seed
        tools = [attempt for attempt in record.attempts if attempt.component.name == "TOOL"]
        assert len(tools) == record.used.tool_calls == made.budget.used.tool_calls, seed
        models = len(record.attempts) - len(tools)
        assert models == record.used.model_attempts, seed
        numbers = [row.number for row in record.invocations]
        assert numbers == sorted(set(numbers)), seed
        late = [attempt for attempt in tools if attempt.late]
        assert len(record.invocations) <= len(tools) - len(late), seed

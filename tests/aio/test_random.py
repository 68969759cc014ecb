"""Random worlds: whatever falls together, a run ends once, is saved, and leaves nothing behind."""

import asyncio
import random
from contextlib import suppress
from functools import partial
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
from tests.aio.worlds import Slow, asking, leaping, only, world

#: How many worlds a test makes, so that a failure names a small range.
_SEEDS = 40
#: Seconds; small whole numbers, so that many things fall together.
_SECONDS = range(4)


class World:
    """A harness whose tools take their time, fail, resist, and one that is cancelled meanwhile."""

    #: How the hosts wait, and what cancels them.
    sleep: Any = staticmethod(asyncio.sleep)
    cancelled: type[BaseException] = asyncio.CancelledError

    def __init__(self, seed: int, **options: Any) -> None:
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
            **options,
        )

    def _slow(self, host: Any, *methods: str) -> Any:
        if self.dice.random() < 0.5:
            return host
        return Slow(host, **{name: self.dice.choice(_SECONDS) for name in methods})

    def _agent(self, batches: list[list[str]]) -> Any:
        turns = asking(*batches)

        async def agent(view: AgentView) -> AgentTurn:
            await self.sleep(self.dice.choice(_SECONDS))
            found = any(record.facts for record in view.records)
            return turns(view) if found or view.turn < 4 else AgentTurn(calls=[ToolCall("a")])

        return agent

    def _tool(self, name: str) -> FunctionTool:
        kind = self.dice.choice(["plain", "slow", "slow", "slow", "fails", "resists", "leaves"])
        if kind == "plain":
            return FunctionTool(lambda: f"{name} found", name=name)

        async def body() -> str:
            self.open += 1
            try:
                await self.sleep(self.dice.choice(_SECONDS))
                if kind == "fails":
                    raise ProviderTimeoutError
                if kind == "leaves" and self.dice.random() < 0.3:
                    raise SystemExit
            except self.cancelled:
                if kind == "resists":
                    await self.resist(self.dice.choice(_SECONDS))
                    return "kept the cancel to itself"
                raise
            finally:
                self.open -= 1
            return f"{name} found something"

        return FunctionTool(body, name=name)

    async def resist(self, seconds: float) -> None:
        """Wait in spite of a cancel."""
        await self.sleep(seconds)

    def given(self) -> tuple[CancelToken, dict[str, Any]]:
        """A token, and what a run is given beside its question."""
        token, deadline = CancelToken(), self.dice.choice([*[None] * 12, *range(12)])
        return token, {"cancel": token, "budget": self.budget, "deadline": deadline}

    async def run(self, given: dict[str, Any]) -> None:
        """Run once, as one result or as a stream that is left early."""
        if self.dice.random() < 0.6:
            await self.harness.run("why?", **given)
            return
        leave = self.dice.randint(1, 12)
        async with self.harness.stream("why?", **given) as events:
            async for _ in events:
                leave -= 1
                if not leave:
                    break

    def check(self) -> RunRecord:
        """The record is saved and ended, every call is counted once, none is still under way."""
        assert self.open == 0
        record = only(self.harness)
        assert record.stop_cause is not None
        tools = [attempt for attempt in record.attempts if attempt.component.name == "TOOL"]
        assert len(tools) == record.used.tool_calls == self.budget.used.tool_calls
        assert len(record.attempts) - len(tools) == record.used.model_attempts
        numbers = [row.number for row in record.invocations]
        assert numbers == sorted(set(numbers))
        late = [attempt for attempt in tools if attempt.late]
        assert len(record.invocations) <= len(tools) - len(late)
        return record


async def _once(made: World) -> None:
    """Run once; a token and the task are cancelled meanwhile as the dice fall."""
    loop = asyncio.get_running_loop()
    token, given = made.given()
    if made.dice.random() < 0.4:
        loop.call_later(made.dice.randint(0, 12), token.cancel)
    task = asyncio.create_task(made.run(given))
    for _ in range(made.dice.choice([0, 0, 0, 1, 2])):
        loop.call_later(made.dice.randint(1, 12), task.cancel)
    await asyncio.wait([task])
    if not task.cancelled():
        assert isinstance(task.exception(), (SystemExit, type(None)))


@pytest.mark.parametrize("first", range(0, 4 * _SEEDS, _SEEDS))
def test_a_run_ends_once_and_accounts_for_everything(first: int) -> None:
    """Whatever falls together under asyncio, the record says it all and nothing is left."""
    causes = set()
    for seed in range(first, first + _SEEDS):
        made = World(seed)
        # a task's SystemExit goes through the loop, which is asyncio's way with it
        with suppress(SystemExit):
            leaping(partial(_once, made))
        causes.add(made.check().stop_cause)
    assert len(causes) > 3

"""A loop whose time leaps, and the host objects of small asynchronous diagnoses."""

import asyncio
import gc
import selectors
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Any, TypeVar

from harness import (
    AgentTurn,
    AgentView,
    AsyncHarness,
    Citation,
    DiagnosisDraft,
    FunctionTool,
    Limits,
    RunRecord,
    SemanticVerdict,
    ToolCall,
)
from harness.stores.memory import MemoryRunStore

T = TypeVar("T")

_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
#: Real seconds after which a loop that waits for another thread is taken to be stuck.
_STUCK = 30


class LeapingLoop(asyncio.SelectorEventLoop):
    """A loop that does not wait for its next timer: its time leaps there."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(_LeapingSelector(self))

    def time(self) -> float:
        return self.now

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109  its own
        # a time-out would leap while the threads still run
        await super().shutdown_default_executor()


class _LeapingSelector(selectors.SelectSelector):
    def __init__(self, loop: LeapingLoop) -> None:
        super().__init__()
        self._leaping = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(_STUCK if timeout is None else 0)
        if timeout is None and not ready:
            raise RuntimeError("the loop waits for nothing")
        if not ready and timeout:
            self._leaping.now += timeout
        return ready


class LoopClock:
    """A harness clock that shows the time of the loop that runs."""

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def utc(self) -> datetime:
        return _EPOCH + timedelta(seconds=self.monotonic())

    async def wait(self, seconds: float, wake: Event) -> None:
        await asyncio.sleep(seconds)


@contextmanager
def collecting() -> Iterator[None]:
    """Collect what was left behind meanwhile, so that it complains now, and nothing older."""
    gc.freeze()
    try:
        yield
        gc.collect()
    finally:
        gc.unfreeze()


def leaping(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine function in leaping time; nothing may be left behind or complained of."""
    complaints: list[dict[str, Any]] = []

    async def checked() -> T:
        try:
            return await main()
        finally:
            assert asyncio.all_tasks() == {asyncio.current_task()}

    with collecting(), asyncio.Runner(loop_factory=LeapingLoop) as runner:
        runner.get_loop().set_exception_handler(lambda _loop, what: complaints.append(what))
        result = runner.run(checked())
    assert complaints == []
    return result


async def turns(count: int = 5) -> None:
    """Let the loop turn a few times."""
    for _ in range(count):
        await asyncio.sleep(0)


async def until(condition: Callable[[], object]) -> None:
    """Let the loop turn until something holds."""
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came to hold")


def asking(*batches: Iterable[str]) -> Callable[[AgentView], AgentTurn]:
    """An agent that asks for batches of tools by name, then reports what it found first."""
    asked = [[ToolCall(name) for name in batch] for batch in batches]

    def agent(view: AgentView) -> AgentTurn:
        if view.turn <= len(asked):
            return AgentTurn(calls=asked[view.turn - 1])
        found = next(record for record in view.records if record.facts)
        cited = [Citation(found.invocation_id, 1)]
        return AgentTurn(draft=DiagnosisDraft(found.facts[0].text, cited))

    return agent


def tool(name: str, body: Callable[[], object]) -> FunctionTool:
    """A tool of any function without parameters, asynchronous or plain."""
    return FunctionTool(body, name=name)


def sleeping(name: str, seconds: float, found: object = None) -> FunctionTool:
    """A tool that takes its time."""

    async def body() -> object:
        await asyncio.sleep(seconds)
        return f"{name} found something" if found is None else found

    return tool(name, body)


def approve(_case: object) -> SemanticVerdict:
    """A semantic guard that approves."""
    return SemanticVerdict.SUPPORTED


def world(agent: Any, *tools: Any, **options: Any) -> AsyncHarness:
    """A harness in the loop's time, without limits, whose agent never reports progress."""
    given: dict[str, Any] = {
        "semantic_guard": approve,
        "clock": LoopClock(),
        "limits": Limits.none(),
        "progress": "INFERRED",
        **options,
    }
    return AsyncHarness(agent, tools, **given)


def only(harness: AsyncHarness) -> RunRecord:
    """The one record that the run store of a harness holds."""
    store = harness.run_store
    assert isinstance(store, MemoryRunStore)
    assert len(store) == 1
    (record,) = store._records.values()
    return record


def has_ended(harness: AsyncHarness) -> bool:
    """Whether the one run of a harness has ended."""
    store = harness.run_store
    assert isinstance(store, MemoryRunStore)
    return len(store) == 1 and only(harness).stop_cause is not None


def ending(record: RunRecord) -> tuple[str, str | None, str | None]:
    """Why a run stopped, and what became public."""
    cause, outcome = record.stop_cause, record.release_outcome
    return (
        record.run_state.name,
        None if cause is None else cause.name,
        None if outcome is None else outcome.name,
    )


class Slow:
    """A host object some of whose methods take that many seconds, and a turn of the loop."""

    def __init__(self, host: Any, **methods: float) -> None:
        self._host = host
        self._methods = methods
        #: The calls that were cut short.
        self.cut: list[str] = []

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._host, name)
        if name not in self._methods:
            return value

        async def call(*arguments: Any) -> Any:
            try:
                await asyncio.sleep(self._methods[name])
            except BaseException:
                self.cut.append(name)
                raise
            result = value(*arguments)
            return await result if isinstance(result, Awaitable) else result

        return call

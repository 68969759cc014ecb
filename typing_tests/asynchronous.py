"""What the type checkers infer of the asynchronous driver and of many runs."""

from collections.abc import AsyncGenerator, Generator
from typing import assert_type

from harness import (
    AgentTurn,
    AgentView,
    AsyncHarness,
    Attempt,
    CanonicalRecord,
    FunctionTool,
    Harness,
    ManyResult,
    Request,
    RunEvents,
    RunResult,
    SemanticCase,
    SemanticVerdict,
    StreamEvent,
    in_threads,
    run_many,
    run_many_async,
    tool,
)


# A tool may be a typed coroutine function.
@tool
async def search_log(pattern: str) -> list[str]:
    """Search a log."""
    return [pattern]


assert_type(search_log, FunctionTool)


# Host objects may be asynchronous or plain, each of their methods by itself.
class Agent:
    """An asynchronous agent."""

    async def next_turn(self, view: AgentView, attempt: Attempt) -> AgentTurn:
        """Draft nothing."""
        assert_type(view.turn, int)
        assert_type(attempt.is_cancelled, bool)
        return AgentTurn()


class Guard:
    """A plain guard."""

    def judge(self, case: SemanticCase, attempt: Attempt) -> SemanticVerdict:
        """Refuse."""
        assert_type((case, attempt), tuple[SemanticCase, Attempt])
        return SemanticVerdict.UNSUPPORTED


class Store:
    """A store that saves in the background, and loads at once."""

    async def save(self, record: CanonicalRecord) -> None:
        """Save."""

    def load(self, invocation_id: str) -> CanonicalRecord | None:
        """Load."""


class Mistaken:
    """An agent of another library."""

    async def answer(self, question: str) -> str:
        """Answer."""
        return question


harness = AsyncHarness(
    Agent(), [search_log], semantic_guard=Guard(), canonical_store=in_threads(Store())
)
AsyncHarness(Mistaken())  # type: ignore[arg-type]
AsyncHarness(Agent(), semantic_guard=Agent())  # type: ignore[arg-type]
assert_type(in_threads(Store()), Store)


async def one() -> None:
    """One run, awaited or streamed."""
    assert_type(await harness.run("why?", deadline=30), RunResult)
    events = harness.stream(Request("why?"))
    assert_type(events, RunEvents)
    async with events:
        async for event in events:
            assert_type(event, StreamEvent)
    assert_type(events.result, RunResult | None)
    for _ in events:  # type: ignore[attr-defined]
        pass


async def many() -> None:
    """Many runs."""
    results = run_many_async(harness, ["why?", Request("why not?")], workers=8)
    assert_type(results, AsyncGenerator[ManyResult, None])
    await results.aclose()
    run_many(harness, ["why?"])  # type: ignore[arg-type]
    threads = run_many(Harness(lambda _view: AgentTurn()), ["why?"])
    assert_type(threads, Generator[ManyResult, None, None])
    for result in threads:
        assert_type(result.result, RunResult | None)
        assert_type(result.error, Exception | None)

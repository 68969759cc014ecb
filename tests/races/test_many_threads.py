"""One harness and one budget, shared by 64 threads."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from threading import Barrier, Thread
from typing import Any

import pytest

from harness import (
    AgentTurn,
    AgentView,
    Budget,
    Citation,
    DiagnosisDraft,
    Fact,
    Harness,
    RunResult,
    SemanticVerdict,
    ToolCall,
    tool,
)

THREADS = 64


@pytest.fixture(autouse=True)
def _switching() -> Iterator[None]:
    """Threads are switched between as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@tool
def search(text: str) -> list[Fact]:
    """Search."""
    return [Fact(f"{text} was exhausted", f"{text}.log:1")]


def agent(view: AgentView) -> AgentTurn:
    """Ask for the question's own log, and report it."""
    if not view.records:
        return AgentTurn([ToolCall("search", {"q": view.question}, {"text": view.question})])
    cited = [Citation(view.records[0].invocation_id, 1)]
    return AgentTurn(draft=DiagnosisDraft(f"{view.question} was exhausted", cited))


def _together(run: Any) -> list[Any]:
    results: list[Any] = [None] * THREADS
    barrier = Barrier(THREADS)

    def work(place: int) -> None:
        barrier.wait()
        results[place] = run(place)

    threads = [Thread(target=work, args=(place,)) for place in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_results_are_isolated() -> None:
    """Each run answers its own question, from its own evidence, in a record of its own."""
    harness = Harness(agent, [search], semantic_guard=lambda _case: SemanticVerdict.SUPPORTED)
    results: list[RunResult] = _together(lambda place: harness.run(f"pool-{place}"))
    for place, result in enumerate(results):
        assert result.text == f"pool-{place} was exhausted\n"
        (row,) = result.record.invocations
        assert row.call.arguments["text"] == f"pool-{place}"
    assert len({result.record.run_id for result in results}) == THREADS
    assert len({r.record.invocations[0].invocation_id for r in results}) == THREADS


@pytest.mark.parametrize("attempts", [50, 64 * 3])
def test_a_parent_budget_is_exact(attempts: int) -> None:
    """However the threads come, no more attempts are made than there are, and none is lost."""
    parent = Budget(model_attempts=attempts, tool_calls=40)
    harness = Harness(agent, [search], semantic_guard=lambda _case: SemanticVerdict.SUPPORTED)
    results: list[RunResult] = _together(lambda place: harness.run(f"p{place}", budget=parent))
    used = [result.record.used for result in results]
    assert sum(one.model_attempts for one in used) == parent.used.model_attempts <= attempts
    assert sum(one.tool_calls for one in used) == parent.used.tool_calls <= 40

"""The seam of steps over an engine that keeps them in a list: what no real engine shows at will."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from harness import (
    AgentTurn,
    AgentView,
    Attempt,
    DiagnosisDraft,
    Fact,
    Harness,
    Limits,
    Request,
    RunRecord,
    RunState,
    StopCause,
    ToolCall,
    tool,
)
from harness._budget import Budget
from harness._flow import run_flow
from harness._lifecycle import Lifecycle
from harness._run import Run
from harness._seam import SeamBroken
from harness._sync import SyncSeam, drive
from harness.integrations._steps import EngineCancelled, StepSeam
from harness.testing import VirtualClock, counting_ids


class _Engine:
    """Keeps steps in a list; can be told what happens at one of them."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, str]] = []
        self.taken = 0
        self.begun: set[int] = set()
        self.at: dict[str, Callable[[Callable[[], str]], str]] = {}

    def again(self) -> _Engine:
        """The same workflow in a new process."""
        self.taken = 0
        return self

    def step(self, name: str, body: Callable[[], str]) -> str:
        """Take a step, or give back what it returned."""
        if self.taken < len(self.steps):
            kept, text = self.steps[self.taken]
            assert kept == name
        elif name in self.at:
            text = self.at[name](body)
        else:
            text = body()
        if self.taken == len(self.steps):
            self.steps.append((name, text))
        self.taken += 1
        return text

    def is_first(self, number: int) -> bool:
        """Note that a call begins."""
        if number in self.begun:
            return False
        self.begun.add(number)
        return True


class _CrashedError(SeamBroken):
    """The process is gone."""


def _run(harness: Harness, engine: _Engine, passed: float = 0.0) -> RunRecord:
    setup, clock = harness._setup, harness._clock
    inner = SyncSeam(clock, clock.monotonic(), harness._ids, None)
    inner.count_from(passed)
    life = Lifecycle(setup.limits.deadline)
    seam = StepSeam(inner, engine, setup, life)
    budget = Budget(model_attempts=setup.limits.model_attempts)
    return drive(run_flow(Run(setup, seam, Request("q"), "run-1", life, budget, None)))


class _Agent:
    """Asks for a call, then gives up; notes how much time each turn was told it has."""

    def __init__(self) -> None:
        self.left: list[float | None] = []

    def next_turn(self, view: AgentView, attempt: Attempt) -> AgentTurn:
        """Take a turn."""
        self.left.append(attempt.seconds_left())
        if not view.records:
            return AgentTurn([ToolCall("search")])
        return AgentTurn(draft=DiagnosisDraft(None))


@tool
def search() -> list[Fact]:
    """Search."""
    return [Fact("pool exhausted")]


def _harness(clock: VirtualClock, agent: Any = None) -> Harness:
    agent = _Agent() if agent is None else agent
    return Harness(agent, [search], limits=Limits(deadline=60), clock=clock, ids=counting_ids())


def _crash_before(_body: Callable[[], str]) -> str:
    raise _CrashedError


def _crash_after(body: Callable[[], str]) -> str:
    body()
    raise _CrashedError


def test_a_clock_that_starts_anew_goes_on_from_what_is_known() -> None:
    """After a restart with the wall clock set back, no instant lies before one that was read."""
    clock, agent, engine = VirtualClock(), _Agent(), _Engine()
    harness = _harness(clock, agent)
    engine.at["canonical_store.save"] = _crash_before

    def slow(body: Callable[[], str]) -> str:
        clock.advance(20_000)
        return body()

    engine.at["TOOL search"] = slow
    with pytest.raises(_CrashedError):
        _run(harness, engine)
    engine.at.clear()
    record = _run(harness, engine.again())
    assert record.run_state is RunState.SUCCESS
    assert agent.left == [60.0, 40.0]
    assert [event.at for event in record.trace] == sorted(event.at for event in record.trace)


def test_time_between_the_processes_counts_for_the_deadline() -> None:
    """The deadline passed while no process executed the run: the next check sees it."""
    clock, engine = VirtualClock(), _Engine()
    harness = _harness(clock)
    engine.at["TOOL search"] = _crash_before
    with pytest.raises(_CrashedError):
        _run(harness, engine)
    engine.at.clear()
    record = _run(harness, engine.again(), passed=61.0)
    assert record.run_state is RunState.TIMED_OUT


def test_a_call_under_way_at_the_crash_is_spent() -> None:
    """Its answer is lost: it is counted, failed as TRANSPORT, and not made again."""
    clock, agent, engine = VirtualClock(), _Agent(), _Engine()
    harness = _harness(clock, agent)
    engine.at["DIAGNOSIS_AGENT"] = _crash_after
    with pytest.raises(_CrashedError):
        _run(harness, engine)
    engine.at.clear()
    record = _run(harness, engine.again())
    assert len(agent.left) == 1
    assert record.stop_cause is StopCause.AGENT_UNAVAILABLE
    (attempt,) = record.attempts
    assert attempt.failure is not None
    assert attempt.failure.name == "TRANSPORT"


def test_a_cancel_before_a_call_keeps_it_from_being_made() -> None:
    """The engine refuses the step: no model is asked, and the run ends CANCELLED."""
    clock, agent, engine = VirtualClock(), _Agent(), _Engine()

    def refuse(_body: Callable[[], str]) -> str:
        raise EngineCancelled(_CrashedError())

    engine.at["DIAGNOSIS_AGENT"] = refuse
    record = _run(_harness(clock, agent), engine)
    assert agent.left == []
    assert record.stop_cause is StopCause.CANCELLED_BY_CALLER
    assert record.cancel_reason == "cancelled through the engine"


def test_a_cancel_while_the_record_is_saved_comes_too_late() -> None:
    """What the store took stands: asked again, it answers with the same record."""
    clock, engine = VirtualClock(), _Engine()
    harness = _harness(clock)

    def too_late(body: Callable[[], str]) -> str:
        body()
        raise EngineCancelled(_CrashedError())

    engine.at["run_store.finish"] = too_late
    record = _run(harness, engine)
    assert record.run_state is RunState.SUCCESS
    stored = harness.run_store.load("run-1")
    assert stored is not None
    assert stored.run_state is RunState.SUCCESS


def test_a_batch_takes_its_steps_in_order() -> None:
    """Two calls of one turn are two steps, one after the other."""
    clock, engine = VirtualClock(), _Engine()

    def agent(view: AgentView) -> AgentTurn:
        if view.records:
            return AgentTurn(draft=DiagnosisDraft(None))
        return AgentTurn([ToolCall("search", {"n": "1"}), ToolCall("search", {"n": "2"})])

    record = _run(_harness(clock, agent), engine)
    assert len(record.invocations) == 2
    assert [name for name, _ in engine.steps].count("TOOL search") == 2

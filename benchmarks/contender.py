"""The harness doing the same work, as a user would plug it in."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import harness
from benchmarks import work
from harness.ports import Attempt
from harness.stores import MemoryCanonicalStore, MemoryRunStore

__all__ = ["Contender", "check"]


class _Agent:
    """
    The scripted model behind the harness; keeps each run's history by its run id.
    """

    def __init__(self, calls: int) -> None:
        self._calls = calls
        self._histories: dict[str, list[dict[str, Any]]] = {}
        self.last: list[dict[str, Any]] = []

    def next_turn(self, view: harness.AgentView, _attempt: Attempt) -> harness.AgentTurn:
        """
        Ask the scripted model, with the whole history.
        """
        history = self._histories.get(view.run_id)
        if history is None:
            history = [{"role": "user", "content": view.question}]
            self._histories[view.run_id] = history
        else:
            step = view.turn - 2
            text = view.batch[0].facts[0].text
            call_id = work.call_id(step)
            history.append({"role": "tool", "tool_call_id": call_id, "content": text})
        message = work.agent_answer(history, self._calls)
        history.append(message)
        asked = message.get("tool_calls")
        if asked:
            call = asked[0]
            return harness.AgentTurn((harness.ToolCall(call["name"], None, call["arguments"]),))
        self.last = self._histories.pop(view.run_id)
        report = json.loads(message["content"])
        records = view.records
        cited = tuple(
            [harness.Citation(records[int(c[5:])].invocation_id, 1) for c in report["citations"]]
        )
        return harness.AgentTurn((), harness.DiagnosisDraft(report["conclusion"], cited))


class _Tool:
    """
    The tool: its dict is encoded once, by itself, and kept as that text.
    """

    name, description, parameters = work.TOOL, "Search the logs.", None

    def execute(self, call: harness.ToolCall, _attempt: Attempt) -> str:
        """
        Search.
        """
        return json.dumps(work.result(call.arguments["step"]))


class _SlowTool(_Tool):
    """
    The same tool, asynchronous, with a pause.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def execute(self, call: harness.ToolCall, _attempt: Attempt) -> str:  # type: ignore[override]
        """
        Wait, then search.
        """
        if self._seconds:
            await asyncio.sleep(self._seconds)
        return json.dumps(work.result(call.arguments["step"]))


class _BlockingTool(_Tool):
    """
    The same tool, which blocks its thread.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def execute(self, call: harness.ToolCall, attempt: Attempt) -> str:
        """
        Sleep, then search.
        """
        time.sleep(self._seconds)
        return super().execute(call, attempt)


def _route(_request: object, _attempt: Attempt) -> harness.Route:
    return harness.Route(harness.Intent[json.loads(work.router_answer())["intent"]])


def _judge(_case: object, _attempt: Attempt) -> harness.SemanticVerdict:
    return harness.SemanticVerdict[json.loads(work.judge_answer())["verdict"]]


class Contender:
    """
    A harness for runs of a number of tool calls; all duties done, nothing switched off.

    Args:
        calls: Tool calls a run.
    """

    def __init__(self, calls: int) -> None:
        self.calls = calls
        self.agent = _Agent(calls)
        self.tool = _Tool()
        self.canonical_store = MemoryCanonicalStore()
        self.run_store = MemoryRunStore()
        self._harness: harness.Harness | None = None

    def _parts(self) -> dict[str, Any]:
        return {
            "router": _route,
            "semantic_guard": _judge,
            "canonical_store": self.canonical_store,
            "run_store": self.run_store,
            "progress": "INFERRED",
            "limits": harness.Limits(
                deadline=600,
                model_attempts=self.calls + 3,
                tool_calls=self.calls,
                result_bytes=work.ITEM_LIMIT,
                release_reserve=0,
            ),
        }

    def run(self) -> harness.RunResult:
        """
        Run once, synchronously.
        """
        if self._harness is None:
            self._harness = harness.Harness(self.agent, [self.tool], **self._parts())
        return self._harness.run(work.QUESTION)

    def asynchronous(self, seconds: float = 0.0) -> harness.AsyncHarness:
        """
        Give the same harness for asyncio, whose tool pauses.
        """
        return harness.AsyncHarness(self.agent, [_SlowTool(seconds)], **self._parts())

    def blocking(self, seconds: float) -> harness.Harness:
        """
        Give the same harness, whose tool blocks for a while.
        """
        return harness.Harness(self.agent, [_BlockingTool(seconds)], **self._parts())


def check(result: harness.RunResult, calls: int) -> None:
    """
    Demand that a run did all the work, before it is timed.

    Raises:
        AssertionError: It did not.
    """
    record = result.record
    done = (
        record.release_outcome is harness.ReleaseOutcome.SUCCESS
        and record.used.model_attempts == calls + 3
        and record.used.tool_calls == calls
        and all(row.byte_count == work.RESULT_BYTES for row in record.invocations)
        and len(record.trace) >= 3 * calls + 6
    )
    if not done:
        raise AssertionError(str(result))

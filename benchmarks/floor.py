"""
The floor: a bare loop without a single duty, and the loops with every duty written by hand.

The floor is what nobody should publish from: no deadline, no budget, no trace, no record.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any

from benchmarks import work

__all__ = ["Ledger", "bare", "by_hand", "by_hand_async"]


def bare(calls: int) -> dict[str, Any]:
    """
    Run the bare loop: model, tool, JSON with a length check, two guards.
    """
    if json.loads(work.router_answer())["intent"] != "DIAGNOSIS":
        raise ValueError
    history: list[dict[str, Any]] = [{"role": "user", "content": work.QUESTION}]
    kept: dict[str, bytes] = {}
    while True:
        message = work.agent_answer(history, calls)
        history.append(message)
        asked = message.get("tool_calls")
        if not asked:
            break
        call = asked[0]
        text = json.dumps(work.result(json.loads(call["arguments"])["step"]))
        raw = text.encode()
        if len(raw) > work.ITEM_LIMIT:
            raise ValueError
        kept[call["id"]] = raw
        history.append({"role": "tool", "tool_call_id": call["id"], "content": text})
    report = json.loads(message["content"])
    passed = all(cited in kept for cited in report["citations"])
    verdict = json.loads(work.judge_answer())["verdict"]
    released = passed and verdict == "SUPPORTED"
    return {"released": released, "report": report, "kept": kept, "history": history}


class Ledger:
    """
    The duties of a run as a careful engineer writes them by hand around a loop.
    """

    __slots__ = ("cancelled", "deadline", "kept", "models_left", "tools_left", "trace")

    def __init__(self, calls: int) -> None:
        self.models_left = calls + 3
        self.tools_left = calls
        self.deadline = monotonic() + 600
        self.cancelled = False
        self.kept: dict[str, bytes] = {}
        self.trace: list[tuple[Any, ...]] = []

    def model(self, who: str) -> None:
        """
        Check that the run is active, reserve a model attempt, note it.
        """
        self._active()
        if self.models_left <= 0:
            raise ValueError(who)
        self.models_left -= 1
        self.trace.append((monotonic(), "model", who))

    def tool(self, name: str) -> None:
        """
        Check that the run is active, reserve a tool call, note it.
        """
        self._active()
        if self.tools_left <= 0:
            raise ValueError(name)
        self.tools_left -= 1
        self.trace.append((monotonic(), "tool", name))

    def keep(self, name: str, value: dict[str, Any]) -> str:
        """
        Encode a result once, check its size, keep its bytes, note it.
        """
        text = json.dumps(value)
        raw = text.encode()
        if len(raw) > work.ITEM_LIMIT or name in self.kept:
            raise ValueError(name)
        self.kept[name] = raw
        self.trace.append((monotonic(), "kept", name, len(raw)))
        return text

    def _active(self) -> None:
        if self.cancelled or monotonic() > self.deadline:
            raise TimeoutError

    def route(self) -> None:
        """
        Route the question.
        """
        self.model("router")
        if json.loads(work.router_answer())["intent"] != "DIAGNOSIS":
            raise ValueError

    def release(self, report: dict[str, Any]) -> bool:
        """
        Check the citations, have the report judged, decide.
        """
        passed = all(cited in self.kept for cited in report["citations"])
        self.trace.append((monotonic(), "evidence", passed))
        self.model("judge")
        verdict = json.loads(work.judge_answer())["verdict"]
        self.trace.append((monotonic(), "semantic", verdict))
        return passed and verdict == "SUPPORTED"


def by_hand(calls: int) -> dict[str, Any]:
    """
    Run the loop with every duty written by hand.
    """
    ledger = Ledger(calls)
    ledger.route()
    history: list[dict[str, Any]] = [{"role": "user", "content": work.QUESTION}]
    while True:
        ledger.model("agent")
        message = work.agent_answer(history, calls)
        history.append(message)
        asked = message.get("tool_calls")
        if not asked:
            break
        call = asked[0]
        ledger.tool(call["id"])
        text = ledger.keep(call["id"], work.result(json.loads(call["arguments"])["step"]))
        history.append({"role": "tool", "tool_call_id": call["id"], "content": text})
    report = json.loads(message["content"])
    released = ledger.release(report)
    return {"released": released, "report": report, "kept": ledger, "history": history}


async def by_hand_async(
    calls: int, pause: Callable[[], Awaitable[None]] | None = None
) -> dict[str, Any]:
    """
    Run the same loop under asyncio, with a pause in each tool call where one is given.
    """
    ledger = Ledger(calls)
    ledger.route()
    history: list[dict[str, Any]] = [{"role": "user", "content": work.QUESTION}]
    while True:
        ledger.model("agent")
        message = work.agent_answer(history, calls)
        history.append(message)
        asked = message.get("tool_calls")
        if not asked:
            break
        call = asked[0]
        ledger.tool(call["id"])
        if pause is not None:
            await pause()
        text = ledger.keep(call["id"], work.result(json.loads(call["arguments"])["step"]))
        history.append({"role": "tool", "tool_call_id": call["id"], "content": text})
    report = json.loads(message["content"])
    released = ledger.release(report)
    return {"released": released, "report": report, "kept": ledger, "history": history}

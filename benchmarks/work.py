"""
The work that every contender does, written once: scripted models, a tool, canned answers.

One run routes a question, makes *n* tool calls of 1,024 JSON bytes each, drafts a conclusion that
cites at most eight of them, checks the citations and has the draft judged. There is no network, no
randomness and no clock in it, so that nothing but the machinery around it is measured.
"""

from __future__ import annotations

import json
from typing import Any, Final

QUESTION: Final = "Why did payments time out between 10:00 and 10:10?"
TOOL: Final = "search_logs"
RESULT_BYTES: Final = 1024
ITEM_LIMIT: Final = 4096
CITED: Final = 8

_LINES: Final = [
    {
        "at": f"2026-03-01T10:0{n}:00Z",
        "level": "WARN",
        "text": f"pool wait 1{n}2 ms, 20 of 20 in use",
    }
    for n in range(7)
]
_HEAD: Final = {"tool": TOOL, "step": "000000", "service": "payment", "lines": _LINES, "fill": ""}
_FILL: Final = "." * (RESULT_BYTES - len(json.dumps(_HEAD)))


def result(step: int) -> dict[str, Any]:
    """
    Give a fresh tool result whose JSON is exactly 1,024 bytes.
    """
    return {**_HEAD, "step": f"{step:06d}", "fill": _FILL}


def call_id(step: int) -> str:
    """
    Name the n-th call as a provider would.
    """
    return f"call-{step:06d}"


def arguments(step: int) -> str:
    """
    Write the n-th call's arguments as JSON text, as a provider would.
    """
    return '{"step": %d}' % step  # noqa: UP031  as cheap as a scripted model can be


def router_answer() -> str:
    """
    Give the router model's JSON answer.
    """
    return '{"intent": "DIAGNOSIS"}'


def agent_answer(history: list[dict[str, Any]], calls: int) -> dict[str, Any]:
    """
    Give the agent model's next message for a whole history.
    """
    step = (len(history) - 1) // 2
    if step < calls:
        call = {"id": call_id(step), "name": TOOL, "arguments": arguments(step)}
        return {"role": "assistant", "tool_calls": [call]}
    return {"role": "assistant", "content": draft(calls)}


def draft(calls: int) -> str:
    """
    Give the drafted conclusion as JSON text.
    """
    cited = [call_id(step) for step in range(min(calls, CITED))]
    return json.dumps({"conclusion": "The pool was exhausted.", "citations": cited})


def judge_answer() -> str:
    """
    Give the judge model's JSON answer.
    """
    return '{"verdict": "SUPPORTED"}'

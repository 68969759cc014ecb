"""What the tests of the core are made of: short ways to write records, turns and host objects."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from attrs import define, field

from harness import (
    AgentTurn,
    CanonicalRecord,
    Citation,
    Cut,
    DiagnosisDraft,
    Fact,
    Harness,
    InvocationCode,
    Limits,
    Parameter,
    ReleaseOutcome,
    Request,
    RunRecord,
    RunState,
    SemanticVerdict,
    StopCause,
    ToolCall,
    TraceEvent,
)
from harness._canonical import make_record
from harness.testing import Script, VirtualClock, counting_ids

DATA: Final = Path(__file__).parents[1] / "data"
NOON: Final = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def contract(name: str) -> Any:
    """One of the contract's tables, as data."""
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))


# --- records


@define
class Outcome:
    """What a tool call came to."""

    facts: tuple[Fact, ...] = ()
    code: InvocationCode | None = None
    cut: Cut | None = None
    byte_count: int = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.byte_count = sum(len(fact.text.encode()) for fact in self.facts)


def evidence(
    *texts: str | Fact,
    number: int = 1,
    run_id: str = "run",
    call: ToolCall | None = None,
    code: InvocationCode | None = None,
    cut: Cut | None = None,
) -> CanonicalRecord:
    """The record of an invocation that found these texts."""
    facts = tuple(text if isinstance(text, Fact) else Fact(text) for text in texts)
    call = call or ToolCall("logs", {"service": "pay"}, {"n": number})
    return make_record(f"E-{run_id}-", number, run_id, call, Outcome(facts, code, cut))


def ended(
    state: RunState = RunState.SUCCESS,
    cause: StopCause = StopCause.REPORT_APPROVED,
    outcome: ReleaseOutcome = ReleaseOutcome.SUCCESS,
    **fields: Any,
) -> RunRecord:
    """The record of a run that has ended."""
    given = {"run_id": "run", "request": Request("why?"), "started_at": NOON, **fields}
    return RunRecord(run_state=state, stop_cause=cause, release_outcome=outcome, **given)


def begun(run_id: str = "run", **fields: Any) -> RunRecord:
    """The record of a run that is under way."""
    given = {"request": Request("why?"), "started_at": NOON, **fields}
    return RunRecord(run_id=run_id, **given)


# --- what agents say


def asking(*arguments: Mapping[str, Any], tool: str = "logs", progress: Any = None) -> AgentTurn:
    """A turn that asks for one call for each set of arguments."""
    calls = [ToolCall(tool, {"service": "pay"}, given) for given in arguments]
    return AgentTurn(calls, progress=progress)


def citing(number: int, fact: int | None = None, quote: str | None = None) -> Citation:
    """A citation of the n-th invocation of the first run of a harness with counting ids."""
    return Citation(f"E-id-2-{number}", fact, quote)


def drafting(conclusion: str | None, *citations: Citation, **parts: Any) -> AgentTurn:
    """A turn that hands in a draft."""
    return AgentTurn(draft=DiagnosisDraft(conclusion, citations, **parts))


#: Asks once, then drafts what the one record carries.
GOOD: Final = (asking({"n": 1}), drafting("the pool ran out", citing(1)))


# --- host objects


class Source:
    """A tool that plays steps."""

    description = "scripted"

    def __init__(
        self,
        *steps: Any,
        name: str = "logs",
        parameters: Mapping[str, Parameter] | None = None,
        repeat_last: bool = False,
    ) -> None:
        self.name = name
        self.parameters = parameters
        self.script = Script(steps, repeat_last=repeat_last)

    def execute(self, call: ToolCall, attempt: object) -> object:
        return self.script(call, attempt)


class ProjectedSource(Source):
    """A tool that plays steps, and projects their values itself."""

    def __init__(self, *steps: Any, project: Callable[[Any], Any], **fields: Any) -> None:
        super().__init__(*steps, **fields)
        self.project = project


def supported(_case: object) -> SemanticVerdict:
    """Approve whatever is asked."""
    return SemanticVerdict.SUPPORTED


def harness(agent: Any, *tools: Any, **options: Any) -> Harness:
    """
    A harness in virtual time, with counting ids and no limits unless told otherwise.

    The agent is any agent, or the turns that one plays.
    """
    given = {
        "semantic_guard": supported,
        "limits": Limits.none(),
        "clock": VirtualClock(),
        "ids": counting_ids(),
        **options,
    }
    return Harness(Script(agent) if isinstance(agent, (list, tuple)) else agent, tools, **given)


def events_of(record: RunRecord, code: str) -> list[TraceEvent]:
    """The trace events of one code."""
    return [event for event in record.trace if event.code.name == code]


def ending(record: RunRecord) -> tuple[str | None, ...]:
    """How a run ended: state, cause, outcome and fallback type, by name."""
    members = (record.run_state, record.stop_cause, record.release_outcome, record.fallback_type)
    return tuple(None if member is None else member.name for member in members)

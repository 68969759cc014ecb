"""
The failure graph as data (section 3), and the path that a run took through it.

1. A step is a box; a way is an arrow with the stop causes that it carries, if any.
2. What the active check finds can end a run at any step: those causes share one arrow.
3. A path is read from a stored record alone: its trace, then what it says of its ending.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from attrs import frozen

from harness._records import RunRecord, TraceEvent
from harness._states import CollectionState, Component, PublicKind, RunState, StopCause, TraceCode

__all__ = [
    "ANYWHERE",
    "STEPS",
    "WAYS",
    "Step",
    "Way",
    "path_of",
]


@frozen
class Step:
    """
    A step of the graph.

    Attributes:
        id: Its name in the picture's source.
        label: What the picture says.
        section: Where the contract describes it.
        ending: It is one of the things that can become public.
    """

    id: str
    label: str
    section: str
    ending: bool = False


@frozen
class Way:
    """
    A way from one step to another.

    Attributes:
        source: Where it begins.
        target: Where it leads.
        label: When it is taken, where it is no stop.
        causes: The stop causes that take it.
    """

    source: str
    target: str
    label: str = ""
    causes: tuple[StopCause, ...] = ()


STEPS: Final = (
    Step("request", "request", "3.10"),
    Step("route", "route", "3.4"),
    Step("context", "required context", "3.4"),
    Step("responder", "responder", "3.4"),
    Step("turn", "agent turn", "3.6"),
    Step("batch", "tool batch", "3.5"),
    Step("last_turn", "last turn: STOP_REQUIRED", "3.6"),
    Step("draft", "draft", "3.7"),
    Step("evidence", "evidence guard", "3.7"),
    Step("repair", "one repair", "3.7"),
    Step("semantic", "semantic guard", "3.7"),
    Step("release", "release decision", "3.9"),
    Step("save", "save the run record", "3.10"),
    Step("report", "report", "3.10", ending=True),
    Step("reply", "reply", "3.10", ending=True),
    Step("fallback", "fallback", "3.10", ending=True),
    Step("failure", "failure", "3.10", ending=True),
    Step("nothing", "nothing", "3.10", ending=True),
)

#: What the active check, the budget or the harness itself can find at any step before the release.
ANYWHERE: Final = (
    StopCause.DEADLINE_EXCEEDED,
    StopCause.BUDGET_EXHAUSTED,
    StopCause.CANCELLED_BY_CALLER,
    StopCause.CLIENT_DISCONNECTED,
    StopCause.INTERRUPTED,
    StopCause.INTERNAL_ERROR,
)

_BAD_TURN: Final = (StopCause.AGENT_UNAVAILABLE, StopCause.INVALID_DRAFT)
_BAD_DRAFT: Final = (
    StopCause.NO_CONCLUSION,
    StopCause.MISSING_REQUIRED_CONTEXT,
    StopCause.RESULT_TOO_LARGE,
)

WAYS: Final = (
    Way("request", "route"),
    Way("request", "release", causes=(StopCause.RECORD_NOT_SAVED,)),
    Way("route", "context"),
    Way("route", "release", causes=(StopCause.ROUTER_UNAVAILABLE,)),
    Way("context", "responder", "GENERAL"),
    Way("context", "turn", "DIAGNOSIS"),
    Way("context", "last_turn", "SATURATED"),
    Way("context", "release", causes=(StopCause.MISSING_REQUIRED_CONTEXT,)),
    Way(
        "responder",
        "release",
        causes=(
            StopCause.REPLY_GIVEN,
            StopCause.RESPONDER_UNAVAILABLE,
            StopCause.RESULT_TOO_LARGE,
        ),
    ),
    Way("turn", "batch", "calls"),
    Way("turn", "draft", "draft"),
    Way("turn", "last_turn", "SATURATED"),
    Way("turn", "release", causes=_BAD_TURN),
    Way("batch", "turn", "COLLECTING"),
    Way("batch", "last_turn", "SATURATED"),
    Way("batch", "release", causes=(StopCause.RESULT_TOO_LARGE, StopCause.STORE_UNTRUSTED)),
    Way("last_turn", "draft", "draft"),
    Way("last_turn", "release", causes=(StopCause.STOP_IGNORED, *_BAD_TURN)),
    Way("draft", "evidence"),
    Way("draft", "release", causes=_BAD_DRAFT),
    Way("evidence", "semantic", "no violation"),
    Way("evidence", "repair", "violations, once"),
    Way("evidence", "release", causes=(StopCause.EVIDENCE_REJECTED, StopCause.STORE_UNTRUSTED)),
    Way("repair", "evidence", "new draft"),
    Way("repair", "release", causes=(StopCause.EVIDENCE_REJECTED, *_BAD_DRAFT)),
    Way(
        "semantic",
        "release",
        causes=(
            StopCause.REPORT_APPROVED,
            StopCause.SEMANTIC_UNSUPPORTED,
            StopCause.SEMANTIC_UNAVAILABLE,
        ),
    ),
    Way("release", "save"),
    Way("release", "failure", "record not saved"),
    Way("release", "nothing", "record not saved, cancelled"),
    Way("save", "report"),
    Way("save", "reply"),
    Way("save", "fallback"),
    Way("save", "failure"),
    Way("save", "nothing"),
)

#: The step of an attempt, by the component that made it.
_ATTEMPTS: Final = MappingProxyType(
    {
        Component.INTENT_ROUTER.name: "route",
        Component.RESPONDER.name: "responder",
        Component.DIAGNOSIS_AGENT.name: "turn",
        Component.TOOL.name: "batch",
        Component.EVIDENCE_REPAIR.name: "repair",
        Component.SEMANTIC_GUARD.name: "semantic",
    }
)

_ENDINGS: Final = MappingProxyType(
    {
        PublicKind.REPORT: "report",
        PublicKind.REPLY: "reply",
        PublicKind.FALLBACK: "fallback",
        PublicKind.FAILURE: "failure",
        PublicKind.NONE: "nothing",
    }
)

# the steps that a diagnosis or a reply can begin with
_AFTER_CONTEXT: Final = frozenset({"turn", "last_turn", "responder"})


def path_of(record: RunRecord) -> tuple[str, ...]:
    """
    Read from a record which steps its run took, in order; a step that went on stands there once.

    Args:
        record: The record, fresh or stored; of a run that has not ended: as far as it says.

    Returns:
        Ids of :data:`STEPS`.
    """
    path = ["request"]
    for step in _steps(record):
        if step != path[-1]:
            path.append(step)
    return tuple(path)


def _steps(record: RunRecord) -> Iterator[str]:
    """
    Name the step of each trace event that is one, then those of the ending.
    """
    yield from _routed(record)
    drafted = stop_required = False
    for event in record.trace:
        if event.code is TraceCode.RUN_ENDED:
            break
        if event.code is TraceCode.STOP_REQUIRED:
            stop_required = True
        checked = event.code is TraceCode.EVIDENCE_CHECKED
        # the store is written by a batch, and read by the evidence guard once there is a draft
        failed = event.code is TraceCode.STORE_FAILED and _handed_in(record)
        if (checked or failed) and not drafted:
            drafted = True
            yield "draft"
        step = "evidence" if checked or failed else _attempted(event)
        if step is not None:
            yield "last_turn" if step == "turn" and stop_required else step
    if _handed_in(record) and not drafted:
        yield "draft"
    yield from _ended(record)


def _handed_in(record: RunRecord) -> bool:
    return record.collection_state is CollectionState.RELEASE


def _attempted(event: TraceEvent) -> str | None:
    """
    Give the step that an event begins, beside the ones before the first turn.
    """
    if event.code is not TraceCode.ATTEMPT_STARTED:
        return None
    step = _ATTEMPTS.get(str(event.detail.get("component")))
    return None if step == "route" else step


def _routed(record: RunRecord) -> Iterator[str]:
    """
    Give the steps before the first turn; without a router a request counts as routed.
    """
    steps = {
        "last_turn" if event.code is TraceCode.STOP_REQUIRED else _attempted(event)
        for event in record.trace
    }
    asked = Component.INTENT_ROUTER in record.attempts.components
    lacking = record.stop_cause is StopCause.MISSING_REQUIRED_CONTEXT
    passed = lacking or bool(steps & _AFTER_CONTEXT)
    if asked or passed:
        yield "route"
    if passed:
        yield "context"


def _ended(record: RunRecord) -> Iterator[str]:
    """
    Give the steps of the ending.
    """
    if record.run_state is RunState.RUNNING:
        return
    yield "release"
    if record.record_saved:
        yield "save"
    yield _ENDINGS[PublicKind.NONE if record.public is None else record.public.kind]

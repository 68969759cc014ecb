"""Records of every kind for contracts and tests, as the harness writes them, without a run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final

from attrs import define, evolve

from harness._canonical import make_record
from harness._json import FrozenDict
from harness._limits import Limits
from harness._records import (
    Attempts,
    BudgetUse,
    CanonicalRecord,
    CitedSource,
    Cut,
    Gates,
    Limitation,
    ProgressSnapshot,
    PublicContent,
    QueriedScope,
    RunRecord,
    SnapshotFact,
    Trace,
    Violation,
)
from harness._states import (
    AttemptOutcome,
    CollectionState,
    Component,
    EventKind,
    FailureKind,
    FallbackType,
    Intent,
    InvocationCode,
    LimitationKind,
    PublicKind,
    ReleaseOutcome,
    RunState,
    SemanticVerdict,
    StopCause,
    StopReason,
    TraceCode,
    UsageKind,
    ViolationKind,
)
from harness._values import Citation, Claim, DiagnosisDraft, Fact, PreviousTurn, Request, ToolCall

__all__ = [
    "BEGAN",
    "ODD_TEXT",
    "sample_canonical",
    "sample_endings",
    "sample_evidence",
    "sample_opening",
]

#: When every sample run began.
BEGAN: Final = datetime(2026, 1, 31, 23, 59, 58, 5, tzinfo=UTC)

#: Text that careless stores alter: ends, line ends, control characters, composed and astral ones.
ODD_TEXT: Final = (
    " \ttab\r\nCR LF\nLF\rCR\0NUL\x1b[31m\u2028\u0085 e\u0301 \u00e9 \U0001f680 '\"\\ %_*? "
)

_CALL: Final = ToolCall(
    "logs", {"service": "payment", "window": ["10:00", "10:05"]}, {"pattern": ODD_TEXT, "limit": 5}
)


@define(kw_only=True)
class _Found:
    """
    What a tool call came to.
    """

    facts: tuple[Fact, ...] = ()
    byte_count: int = 0
    code: InvocationCode | None = None
    cut: Cut | None = None


def sample_canonical(
    run_id: str, number: int = 1, texts: tuple[str, ...] = ("pool exhausted",), prefix: str = ""
) -> CanonicalRecord:
    """
    Make the record of an invocation that found texts, or an empty scope.

    Args:
        run_id: The run.
        number: The run's n-th invocation.
        texts: What was found.
        prefix: What the id begins with, before the number.
    """
    facts = tuple(Fact(text, f"payment.log:{line}") for line, text in enumerate(texts, 812))
    found = _Found(facts=facts, byte_count=sum(len(text.encode()) for text in texts))
    return make_record(prefix or f"E-{run_id}-", number, run_id, _CALL, found)


def sample_evidence(run_id: str) -> tuple[CanonicalRecord, ...]:
    """
    Make one record of each shape: facts, an empty scope, a failure, a cut, refused arguments.

    Args:
        run_id: The run.
    """
    prefix = f"E-{run_id}-"
    cut = Cut(original_facts=3, kept_facts=1, original_bytes=90, kept_bytes=4, repaired=True)
    shapes = (
        (_CALL, _Found(code=InvocationCode.TRANSPORT)),
        (_CALL, _Found(facts=(Fact("\U0001f680"),), byte_count=4, cut=cut)),
        (ToolCall("metrics", None, "{no JSON"), _Found(code=InvocationCode.INVALID_ARGUMENTS)),
    )
    return (
        sample_canonical(run_id, 1, ("pool exhausted", ODD_TEXT)),
        sample_canonical(run_id, 2, ()),
        *(make_record(prefix, number, run_id, *shape) for number, shape in enumerate(shapes, 3)),
    )


def sample_opening(run_id: str, conversation_id: str | None = None) -> RunRecord:
    """
    Make the record with which a run is begun.

    Args:
        run_id: The run.
        conversation_id: Its conversation.
    """
    earlier = PreviousTurn("an-earlier-run", "Why was it slow?", "The pool was exhausted.")
    context = {"service": "payment", "odd": ODD_TEXT}
    return RunRecord(
        run_id=run_id,
        request=Request(f"Why? {ODD_TEXT}", context, (earlier,), conversation_id),
        started_at=BEGAN,
        limits=Limits(cost=Decimal("2.50")),
        record_saved=True,
    )


def sample_endings(run_id: str, conversation_id: str | None = None) -> dict[str, RunRecord]:
    """
    Make an ended record of each kind, by name.

    Args:
        run_id: The run.
        conversation_id: Its conversation.
    """
    base = evolve(sample_opening(run_id, conversation_id), **_collected(run_id))
    return {name: evolve(base, **changes) for name, changes in _ENDINGS.items()}


def _collected(run_id: str) -> dict[str, Any]:
    """
    What every sample run did before it ended.
    """
    return {
        "ended_at": BEGAN + timedelta(seconds=3, microseconds=250_001),
        "intent": Intent.DIAGNOSIS,
        "collection_state": CollectionState.RELEASE,
        "invocations": tuple(record.invocation for record in sample_evidence(run_id)),
        "attempts": Attempts(_ATTEMPTS),
        "used": BudgetUse(
            model_attempts=2,
            tool_calls=5,
            tokens=1234,
            evidence_bytes=99,
            cost=Decimal("0.10"),
            unknown_usage=1,
        ),
        "events": (EventKind.METADATA, EventKind.STATUS, EventKind.STATUS),
        "trace": Trace(_TRACE),
    }


_ATTEMPTS: Final = (
    (
        Component.DIAGNOSIS_AGENT,
        1,
        AttemptOutcome.SUCCEEDED,
        None,
        0.1,
        0.30000000000000004,
        False,
        UsageKind.REPORTED,
        1234,
        Decimal("0.10"),
    ),
    (
        Component.TOOL,
        1,
        AttemptOutcome.FAILED,
        FailureKind.TRANSPORT,
        1,
        2,
        True,
        UsageKind.NONE,
        0,
        Decimal(0),
    ),
)
_TRACE: Final = (
    (TraceCode.RUN_STARTED, 0.0, {"run_id": "the run"}),
    (TraceCode.ATTEMPT_STARTED, 0.1, Component.DIAGNOSIS_AGENT, 1),
    (TraceCode.ATTEMPT_STARTED, 1, Component.TOOL, 1, "logs"),
    (TraceCode.ATTEMPT_FAILED, 2, {"kind": FailureKind.TRANSPORT, "detail": ODD_TEXT}),
    (TraceCode.RUN_ENDED, 3.25, {"cause": "REPORT_APPROVED"}),
)

_DRAFT: Final = DiagnosisDraft(
    "The pool was exhausted.",
    [Citation("E-1", 1, "pool")],
    [Claim(f"So it said: {ODD_TEXT}", [Citation("E-1")])],
    ["Raise the pool's size."],
    ["the deployment log"],
)
_LIMITATIONS: Final = (
    Limitation(LimitationKind.SOURCE_UNAVAILABLE, "metrics", InvocationCode.TRANSPORT),
    Limitation(LimitationKind.NEVER_CONSULTED, "config"),
)
_SNAPSHOT: Final = ProgressSnapshot(
    scopes=(QueriedScope("logs", FrozenDict({"service": "payment"})),),
    facts=(SnapshotFact("logs", ODD_TEXT, "payment.log:812"),),
    empty=(QueriedScope("logs", FrozenDict({"service": "web"})),),
    limitations=_LIMITATIONS,
    missing_context=("service",),
    next_steps=("Ask metrics again.",),
    left_out=3,
)
_VIOLATION: Final = Violation(ViolationKind.QUOTE_MISMATCH, "claims[1]", 2, "E-1")


def _fallback(state: RunState, cause: StopCause, fallback: FallbackType) -> dict[str, Any]:
    return {
        "run_state": state,
        "stop_cause": cause,
        "release_outcome": ReleaseOutcome.FALLBACK,
        "fallback_type": fallback,
        "release_rule": f"{cause.name.lower()}-with-progress",
        "snapshot": _SNAPSHOT,
        "public": PublicContent(kind=PublicKind.FALLBACK, text=ODD_TEXT, limitations=_LIMITATIONS),
    }


_ENDINGS: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "report": {
            "run_state": RunState.SUCCESS,
            "stop_cause": StopCause.REPORT_APPROVED,
            "release_outcome": ReleaseOutcome.SUCCESS,
            "release_rule": "report-approved",
            "gates": Gates(checks=1, verdict=SemanticVerdict.SUPPORTED, draft=_DRAFT),
            "public": PublicContent(
                kind=PublicKind.REPORT,
                text=ODD_TEXT,
                draft=_DRAFT,
                sources=(CitedSource("logs", "payment.log:812", ODD_TEXT, "E-1", 1),),
                limitations=_LIMITATIONS,
            ),
        },
        "evidence rejected": {
            **_fallback(
                RunState.SUCCESS,
                StopCause.EVIDENCE_REJECTED,
                FallbackType.EVIDENCE_VALIDATION_FAILED,
            ),
            "gates": Gates(checks=2, violations=(_VIOLATION,), repaired=True, draft=_DRAFT),
        },
        "budget exhausted": {
            **_fallback(
                RunState.BUDGET_EXHAUSTED, StopCause.BUDGET_EXHAUSTED, FallbackType.BUDGET_EXHAUSTED
            ),
            "collection_state": CollectionState.SATURATED,
            "stop_reason": StopReason.BUDGET_LIMIT_REACHED,
            "missing_context": ("service",),
        },
        "timed out": {
            "run_state": RunState.TIMED_OUT,
            "stop_cause": StopCause.DEADLINE_EXCEEDED,
            "release_outcome": ReleaseOutcome.FAILED,
            "release_rule": "deadline_exceeded-without-progress",
            "public": PublicContent(kind=PublicKind.FAILURE, code="DEADLINE_EXCEEDED"),
        },
        "failed": {
            "run_state": RunState.FAILED,
            "stop_cause": StopCause.AGENT_UNAVAILABLE,
            "release_outcome": ReleaseOutcome.FAILED,
            "release_rule": "agent_unavailable-without-progress",
            "public": PublicContent(kind=PublicKind.FAILURE, code="AGENT_UNAVAILABLE"),
        },
        "cancelled": {
            "run_state": RunState.CANCELLED,
            "stop_cause": StopCause.CANCELLED_BY_CALLER,
            "cancel_reason": ODD_TEXT,
            "release_outcome": ReleaseOutcome.CANCELLED,
            "release_rule": "cancelled",
            "public": PublicContent(kind=PublicKind.NONE),
        },
    }
)

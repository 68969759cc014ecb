"""
Transitions, legal pairs, the attempt policy and the release rows: data only, no branch.

1. Absence is the answer "cannot occur": terminal states are those without an outgoing row.
2. A column holds the set of accepted values; ``None`` accepts every value.
3. The first release row that accepts the facts decides; the last group refuses nothing that the
   contract knows, so a missing row is a programming error (section 6).
4. Every row has an id; a decision returns it, so that each ending can be explained.
"""

from types import MappingProxyType
from typing import Final

from attrs import frozen

from harness._states import (
    CollectionState,
    Component,
    EventKind,
    EvidenceStatus,
    FailureKind,
    FallbackType,
    InvocationStatus,
    PublicKind,
    ReleaseOutcome,
    RequestStatus,
    RunState,
    StopCause,
)

__all__ = [
    "ATTEMPT_POLICY",
    "CANCEL_CAUSES",
    "CAUSE_STATES",
    "COLLECTION_TRANSITIONS",
    "DONE_OUTCOMES",
    "INVOCATION_TRANSITIONS",
    "LEGAL_EVIDENCE",
    "LEGAL_RELEASES",
    "LEGAL_RELEASES_UNSAVED",
    "MODEL_COMPONENTS",
    "OUTCOME_CONTENT",
    "RELEASE_ROWS",
    "REQUEST_STATUS",
    "RUN_TRANSITIONS",
    "SAFE_CAUSES",
    "STREAM_TRANSITIONS",
    "TRUST_BREAKING",
    "AttemptPolicy",
    "ReleaseRow",
]

# Section 3.5: an invocation starts at PROJECTING and ends at READY or ERROR.
INVOCATION_TRANSITIONS: Final = frozenset(
    {
        (InvocationStatus.PROJECTING, InvocationStatus.READY),
        (InvocationStatus.PROJECTING, InvocationStatus.ERROR),
    }
)

# Section 3.5: what an invocation's row may say of its evidence.
LEGAL_EVIDENCE: Final = frozenset(
    {
        (InvocationStatus.PROJECTING, None),
        (InvocationStatus.READY, EvidenceStatus.EVIDENCE_FOUND),
        (InvocationStatus.READY, EvidenceStatus.NO_EVIDENCE),
        (InvocationStatus.ERROR, EvidenceStatus.ERROR),
    }
)

# Section 3.6.
COLLECTION_TRANSITIONS: Final = frozenset(
    {
        # another batch
        (CollectionState.COLLECTING, CollectionState.COLLECTING),
        # a reason to stop asking
        (CollectionState.COLLECTING, CollectionState.SATURATED),
        # the one STOP_REQUIRED is really delivered
        (CollectionState.SATURATED, CollectionState.DRAFTING),
        # a draft
        (CollectionState.COLLECTING, CollectionState.RELEASE),
        (CollectionState.DRAFTING, CollectionState.RELEASE),
        # more calls after STOP_REQUIRED
        (CollectionState.DRAFTING, CollectionState.TERMINATED),
    }
)

# Section 3.1: the first terminal state wins; none has an outgoing row.
RUN_TRANSITIONS: Final = frozenset(
    {
        (RunState.RUNNING, RunState.SUCCESS),
        (RunState.RUNNING, RunState.FAILED),
        (RunState.RUNNING, RunState.CANCELLED),
        (RunState.RUNNING, RunState.TIMED_OUT),
        (RunState.RUNNING, RunState.BUDGET_EXHAUSTED),
    }
)

# Section 4.
LEGAL_RELEASES: Final = frozenset(
    {
        (RunState.SUCCESS, ReleaseOutcome.SUCCESS),
        (RunState.SUCCESS, ReleaseOutcome.FALLBACK),
        (RunState.FAILED, ReleaseOutcome.FALLBACK),
        (RunState.FAILED, ReleaseOutcome.FAILED),
        (RunState.TIMED_OUT, ReleaseOutcome.FALLBACK),
        (RunState.TIMED_OUT, ReleaseOutcome.FAILED),
        (RunState.BUDGET_EXHAUSTED, ReleaseOutcome.FALLBACK),
        (RunState.BUDGET_EXHAUSTED, ReleaseOutcome.FAILED),
        (RunState.CANCELLED, ReleaseOutcome.CANCELLED),
    }
)

# Section 3.10: without a saved record nothing but a failure is published.
LEGAL_RELEASES_UNSAVED: Final = frozenset(
    {
        (RunState.SUCCESS, ReleaseOutcome.FAILED),
        (RunState.FAILED, ReleaseOutcome.FAILED),
        (RunState.TIMED_OUT, ReleaseOutcome.FAILED),
        (RunState.BUDGET_EXHAUSTED, ReleaseOutcome.FAILED),
        (RunState.CANCELLED, ReleaseOutcome.CANCELLED),
    }
)

# Section 4: the run state of each cause. The starred ones need something to release.
CAUSE_STATES: Final = MappingProxyType(
    {
        StopCause.REPORT_APPROVED: RunState.SUCCESS,
        StopCause.REPLY_GIVEN: RunState.SUCCESS,
        StopCause.MISSING_REQUIRED_CONTEXT: RunState.SUCCESS,
        StopCause.NO_CONCLUSION: RunState.SUCCESS,
        StopCause.STOP_IGNORED: RunState.SUCCESS,
        StopCause.INVALID_DRAFT: RunState.SUCCESS,
        StopCause.EVIDENCE_REJECTED: RunState.SUCCESS,
        StopCause.SEMANTIC_UNSUPPORTED: RunState.SUCCESS,
        StopCause.SEMANTIC_UNAVAILABLE: RunState.SUCCESS,
        StopCause.ROUTER_UNAVAILABLE: RunState.FAILED,
        StopCause.RESPONDER_UNAVAILABLE: RunState.FAILED,
        StopCause.AGENT_UNAVAILABLE: RunState.FAILED,
        StopCause.RESULT_TOO_LARGE: RunState.FAILED,
        StopCause.STORE_UNTRUSTED: RunState.FAILED,
        StopCause.RECORD_NOT_SAVED: RunState.FAILED,
        StopCause.INTERNAL_ERROR: RunState.FAILED,
        StopCause.DEADLINE_EXCEEDED: RunState.TIMED_OUT,
        StopCause.BUDGET_EXHAUSTED: RunState.BUDGET_EXHAUSTED,
        StopCause.CANCELLED_BY_CALLER: RunState.CANCELLED,
        StopCause.CLIENT_DISCONNECTED: RunState.CANCELLED,
        StopCause.INTERRUPTED: RunState.CANCELLED,
    }
)

#: The causes that end a request safely where something can be released.
SAFE_CAUSES: Final = frozenset(
    cause for cause, state in CAUSE_STATES.items() if state is RunState.SUCCESS
)
#: The causes that publish nothing at all.
CANCEL_CAUSES: Final = frozenset(
    cause for cause, state in CAUSE_STATES.items() if state is RunState.CANCELLED
)
#: The causes that break the trust in what was collected.
TRUST_BREAKING: Final = frozenset(
    {StopCause.STORE_UNTRUSTED, StopCause.RECORD_NOT_SAVED, StopCause.INTERNAL_ERROR}
)


@frozen
class AttemptPolicy:
    """
    How often a component may be tried, and after which failures (section 3.2).
    """

    max_attempts: int
    retried_on: frozenset[FailureKind]


_TRANSIENT = frozenset(
    {
        FailureKind.TIMEOUT,
        FailureKind.TRANSPORT,
        FailureKind.RATE_LIMITED,
        FailureKind.INVALID_OUTPUT,
    }
)

# Section 3.2.
ATTEMPT_POLICY: Final = MappingProxyType(
    {
        Component.INTENT_ROUTER: AttemptPolicy(2, _TRANSIENT),
        Component.RESPONDER: AttemptPolicy(1, frozenset()),
        Component.DIAGNOSIS_AGENT: AttemptPolicy(1, frozenset()),
        Component.TOOL: AttemptPolicy(1, frozenset()),
        Component.EVIDENCE_REPAIR: AttemptPolicy(1, frozenset()),
        Component.SEMANTIC_GUARD: AttemptPolicy(2, _TRANSIENT),
    }
)

#: The components whose attempts are model attempts of the budget (section 3.3).
MODEL_COMPONENTS: Final = frozenset(set(Component) - {Component.TOOL})


@frozen(kw_only=True)
class ReleaseRow:
    """
    One row of the release decision; a column of ``None`` accepts every value (section 3.9).
    """

    id: str
    causes: frozenset[StopCause]
    trusted: bool | None = None
    safe_progress: bool | None = None
    missing_context: bool | None = None
    state: RunState
    outcome: ReleaseOutcome
    fallback: FallbackType | None = None


def _fallback(cause: StopCause, fallback: FallbackType) -> ReleaseRow:
    """
    A row that releases the safe progress of a run that ended for this cause.
    """
    return ReleaseRow(
        id=f"{cause.name.lower()}-with-progress",
        causes=frozenset({cause}),
        trusted=True,
        safe_progress=True,
        state=CAUSE_STATES[cause],
        outcome=ReleaseOutcome.FALLBACK,
        fallback=fallback,
    )


def _without_progress(cause: StopCause, state: RunState) -> tuple[ReleaseRow, ReleaseRow]:
    """
    The rows of a run without safe progress: the missing context, else only a failure.
    """
    return (
        ReleaseRow(
            id=f"{cause.name.lower()}-names-missing-context",
            causes=frozenset({cause}),
            trusted=True,
            safe_progress=False,
            missing_context=True,
            state=CAUSE_STATES[cause],
            outcome=ReleaseOutcome.FALLBACK,
            fallback=FallbackType.MISSING_REQUIRED_CONTEXT,
        ),
        ReleaseRow(
            id=f"{cause.name.lower()}-without-progress",
            causes=frozenset({cause}),
            trusted=True,
            safe_progress=False,
            missing_context=False,
            state=state,
            outcome=ReleaseOutcome.FAILED,
        ),
    )


_INSUFFICIENT = FallbackType.INSUFFICIENT_EVIDENCE

#: The causes after which safe progress is released, with the fallback type of section 4, in order.
_FALLBACKS: Final = (
    (StopCause.NO_CONCLUSION, _INSUFFICIENT),
    (StopCause.STOP_IGNORED, _INSUFFICIENT),
    (StopCause.INVALID_DRAFT, _INSUFFICIENT),
    (StopCause.EVIDENCE_REJECTED, FallbackType.EVIDENCE_VALIDATION_FAILED),
    (StopCause.ROUTER_UNAVAILABLE, _INSUFFICIENT),
    (StopCause.RESPONDER_UNAVAILABLE, _INSUFFICIENT),
    (StopCause.AGENT_UNAVAILABLE, _INSUFFICIENT),
    (StopCause.RESULT_TOO_LARGE, _INSUFFICIENT),
    (StopCause.DEADLINE_EXCEEDED, _INSUFFICIENT),
    (StopCause.BUDGET_EXHAUSTED, _INSUFFICIENT),
)

# Sections 3.9 and 4; tests hold it against every row of the contract's own data.
RELEASE_ROWS: Final = (
    ReleaseRow(
        id="cancelled",
        causes=CANCEL_CAUSES,
        state=RunState.CANCELLED,
        outcome=ReleaseOutcome.CANCELLED,
    ),
    ReleaseRow(
        id="trust-broken",
        causes=TRUST_BREAKING,
        state=RunState.FAILED,
        outcome=ReleaseOutcome.FAILED,
    ),
    ReleaseRow(
        id="trust-lost-after-a-safe-ending",
        causes=SAFE_CAUSES,
        trusted=False,
        state=RunState.FAILED,
        outcome=ReleaseOutcome.FAILED,
    ),
    *(
        ReleaseRow(
            id=f"trust-lost-after-{state.name.lower()}",
            causes=frozenset(
                cause
                for cause, of_cause in CAUSE_STATES.items()
                if of_cause is state and cause not in TRUST_BREAKING
            ),
            trusted=False,
            state=state,
            outcome=ReleaseOutcome.FAILED,
        )
        for state in (RunState.FAILED, RunState.TIMED_OUT, RunState.BUDGET_EXHAUSTED)
    ),
    ReleaseRow(
        id="report-approved",
        causes=frozenset({StopCause.REPORT_APPROVED}),
        trusted=True,
        safe_progress=True,
        state=RunState.SUCCESS,
        outcome=ReleaseOutcome.SUCCESS,
    ),
    ReleaseRow(
        id="reply-given",
        causes=frozenset({StopCause.REPLY_GIVEN}),
        trusted=True,
        missing_context=False,
        state=RunState.SUCCESS,
        outcome=ReleaseOutcome.SUCCESS,
    ),
    ReleaseRow(
        id="missing-context-named",
        causes=frozenset({StopCause.MISSING_REQUIRED_CONTEXT}),
        trusted=True,
        missing_context=True,
        state=RunState.SUCCESS,
        outcome=ReleaseOutcome.FALLBACK,
        fallback=FallbackType.MISSING_REQUIRED_CONTEXT,
    ),
    _fallback(StopCause.SEMANTIC_UNSUPPORTED, FallbackType.SEMANTIC_UNSUPPORTED),
    _fallback(StopCause.SEMANTIC_UNAVAILABLE, FallbackType.SEMANTIC_UNAVAILABLE),
    *(
        row
        for cause, fallback in _FALLBACKS
        for row in (
            _fallback(cause, fallback),
            *_without_progress(
                cause, RunState.FAILED if cause in SAFE_CAUSES else CAUSE_STATES[cause]
            ),
        )
    ),
)

# Section 3.11: total over the release outcomes.
REQUEST_STATUS: Final = MappingProxyType(
    {
        ReleaseOutcome.SUCCESS: RequestStatus.SUCCESS,
        ReleaseOutcome.FALLBACK: RequestStatus.SUCCESS,
        ReleaseOutcome.FAILED: RequestStatus.FAILED,
        ReleaseOutcome.CANCELLED: RequestStatus.CANCELLED,
    }
)

# Section 3.10: what each outcome publishes before DONE; a report and a reply are both SUCCESS.
OUTCOME_CONTENT: Final = MappingProxyType(
    {
        ReleaseOutcome.SUCCESS: frozenset({PublicKind.REPORT, PublicKind.REPLY}),
        ReleaseOutcome.FALLBACK: frozenset({PublicKind.FALLBACK}),
        ReleaseOutcome.FAILED: frozenset({PublicKind.FAILURE}),
        ReleaseOutcome.CANCELLED: frozenset({PublicKind.NONE}),
    }
)

# Section 3.10: the outcomes that DONE may carry, as the client reads them, by the event before it.
DONE_OUTCOMES: Final = MappingProxyType(
    {
        EventKind.CONTENT: (ReleaseOutcome.SUCCESS.value, ReleaseOutcome.FALLBACK.value),
        EventKind.FAILURE: (ReleaseOutcome.FAILED.value,),
        EventKind.METADATA: (ReleaseOutcome.CANCELLED.value,),
        EventKind.STATUS: (ReleaseOutcome.CANCELLED.value,),
    }
)

# Section 3.10: (the last event sent, the next one); None is the unopened stream. METADATA -> DONE
# and STATUS -> DONE are for a cancelled run whose client is still there.
STREAM_TRANSITIONS: Final = frozenset(
    {
        (None, EventKind.METADATA),
        (EventKind.METADATA, EventKind.STATUS),
        (EventKind.METADATA, EventKind.CONTENT),
        (EventKind.METADATA, EventKind.FAILURE),
        (EventKind.METADATA, EventKind.DONE),
        (EventKind.STATUS, EventKind.STATUS),
        (EventKind.STATUS, EventKind.CONTENT),
        (EventKind.STATUS, EventKind.FAILURE),
        (EventKind.STATUS, EventKind.DONE),
        (EventKind.CONTENT, EventKind.DONE),
        (EventKind.FAILURE, EventKind.DONE),
    }
)

"""What the harness keeps: immutable records of invocations, attempts, trace and run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final, TypeVar, overload

from attrs import Attribute, field, frozen

from harness._json import FrozenDict, freeze
from harness._limits import Limits
from harness._states import (
    AttemptOutcome,
    CollectionState,
    Component,
    EventKind,
    EvidenceStatus,
    FailureKind,
    FallbackType,
    Intent,
    InvocationCode,
    InvocationStatus,
    LimitationKind,
    PublicKind,
    ReleaseOutcome,
    RequestStatus,
    RunState,
    SemanticVerdict,
    StopCause,
    StopReason,
    TraceCode,
    UsageKind,
    ViolationKind,
)
from harness._tables import (
    CAUSE_STATES,
    LEGAL_EVIDENCE,
    LEGAL_RELEASES,
    LEGAL_RELEASES_UNSAVED,
    REQUEST_STATUS,
    SAFE_CAUSES,
)
from harness._values import DiagnosisDraft, Fact, Request, ToolCall
from harness.errors import IllegalCombinationError, InvalidArgumentError

__all__ = [
    "SCHEMA_VERSION",
    "AttemptRecord",
    "Attempts",
    "BudgetLeft",
    "BudgetUse",
    "CanonicalRecord",
    "CitedSource",
    "Cut",
    "Gates",
    "Invocation",
    "Limitation",
    "ProgressSnapshot",
    "PublicContent",
    "QueriedScope",
    "RunRecord",
    "SemanticCase",
    "SnapshotFact",
    "StreamEvent",
    "Trace",
    "TraceEvent",
    "Violation",
]

T = TypeVar("T")

#: The version of the record's JSON form.
SCHEMA_VERSION: Final = 1


@frozen(kw_only=True)
class Cut:
    """
    How much of a result was kept (section 3.5).

    Attributes:
        original_facts: How many facts there were.
        kept_facts: How many were kept.
        original_bytes: The UTF-8 bytes of all their texts.
        kept_bytes: The UTF-8 bytes of the kept texts.
        repaired: Text that UTF-8 cannot encode was replaced.
    """

    original_facts: int
    kept_facts: int
    original_bytes: int
    kept_bytes: int
    repaired: bool = False

    @property
    def truncated(self) -> bool:
        """
        Whether anything was cut off.
        """
        return self.kept_bytes < self.original_bytes or self.kept_facts < self.original_facts


@frozen
class Invocation:
    """
    The row of one invocation (section 3.5). An illegal pair of statuses cannot be built.

    Attributes:
        number: The run's n-th invocation, from 1.
        invocation_id: Globally unique.
        run_id: The run it belongs to.
        call: Tool, scope and arguments.
        status: Did it work?
        evidence_status: Did its scope hold candidate evidence?
        code: The stable code of an ``ERROR`` row, else ``None``.
        byte_count: The UTF-8 bytes of its fact texts.
        digest: SHA-256 of the record's canonical content, in hexadecimal.
        cut: What was cut off or repaired, or ``None``.

    Raises:
        IllegalCombinationError: The statuses cannot stand together.
    """

    number: int
    invocation_id: str
    run_id: str
    call: ToolCall
    status: InvocationStatus
    evidence_status: EvidenceStatus | None = None
    code: InvocationCode | None = None
    byte_count: int = 0
    digest: str = ""
    cut: Cut | None = None

    def __attrs_post_init__(self) -> None:
        if (self.status, self.evidence_status) not in LEGAL_EVIDENCE:
            raise IllegalCombinationError(
                "InvocationStatus x EvidenceStatus",
                (self.status, self.evidence_status),
                tuple(sorted(LEGAL_EVIDENCE, key=str)),
            )
        if (self.status is InvocationStatus.ERROR) is not (self.code is not None):
            raise InvalidArgumentError("code", self.code, "a code exactly on an ERROR row")

    @property
    def tool(self) -> str:
        """
        The tool's name as the agent asked for it.
        """
        return self.call.tool

    @property
    def scope(self) -> FrozenDict:
        """
        What it looked at: the call's scope, or its arguments where it names no scope.
        """
        return self.call.scope or self.call.arguments

    @property
    def is_ready(self) -> bool:
        """
        Whether its record can be read and cited.
        """
        return self.status is InvocationStatus.READY


@frozen
class CanonicalRecord:
    """
    What is saved of an invocation, read back and compared by digest (section 3.5).

    Attributes:
        invocation: The row, with the digest of this content.
        facts: The facts, numbered from 1.
    """

    invocation: Invocation
    facts: tuple[Fact, ...] = ()

    @property
    def invocation_id(self) -> str:
        """
        The id that citations name.
        """
        return self.invocation.invocation_id

    def fact_ref(self, number: int) -> str:
        """
        Give the reference of a fact for a progress statement (section 3.6).

        Args:
            number: The fact's number, from 1.

        Raises:
            InvalidArgumentError: The record has no such fact.
        """
        if not 1 <= number <= len(self.facts):
            raise InvalidArgumentError("number", number, f"1 to {len(self.facts)}")
        return f"{self.invocation_id}.{number}"


@frozen(kw_only=True)
class AttemptRecord:
    """
    One call of a model or tool, whatever came of it (section 3.2).

    Attributes:
        component: Who was called.
        number: The n-th attempt of this component in this run, from 1.
        outcome: What came of it.
        failure: The failure kind of a failed attempt.
        began: Seconds since the run began.
        seconds: How long it took; never negative.
        late: It returned after the run had ended; its answer was discarded.
        usage: What it said of its usage.
        tokens: Input plus output tokens that were charged.
        cost: Money that was charged.
    """

    component: Component
    number: int
    outcome: AttemptOutcome
    failure: FailureKind | None = None
    began: float
    seconds: float
    late: bool = False
    usage: UsageKind
    tokens: int = 0
    cost: Decimal = Decimal(0)


@frozen
class TraceEvent:
    """
    One event of a run's private trace.

    Attributes:
        sequence: From 1, without gaps.
        code: What happened.
        at: Seconds since the run began.
        detail: What belongs to the code; private, never public.
    """

    sequence: int
    code: TraceCode
    at: float
    detail: FrozenDict


#: A trace event as it is noted: code and instant, then the values of its fields or a mapping.
RawEvent = tuple[Any, ...]

#: The fields of the events that are noted as plain values, because they are noted at every step.
TRACE_FIELDS: Final = MappingProxyType(
    {
        TraceCode.ATTEMPT_STARTED: ("component", "number", "tool"),
        TraceCode.ATTEMPT_FINISHED: ("component", "number"),
        TraceCode.PROGRESS_JUDGED: ("progress", "no_gain"),
        TraceCode.RECORD_SAVED: ("invocation", "facts"),
    }
)


class Lazily(Sequence[T], ABC):
    """
    An immutable sequence whose items are made when somebody reads them.

    Most runs are never looked at step by step; they should not pay for records of their steps.
    """

    __slots__ = ("_raw",)

    def __init__(self, raw: Iterable[tuple[Any, ...]] = ()) -> None:
        self._raw = tuple(raw)

    @abstractmethod
    def _make(self, place: int) -> T:
        """
        Make the item at a place.
        """

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...

    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        places = range(len(self._raw))[index]
        if isinstance(places, range):
            return tuple(self._make(place) for place in places)
        return self._make(places)

    def __len__(self) -> int:
        return len(self._raw)

    def __iter__(self) -> Iterator[T]:
        return map(self._make, range(len(self._raw)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Lazily):
            return self._raw == other._raw or list(self) == list(other)
        return isinstance(other, tuple) and tuple(self) == other

    def __hash__(self) -> int:
        return hash(len(self._raw))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self)!r})"


def _shown(detail: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """
    Write what an event was noted with: members by name, a row by what identifies it.
    """
    for key, value in detail.items():
        if type(value) is Invocation:
            yield key, value.invocation_id
            yield "tool", value.tool
            yield "status", value.status.name
            yield "code", None if value.code is None else value.code.name
        else:
            yield key, getattr(value, "name", value)


class Attempts(Lazily[AttemptRecord]):
    """
    A run's attempts, in order.
    """

    __slots__ = ()

    def _make(self, place: int) -> AttemptRecord:
        component, number, outcome, failure, began, ended, late, usage, tokens, cost = self._raw[
            place
        ]
        return AttemptRecord(
            component=component,
            number=number,
            outcome=outcome,
            failure=failure,
            began=began,
            seconds=ended - began,
            late=late,
            usage=usage,
            tokens=tokens,
            cost=cost,
        )

    @property
    def components(self) -> tuple[Component, ...]:
        """
        The component of each attempt, in order.
        """
        return tuple([raw[0] for raw in self._raw])


class Trace(Lazily[TraceEvent]):
    """
    A run's trace, in order.
    """

    __slots__ = ()

    def _make(self, place: int) -> TraceEvent:
        code, at, *values = self._raw[place]
        if len(values) == 1 and isinstance(values[0], dict):
            detail = values[0]
        else:
            detail = dict(zip(TRACE_FIELDS.get(code, ()), values, strict=False))
        return TraceEvent(place + 1, code, at, freeze(dict(_shown(detail))))

    @property
    def codes(self) -> tuple[TraceCode, ...]:
        """
        The code of each event, in order.
        """
        return tuple([raw[0] for raw in self._raw])


@frozen(kw_only=True)
class BudgetUse:
    """
    What a run used (section 3.3).

    Attributes:
        model_attempts: Calls of models.
        tool_calls: Calls of tools.
        tokens: Input plus output tokens that were reported.
        evidence_bytes: UTF-8 bytes of the stored fact texts.
        cost: Money that was reported.
        unknown_usage: Model attempts whose usage is unknown.
    """

    model_attempts: int = 0
    tool_calls: int = 0
    tokens: int = 0
    evidence_bytes: int = 0
    cost: Decimal = Decimal(0)
    unknown_usage: int = 0


@frozen(kw_only=True)
class BudgetLeft:
    """
    What is left of every dimension, as the agent sees it (section 3.3); ``None``: no limit.

    Attributes:
        model_attempts: Calls of models.
        tool_calls: Calls of tools.
        tokens: Tokens.
        evidence_bytes: Bytes of fact texts.
        cost: Money.
        seconds: Seconds until the deadline.
    """

    model_attempts: int | None
    tool_calls: int | None
    tokens: int | None
    evidence_bytes: int | None
    cost: Decimal | None
    seconds: float | None


@frozen
class Violation:
    """
    What is wrong with one citation of a draft (section 3.7).

    Attributes:
        kind: Which rule is broken.
        where: ``conclusion`` or ``claims[n]``, from 1.
        citation: Which citation of it, from 1; 0 where there is none.
        invocation_id: The id that was cited.
    """

    kind: ViolationKind
    where: str
    citation: int = 0
    invocation_id: str = ""


@frozen(kw_only=True)
class Gates:
    """
    What the two gates said (section 3.7).

    Attributes:
        checks: How often the evidence guard checked a draft.
        violations: What its last check found.
        repaired: Whether a repaired draft was checked.
        verdict: The semantic guard's verdict, or ``None``.
        draft: The last draft, private unless it was released.
    """

    checks: int = 0
    violations: tuple[Violation, ...] = ()
    repaired: bool = False
    verdict: SemanticVerdict | None = None
    draft: DiagnosisDraft | None = None


@frozen
class QueriedScope:
    """
    A scope that was asked of a tool.

    Attributes:
        tool: The tool's name.
        scope: What it looked at.
    """

    tool: str
    scope: FrozenDict


@frozen
class SemanticCase:
    """
    What a semantic guard judges: all visible text, and exactly what it cites (section 3.7).

    Attributes:
        conclusion: The conclusion.
        claims: The claims' texts.
        recommendations: The recommendations.
        facts: The cited facts, each once.
        empty_scopes: The scopes of cited records that hold nothing.
    """

    conclusion: str
    claims: tuple[str, ...] = ()
    recommendations: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    empty_scopes: tuple[QueriedScope, ...] = ()


@frozen
class SnapshotFact:
    """
    An observed fact of the snapshot.

    Attributes:
        tool: The tool that found it.
        text: The fact's text.
        source: Where it stands.
    """

    tool: str
    text: str
    source: str


@frozen
class Limitation:
    """
    What an answer could not take into account (section 3.8).

    Attributes:
        kind: Which limitation.
        name: The source, or the missing context.
        code: The stable code of a source that failed, else ``None``.
    """

    kind: LimitationKind
    name: str
    code: InvocationCode | None = None


@frozen(kw_only=True)
class ProgressSnapshot:
    """
    The safe progress of a run, projected from its ``READY`` records (section 3.8).

    It holds no conclusion and no word of a draft. The fallback's text is a function of it.

    Attributes:
        scopes: The scopes that were queried, in order, bounded.
        facts: Observed facts, in order, bounded.
        empty: Scopes that were found empty, bounded.
        limitations: What could not be taken into account.
        missing_context: Names of context that is missing.
        next_steps: Suggested next steps, from what failed, was empty or was never asked.
        left_out: How many facts and scopes the bounds left out.
    """

    scopes: tuple[QueriedScope, ...] = ()
    facts: tuple[SnapshotFact, ...] = ()
    empty: tuple[QueriedScope, ...] = ()
    limitations: tuple[Limitation, ...] = ()
    missing_context: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()
    left_out: int = 0


@frozen
class CitedSource:
    """
    Evidence that a released report cites, each once.

    Attributes:
        tool: The tool that found it.
        source: Where it stands; empty for a whole or empty record.
        text: The cited fact's text, or the quote, or empty for an empty scope.
        invocation_id: The invocation.
        fact_id: The fact's number, or ``None``.
    """

    tool: str
    source: str
    text: str
    invocation_id: str
    fact_id: int | None = None


@frozen(kw_only=True)
class PublicContent:
    """
    What becomes public (section 3.9).

    Attributes:
        kind: What kind of text it is.
        text: The text; empty for a failure and for nothing.
        code: The stable code of a failure, else ``None``.
        draft: The released report as it was drafted, else ``None``.
        sources: What the report cites.
        limitations: What the answer could not take into account; beside the text, not in it.
    """

    kind: PublicKind
    text: str = ""
    code: str | None = None
    draft: DiagnosisDraft | None = None
    sources: tuple[CitedSource, ...] = ()
    limitations: tuple[Limitation, ...] = ()


def _frozen_data(value: Any) -> FrozenDict:
    return value if type(value) is FrozenDict else FrozenDict(value)


@frozen
class StreamEvent:
    """
    One event for the client (section 3.10).

    Attributes:
        kind: Which event.
        data: Its strict JSON data.
    """

    kind: EventKind
    data: FrozenDict = field(default=FrozenDict(), converter=_frozen_data)


def _utc(_record: object, attribute: Attribute[Any], value: datetime | None) -> None:
    if value is not None and value.utcoffset() != timedelta(0):
        raise InvalidArgumentError(attribute.name, value, "a timezone-aware time in UTC")


@frozen(kw_only=True)
class RunRecord:
    """
    Everything about a run, in full: the four views, gates, invocations, budget, trace (3.11).

    Attributes:
        run_id: Globally unique.
        request: What was asked.
        started_at: Wall-clock time, UTC.
        ended_at: Wall-clock time, UTC; ``None`` while running.
        run_state: Why did execution stop?
        stop_cause: The exact cause; ``None`` while running.
        cancel_reason: What the caller said when it cancelled.
        intent: What was asked for; ``None`` where the run ended before it was routed.
        missing_context: Names of context that was missing.
        collection_state: Where collecting stood.
        stop_reason: Why no more tools could run.
        gates: What the gates said.
        release_outcome: What became public? ``None`` while running.
        fallback_type: Why a fallback?
        release_rule: The id of the table row that decided.
        public: What was decided to become public.
        snapshot: The safe progress that was published as a fallback, else ``None``.
        invocations: Their rows, in order.
        attempts: Every attempt, in order.
        used: What the budget was charged.
        limits: The limits.
        events: The kinds of the events that the client accepted.
        record_saved: Whether the run store has this ending.
        delivered: Whether the client accepted the content or the failure.
        trace: Every event, in order.
        schema_version: The version of the JSON form.
        extra: Fields of the JSON form that this version does not know, kept as they are.

    Raises:
        IllegalCombinationError: Run state and release cannot stand together.
    """

    run_id: str
    request: Request
    started_at: datetime = field(validator=_utc)
    ended_at: datetime | None = field(default=None, validator=_utc)
    run_state: RunState = RunState.RUNNING
    stop_cause: StopCause | None = None
    cancel_reason: str | None = None
    intent: Intent | None = None
    missing_context: tuple[str, ...] = ()
    collection_state: CollectionState = CollectionState.COLLECTING
    stop_reason: StopReason | None = None
    gates: Gates = Gates()
    release_outcome: ReleaseOutcome | None = None
    fallback_type: FallbackType | None = None
    release_rule: str | None = None
    public: PublicContent | None = None
    snapshot: ProgressSnapshot | None = None
    invocations: tuple[Invocation, ...] = ()
    attempts: Attempts = field(factory=Attempts)
    used: BudgetUse = BudgetUse()
    limits: Limits = Limits()
    events: tuple[EventKind, ...] = ()
    record_saved: bool = False
    delivered: bool = False
    trace: Trace = field(factory=Trace)
    schema_version: int = SCHEMA_VERSION
    extra: FrozenDict = FrozenDict()

    def __attrs_post_init__(self) -> None:
        if self.run_state is RunState.RUNNING:
            self._check_running()
        else:
            self._check_ended()

    def _check_running(self) -> None:
        for found in (self.release_outcome, self.stop_cause, self.fallback_type):
            if found is not None:
                raise IllegalCombinationError(
                    "RunState x ReleaseOutcome",
                    (self.run_state, found),
                    ((RunState.RUNNING, None),),
                )

    def _check_ended(self) -> None:
        if self.stop_cause is None:
            raise InvalidArgumentError("stop_cause", None, "the cause of an ended run")
        self._check_cause(self.stop_cause)
        legal = LEGAL_RELEASES if self.record_saved else LEGAL_RELEASES | LEGAL_RELEASES_UNSAVED
        if (self.run_state, self.release_outcome) not in legal:
            raise IllegalCombinationError(
                "RunState x ReleaseOutcome",
                (self.run_state, self.release_outcome),
                tuple(sorted(legal, key=str)),
            )
        if (self.release_outcome is ReleaseOutcome.FALLBACK) is not (
            self.fallback_type is not None
        ):
            raise InvalidArgumentError(
                "fallback_type", self.fallback_type, "a type exactly with a FALLBACK"
            )

    def _check_cause(self, cause: StopCause) -> None:
        if self.run_state is CAUSE_STATES[cause]:
            return
        legal = [(CAUSE_STATES[cause], cause)]
        if cause in SAFE_CAUSES:
            # a safe ending with nothing to release is a failed run (section 4)
            legal.append((RunState.FAILED, cause))
        found = (self.run_state, cause)
        if found not in legal:
            raise IllegalCombinationError("RunState x StopCause", found, tuple(legal))

    @property
    def request_status(self) -> RequestStatus:
        """
        The host's database row, from the release outcome alone (section 3.11).
        """
        if self.release_outcome is None:
            return RequestStatus.RUNNING
        return REQUEST_STATUS[self.release_outcome]

    @property
    def failure_code(self) -> str | None:
        """
        The stable code of a published failure, else ``None``.
        """
        return self.public.code if self.public is not None else None

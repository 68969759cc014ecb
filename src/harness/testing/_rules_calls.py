"""
What must hold of a run's calls: accounts, limits, retries, deadline, cancel (sections 3.1 to 3.6).

As in the module beside it, the contract's tables are written out here and never imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from harness._records import AttemptRecord
from harness._states import SemanticVerdict
from harness._values import Answered
from harness.errors import ProviderError
from harness.testing._observed import MODELS, WORK, Seen
from harness.testing.faults import Call, Fault, UnknownError

__all__ = [
    "calls_accounted",
    "cancel_wins",
    "first_signal_wins",
    "interrupt_ends",
    "limits_kept",
    "nothing_after_the_end",
    "retries_by_policy",
    "rows_and_records",
    "saturated_stays",
    "unsupported_is_final",
]

#: Section 3.2: how often each component may be tried in a run, and after which failures again.
_TWICE: Final = frozenset({"TIMEOUT", "TRANSPORT", "RATE_LIMITED", "INVALID_OUTPUT"})
_ATTEMPTS: Final = MappingProxyType(
    {"INTENT_ROUTER": 2, "RESPONDER": 1, "EVIDENCE_REPAIR": 1, "SEMANTIC_GUARD": 2}
)


def calls_accounted(seen: Seen) -> Iterator[str]:
    """
    Every call outside is one attempt, in attempts, budget and trace alike (3.2, 3.3).
    """
    if seen.is_elsewhere:
        return
    record, attempts = seen.record, seen.attempts
    by_component: dict[str, list[AttemptRecord]] = {}
    for attempt in attempts:
        by_component.setdefault(attempt.component.name, []).append(attempt)
    for site, component in MODELS.items():
        made = by_component.get(component, [])
        yield from _agree(seen, seen.calls(site), made, component)
    tools = by_component.get("TOOL", [])
    executed = len(seen.calls("tool"))
    # a trace is long: read only where calls are missing
    refused = _refused(seen) if executed != len(tools) else 0
    if executed + refused != len(tools):
        yield f"TOOL: {executed} calls were executed and {refused} refused, {len(tools)} attempts"
    for component, made in by_component.items():
        if [attempt.number for attempt in made] != list(range(1, len(made) + 1)):
            yield f"{component}: the attempts are not numbered in order"
    models = [attempt for attempt in attempts if attempt.component.name != "TOOL"]
    used = record.used
    accounts = (
        ("model attempts", used.model_attempts, len(models)),
        ("tool calls", used.tool_calls, len(tools)),
        ("tokens", used.tokens, sum(attempt.tokens for attempt in models)),
        ("cost", used.cost, sum((attempt.cost for attempt in models), Decimal(0))),
        ("unknown usage", used.unknown_usage, sum(a.usage.name != "REPORTED" for a in models)),
        (
            "evidence bytes",
            used.evidence_bytes,
            sum(row.byte_count for row in record.invocations),
        ),
    )
    for what, charged, found in accounts:
        if charged != found:
            yield f"{what}: {charged} in the budget, {found} in the attempts"
    names = [code.name for code in seen.codes]
    started = names.count("ATTEMPT_STARTED")
    ended = names.count("ATTEMPT_FINISHED") + names.count("ATTEMPT_FAILED")
    if not started == ended == len(attempts):
        yield f"the trace starts {started} and ends {ended} of {len(attempts)} attempts"


def _refused(seen: Seen) -> int:
    """
    Count the calls that no tool could take.
    """
    return sum(
        event.code.name == "ATTEMPT_FAILED"
        and event.detail.get("error") in {"UNKNOWN_TOOL", "INVALID_ARGUMENTS"}
        for event in seen.record.trace
    )


def _agree(
    seen: Seen, calls: list[Call], made: list[AttemptRecord], component: str
) -> Iterator[str]:
    if len(calls) != len(made):
        yield f"{component}: {len(calls)} calls, {len(made)} attempts"
        return
    for call, attempt in zip(calls, made, strict=True):
        found = attempt.outcome.name
        if attempt.seconds < 0:
            yield f"{call.place} took {attempt.seconds} seconds"
        if found == "INTERRUPTED" and seen.clock_interrupted([call]):
            continue
        expected = _outcome(call)
        # an answer may be refused; what was raised cannot be made good
        if found != expected and (expected, found) != ("SUCCEEDED", "FAILED"):
            yield f"{call.place} {expected}, its attempt {found}"
        kind = _kind(call)
        if kind is not None and (attempt.failure is None or attempt.failure.name != kind):
            yield f"{call.place} failed as {kind}, its attempt as {attempt.failure}"


def _outcome(call: Call) -> str:
    if call.returned:
        return "SUCCEEDED"
    return "FAILED" if isinstance(call.error, Exception) else "INTERRUPTED"


def _kind(call: Call) -> str | None:
    """
    Give the failure kind that a call's error says of itself.
    """
    error = call.error
    if isinstance(error, ProviderError):
        return error.kind.name
    return "UNCLASSIFIED" if isinstance(error, UnknownError) else None


def limits_kept(seen: Seen) -> Iterator[str]:
    """
    Counted limits are never passed; after tokens or cost are spent nothing more is (3.3).
    """
    if seen.is_elsewhere:
        return
    limits, used = seen.record.limits, seen.record.used
    for what, limit, charged in (
        ("model attempts", limits.model_attempts, used.model_attempts),
        ("tool calls", limits.tool_calls, used.tool_calls),
    ):
        if limit is not None and charged > limit:
            yield f"{charged} {what} of {limit}"
    tokens, cost = 0, Decimal(0)
    for attempt in seen.attempts:
        if attempt.component.name == "TOOL":
            continue
        if limits.tokens is not None and tokens >= limits.tokens:
            yield f"{attempt.component.name} was asked after {tokens} tokens of {limits.tokens}"
        if limits.cost is not None and cost >= limits.cost:
            yield f"{attempt.component.name} was asked after {cost} spent of {limits.cost}"
        tokens += attempt.tokens
        cost += attempt.cost


def retries_by_policy(seen: Seen) -> Iterator[str]:
    """
    Only router and semantic guard are tried twice, and only after a failure that may pass (3.2).
    """
    made: dict[str, list[AttemptRecord]] = {}
    for attempt in seen.attempts:
        made.setdefault(attempt.component.name, []).append(attempt)
    for component, attempts in made.items():
        if len(attempts) > _ATTEMPTS.get(component, len(attempts)):
            yield f"{component} was asked {len(attempts)} times"
        again = attempts[:-1] if component != "TOOL" else []
        for attempt in again:
            if component == "DIAGNOSIS_AGENT":
                if attempt.outcome.name != "SUCCEEDED":
                    yield "the agent was asked again after it had failed"
            elif attempt.failure is None or attempt.failure.name not in _TWICE:
                why = attempt.failure.name if attempt.failure else attempt.outcome.name
                yield f"{component} was asked again after {why}"


def unsupported_is_final(seen: Seen) -> Iterator[str]:
    """
    UNSUPPORTED is an answer: nobody is asked again, and nothing is released as a report (3.7).
    """
    calls = seen.calls("semantic_guard")
    for place, call in enumerate(calls):
        value = call.value.value if type(call.value) is Answered else call.value
        if call.returned and value is SemanticVerdict.UNSUPPORTED:
            if place + 1 < len(calls):
                yield "the semantic guard was asked again after UNSUPPORTED"
            outcome = seen.record.release_outcome
            if outcome is not None and outcome.name == "SUCCESS":
                yield "a report was released that the semantic guard had refused"


def nothing_after_the_end(seen: Seen) -> Iterator[str]:
    """
    Once the caller cancelled or the deadline passed nobody is asked and nothing saved (3.1).
    """
    for call in seen.all.calls:
        if call.site in WORK:
            if call.cancelled:
                yield f"{call.place} was called after the cancel"
            if seen.is_expired(call):
                yield f"{call.place} was called after the deadline"
    interrupted = next((call.number for call in seen.interrupts()), None)
    if interrupted is not None:
        late = [c for c in seen.all.calls if c.number > interrupted and c.site in WORK]
        if late:
            yield f"{late[0].place} was called after the interrupt"


def cancel_wins(seen: Seen) -> Iterator[str]:
    """
    A run that is cancelled before its end is CANCELLED, for that very cause (3.1).
    """
    if seen.is_elsewhere:
        return
    record = seen.record
    state, cause = record.run_state.name, record.stop_cause and record.stop_cause.name
    if state == "TIMED_OUT" and not any(map(seen.is_expired, seen.all.calls)):
        yield "the run timed out before its deadline"
    if not seen.all.cancelled:
        if cause == "CANCELLED_BY_CALLER":
            yield "nobody cancelled the run"
        return
    first = next((call for call in seen.all.calls if call.cancelled), None)
    # the call during which it was cancelled is the one before the first that came after
    during = seen.all.calls[-1] if first is None else seen.all.calls[first.number - 2]
    active = during.site in WORK and not seen.is_expired(during)
    if active and cause not in {"CANCELLED_BY_CALLER", "DEADLINE_EXCEEDED"}:
        yield f"the run was cancelled during {during.place} and ended as {cause}"


def first_signal_wins(seen: Seen) -> Iterator[str]:
    """
    The first terminal signal wins: what came later changes nothing (3.1).
    """
    cause = seen.record.stop_cause and seen.record.stop_cause.name
    if seen.is_elsewhere or cause not in _SIGNALS:
        return
    at, first = min(_signals(seen), default=(0.0, cause))
    if first == cause:
        return
    # a signal is dated and classified before it is noted, and another may come meanwhile
    noted = seen.looked_at(int(at))
    if not any(came <= noted + 1 and its == cause for came, its in _signals(seen)):
        yield f"{first} came first, and the run ended as {cause}"


#: What can end a run from outside, beside its deadline.
_SIGNALS: Final = frozenset(
    {"CANCELLED_BY_CALLER", "CLIENT_DISCONNECTED", "INTERRUPTED", "RECORD_NOT_SAVED"}
)


def _signals(seen: Seen) -> Iterator[tuple[float, str]]:
    """
    Give each signal with its place among the calls: a cancel before what its own call came to.
    """
    cancelled = next((call.number for call in seen.all.calls if call.cancelled), None)
    if cancelled is not None:
        yield cancelled - 0.5, "CANCELLED_BY_CALLER"
    for call in seen.all.calls:
        if call.error is None:
            continue
        if not isinstance(call.error, Exception):
            yield call.last + 0.25, "INTERRUPTED"
        elif call.site == "run_store.begin":
            yield call.last + 0.25, "RECORD_NOT_SAVED"
        elif call.site == "client.send" and not seen.all.detached:
            yield call.last + 0.25, "CLIENT_DISCONNECTED"


def interrupt_ends(seen: Seen) -> Iterator[str]:
    """
    An interrupt of a host object ends the run as CANCELLED / INTERRUPTED (3.1).
    """
    if seen.is_elsewhere:
        return
    cause = seen.record.stop_cause and seen.record.stop_cause.name
    first = next(seen.interrupts(), None)
    if first is None:
        if cause == "INTERRUPTED":
            yield "nobody interrupted the run"
        return
    # a cancel may come between the interrupt and the instant that the clock gives it
    following = seen.all.calls[first.number : first.number + 1]
    cancelled = any(call.cancelled or call.fault is Fault.CANCEL for call in (first, *following))
    if first.site in WORK and not cancelled and cause not in {"INTERRUPTED", "DEADLINE_EXCEEDED"}:
        yield f"{first.place} interrupted the run, which ended as {cause}"


def rows_and_records(seen: Seen) -> Iterator[str]:
    """
    A finished invocation has one row and one record, of one content (3.5).
    """
    rows = seen.record.invocations
    if seen.is_elsewhere:
        return
    if [row.number for row in rows] != sorted({row.number for row in rows}):
        yield "the rows are not in order"
    tools = [attempt for attempt in seen.attempts if attempt.component.name == "TOOL"]
    late = sum(attempt.late for attempt in tools)
    if len(rows) > len(tools) - late:
        yield f"{len(rows)} rows of {len(tools)} calls, {late} of them late"
    for row in rows:
        if row.code is not None and row.code.name == "STORE_FAILED":
            continue
        record = seen.saved.get(row.invocation_id)
        if record is None or record.invocation != row:
            yield f"invocation {row.number} has no record of its content"
    own = {row.invocation_id for row in rows}
    lost = [i for i in seen.saved if i not in own]
    interrupted = next(seen.interrupts(), None) is not None
    if lost and not interrupted:
        yield f"record {lost[0]} has no row"


def saturated_stays(seen: Seen) -> Iterator[str]:
    """
    Once collection is saturated no tool runs any more (3.6).
    """
    if "COLLECTION_SATURATED" not in [code.name for code in seen.codes]:
        return
    saturated = False
    for event in seen.record.trace:
        if event.code.name == "COLLECTION_SATURATED":
            saturated = True
        if (
            saturated
            and event.code.name == "ATTEMPT_STARTED"
            and event.detail.get("component") == "TOOL"
        ):
            yield "a tool was called after collection was saturated"

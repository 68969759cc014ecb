"""
What must hold of how a run ends: states, records, what leaves it (sections 2, 3.1, 3.11, 4).

The contract's tables are written out once more here, by name, and never imported: a table that is
wrong in the harness would be wrong in its own check too.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from harness._records import RunRecord
from harness.errors import InvalidArgumentError, RunExistsError
from harness.testing._observed import Observation, Seen

__all__ = ["legal_states", "nothing_else_leaves", "one_ending", "survives_json"]

#: Section 4: the run state of each cause; ``*`` where nothing to release makes it a failure.
_STATES: Final = MappingProxyType(
    {
        "REPORT_APPROVED": "SUCCESS",
        "REPLY_GIVEN": "SUCCESS",
        "MISSING_REQUIRED_CONTEXT": "SUCCESS*",
        "NO_CONCLUSION": "SUCCESS*",
        "STOP_IGNORED": "SUCCESS*",
        "INVALID_DRAFT": "SUCCESS*",
        "EVIDENCE_REJECTED": "SUCCESS*",
        "SEMANTIC_UNSUPPORTED": "SUCCESS*",
        "SEMANTIC_UNAVAILABLE": "SUCCESS*",
        "ROUTER_UNAVAILABLE": "FAILED",
        "RESPONDER_UNAVAILABLE": "FAILED",
        "AGENT_UNAVAILABLE": "FAILED",
        "RESULT_TOO_LARGE": "FAILED",
        "STORE_UNTRUSTED": "FAILED",
        "RECORD_NOT_SAVED": "FAILED",
        "INTERNAL_ERROR": "FAILED",
        "DEADLINE_EXCEEDED": "TIMED_OUT",
        "BUDGET_EXHAUSTED": "BUDGET_EXHAUSTED",
        "CANCELLED_BY_CALLER": "CANCELLED",
        "CLIENT_DISCONNECTED": "CANCELLED",
        "INTERRUPTED": "CANCELLED",
    }
)
#: Section 4: run state and release that can stand together; a record that was not saved has more.
_PAIRS: Final = frozenset(
    {
        ("SUCCESS", "SUCCESS"),
        ("SUCCESS", "FALLBACK"),
        ("FAILED", "FALLBACK"),
        ("FAILED", "FAILED"),
        ("TIMED_OUT", "FALLBACK"),
        ("TIMED_OUT", "FAILED"),
        ("BUDGET_EXHAUSTED", "FALLBACK"),
        ("BUDGET_EXHAUSTED", "FAILED"),
        ("CANCELLED", "CANCELLED"),
    }
)
_UNSAVED_PAIRS: Final = frozenset(
    {
        ("SUCCESS", "FAILED"),
        ("FAILED", "FAILED"),
        ("TIMED_OUT", "FAILED"),
        ("BUDGET_EXHAUSTED", "FAILED"),
        ("CANCELLED", "CANCELLED"),
    }
)
#: Section 3.11.
_STATUSES: Final = MappingProxyType(
    {"SUCCESS": "SUCCESS", "FALLBACK": "SUCCESS", "FAILED": "FAILED", "CANCELLED": "CANCELLED"}
)
#: Section 3.5.
_ROWS: Final = frozenset(
    {("READY", "EVIDENCE_FOUND"), ("READY", "NO_EVIDENCE"), ("ERROR", "ERROR")}
)
#: Section 3.6: the collection states that have a stop reason, that have none, that may have one.
_REASONED: Final = frozenset({"SATURATED", "DRAFTING", "TERMINATED"})
#: Section 3.9: what is published with each release.
_CONTENTS: Final = MappingProxyType(
    {
        "SUCCESS": frozenset({"REPORT", "REPLY"}),
        "FALLBACK": frozenset({"FALLBACK"}),
        "FAILED": frozenset({"FAILURE"}),
        "CANCELLED": frozenset({"NONE"}),
    }
)


def one_ending(seen: Seen) -> Iterator[str]:
    """
    Every run leaves RUNNING exactly once (3.1).
    """
    record = seen.record
    if record.run_state.name == "RUNNING" or record.stop_cause is None or record.ended_at is None:
        yield f"the run ended as {record.run_state.name}"
    if len(seen.finishes) > 1:
        yield f"the record was saved {len(seen.finishes)} times"
    if not seen.is_elsewhere:
        ends = sum(code.name == "RUN_ENDED" for code in seen.codes)
        decisions = sum(code.name == "RELEASE_DECIDED" for code in seen.codes)
        if (ends, decisions) != (1, 1):
            yield f"the trace has {ends} RUN_ENDED and {decisions} RELEASE_DECIDED"
    if record.record_saved and not seen.is_elsewhere:
        yield from _stands(seen.all.stored, record)


def _stands(stored: RunRecord | None, record: RunRecord) -> Iterator[str]:
    """
    What the run store has is what the run gave back.
    """
    if stored is None:
        yield "the run store has no record, and the run says that it was saved"
        return
    for name in ("run_state", "stop_cause", "release_outcome", "fallback_type", "public"):
        if getattr(stored, name) != getattr(record, name):
            yield f"the run store has another {name} than the record"


def legal_states(seen: Seen) -> Iterator[str]:
    """
    States, causes, release and status stand together as the contract says (4, 3.5, 3.6, 3.11).
    """
    record = seen.record
    state, cause = record.run_state.name, record.stop_cause and record.stop_cause.name
    outcome = record.release_outcome and record.release_outcome.name
    pairs = _PAIRS if record.record_saved else _UNSAVED_PAIRS
    if (state, outcome) not in pairs:
        yield f"{state} with release {outcome}"
    of_cause = _STATES.get(str(cause), "")
    failed = of_cause.endswith("*") and state == "FAILED"
    if state != of_cause.rstrip("*") and not failed:
        yield f"{state} with cause {cause}"
    if failed and record.record_saved and outcome != "FAILED":
        yield f"{cause} with something to release is FAILED"
    if _STATUSES.get(str(outcome)) != record.request_status.name:
        yield f"release {outcome} with request status {record.request_status.name}"
    if (outcome == "FALLBACK") is not (record.fallback_type is not None):
        yield f"release {outcome} with fallback type {record.fallback_type}"
    kind = record.public and record.public.kind.name
    if kind not in _CONTENTS.get(str(outcome), ()):
        yield f"release {outcome} publishes {kind}"
    yield from _legal_collection(record)


def _legal_collection(record: RunRecord) -> Iterator[str]:
    collection, reason = record.collection_state.name, record.stop_reason
    # a draft may be handed in before collection saturates, and after
    if collection != "RELEASE" and (collection in _REASONED) is not (reason is not None):
        yield f"collection {collection} with stop reason {reason and reason.name}"
    for row in record.invocations:
        pair = (row.status.name, row.evidence_status and row.evidence_status.name)
        if pair not in _ROWS or (row.code is None) is (pair[0] == "ERROR"):
            yield f"invocation {row.number} is {pair} with code {row.code and row.code.name}"


def survives_json(seen: Seen) -> Iterator[str]:
    """
    The record goes to JSON and back without loss (3.11).
    """
    # only here: the codec costs time that nobody pays for who only injects faults
    from harness.codec import record_from_json, record_to_json  # noqa: PLC0415

    try:
        back = record_from_json(record_to_json(seen.record))
    except Exception as error:  # noqa: BLE001  whatever it is, the record did not survive
        yield f"{type(error).__name__}: {error}"[:300]
        return
    if back != seen.record:
        yield "the record that comes back differs"


def nothing_else_leaves(observation: Observation) -> Iterator[str]:
    """
    Interrupts leave a run once its record is saved; no other exception of anybody does (3.1).
    """
    left = observation.left
    interrupts = [
        call
        for call in observation.calls
        if call.error is not None and not isinstance(call.error, Exception)
    ]
    begins = [call for call in observation.calls if call.site == "run_store.begin"]
    if left is None:
        if interrupts:
            yield f"{type(interrupts[0].error).__name__} of {interrupts[0]} was swallowed"
        if observation.record is None:
            yield "the run gave no record"
    elif isinstance(left, Exception):
        refused = isinstance(left, InvalidArgumentError) and not begins
        exists = isinstance(left, RunExistsError) and any(c.error is left for c in begins)
        if not refused and not exists:
            yield f"{type(left).__name__} left the run: {left}"[:300]
    elif not interrupts or left is not interrupts[0].error:
        yield f"{type(left).__name__} left the run, and was not the first that a host raised"
    elif begins and observation.record is None:
        yield f"{type(left).__name__} left the run before its record was made"

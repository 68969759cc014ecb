"""The tables hold what the contract says: total, without dead rows, every set derived."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from itertools import product
from types import MappingProxyType
from typing import Any

import pytest

from harness import (
    CollectionState,
    Component,
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
    StopCause,
    StopReason,
)
from harness import _release as release
from harness import _states as states
from harness import _tables as tables
from tests.core.doubles import contract

LEGAL = contract("legal-states")
DECISIONS = contract("release-decisions")
POLICY = contract("attempt-policy")

# Section 2 of the contract, retyped.
VOCABULARY = {
    "InvocationStatus": "PROJECTING READY ERROR",
    "EvidenceStatus": "EVIDENCE_FOUND NO_EVIDENCE ERROR",
    "Progress": "GAINED NO_GAIN",
    "CollectionState": "COLLECTING SATURATED DRAFTING RELEASE TERMINATED",
    "StopReason": "PROGRESS_PROTOCOL_VIOLATED INFORMATION_SATURATED BUDGET_LIMIT_REACHED",
    "RunState": "RUNNING SUCCESS FAILED CANCELLED TIMED_OUT BUDGET_EXHAUSTED",
    "ReleaseOutcome": "SUCCESS FALLBACK FAILED CANCELLED",
    "FallbackType": "MISSING_REQUIRED_CONTEXT INSUFFICIENT_EVIDENCE EVIDENCE_VALIDATION_FAILED"
    " SEMANTIC_UNSUPPORTED SEMANTIC_UNAVAILABLE BUDGET_EXHAUSTED",
    "RequestStatus": "RUNNING SUCCESS FAILED CANCELLED",
    "EventKind": "METADATA STATUS CONTENT FAILURE DONE",
    "FailureKind": "TIMEOUT TRANSPORT RATE_LIMITED INVALID_OUTPUT CAPACITY REJECTED UNCLASSIFIED",
    "Component": "INTENT_ROUTER RESPONDER DIAGNOSIS_AGENT TOOL EVIDENCE_REPAIR SEMANTIC_GUARD",
    "SemanticVerdict": "SUPPORTED UNSUPPORTED",
    "Intent": "DIAGNOSIS GENERAL",
    "ProgressMode": "REPORTED INFERRED",
    "OnDisconnect": "CANCEL DETACH",
    "ViolationKind": "UNCITED UNKNOWN_INVOCATION FOREIGN_RUN NOT_READY UNKNOWN_FACT QUOTE_MISMATCH",
    "InvocationCode": "UNKNOWN_TOOL INVALID_ARGUMENTS PROJECTION_FAILED RESULT_TOO_LARGE"
    " STORE_FAILED TIMEOUT TRANSPORT RATE_LIMITED INVALID_OUTPUT CAPACITY REJECTED UNCLASSIFIED",
}

# Section 4, retyped: the run state of each cause.
CAUSES = {
    "REPORT_APPROVED": "SUCCESS",
    "REPLY_GIVEN": "SUCCESS",
    "MISSING_REQUIRED_CONTEXT": "SUCCESS",
    "NO_CONCLUSION": "SUCCESS",
    "STOP_IGNORED": "SUCCESS",
    "INVALID_DRAFT": "SUCCESS",
    "EVIDENCE_REJECTED": "SUCCESS",
    "SEMANTIC_UNSUPPORTED": "SUCCESS",
    "SEMANTIC_UNAVAILABLE": "SUCCESS",
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

# Section 3.10, retyped: after which event which other may follow.
STREAM = {
    None: "METADATA",
    "METADATA": "STATUS CONTENT FAILURE DONE",
    "STATUS": "STATUS CONTENT FAILURE DONE",
    "CONTENT": "DONE",
    "FAILURE": "DONE",
    "DONE": "",
}

_TABLES = [name for name in tables.__all__ if name.isupper()]


def _names(pairs: frozenset[tuple[Any, Any]]) -> set[tuple[Any, Any]]:
    """Pairs of members as pairs of names."""
    return {(getattr(a, "name", a), getattr(b, "name", b)) for a, b in pairs}


def _pairs(key: str) -> set[tuple[Any, Any]]:
    return {(a, b) for a, b in LEGAL[key]}


@pytest.mark.parametrize("name", VOCABULARY)
def test_the_vocabulary(name: str) -> None:
    """Each type of section 2 has exactly its members, in order; their values are their names."""
    members = getattr(states, name).__members__
    assert list(members) == VOCABULARY[name].split()
    assert all(member.value == key for key, member in members.items())


@pytest.mark.parametrize("name", states.__all__)
def test_members_are_wire_strings(name: str) -> None:
    """Every enum of the vocabulary, internal ones included, has its names as wire strings."""
    kind: type[Enum] = getattr(states, name)
    assert [member.value for member in kind] == list(kind.__members__)


@pytest.mark.parametrize(
    ("table", "key"),
    [
        (tables.LEGAL_EVIDENCE, "invocation_x_evidence"),
        (tables.INVOCATION_TRANSITIONS, "invocation_transitions"),
        (tables.COLLECTION_TRANSITIONS, "collection_transitions"),
        (tables.RUN_TRANSITIONS, "run_transitions"),
        (tables.LEGAL_RELEASES, "run_x_release"),
        (tables.LEGAL_RELEASES_UNSAVED, "run_x_release_if_record_not_saved"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_enumeration_of_legal_states(table: frozenset[tuple[Any, Any]], key: str) -> None:
    """Each table of pairs and transitions equals the contract's own data."""
    assert _names(table) == _pairs(key)


def test_the_order_of_the_stream() -> None:
    """The stream's transitions are those of section 3.10, and DONE is the only end."""
    expected = {(last, kind) for last, kinds in STREAM.items() for kind in kinds.split()}
    assert _names(tables.STREAM_TRANSITIONS) == expected
    assert set(STREAM) == {None, *states.EventKind.__members__}


@pytest.mark.parametrize(
    ("transitions", "terminal"),
    [
        (tables.INVOCATION_TRANSITIONS, {"READY", "ERROR"}),
        (tables.COLLECTION_TRANSITIONS, {"RELEASE", "TERMINATED"}),
        (
            tables.RUN_TRANSITIONS,
            {"SUCCESS", "FAILED", "CANCELLED", "TIMED_OUT", "BUDGET_EXHAUSTED"},
        ),
    ],
)
def test_terminal_states(transitions: frozenset[tuple[Enum, Enum]], terminal: set[str]) -> None:
    """The states without an outgoing row are the terminal ones, and each state is reached."""
    sources = {come for come, _ in transitions}
    targets = {to for _, to in transitions}
    kind = type(next(iter(sources)))
    assert {state.name for state in kind if state not in sources} == terminal
    assert len({state for state in kind if state not in targets}) <= 1


def test_causes() -> None:
    """Every cause has the run state of section 4."""
    table = {cause.name: state.name for cause, state in tables.CAUSE_STATES.items()}
    assert table == CAUSES
    assert set(table) == set(StopCause.__members__)


@pytest.mark.parametrize(
    ("derived", "state"),
    [(tables.SAFE_CAUSES, "SUCCESS"), (tables.CANCEL_CAUSES, "CANCELLED")],
)
def test_derived_sets(derived: frozenset[StopCause], state: str) -> None:
    """The sets of causes are what their state says, so that none is forgotten."""
    assert {cause.name for cause in derived} == {
        c for c, of_cause in CAUSES.items() if of_cause == state
    }


def test_trust_breaking_causes() -> None:
    """Exactly the causes that the contract marks as breaking trust do so."""
    broken = {cause.name for cause in tables.TRUST_BREAKING}
    assert broken == {"STORE_UNTRUSTED", "RECORD_NOT_SAVED", "INTERNAL_ERROR"}


def test_enumeration_of_the_attempt_policy_table() -> None:
    """The policy of every component is the contract's."""
    table = {
        component.name: (policy.max_attempts, {kind.name for kind in policy.retried_on})
        for component, policy in tables.ATTEMPT_POLICY.items()
    }
    assert table == {
        name: (row["max_attempts"], set(row["retried_on"])) for name, row in POLICY.items()
    }
    assert set(table) == set(Component.__members__)


def test_model_components() -> None:
    """Every component but a tool is charged as a model attempt (section 3.3)."""
    assert {component.name for component in tables.MODEL_COMPONENTS} == {
        "INTENT_ROUTER",
        "RESPONDER",
        "DIAGNOSIS_AGENT",
        "EVIDENCE_REPAIR",
        "SEMANTIC_GUARD",
    }


def test_the_request_status() -> None:
    """The host's row follows from the release outcome alone, for every outcome (section 3.11)."""
    assert dict(tables.REQUEST_STATUS) == {
        ReleaseOutcome.SUCCESS: RequestStatus.SUCCESS,
        ReleaseOutcome.FALLBACK: RequestStatus.SUCCESS,
        ReleaseOutcome.FAILED: RequestStatus.FAILED,
        ReleaseOutcome.CANCELLED: RequestStatus.CANCELLED,
    }


def test_the_public_kinds() -> None:
    """Every public kind belongs to exactly one outcome."""
    assert set(tables.OUTCOME_CONTENT) == set(ReleaseOutcome)
    kinds = [kind for kinds in tables.OUTCOME_CONTENT.values() for kind in kinds]
    assert sorted(kinds, key=str) == sorted(PublicKind, key=str)


def test_rows_have_ids() -> None:
    """Every release row has an id of its own."""
    ids = [row.id for row in tables.RELEASE_ROWS]
    assert all(ids)
    assert len(set(ids)) == len(ids)


BOTH = (True, False)


def test_no_row_is_dead() -> None:
    """Every release row decides at least one combination of facts."""
    deciding = set()
    for cause, trusted, safe, missing in product(StopCause, BOTH, BOTH, BOTH):
        facts = release.ReleaseFacts(
            cause=cause, trusted=trusted, safe_progress=safe, missing_context=missing
        )
        try:
            deciding.add(release.decide_release(facts).rule)
        except ValueError:
            continue
    assert deciding == {row.id for row in tables.RELEASE_ROWS}


def test_rows_are_legal() -> None:
    """Every release row ends in a legal pair, and has a fallback type exactly with a fallback."""
    for row in tables.RELEASE_ROWS:
        assert (row.state, row.outcome) in tables.LEGAL_RELEASES
        assert (row.outcome is ReleaseOutcome.FALLBACK) is (row.fallback is not None)


def test_a_reserved_fallback_type() -> None:
    """No row writes BUDGET_EXHAUSTED as a fallback type: only the host's policy does."""
    written = {row.fallback for row in tables.RELEASE_ROWS} - {None}
    assert written == set(FallbackType) - {FallbackType.BUDGET_EXHAUSTED}


@pytest.mark.parametrize("name", _TABLES)
def test_tables_cannot_be_changed(name: str) -> None:
    """Every table is an immutable value."""
    table = getattr(tables, name)
    assert isinstance(table, (frozenset, tuple, MappingProxyType))


@pytest.mark.parametrize(
    ("texts", "kind"),
    [(release._HEADLINES, FallbackType), (release._LIMITATIONS, LimitationKind)],
)
def test_texts_are_total(texts: Mapping[Enum, str], kind: type[Enum]) -> None:
    """Every fallback type and every limitation has its text."""
    assert set(texts) == set(kind)


def test_a_failure_kind_is_an_invocation_code() -> None:
    """Every failure kind of a tool has the stable code of the same name."""
    assert {InvocationCode[kind.name].name for kind in FailureKind} == set(FailureKind.__members__)


def test_starting_states() -> None:
    """The first member of each machine is where it starts: no transition leads back into it."""
    assert next(iter(InvocationStatus)) is InvocationStatus.PROJECTING
    assert next(iter(CollectionState)) is CollectionState.COLLECTING
    assert next(iter(RunState)) is RunState.RUNNING


def test_the_decisions_cover_every_cause() -> None:
    """The contract's release decisions, typed as data, name every cause and no other."""
    assert {row["stop_cause"] for row in DECISIONS} == set(StopCause.__members__)
    assert len(DECISIONS) == 74
    assert {reason.name for reason in StopReason} & {intent.name for intent in Intent} == set()

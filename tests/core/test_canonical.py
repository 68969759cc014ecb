"""The canonical record of an invocation: its states, its digest, its comparison (section 3.5)."""

from __future__ import annotations

import pickle
from itertools import combinations, product
from typing import Any

import pytest
from attrs import evolve

from harness import (
    CanonicalRecord,
    Cut,
    EvidenceStatus,
    Fact,
    Invocation,
    InvocationCode,
    InvocationStatus,
    ToolCall,
)
from harness._canonical import digest_of, is_intact, next_invocation_status, unstored_row
from harness.errors import IllegalCombinationError, IllegalTransitionError, InvalidArgumentError
from tests.core.doubles import contract, evidence

LEGAL = contract("legal-states")
PAIRS = {(status, found) for status, found in LEGAL["invocation_x_evidence"]}
TRANSITIONS = {(come, to) for come, to in LEGAL["invocation_transitions"]}
STATUSES = list(InvocationStatus.__members__)
CALL = ToolCall("logs", {"service": "pay"}, {"q": "x"})


def _row(status: str, found: str | None) -> Invocation:
    code = InvocationCode.TIMEOUT if status == "ERROR" else None
    evidence_status = None if found is None else EvidenceStatus[found]
    return Invocation(1, "E-1", "run", CALL, InvocationStatus[status], evidence_status, code)


@pytest.mark.parametrize(("status", "found"), sorted(PAIRS, key=str))
def test_enumeration_of_legal_invocation_pairs(status: str, found: str | None) -> None:
    """Each pair of statuses of the contract can be built."""
    row = _row(status, found)
    assert row.status.name == status
    assert row.is_ready is (status == "READY")


@pytest.mark.parametrize(
    ("status", "found"),
    sorted(set(product(STATUSES, (None, *EvidenceStatus.__members__))) - PAIRS, key=str),
)
def test_enumeration_of_illegal_invocation_pairs(status: str, found: str | None) -> None:
    """No other pair can be built; the error names it and what is allowed."""
    with pytest.raises(IllegalCombinationError, match=f"{status} {found} cannot occur") as caught:
        _row(status, found)
    assert len(caught.value.allowed) == len(PAIRS)


@pytest.mark.parametrize(
    ("status", "found", "code"),
    [
        ("READY", "NO_EVIDENCE", InvocationCode.TIMEOUT),
        ("ERROR", "ERROR", None),
        ("PROJECTING", None, InvocationCode.REJECTED),
    ],
)
def test_a_code_exactly_on_an_error(
    status: str, found: str | None, code: InvocationCode | None
) -> None:
    """An ERROR row carries a stable code, and no other does."""
    evidence_status = None if found is None else EvidenceStatus[found]
    with pytest.raises(InvalidArgumentError, match=r"^code is "):
        Invocation(1, "E-1", "run", CALL, InvocationStatus[status], evidence_status, code)


@pytest.mark.parametrize(("come", "to"), sorted(product(STATUSES, STATUSES)))
def test_enumeration_of_invocation_transitions(come: str, to: str) -> None:
    """Each transition of the contract can be made, and no other."""
    state, target = InvocationStatus[come], InvocationStatus[to]
    if (come, to) in TRANSITIONS:
        assert next_invocation_status(state, target) is target
        return
    with pytest.raises(IllegalTransitionError, match=f"{come} -> {to} cannot occur") as caught:
        next_invocation_status(state, target)
    allowed = {one.name for one in caught.value.allowed}  # type: ignore[attr-defined]
    assert allowed == {b for a, b in TRANSITIONS if a == come}
    assert caught.value.machine == "InvocationStatus"


# --- records

CUT = Cut(original_facts=9, kept_facts=2, original_bytes=90, kept_bytes=20)

VARIANTS = [
    evidence("a", "b"),
    evidence("a", "b", number=2),
    evidence("a", "b", run_id="other"),
    evidence("a", "b", call=ToolCall("cfg", {"service": "pay"}, {"n": 1})),
    evidence("a", "b", call=ToolCall("logs", {"service": "x"}, {"n": 1})),
    evidence("a", "b", call=ToolCall("logs", {"service": "pay"}, {"n": 2})),
    evidence("a", "b", call=ToolCall("logs", {"service": "pay"}, {"n": "1"})),
    evidence("a", "b", call=ToolCall("logs", {"service": "pay"}, {"n": True})),
    evidence("a"),
    evidence("b", "a"),
    evidence("ab"),
    evidence("", "ab"),
    evidence("a\nb"),
    evidence(Fact("a", "b")),
    evidence(Fact("a", "x"), Fact("b")),
    evidence(Fact("a"), Fact("b", "x")),
    evidence("1:a0:1:b0:"),
    evidence(),
    evidence("a", "b", cut=CUT),
    evidence("a", "b", cut=evolve(CUT, original_bytes=91)),
    evidence("a", "b", cut=evolve(CUT, repaired=True)),
    evidence(code=InvocationCode.TIMEOUT),
    evidence(code=InvocationCode.STORE_FAILED),
]


@pytest.mark.parametrize(
    ("texts", "code", "status", "found"),
    [
        (("a",), None, "READY", "EVIDENCE_FOUND"),
        ((), None, "READY", "NO_EVIDENCE"),
        ((), InvocationCode.PROJECTION_FAILED, "ERROR", "ERROR"),
    ],
)
def test_a_record(
    texts: tuple[str, ...], code: InvocationCode | None, status: str, found: str
) -> None:
    """An invocation ends READY with or without evidence, or in ERROR with its code."""
    record = evidence(*texts, number=7, code=code)
    row = record.invocation
    assert (row.status.name, row.evidence_status) == (status, EvidenceStatus[found])
    assert (row.number, row.invocation_id, row.run_id) == (7, "E-run-7", "run")
    assert (row.code, row.byte_count) == (code, len(texts))


@pytest.mark.parametrize("record", VARIANTS)
def test_a_digest(record: CanonicalRecord) -> None:
    """A record carries the SHA-256 digest of its content, the same one each time."""
    digest = record.invocation.digest
    assert len(digest) == 64
    assert int(digest, 16) >= 0
    assert digest_of(record) == digest
    assert digest_of(pickle.loads(pickle.dumps(record))) == digest  # noqa: S301


def test_no_two_contents_share_a_digest() -> None:
    """Whatever differs in a record's content makes another digest."""
    digests = [record.invocation.digest for record in VARIANTS]
    assert [pair for pair in combinations(digests, 2) if pair[0] == pair[1]] == []


def test_the_order_of_keys_is_no_content() -> None:
    """Two calls with the same arguments in another order have the same content."""
    one = evidence("a", call=ToolCall("logs", {"a": 1, "b": {"x": 1, "y": 2}}, {"c": 1, "d": 2}))
    two = evidence("a", call=ToolCall("logs", {"b": {"y": 2, "x": 1}, "a": 1}, {"d": 2, "c": 1}))
    assert one.invocation.digest == two.invocation.digest


def test_what_was_saved_is_intact() -> None:
    """The same record, or an equal copy of it, is what was saved."""
    saved = VARIANTS[0]
    assert is_intact(saved, saved)
    assert is_intact(pickle.loads(pickle.dumps(saved)), saved)  # noqa: S301


SAVED = VARIANTS[0]


@pytest.mark.parametrize(
    "loaded",
    [
        None,
        "text",
        {},
        SAVED.invocation,
        *VARIANTS[1:],
        evolve(SAVED, facts=SAVED.facts[:1]),
        evolve(SAVED, facts=()),
        evolve(SAVED, invocation=evolve(SAVED.invocation, byte_count=9)),
        evolve(SAVED, invocation=evolve(SAVED.invocation, digest="0" * 64)),
        CanonicalRecord(None),  # type: ignore[arg-type]
        CanonicalRecord(SAVED.invocation, None),  # type: ignore[arg-type]
    ],
)
def test_anything_else_is_not_intact(loaded: Any) -> None:
    """Whatever differs from what was saved is not intact, and no comparison raises."""
    assert not is_intact(loaded, SAVED)


def test_a_record_that_cannot_be_compared() -> None:
    """A record whose comparison raises is not what was saved."""

    class Odd:
        def __eq__(self, _other: object) -> bool:
            message = "cannot be compared"
            raise RuntimeError(message)

        __hash__ = None  # type: ignore[assignment]

    odd: Any = Odd()
    assert not is_intact(evolve(SAVED, facts=odd), SAVED)


def test_the_row_of_what_was_not_stored() -> None:
    """An invocation whose record could not be stored ends in ERROR and keeps no fact."""
    row = unstored_row(SAVED)
    assert (row.status, row.code) == (InvocationStatus.ERROR, InvocationCode.STORE_FAILED)
    assert (row.number, row.invocation_id, row.call) == (1, "E-run-1", SAVED.invocation.call)
    assert row.run_id == "run"
    assert row.byte_count == 0
    assert row.digest == digest_of(CanonicalRecord(row))


def test_a_fact_reference() -> None:
    """A fact is named by its record's id and its number from 1."""
    assert [SAVED.fact_ref(1), SAVED.fact_ref(2)] == ["E-run-1.1", "E-run-1.2"]
    for number in (0, 3, -1):
        with pytest.raises(InvalidArgumentError, match=f"number is {number}; allowed: 1 to 2"):
            SAVED.fact_ref(number)


def test_the_scope_of_a_row() -> None:
    """A row's scope is what its call looked at: the scope, else the arguments."""
    assert VARIANTS[0].invocation.scope == {"service": "pay"}
    assert evidence(call=ToolCall("logs", None, {"q": 1})).invocation.scope == {"q": 1}
    assert VARIANTS[0].invocation.tool == "logs"


@pytest.mark.parametrize(
    ("kept_facts", "kept_bytes", "truncated"), [(9, 90, False), (8, 90, True), (9, 89, True)]
)
def test_a_cut(kept_facts: int, kept_bytes: int, truncated: bool) -> None:
    """A cut says whether anything was cut off."""
    cut = evolve(CUT, kept_facts=kept_facts, kept_bytes=kept_bytes)
    assert cut.truncated is truncated

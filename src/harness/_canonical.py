"""The canonical content of an invocation: built once, digested, compared (section 3.5)."""

from __future__ import annotations

from hashlib import sha256
from typing import Protocol

from attrs import astuple, evolve

from harness._records import CanonicalRecord, Cut, Invocation
from harness._states import EvidenceStatus, InvocationCode, InvocationStatus
from harness._tables import INVOCATION_TRANSITIONS
from harness._values import Fact, ToolCall
from harness.errors import IllegalTransitionError

__all__ = [
    "digest_of",
    "is_intact",
    "make_record",
    "next_invocation_status",
    "unstored_row",
]


def next_invocation_status(status: InvocationStatus, target: InvocationStatus) -> InvocationStatus:
    """
    Make a transition of an invocation's status.

    Raises:
        IllegalTransitionError: The table does not have it.
    """
    if (status, target) not in INVOCATION_TRANSITIONS:
        allowed = tuple(
            to for come, to in sorted(INVOCATION_TRANSITIONS, key=str) if come is status
        )
        raise IllegalTransitionError("InvocationStatus", status, target, allowed)
    return target


def _digest(row: Invocation, facts: tuple[Fact, ...]) -> str:
    """
    Digest the content, each text preceded by its length, so that no part runs into another.
    """
    code, cut = row.code, row.cut
    head = (
        f"{row.number} {row.invocation_id!r} {row.run_id!r} {row.call.key} {row.status._value_} "
        f"{code and code._value_} {row.byte_count} {cut and astuple(cut)}"
    )
    body = [f"{len(f.text)}:{f.text}{len(f.source)}:{f.source}" for f in facts]
    return sha256(f"{head};{''.join(body)}".encode()).hexdigest()


class _Outcome(Protocol):
    """
    What a tool call came to.
    """

    facts: tuple[Fact, ...]
    byte_count: int
    code: InvocationCode | None
    cut: Cut | None


def make_record(
    prefix: str, number: int, run_id: str, call: ToolCall, outcome: _Outcome
) -> CanonicalRecord:
    """
    Finish an invocation: its row and canonical record, with the digest of their content.

    Args:
        prefix: What the ids of the run's evidence begin with; globally unique.
        number: The run's n-th invocation.
        run_id: The run.
        call: What was asked.
        outcome: What it came to.
    """
    facts, code = outcome.facts, outcome.code
    if code is not None:
        status, evidence_status = InvocationStatus.ERROR, EvidenceStatus.ERROR
    elif facts:
        status, evidence_status = InvocationStatus.READY, EvidenceStatus.EVIDENCE_FOUND
    else:
        status, evidence_status = InvocationStatus.READY, EvidenceStatus.NO_EVIDENCE
    row = Invocation(
        number,
        f"{prefix}{number}",
        run_id,
        call,
        next_invocation_status(InvocationStatus.PROJECTING, status),
        evidence_status,
        code,
        outcome.byte_count,
        "",
        outcome.cut,
    )
    # not shared yet: the digest completes the row that it is the digest of
    object.__setattr__(row, "digest", _digest(row, facts))
    return CanonicalRecord(row, facts)


def unstored_row(record: CanonicalRecord) -> Invocation:
    """
    Give the row of an invocation whose record could not be stored: its facts count for nothing.

    Args:
        record: The record that could not be stored.
    """
    row = record.invocation
    broken = Invocation(
        row.number,
        row.invocation_id,
        row.run_id,
        row.call,
        InvocationStatus.ERROR,
        EvidenceStatus.ERROR,
        InvocationCode.STORE_FAILED,
    )
    return evolve(broken, digest=_digest(broken, ()))


def digest_of(record: CanonicalRecord) -> str:
    """
    Digest a record's canonical content anew, whatever digest it carries.

    Args:
        record: The record.
    """
    return _digest(record.invocation, record.facts)


def is_intact(loaded: object, saved: CanonicalRecord) -> bool:
    """
    Whether what a store gave back is what it was given, by digest.

    The very same immutable object needs no digest.
    """
    if loaded is saved:
        return True
    if type(loaded) is not CanonicalRecord:
        return False
    expected = saved.invocation.digest
    try:
        return loaded == saved and digest_of(loaded) == expected
    except Exception:  # noqa: BLE001  a record that cannot even be digested is not what was saved
        return False

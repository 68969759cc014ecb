"""The canonical content of an invocation: built once, digested, compared (section 3.5)."""

from __future__ import annotations

from hashlib import sha256

from attrs import astuple

from harness._records import CanonicalRecord, Cut, Invocation
from harness._states import EvidenceStatus, InvocationCode, InvocationStatus
from harness._tables import INVOCATION_TRANSITIONS
from harness._values import Fact, ToolCall
from harness.errors import IllegalTransitionError

__all__ = ["digest_of", "is_intact", "make_record", "next_invocation_status"]


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


def _digest(  # noqa: PLR0913  the canonical content, field by field
    number: int,
    invocation_id: str,
    run_id: str,
    call: ToolCall,
    status: InvocationStatus,
    code: InvocationCode | None,
    facts: tuple[Fact, ...],
    cut: Cut | None,
) -> str:
    """
    Digest the parts of the content, each preceded by its length, so that no part runs into another.
    """
    parts = [
        str(number),
        invocation_id,
        run_id,
        call.key,
        status._value_,
        "" if code is None else code._value_,
        "" if cut is None else repr(astuple(cut)),
    ]
    for fact in facts:
        parts += (fact.text, fact.source)
    lengths = ",".join([str(len(part)) for part in parts])
    return sha256(f"{lengths};{''.join(parts)}".encode()).hexdigest()


def make_record(  # noqa: PLR0913  one record's fields
    number: int,
    invocation_id: str,
    run_id: str,
    call: ToolCall,
    facts: tuple[Fact, ...],
    byte_count: int,
    code: InvocationCode | None = None,
    cut: Cut | None = None,
) -> CanonicalRecord:
    """
    Finish an invocation: its row and canonical record, with the digest of their content.

    Args:
        number: The run's n-th invocation.
        invocation_id: Its globally unique id.
        run_id: The run.
        call: What was asked.
        facts: What was found, bounded.
        byte_count: The UTF-8 bytes of the fact texts.
        code: The stable code where it failed.
        cut: What was cut off or repaired.
    """
    if code is not None:
        status, evidence_status = InvocationStatus.ERROR, EvidenceStatus.ERROR
    elif facts:
        status, evidence_status = InvocationStatus.READY, EvidenceStatus.EVIDENCE_FOUND
    else:
        status, evidence_status = InvocationStatus.READY, EvidenceStatus.NO_EVIDENCE
    digest = _digest(number, invocation_id, run_id, call, status, code, facts, cut)
    row = Invocation(
        number,
        invocation_id,
        run_id,
        call,
        next_invocation_status(InvocationStatus.PROJECTING, status),
        evidence_status,
        code,
        byte_count,
        digest,
        cut,
    )
    return CanonicalRecord(row, facts)


def digest_of(record: CanonicalRecord) -> str:
    """
    Digest a record's canonical content anew, whatever digest it carries.
    """
    row = record.invocation
    return _digest(
        row.number,
        row.invocation_id,
        row.run_id,
        row.call,
        row.status,
        row.code,
        record.facts,
        row.cut,
    )


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

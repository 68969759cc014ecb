"""The safe snapshot: what was really observed, bounded, without a word of a draft (section 3.8)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from harness._records import (
    CanonicalRecord,
    Invocation,
    Limitation,
    ProgressSnapshot,
    QueriedScope,
    SnapshotFact,
)
from harness._states import InvocationCode, LimitationKind

__all__ = ["limitations_of", "project_snapshot"]

#: The most facts, and the most scopes of each list, of a snapshot.
MAX_FACTS: Final = 50
MAX_SCOPES: Final = 50
#: The most UTF-8 bytes of all fact texts of a snapshot.
MAX_TEXT_BYTES: Final = 64 * 1024
#: The most limitations and next steps of a snapshot.
MAX_LINES: Final = 100


def limitations_of(
    invocations: Iterable[Invocation], tools: Sequence[str]
) -> tuple[Limitation, ...]:
    """
    Say what an answer could not take into account, each once, in a stable order.

    Args:
        invocations: The run's rows.
        tools: The names of the configured tools.
    """
    found: dict[Limitation, None] = {}
    consulted: set[str] = set()
    for row in invocations:
        limitation = _of_row(row)
        if limitation is not None:
            found[limitation] = None
        if _asked_its_source(row):
            consulted.add(row.tool)
    for name in tools:
        if name not in consulted:
            found[Limitation(LimitationKind.NEVER_CONSULTED, name)] = None
    return tuple(found)[:MAX_LINES]


def _asked_its_source(row: Invocation) -> bool:
    return row.code not in {InvocationCode.UNKNOWN_TOOL, InvocationCode.INVALID_ARGUMENTS}


def _of_row(row: Invocation) -> Limitation | None:
    """
    Give the limitation that one row stands for.
    """
    if row.code is None:
        truncated = row.cut is not None and row.cut.truncated
        return Limitation(LimitationKind.TRUNCATED, row.tool) if truncated else None
    if not _asked_its_source(row):
        # a name that no tool has is an agent's mistake; its text is not made public
        return None
    if row.code in {InvocationCode.PROJECTION_FAILED, InvocationCode.RESULT_TOO_LARGE}:
        return Limitation(LimitationKind.PROJECTION_FAILED, row.tool, row.code)
    return Limitation(LimitationKind.SOURCE_UNAVAILABLE, row.tool, row.code)


def project_snapshot(
    records: Sequence[CanonicalRecord],
    limitations: tuple[Limitation, ...],
    missing_context: tuple[str, ...],
) -> ProgressSnapshot:
    """
    Project the safe progress of a run.

    Args:
        records: The run's ``READY`` records, read back from the store, in order.
        limitations: From :func:`limitations_of`.
        missing_context: Names of missing context.
    """
    scopes = _unique(QueriedScope(r.invocation.tool, r.invocation.scope) for r in records)
    empty = _unique(
        QueriedScope(r.invocation.tool, r.invocation.scope) for r in records if not r.facts
    )
    facts, all_facts = _facts(records)
    return ProgressSnapshot(
        scopes=scopes[:MAX_SCOPES],
        facts=facts,
        empty=empty[:MAX_SCOPES],
        limitations=limitations,
        missing_context=missing_context,
        next_steps=_next_steps(limitations, empty, missing_context),
        left_out=all_facts - len(facts) + max(0, len(scopes) - MAX_SCOPES),
    )


def _unique(scopes: Iterable[QueriedScope]) -> tuple[QueriedScope, ...]:
    return tuple(dict.fromkeys(scopes))


def _facts(records: Sequence[CanonicalRecord]) -> tuple[tuple[SnapshotFact, ...], int]:
    """
    Take facts in order until a bound is reached, each text once; count them all.
    """
    kept: dict[str, SnapshotFact] = {}
    texts: set[str] = set()
    room = MAX_TEXT_BYTES
    for record in records:
        for fact in record.facts:
            if fact.text in texts:
                continue
            texts.add(fact.text)
            room -= len(fact.text.encode())
            if room >= 0 and len(kept) < MAX_FACTS:
                kept[fact.text] = SnapshotFact(record.invocation.tool, fact.text, fact.source)
    return tuple(kept.values()), len(texts)


def _next_steps(
    limitations: tuple[Limitation, ...],
    empty: tuple[QueriedScope, ...],
    missing_context: tuple[str, ...],
) -> tuple[str, ...]:
    """
    Suggest what to do next, from the snapshot alone, as ``code:name``.
    """
    steps = [f"PROVIDE_CONTEXT:{name}" for name in missing_context]
    for limitation in limitations:
        if limitation.kind is LimitationKind.SOURCE_UNAVAILABLE:
            steps.append(f"RETRY_SOURCE:{limitation.name}")
        elif limitation.kind is LimitationKind.NEVER_CONSULTED:
            steps.append(f"ASK_SOURCE:{limitation.name}")
        elif limitation.kind is LimitationKind.TRUNCATED:
            steps.append(f"NARROW_SCOPE:{limitation.name}")
    steps.extend(f"WIDEN_SCOPE:{scope.tool}" for scope in empty)
    return tuple(dict.fromkeys(steps))[:MAX_LINES]

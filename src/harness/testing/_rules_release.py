"""
What must hold of what becomes public: drafts, reports, findings (sections 3.5, 3.7 to 3.9, 4).

The contract's tables are written out once more here, by name, and never imported: a table that is
wrong in the harness would be wrong in its own check too.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any, Final

from harness._records import CanonicalRecord, ProgressSnapshot
from harness._release import write_fallback
from harness._states import EventKind, PublicKind, ReleaseOutcome, SemanticVerdict
from harness._values import Answered, Citation, DiagnosisDraft
from harness.testing._hostile import CHANGED
from harness.testing._observed import Seen
from harness.testing.faults import SECRET

__all__ = [
    "draft_stays_private",
    "fallback_from_snapshot",
    "findings_kept",
    "reply_is_given",
    "report_is_proven",
    "secrets_stay_private",
    "store_is_trusted",
]

#: Section 4: the fallback type of each cause, where facts exist.
_FALLBACKS: Final = MappingProxyType(
    {
        "MISSING_REQUIRED_CONTEXT": "MISSING_REQUIRED_CONTEXT",
        "EVIDENCE_REJECTED": "EVIDENCE_VALIDATION_FAILED",
        "SEMANTIC_UNSUPPORTED": "SEMANTIC_UNSUPPORTED",
        "SEMANTIC_UNAVAILABLE": "SEMANTIC_UNAVAILABLE",
    }
)
#: Section 4: the causes that never release what was collected.
_UNTRUSTED: Final = frozenset({"STORE_UNTRUSTED", "RECORD_NOT_SAVED", "INTERNAL_ERROR"})
#: The shortest text of a draft that cannot stand in something public by chance.
_TELLING: Final = 4


def draft_stays_private(seen: Seen) -> Iterator[str]:
    """
    Nothing of a draft becomes public but in the report that was approved (3.8, 3.9).
    """
    if seen.record.release_outcome is ReleaseOutcome.SUCCESS:
        return
    for event in seen.sent:
        if event.kind is not EventKind.CONTENT:
            continue
        shown = str(event.data)
        known = " ".join(fact.text for record in seen.saved.values() for fact in record.facts)
        for draft in seen.drafts:
            for text in _visible(draft):
                if len(text) >= _TELLING and text in shown and text not in known:
                    yield f"{text!r:.80} of a draft was published in a {event.data['kind']}"


def _visible(draft: DiagnosisDraft) -> Iterator[str]:
    if draft.conclusion is not None:
        yield draft.conclusion
    for claim in draft.claims:
        yield claim.text
    yield from draft.recommendations


def reply_is_given(seen: Seen) -> Iterator[str]:
    """
    A reply is what the responder gave, and nothing else (3.4).
    """
    public = seen.record.public
    if seen.is_elsewhere or public is None or public.kind is not PublicKind.REPLY:
        return
    replies = [_plain(call.value) for call in seen.calls("responder")]
    if public.text not in [_encodable(reply) for reply in replies if isinstance(reply, str)]:
        yield "a reply was published that the responder never gave"


def _encodable(text: str) -> str:
    """
    Replace halves of surrogate pairs, which no encoding of a stream has.
    """
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)


def report_is_proven(seen: Seen) -> Iterator[str]:
    """
    A report is a draft as it was handed in, whose citations hold and whose verdict is SUPPORTED.
    """
    public = seen.record.public
    if seen.is_elsewhere or public is None or public.kind is not PublicKind.REPORT:
        return
    draft = public.draft
    if draft is None or draft not in seen.drafts:
        yield "a report was published that nobody drafted"
        return
    verdicts = [_plain(call.value) for call in seen.calls("semantic_guard") if call.returned]
    if SemanticVerdict.UNSUPPORTED in verdicts or verdicts[-1:] != [SemanticVerdict.SUPPORTED]:
        told = [getattr(verdict, "name", type(verdict).__name__) for verdict in verdicts]
        yield f"a report was published after the verdicts {told}"
    rows = {row.invocation_id: row.status.name for row in seen.record.invocations}
    for citations in (draft.citations, *(claim.citations for claim in draft.claims)):
        if not citations:
            yield "a report was published with a text that cites nothing"
        for citation in citations:
            record = seen.saved.get(citation.invocation_id)
            if rows.get(citation.invocation_id) != "READY" or not _holds(citation, record):
                yield f"a report was published whose {citation!r:.120} does not hold"


def _plain(value: Any) -> Any:
    return value.value if type(value) is Answered else value


def _holds(citation: Citation, record: CanonicalRecord | None) -> bool:
    """
    Whether a citation is verbatim in the record as the store took it.
    """
    if record is None:
        return False
    facts, number = record.facts, citation.fact_id
    if number is not None:
        if not 1 <= number <= len(facts):
            return False
        facts = facts[number - 1 : number]
    quote = citation.quote
    return quote is None or (quote != "" and any(quote in fact.text for fact in facts))


def fallback_from_snapshot(seen: Seen) -> Iterator[str]:
    """
    A fallback's text is written from its snapshot and nothing else (3.9).
    """
    record = seen.record
    if (record.snapshot is not None) is not (record.fallback_type is not None):
        yield "a snapshot stands there exactly with a fallback"
    elif record.snapshot is not None and record.fallback_type is not None:
        text = write_fallback(record.fallback_type, record.snapshot)
        if record.public is None or record.public.text != text:
            yield "the fallback is not the text of its snapshot"


def findings_kept(seen: Seen) -> Iterator[str]:
    """
    What was found and verified is released, or a report is, unless trust is broken (3.8, 3.9).
    """
    record = seen.record
    if seen.is_elsewhere or record.release_outcome is None or record.stop_cause is None:
        return
    cause, outcome = record.stop_cause.name, record.release_outcome.name
    ready = [row for row in record.invocations if row.status.name == "READY"]
    known = bool(ready or record.missing_context)
    trusted = record.record_saved and cause not in _UNTRUSTED and not _store_failed(seen)
    if outcome == "FAILED" and known and trusted:
        yield f"{len(ready)} findings and the missing context were lost after {cause}"
    if record.snapshot is not None and record.fallback_type is not None:
        expected = (
            _FALLBACKS.get(cause, "INSUFFICIENT_EVIDENCE")
            if ready
            else ("MISSING_REQUIRED_CONTEXT")
        )
        found = record.fallback_type.name
        told_apart = (cause, found) == ("BUDGET_EXHAUSTED", "BUDGET_EXHAUSTED")
        if found != expected and not told_apart:
            yield f"{cause} was released as {found}"
        records = [
            seen.saved[row.invocation_id] for row in ready if row.invocation_id in seen.saved
        ]
        yield from _snapshot_holds(record.snapshot, records)


def _store_failed(seen: Seen) -> bool:
    """
    Whether the canonical store ever failed, or gave back something else than it took.
    """
    loads = seen.calls("canonical_store.load")
    saves = seen.calls("canonical_store.save")
    if seen.clock_interrupted(loads) or not all(call.returned for call in saves):
        return True
    return any(
        not call.returned or call.value != seen.saved.get(call.arguments[0]) for call in loads
    )


def _snapshot_holds(snapshot: ProgressSnapshot, records: list[CanonicalRecord]) -> Iterator[str]:
    found = {fact.text for record in records for fact in record.facts}
    shown = {fact.text for fact in snapshot.facts}
    if shown - found:
        yield f"the snapshot has a fact that no record has: {min(shown - found)!r:.80}"
    if snapshot.left_out:
        return
    if found - shown:
        yield f"the snapshot lost a fact: {min(found - shown)!r:.80}"
    asked = {(r.invocation.tool, r.invocation.scope) for r in records}
    if asked != {(scope.tool, scope.scope) for scope in snapshot.scopes}:
        yield "the snapshot has other scopes than were queried"


def store_is_trusted(seen: Seen) -> Iterator[str]:
    """
    After a store failed, or gave back something else than it took, nothing is released (3.5, 3.9).
    """
    outcome = seen.record.release_outcome
    if seen.is_elsewhere or outcome in {ReleaseOutcome.FAILED, ReleaseOutcome.CANCELLED}:
        return
    # an interrupt is no failure of the store: it ends the run by itself
    for call in (*seen.calls("canonical_store.save"), *seen.calls("canonical_store.load")):
        if isinstance(call.error, Exception):
            yield f"{call.place} failed, and something was released"
    for call in seen.calls("canonical_store.load"):
        expected = seen.saved.get(call.arguments[0])
        if call.returned and expected is not None and call.value != expected:
            yield f"{call.place} gave something else, and something was released"


def secrets_stay_private(seen: Seen) -> Iterator[str]:
    """
    No exception's text becomes public, and nothing that was changed later shows anywhere (3.5).
    """
    for event in seen.sent:
        shown = str(event.data)
        if SECRET in shown:
            yield f"an exception's text was published in a {event.kind.name}"
        if CHANGED in shown:
            yield f"{event.kind.name} shows what was changed later"
    for record in seen.saved.values():
        if CHANGED in f"{record.invocation.call}" or any(CHANGED in f.text for f in record.facts):
            yield "a canonical record shows what was changed later"
    if CHANGED in str(seen.record.gates.draft):
        yield "the kept draft shows what was changed later"

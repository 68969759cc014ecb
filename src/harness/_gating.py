"""The two gates: evidence guard with one repair, then the semantic guard (section 3.7)."""

from __future__ import annotations

from harness._attempt import retried
from harness._canonical import is_intact
from harness._evidence import check_evidence, cited_ids, is_too_large, semantic_case
from harness._publish import send_status
from harness._records import CanonicalRecord
from harness._run import Run, Stopped
from harness._seam import Failure
from harness._states import Component, SemanticVerdict, StopCause, TraceCode
from harness._values import DiagnosisDraft
from harness._view import Prefix, RepairCase
from harness.errors import MalformedOutputError

__all__ = ["gated"]

_LOAD = "canonical_store.load"


async def gated(run: Run, draft: DiagnosisDraft) -> StopCause:
    """
    Check a draft by the evidence guard, repair it once, judge it by the semantic guard.
    """
    cause = _without_gates(run, draft)
    if cause is not None:
        return cause
    cited, passed = await evidence_checked(run, draft)
    if not passed:
        repaired = await repaired_draft(run, draft)
        if repaired is None:
            return StopCause.EVIDENCE_REJECTED
        draft = repaired
        run.repaired = True
        cause = _without_gates(run, draft)
        if cause is not None:
            return cause
        cited, passed = await evidence_checked(run, draft)
        if not passed:
            return StopCause.EVIDENCE_REJECTED
    return await judged(run, draft, cited)


def _without_gates(run: Run, draft: DiagnosisDraft) -> StopCause | None:
    """
    End a run whose draft is too large or has no conclusion, before any gate.
    """
    run.draft = draft
    if is_too_large(draft, run.setup.limits.draft_bytes):
        run.draft = None
        return StopCause.RESULT_TOO_LARGE
    if draft.conclusion is not None:
        return None
    run.missing_context = draft.missing_context
    if draft.missing_context:
        return StopCause.MISSING_REQUIRED_CONTEXT
    return StopCause.NO_CONCLUSION


async def evidence_checked(
    run: Run, draft: DiagnosisDraft
) -> tuple[dict[str, CanonicalRecord], bool]:
    """
    Check every citation against the canonical records, read from the store.
    """
    await send_status(run, "CHECKING_EVIDENCE")
    run.check()
    own = {record.invocation_id: record for record in run.records}
    cited: dict[str, CanonicalRecord] = {}
    for invocation_id in cited_ids(draft):
        record = await _cited(run, invocation_id, own.get(invocation_id))
        if record is not None:
            cited[invocation_id] = record
    violations = check_evidence(draft, cited, run.run_id)
    run.checks += 1
    run.violations = violations
    run.note(
        TraceCode.EVIDENCE_CHECKED,
        violations=[violation.kind.name for violation in violations[:20]],
        count=len(violations),
    )
    return cited, not violations


async def _cited(
    run: Run, invocation_id: str, own: CanonicalRecord | None
) -> CanonicalRecord | None:
    """
    Read a cited record; one of this run must be what was saved.
    """
    answer = await run.seam.call(_LOAD, run.setup.canonical_store.load, invocation_id)
    run.at = answer.ended
    if answer.interrupt is not None:
        run.interrupted(answer.interrupt)
        raise Stopped
    loaded = answer.value
    expected = own is not None
    broken = not answer.is_ok or (loaded is not None and type(loaded) is not CanonicalRecord)
    if broken or (own is not None and not is_intact(loaded, own)):
        run.trusted = False
        run.note(TraceCode.STORE_FAILED, invocation=invocation_id[:200], expected=expected)
        raise run.stop(StopCause.STORE_UNTRUSTED)
    run.check_at(run.at)
    if own is not None:
        # what the store gave has the same content, but nobody promises that it stays so
        return own
    record: CanonicalRecord | None = loaded
    if record is not None and record.invocation.run_id == run.run_id:
        # the store claims a record of this run that this run never made
        return None
    return record


async def repaired_draft(run: Run, draft: DiagnosisDraft) -> DiagnosisDraft | None:
    """
    Give the one repair its chance; ``None`` where there is none or it fails.
    """
    repairer = run.setup.repairer
    if repairer is None:
        return None
    run.check()
    lacking = run.budget.model_lacks()
    if lacking is not None:
        run.note(TraceCode.RETRY_SKIPPED, component="EVIDENCE_REPAIR", why=f"no {lacking.name}")
        return None
    await send_status(run, "REPAIRING")
    case = RepairCase(
        request=run.request,
        draft=draft,
        violations=run.violations,
        records=Prefix(run.records),
    )
    repaired = await retried(run, Component.EVIDENCE_REPAIR, repairer, case, _draft)
    return None if isinstance(repaired, Failure) else repaired


def _draft(value: object) -> DiagnosisDraft:
    if type(value) is not DiagnosisDraft:
        raise MalformedOutputError("draft", value, "a DiagnosisDraft")
    return value


async def judged(run: Run, draft: DiagnosisDraft, cited: dict[str, CanonicalRecord]) -> StopCause:
    """
    Have the semantic guard judge the visible text; it never fails open.
    """
    await send_status(run, "JUDGING")
    case = semantic_case(draft, cited)
    verdict = await retried(run, Component.SEMANTIC_GUARD, run.setup.guard, case, _verdict)
    if isinstance(verdict, Failure):
        return StopCause.SEMANTIC_UNAVAILABLE
    run.verdict = verdict
    run.note(TraceCode.SEMANTIC_JUDGED, verdict=verdict.name)
    if verdict is SemanticVerdict.UNSUPPORTED:
        return StopCause.SEMANTIC_UNSUPPORTED
    run.cited = cited
    return StopCause.REPORT_APPROVED


def _verdict(value: object) -> SemanticVerdict:
    if type(value) is not SemanticVerdict:
        raise MalformedOutputError("verdict", value, "a SemanticVerdict member")
    return value

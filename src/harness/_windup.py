"""How a stopped run ends: snapshot, release decision, public content, record (3.8, 3.9, 3.11)."""

from __future__ import annotations

from datetime import datetime

from harness._canonical import is_intact
from harness._evidence import cited_sources
from harness._progress import limitations_of, project_snapshot
from harness._records import (
    Attempts,
    CanonicalRecord,
    Gates,
    Limitation,
    ProgressSnapshot,
    PublicContent,
    RunRecord,
    Trace,
)
from harness._release import (
    ReleaseDecision,
    ReleaseFacts,
    decide_release,
    write_fallback,
    write_report,
)
from harness._run import Run
from harness._seam import SeamBroken
from harness._states import LimitationKind, PublicKind, ReleaseOutcome, StopCause, TraceCode
from harness._tables import CANCEL_CAUSES, TRUST_BREAKING

__all__ = ["wind_up"]

#: The endings that publish no snapshot, so that the store is not read for them.
_NO_SNAPSHOT = CANCEL_CAUSES | TRUST_BREAKING | {StopCause.REPORT_APPROVED, StopCause.REPLY_GIVEN}


async def wind_up(run: Run) -> RunRecord:
    """
    Decide what a stopped run releases, and build its record.

    Args:
        run: A run whose lifecycle has stopped.

    Returns:
        The ended record, as it is to be saved.
    """
    stop = run.life.stopped
    if stop is None:  # pragma: no cover  the flow calls this behind a stop
        message = "wind_up needs a stopped run"
        raise AssertionError(message)
    _note_end(run, stop.cause)
    snapshot = await _read_back(run, stop.cause)
    ready = any(row.is_ready for row in run.invocations)
    facts = ReleaseFacts(
        cause=stop.cause,
        safe_progress=ready,
        missing_context=bool(run.missing_context),
        trusted=run.trusted,
    )
    decision = decide_release(facts, run.setup.policy)
    run.note(
        TraceCode.RELEASE_DECIDED,
        outcome=decision.outcome.name,
        fallback=None if decision.fallback is None else decision.fallback.name,
        rule=decision.rule,
    )
    return _record(run, stop.cause, stop.reason, decision, snapshot)


def _note_end(run: Run, cause: StopCause) -> None:
    life = run.life
    run.note_late_signals()
    if cause is not StopCause.DEADLINE_EXCEEDED and life.is_expired(run.at):
        run.note(TraceCode.LATE_SIGNAL, cause=StopCause.DEADLINE_EXCEEDED.name)
    run.note(TraceCode.RUN_ENDED, cause=cause.name)


async def _read_back(run: Run, cause: StopCause) -> ProgressSnapshot | None:
    """
    Project the safe snapshot from the records as the store has them now.

    A store that fails here leaves the cause and takes the trust (section 3.9).
    """
    if cause in _NO_SNAPSHOT or not run.trusted:
        return None
    read: list[CanonicalRecord] = []
    load = run.setup.canonical_store.load
    for record in run.records:
        if not record.invocation.is_ready:
            continue
        answer = await run.seam.call("canonical_store.load", load, record.invocation_id)
        run.at = answer.ended
        if answer.interrupt is not None:
            run.interrupted(answer.interrupt)
        if not answer.is_ok or not is_intact(answer.value, record):
            run.trusted = False
            run.note(TraceCode.STORE_FAILED, invocation=record.invocation_id)
            return None
        read.append(record)
    return project_snapshot(read, _limitations(run), run.missing_context)


def _limitations(run: Run) -> tuple[Limitation, ...]:
    return limitations_of(run.invocations, tuple(run.setup.tools))


def _public(
    run: Run, cause: StopCause, decision: ReleaseDecision, snapshot: ProgressSnapshot | None
) -> PublicContent:
    """
    Build what becomes public.
    """
    if decision.outcome is ReleaseOutcome.CANCELLED:
        return PublicContent(kind=PublicKind.NONE)
    if decision.outcome is ReleaseOutcome.FAILED:
        return PublicContent(kind=PublicKind.FAILURE, code=cause.name)
    if decision.fallback is not None and snapshot is not None:
        return PublicContent(
            kind=PublicKind.FALLBACK,
            text=write_fallback(decision.fallback, snapshot),
            limitations=snapshot.limitations,
        )
    draft = run.draft
    if cause is StopCause.REPLY_GIVEN or draft is None:
        return PublicContent(kind=PublicKind.REPLY, text=run.reply)
    lacking = tuple(Limitation(LimitationKind.MISSING_CONTEXT, n) for n in draft.missing_context)
    return PublicContent(
        kind=PublicKind.REPORT,
        text=write_report(draft),
        draft=draft,
        sources=cited_sources(draft, run.cited),
        limitations=_limitations(run) + lacking,
    )


def _ended_at(run: Run) -> datetime:
    """
    Read the wall clock; an interrupt of it keeps no record from being saved.
    """
    try:
        return run.seam.utc()
    except SeamBroken:
        raise
    except BaseException as interrupt:  # noqa: BLE001  carried to the caller by the driver
        run.interrupted(interrupt)
        return run.started_at


def _record(
    run: Run,
    cause: StopCause,
    reason: str | None,
    decision: ReleaseDecision,
    snapshot: ProgressSnapshot | None,
) -> RunRecord:
    """
    Build the ended record as it is to be saved.
    """
    fallback = decision.outcome is ReleaseOutcome.FALLBACK
    return RunRecord(
        run_id=run.run_id,
        request=run.request,
        started_at=run.started_at,
        ended_at=_ended_at(run),
        run_state=decision.state,
        stop_cause=cause,
        cancel_reason=reason,
        intent=run.intent,
        missing_context=run.missing_context,
        collection_state=run.collection.state,
        stop_reason=run.collection.stop_reason,
        gates=Gates(
            checks=run.checks,
            violations=run.violations,
            repaired=run.repaired,
            verdict=run.verdict,
            draft=run.draft,
        ),
        release_outcome=decision.outcome,
        fallback_type=decision.fallback,
        release_rule=decision.rule,
        public=_public(run, cause, decision, snapshot),
        snapshot=snapshot if fallback else None,
        invocations=tuple(run.invocations),
        attempts=Attempts(run.attempts),
        used=run.budget.used,
        limits=run.setup.limits,
        events=tuple(run.stream.accepted),
        record_saved=run.opened,
        trace=Trace(run.trace),
    )

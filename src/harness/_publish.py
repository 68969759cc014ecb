"""Save, then publish: the run store and the client's stream (section 3.10)."""

from __future__ import annotations

from attrs import evolve

from harness._json import frozen_dict
from harness._records import PublicContent, RunRecord, StreamEvent, Trace
from harness._run import Run
from harness._states import (
    EventKind,
    OnDisconnect,
    PublicKind,
    ReleaseOutcome,
    StopCause,
    TraceCode,
)
from harness.errors import RunExistsError

__all__ = ["open_run", "publish", "send_status"]


async def open_run(run: Run) -> None:
    """
    Open the run in the run store, then the stream: ``METADATA`` and one ``STATUS`` at once.

    Raises:
        RunExistsError: The run store has a run of that id; nothing was sent.
    """
    run.started_at = run.seam.utc()
    opening = RunRecord(
        run_id=run.run_id,
        request=run.request,
        started_at=run.started_at,
        limits=run.setup.limits,
        record_saved=True,
    )
    answer = await run.seam.call("run_store.begin", run.setup.run_store.begin, opening)
    run.at = answer.ended
    if isinstance(answer.error, RunExistsError):
        raise answer.error
    run.note(TraceCode.RUN_STARTED, run_id=run.run_id)
    # an interrupted begin may have opened the run, so its ending is saved all the same
    run.opened = answer.failure is None
    if answer.interrupt is not None:
        run.interrupted(answer.interrupt)
    elif answer.failure is not None:
        run.note(TraceCode.RUN_NOT_SAVED, error=answer.failure.error, detail=answer.failure.detail)
        run.life.stop(StopCause.RECORD_NOT_SAVED, run.at)
    await _send(run, StreamEvent(EventKind.METADATA, frozen_dict({"run_id": run.run_id})))
    await _send(run, _status(run, "STARTED"))


def _status(run: Run, stage: str) -> StreamEvent:
    """
    Say a stage and counts; never evidence, never draft text.
    """
    counts = {"stage": stage, "turn": run.turn, "invocations": len(run.invocations)}
    return StreamEvent(EventKind.STATUS, frozen_dict(counts))


async def send_status(run: Run, stage: str) -> None:
    """
    Tell the client which stage the run is in.

    Raises:
        Stopped: The client is gone and that ends the run, or the run has ended otherwise.
    """
    # without a client nobody reads them; the first one alone opens the stream
    if run.sink is not None and run.stream.is_open:
        await _send(run, _status(run, stage))
        run.check_at(run.at)


async def _send(run: Run, event: StreamEvent) -> bool:
    """
    Send an event in its order; ``False`` where the client is gone.
    """
    stream = run.stream
    if not stream.is_open:
        return False
    stream.check(event)
    sink = run.sink
    if sink is not None:
        answer = await run.seam.call("client.send", sink.send, event)
        run.at = answer.ended
        if not answer.is_ok:
            _gone(run, event, answer.interrupt)
            return False
    stream.accept(event)
    return True


def _gone(run: Run, event: StreamEvent, interrupt: BaseException | None) -> None:
    """
    Take note that the client is gone: a cancel, unless the host wants the run to go on.
    """
    run.stream.disconnect()
    run.note(TraceCode.CLIENT_GONE, at_event=event.kind.name)
    if interrupt is not None:
        run.interrupted(interrupt)
    elif run.setup.on_disconnect is OnDisconnect.CANCEL:
        run.life.stop(StopCause.CLIENT_DISCONNECTED, run.at)


async def publish(run: Run, record: RunRecord) -> RunRecord:
    """
    Save the record, then publish what it decided; without a saved record only a failure.

    Args:
        run: The run.
        record: Its ended record.

    Returns:
        The record that stands: another process's ending, where one was stored before.
    """
    if run.opened:
        answer = await run.seam.call("run_store.finish", run.setup.run_store.finish, record)
        run.at = answer.ended
        standing = answer.value
        if answer.is_ok and standing is not None and type(standing) is RunRecord:
            run.note(TraceCode.RUN_NOT_SAVED, standing=standing.run_state.name)
            run.stream.disconnect()
            return standing
        run.opened = answer.is_ok and standing is None
        if answer.interrupt is not None:
            run.interrupted(answer.interrupt)
    if run.opened:
        run.note(TraceCode.RUN_SAVED)
    else:
        run.note(TraceCode.RUN_NOT_SAVED)
        record = _unsaved(record)
    delivered = await _deliver(run, record)
    outcome = record.release_outcome
    if delivered or outcome is ReleaseOutcome.CANCELLED:
        await _send(run, _done(record))
    run.note_late_signals()
    return evolve(
        record,
        events=tuple(run.stream.accepted),
        delivered=delivered,
        trace=Trace(run.trace),
    )


def _unsaved(record: RunRecord) -> RunRecord:
    """
    Withdraw everything that a record which could not be saved would have published.
    """
    if record.release_outcome is ReleaseOutcome.CANCELLED:
        return evolve(record, record_saved=False)
    code = StopCause.RECORD_NOT_SAVED.name
    return evolve(
        record,
        release_outcome=ReleaseOutcome.FAILED,
        fallback_type=None,
        release_rule="record-not-saved",
        public=PublicContent(kind=PublicKind.FAILURE, code=code),
        snapshot=None,
        record_saved=False,
    )


async def _deliver(run: Run, record: RunRecord) -> bool:
    """
    Send the content or the failure; say so in the run store once the client accepted it.
    """
    public = record.public
    if public is None or public.kind is PublicKind.NONE:
        return False
    if not await _send(run, _content(record, public)):
        return False
    run.note(TraceCode.DELIVERED, kind=public.kind.name)
    if run.opened:
        mark = run.setup.run_store.mark_delivered
        answer = await run.seam.call("run_store.mark_delivered", mark, run.run_id)
        if answer.interrupt is not None:
            run.interrupted(answer.interrupt)
        elif answer.failure is not None:
            run.note(TraceCode.STORE_FAILED, error=answer.failure.error)
    return True


def _content(record: RunRecord, public: PublicContent) -> StreamEvent:
    if public.kind is PublicKind.FAILURE:
        return StreamEvent(EventKind.FAILURE, frozen_dict({"code": public.code}))
    fallback = record.fallback_type
    limitations = tuple(
        frozen_dict(
            {
                "kind": limitation.kind.value,
                "name": limitation.name,
                "code": None if limitation.code is None else limitation.code.value,
            }
        )
        for limitation in public.limitations
    )
    sources = tuple(
        frozen_dict({"tool": source.tool, "source": source.source, "text": source.text})
        for source in public.sources
    )
    data = {
        "kind": public.kind.value,
        "text": public.text,
        "fallback_type": None if fallback is None else fallback.value,
        "limitations": limitations,
        "sources": sources,
    }
    return StreamEvent(EventKind.CONTENT, frozen_dict(data))


def _done(record: RunRecord) -> StreamEvent:
    outcome = record.release_outcome
    value = None if outcome is None else outcome.value
    return StreamEvent(EventKind.DONE, frozen_dict({"outcome": value}))

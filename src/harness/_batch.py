"""One tool batch: admitted as far as it fits, each call saved, read back, compared (3.3, 3.5)."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import Final

from harness._attempt import note_attempt
from harness._canonical import is_intact, make_record, unstored_row
from harness._records import CanonicalRecord
from harness._run import Run, Stopped, ToolSpec
from harness._seam import Answer, Attempt, Failure
from harness._states import (
    Component,
    FailureKind,
    InvocationCode,
    StopCause,
    TraceCode,
    UsageKind,
)
from harness._tools import check_arguments
from harness._toolstep import ToolOutcome
from harness._values import ToolCall

__all__ = ["ran_batch"]

_SAVE: Final = "canonical_store.save"
_LOAD: Final = "canonical_store.load"
_FREE: Final = Decimal(0)
_TOOL: Final = Component.TOOL
#: The codes of calls that no tool could take.
_NEVER_ASKED: Final = frozenset({InvocationCode.UNKNOWN_TOOL, InvocationCode.INVALID_ARGUMENTS})


async def ran_batch(run: Run, calls: tuple[ToolCall, ...]) -> None:
    """
    Run an admitted batch; what was reserved and then never made is given back.

    Args:
        run: The run.
        calls: The admitted calls, already reserved.
    """
    made_before = run.made_calls
    try:
        if len(calls) == 1:
            await _finish(run, len(run.records) + 1, calls[0], await _step(run, calls[0]))
        else:
            await _several(run, calls)
    finally:
        never_made = len(calls) - (run.made_calls - made_before)
        if never_made:
            run.budget.give_back_tools(never_made)


async def _several(run: Run, calls: tuple[ToolCall, ...]) -> None:
    """
    Run several calls, one at a time or together as the driver can; finish each as it returns.
    """
    first = len(run.records)
    batch = run.seam.start([partial(_step, run, call) for call in calls])
    try:
        while (done := await batch.next()) is not None:
            place, outcome = done
            await _finish(run, first + place + 1, calls[place], outcome)
    finally:
        for place in await batch.close():
            run.note(TraceCode.LATE_RESULT_DISCARDED, component=_TOOL, tool=calls[place].tool)
        # what finished in another order goes back into the order of the calls
        run.records[first:] = sorted(run.records[first:], key=lambda r: r.invocation.number)
        run.invocations[first:] = sorted(run.invocations[first:], key=lambda row: row.number)


async def _step(run: Run, call: ToolCall) -> ToolOutcome:
    """
    Make one call of a batch up to its facts, and account for the attempt.
    """
    run.check()
    run.made_calls += 1
    component = _TOOL
    number = run.next_number(component)
    began = run.at
    run.trace.append((TraceCode.ATTEMPT_STARTED, began, component, number, call.tool))
    spec = run.setup.tools.get(call.tool)
    outcome: ToolOutcome
    if spec is None:
        outcome = _refused(run, InvocationCode.UNKNOWN_TOOL)
    elif (wrong := _wrong(spec, call)) is not None:
        outcome = _refused(run, InvocationCode.INVALID_ARGUMENTS, wrong)
    else:
        attempt = Attempt(component, number, run.life, run.seam.now)
        outcome = await run.seam.run_tool(run, spec, call, attempt)
    answer = outcome.answer
    run.at = answer.ended
    failure = None if answer.is_ok and outcome.code is None else _as_failure(outcome)
    account = (component, number, began, UsageKind.NONE, 0, _FREE)
    if note_attempt(run, account, answer, failure):
        raise Stopped
    return outcome


def _wrong(spec: ToolSpec, call: ToolCall) -> str | None:
    """
    Say why a tool cannot take a call's arguments; ``None`` where it can.
    """
    if call.refused is not None or spec.parameters is None:
        return call.refused
    return check_arguments(spec.parameters, call.arguments)


def _refused(run: Run, code: InvocationCode, detail: str = "") -> ToolOutcome:
    """
    Refuse a call that no tool can take: it is counted, and not executed.
    """
    return ToolOutcome(Answer(None, run.at), code=code, detail=detail)


def _as_failure(outcome: ToolOutcome) -> Failure:
    """
    Give the failure that an attempt's account shows for a tool outcome.
    """
    answer = outcome.answer
    if answer.failure is not None:
        return answer.failure
    if answer.interrupt is not None:
        return Failure(FailureKind.UNCLASSIFIED, type(answer.interrupt).__name__)
    code = outcome.code
    kind = FailureKind.REJECTED if code in _NEVER_ASKED else FailureKind.INVALID_OUTPUT
    return Failure(kind, "" if code is None else code.name, outcome.detail)


async def _finish(run: Run, number: int, call: ToolCall, outcome: ToolOutcome) -> None:
    """
    Save an invocation's canonical record, read it back, compare: else nothing is trusted.
    """
    record = make_record(run.evidence_prefix, number, run.run_id, call, outcome)
    row = record.invocation
    store = run.setup.canonical_store
    answer = await run.seam.call(_SAVE, store.save, record)
    if answer.is_ok:
        answer = await run.seam.call(_LOAD, store.load, row.invocation_id)
    run.at = answer.ended
    if not answer.is_ok or not is_intact(answer.value, record):
        _not_stored(run, record, answer)
        raise run.stop(StopCause.STORE_UNTRUSTED)
    run.records.append(record)
    run.invocations.append(row)
    run.budget.settle_evidence(row.byte_count)
    run.trace.append((TraceCode.RECORD_SAVED, run.at, row, len(record.facts)))
    run.check_at(run.at)
    if row.code is InvocationCode.RESULT_TOO_LARGE:
        raise run.stop(StopCause.RESULT_TOO_LARGE)


def _not_stored(run: Run, record: CanonicalRecord, answer: Answer) -> None:
    """
    Mark the invocation of a failed save or read-back; its value reaches nobody.

    Raises:
        Stopped: The store was interrupted: the invocation has no row.
    """
    if answer.interrupt is not None:
        run.interrupted(answer.interrupt)
        raise Stopped
    run.trusted = False
    failure = answer.failure
    run.note(
        TraceCode.STORE_FAILED,
        tool=record.invocation.tool,
        error="content differs" if failure is None else failure.error,
        detail="" if failure is None else failure.detail,
    )
    run.invocations.append(unstored_row(record))

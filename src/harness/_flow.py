"""
The failure graph, written once (section 3).

::

    request -> route -> [agent turn -> tool batch]* -> draft -> evidence guard (one repair)
            -> semantic guard -> release decision -> save the run record -> publish

Synchronous, asynchronous, replayed, fault-injected and durable runs all execute this coroutine;
the seam is its only way out, and it never suspends by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any, Final

from harness._attempt import attempt_model, note_attempt, retried
from harness._canonical import is_intact, make_record
from harness._collection import Judgement
from harness._evidence import check_evidence, cited_ids, semantic_case
from harness._json import clean_text, measure
from harness._publish import open_run, publish, send_status
from harness._records import CanonicalRecord, RunRecord
from harness._run import Run, Stopped
from harness._seam import Answer, Attempt, Failure
from harness._states import (
    CollectionState,
    Component,
    FailureKind,
    Intent,
    InvocationCode,
    SemanticVerdict,
    StopCause,
    StopReason,
    TraceCode,
    UsageKind,
)
from harness._tools import check_arguments
from harness._toolstep import ToolOutcome, run_tool
from harness._values import AgentTurn, DiagnosisDraft, Route, ToolCall
from harness._view import AgentView, Prefix, RefusedCall, RepairCase
from harness._windup import wind_up
from harness.errors import MalformedOutputError

__all__ = ["run_flow"]

_SAVE: Final = "canonical_store.save"
_LOAD: Final = "canonical_store.load"
_FREE: Final = Decimal(0)


async def run_flow(run: Run) -> RunRecord:
    """
    Execute one run from its request to its published ending.

    Args:
        run: A fresh run.

    Returns:
        The record that stands. An exception of a host that is no ``Exception`` is left in
        ``run.interrupt`` for the driver to raise.

    Raises:
        RunExistsError: The run store has a run of that id; nothing was run.
    """
    await open_run(run)
    try:
        run.check()
        run.stop(await diagnose(run))
    except Stopped:
        pass
    except Exception as error:  # noqa: BLE001  fail closed on the harness's own faults
        run.note(TraceCode.INTERNAL_FAULT, error=type(error).__name__, detail=_shown(error))
        run.stop(StopCause.INTERNAL_ERROR)
    return await publish(run, await wind_up(run))


def _shown(error: Exception) -> str:
    try:
        return clean_text(str(error)[:500])
    except Exception:  # noqa: BLE001  a broken __str__ must not hide the fault
        return ""


async def diagnose(run: Run) -> StopCause:
    """
    The steps of the graph, in order; each raises ``Stopped`` where it ends the run.
    """
    route = await routed(run)
    run.intent = route.intent
    run.missing_context = missing_context(run, route)
    if run.missing_context:
        return StopCause.MISSING_REQUIRED_CONTEXT
    if route.intent is Intent.GENERAL:
        return await replied(run)
    run.evidence_prefix = f"E-{run.seam.new_id()}-"
    draft = await collected(run)
    return await gated(run, draft)


# --- routing and required context (section 3.4)


async def routed(run: Run) -> Route:
    """
    Route the request; without a router every request is a diagnosis.
    """
    router = run.setup.router
    if router is None:
        return Route(Intent.DIAGNOSIS)
    await send_status(run, "ROUTING")
    accept = partial(_route, may_reply=run.setup.responder is not None)
    route = await retried(run, Component.INTENT_ROUTER, router, run.request, accept)
    if isinstance(route, Failure):
        raise run.stop(StopCause.ROUTER_UNAVAILABLE)
    return route


def _route(value: object, *, may_reply: bool) -> Route:
    if type(value) is not Route:
        raise MalformedOutputError("route", value, "a Route")
    if value.intent is Intent.GENERAL and not may_reply:
        raise MalformedOutputError("Route.intent", value.intent, "DIAGNOSIS without a responder")
    return value


async def replied(run: Run) -> StopCause:
    """
    Answer a general request: one attempt, never a checked report.
    """
    responder = run.setup.responder
    if responder is None:  # pragma: no cover  _route refuses GENERAL without a responder
        raise run.stop(StopCause.INTERNAL_ERROR)
    await send_status(run, "REPLYING")
    reply = await retried(run, Component.RESPONDER, responder, run.request, _reply)
    if isinstance(reply, Failure):
        raise run.stop(StopCause.RESPONDER_UNAVAILABLE)
    limit = run.setup.limits.result_bytes
    if limit is not None and measure(reply, limit) > limit:
        raise run.stop(StopCause.RESULT_TOO_LARGE)
    run.reply = reply
    return StopCause.REPLY_GIVEN


def _reply(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise MalformedOutputError("reply", value, "text that is not blank")
    return value


def missing_context(run: Run, route: Route) -> tuple[str, ...]:
    """
    Name what is missing: the router's names, then the declared ones that are absent or blank.

    A general request needs none of the declared ones.
    """
    if route.intent is Intent.GENERAL:
        return route.missing_context
    context = run.request.context
    declared = [
        name for name in run.setup.required_context if not str(context.get(name, "")).strip()
    ]
    return tuple(dict.fromkeys((*route.missing_context, *declared)))


# --- agent turns and tool batches (sections 3.5 and 3.6)


async def collected(run: Run) -> DiagnosisDraft:
    """
    Let the agent take turns until it hands in a draft.
    """
    collection = run.collection
    turns = _Turns(run)
    _saturate_if_due(run, budget_reached=run.budget.collection_limit_reached is not None)
    while True:
        if run.setup.limits.release_reserve and collection.is_collecting:
            _saturate_if_due(run, budget_reached=_only_reserve_left(run))
        turn = await taken_turn(run, turns)
        if turn.draft is not None:
            collection.move(CollectionState.RELEASE)
            return turn.draft
        if collection.state is CollectionState.DRAFTING:
            raise _disobeyed(run, turn)
        judgement = collection.judge(turn.progress)
        if judgement is not None:
            _note_judgement(run, turns, judgement)
            _saturate_if_due(run, budget_reached=False)
        if collection.is_collecting:
            await ran_batch(run, turns, turn.calls)
        else:
            _refuse(run, turns, turn.calls)


def _only_reserve_left(run: Run) -> bool:
    """
    Whether no more model attempts are left than are kept back for drafting and the gates.
    """
    left = run.budget.model_attempts_left
    return left is not None and left <= run.setup.limits.release_reserve


class _Turns:
    """
    What the agent is shown next: the growing records and the last batch.
    """

    __slots__ = ("batch", "new_facts", "refused", "run", "violation")

    def __init__(self, run: Run) -> None:
        self.run = run
        self.batch: tuple[CanonicalRecord, ...] = ()
        self.new_facts: tuple[str, ...] = ()
        self.refused: tuple[RefusedCall, ...] = ()
        self.violation: str | None = None

    def show(self, stop: StopReason | None) -> AgentView:
        """
        Make the view of the next turn.
        """
        run = self.run
        return AgentView(
            run_id=run.run_id,
            request=run.request,
            turn=run.turn,
            tools=run.setup.tool_infos,
            records=Prefix(run.records),
            batch=self.batch,
            new_facts=self.new_facts,
            refused=self.refused,
            violation=self.violation,
            stop=stop,
            left=self._left,
        )

    def _left(self) -> Any:
        run = self.run
        deadline = run.life.deadline
        seconds = None if deadline is None else max(0.0, deadline - run.seam.now())
        return run.budget.left(seconds)


async def taken_turn(run: Run, turns: _Turns) -> AgentTurn:
    """
    Take one agent turn; the first one after saturation carries ``STOP_REQUIRED``.
    """
    collection = run.collection
    run.turn += 1
    if run.sink is not None:
        await send_status(run, "COLLECTING" if collection.is_collecting else "DRAFTING")
    saturated = collection.state is CollectionState.SATURATED
    turn = await attempt_model(
        run,
        Component.DIAGNOSIS_AGENT,
        run.setup.agent,
        turns.show(collection.stop_reason),
        _turn,
        partial(_required_stop, run) if saturated else None,
    )
    if type(turn) is Failure:
        malformed = turn.kind is FailureKind.INVALID_OUTPUT
        raise run.stop(StopCause.INVALID_DRAFT if malformed else StopCause.AGENT_UNAVAILABLE)
    return turn


def _required_stop(run: Run) -> None:
    """
    Take note that the one ``STOP_REQUIRED`` is really delivered.
    """
    reason = run.collection.stop_reason
    run.collection.move(CollectionState.DRAFTING)
    run.note(TraceCode.STOP_REQUIRED, reason=reason)


def _turn(value: object) -> AgentTurn:
    if type(value) is not AgentTurn:
        raise MalformedOutputError("turn", value, "an AgentTurn")
    if bool(value.calls) is (value.draft is not None):
        raise MalformedOutputError("turn", value, "either calls or a draft")
    return value


def _disobeyed(run: Run, turn: AgentTurn) -> Stopped:
    """
    End a run whose agent asked for tools after it was told to stop: nothing of the turn runs.
    """
    collection = run.collection
    collection.move(CollectionState.TERMINATED)
    for call in turn.calls:
        run.note(TraceCode.CALL_REFUSED, tool=call.tool, why="STOP_REQUIRED")
    budget = collection.stop_reason is StopReason.BUDGET_LIMIT_REACHED
    return run.stop(StopCause.BUDGET_EXHAUSTED if budget else StopCause.STOP_IGNORED)


def _note_judgement(run: Run, turns: _Turns, judgement: Judgement) -> None:
    """
    Take note of what the harness made of a batch or of a statement about it.
    """
    turns.violation = judgement.violation
    if judgement.violation is not None:
        run.note(TraceCode.PROTOCOL_VIOLATION, why=judgement.violation)
    if judgement.progress is not None:
        no_gain = run.collection.no_gain
        run.trace.append((TraceCode.PROGRESS_JUDGED, run.at, judgement.progress, no_gain))


def _saturate_if_due(run: Run, *, budget_reached: bool) -> None:
    """
    Saturate collection for the first reason that holds.
    """
    collection = run.collection
    reason = collection.reason(budget_reached=budget_reached)
    if reason is not None and collection.is_collecting:
        collection.saturate(reason)
        run.note(TraceCode.COLLECTION_SATURATED, reason=reason)


def _refuse(run: Run, view: _Turns, calls: tuple[ToolCall, ...]) -> None:
    """
    Give every call of a batch that does not run a disposition of its own.
    """
    reason = run.collection.stop_reason
    why = reason.name if reason else StopReason.BUDGET_LIMIT_REACHED.name
    for call in calls:
        run.note(TraceCode.CALL_REFUSED, tool=call.tool, why=why)
    view.refused = tuple(RefusedCall(call, why) for call in calls)


async def ran_batch(run: Run, turns: _Turns, calls: tuple[ToolCall, ...]) -> None:
    """
    Admit a batch as far as it fits, run it, judge it the moment it ends.
    """
    wanted = len(calls)
    admitted = run.budget.reserve_tools(wanted)
    turns.refused = ()
    if admitted < wanted:
        _refuse(run, turns, calls[admitted:])
    first = len(run.records)
    made_before = run.made_calls
    try:
        if admitted == 1:
            await _finish(run, first + 1, calls[0], await _step(run, calls[0]))
        else:
            await _under_way(run, calls[:admitted])
    finally:
        run.budget.give_back_tools(admitted - (run.made_calls - made_before))
    batch = turns.batch = tuple(run.records[first:])
    judgement = run.collection.end_batch(batch)
    turns.new_facts = judgement.new_facts
    _note_judgement(run, turns, judgement)
    refused = admitted < wanted
    reached = refused or run.budget.collection_limit_reached is not None
    _saturate_if_due(run, budget_reached=reached)


async def _under_way(run: Run, calls: tuple[ToolCall, ...]) -> None:
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
        await batch.close()
    # what finished in another order goes back into the order of the calls
    run.records[first:] = sorted(run.records[first:], key=lambda r: r.invocation.number)
    run.invocations[first:] = [record.invocation for record in run.records[first:]]


async def _step(run: Run, call: ToolCall) -> ToolOutcome:
    """
    Make one call of a batch up to its facts, and account for the attempt.
    """
    run.check()
    run.made_calls += 1
    component = Component.TOOL
    number = run.next_number(component)
    began = run.at
    run.trace.append((TraceCode.ATTEMPT_STARTED, began, component, number, call.tool))
    outcome = await _outcome(run, call, number)
    answer = outcome.answer
    run.at = answer.ended
    account = (component, number, began, UsageKind.NONE, 0, _FREE)
    if note_attempt(run, account, answer, _as_failure(outcome)):
        raise Stopped
    return outcome


async def _outcome(run: Run, call: ToolCall, number: int) -> ToolOutcome:
    """
    Refuse a call that no tool can take, else run its tool.
    """
    spec = run.setup.tools.get(call.tool)
    if spec is None:
        return ToolOutcome(Answer(None, run.at), code=InvocationCode.UNKNOWN_TOOL)
    wrong = call.refused or check_arguments(spec.parameters, call.arguments)
    if wrong is not None:
        return ToolOutcome(
            Answer(None, run.at), code=InvocationCode.INVALID_ARGUMENTS, detail=wrong
        )
    attempt = Attempt(Component.TOOL, number, run.life, run.seam.now)
    return await run_tool(run, spec, call, attempt)


def _as_failure(outcome: ToolOutcome) -> Failure | None:
    """
    Give the failure that an attempt's account shows for a tool outcome.
    """
    answer = outcome.answer
    if answer.is_ok and outcome.code is None:
        return None
    if answer.failure is not None:
        return answer.failure
    if answer.interrupt is not None:
        return Failure(FailureKind.UNCLASSIFIED, type(answer.interrupt).__name__)
    code = outcome.code
    return Failure(FailureKind.REJECTED, "" if code is None else code.name, outcome.detail)


async def _finish(run: Run, number: int, call: ToolCall, outcome: ToolOutcome) -> None:
    """
    Save an invocation's canonical record, read it back, compare: else nothing is trusted.
    """
    invocation_id = f"{run.evidence_prefix}{number}"
    record = make_record(
        number,
        invocation_id,
        run.run_id,
        call,
        outcome.facts,
        outcome.byte_count,
        outcome.code,
        outcome.cut,
    )
    store = run.setup.canonical_store
    saved = await _stored(run, _SAVE, store.save, record)
    loaded = await _stored(run, _LOAD, store.load, invocation_id) if saved.is_ok else saved
    if not loaded.is_ok or not is_intact(loaded.value, record):
        _not_stored(run, number, call, loaded)
        raise run.stop(StopCause.STORE_UNTRUSTED)
    run.records.append(record)
    run.invocations.append(record.invocation)
    run.budget.settle_evidence(outcome.byte_count)
    row = record.invocation
    run.trace.append(
        (
            TraceCode.RECORD_SAVED,
            run.at,
            invocation_id,
            call.tool,
            row.status,
            row.code,
            len(outcome.facts),
        )
    )
    run.check_at(run.at)
    if outcome.code is InvocationCode.RESULT_TOO_LARGE:
        raise run.stop(StopCause.RESULT_TOO_LARGE)


async def _stored(run: Run, site: str, function: Callable[..., Any], argument: object) -> Answer:
    """
    Call the canonical store. An interrupt of it unwinds at once.
    """
    answer = await run.seam.call(site, function, argument)
    run.at = answer.ended
    if answer.interrupt is not None:
        run.interrupted(answer.interrupt)
        raise Stopped
    return answer


def _not_stored(run: Run, number: int, call: ToolCall, answer: Answer) -> None:
    """
    Mark the invocation of a failed save or read-back; its value reaches nobody.
    """
    run.trusted = False
    failure = answer.failure
    run.note(
        TraceCode.STORE_FAILED,
        tool=call.tool,
        error="content differs" if failure is None else failure.error,
        detail="" if failure is None else failure.detail,
    )
    broken = make_record(
        number,
        f"{run.evidence_prefix}{number}",
        run.run_id,
        call,
        (),
        0,
        InvocationCode.STORE_FAILED,
    )
    run.invocations.append(broken.invocation)


# --- draft and gates (section 3.7)


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
    limit = run.setup.limits.draft_bytes
    if limit is not None and _draft_size(draft, limit) > limit:
        run.draft = None
        return StopCause.RESULT_TOO_LARGE
    if draft.conclusion is not None:
        return None
    run.missing_context = draft.missing_context
    if draft.missing_context:
        return StopCause.MISSING_REQUIRED_CONTEXT
    return StopCause.NO_CONCLUSION


def _draft_size(draft: DiagnosisDraft, limit: int) -> int:
    """
    Measure a draft in bytes of its JSON encoding, no further than the limit.
    """
    return measure(
        {
            "conclusion": draft.conclusion,
            "citations": [_citation(c) for c in draft.citations],
            "claims": [
                {"text": claim.text, "citations": [_citation(c) for c in claim.citations]}
                for claim in draft.claims
            ],
            "recommendations": draft.recommendations,
            "missing_context": draft.missing_context,
        },
        limit,
    )


def _citation(citation: Any) -> dict[str, object]:
    given = {"fact": citation.fact_id, "quote": citation.quote}
    return {
        "invocation": citation.invocation_id,
        **{key: value for key, value in given.items() if value is not None},
    }


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
    answer = await _stored(run, _LOAD, run.setup.canonical_store.load, invocation_id)
    loaded = answer.value
    expected = own is not None
    broken = not answer.is_ok or (loaded is not None and type(loaded) is not CanonicalRecord)
    if broken or (own is not None and not is_intact(loaded, own)):
        run.trusted = False
        run.note(TraceCode.STORE_FAILED, invocation=invocation_id[:200], expected=expected)
        raise run.stop(StopCause.STORE_UNTRUSTED)
    run.check_at(run.at)
    record: CanonicalRecord | None = loaded
    if own is None and record is not None and record.invocation.run_id == run.run_id:
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

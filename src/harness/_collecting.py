"""Agent turns until a draft: progress, saturation, the one STOP_REQUIRED (section 3.6)."""

from __future__ import annotations

from functools import partial

from harness._attempt import attempt_model
from harness._batch import ran_batch
from harness._collection import Judgement
from harness._publish import send_status
from harness._records import BudgetLeft, CanonicalRecord
from harness._run import Run, Stopped
from harness._seam import Failure
from harness._states import (
    CollectionState,
    Component,
    FailureKind,
    Progress,
    StopCause,
    StopReason,
    TraceCode,
)
from harness._values import AgentTurn, DiagnosisDraft, ToolCall
from harness._view import AgentView, Prefix, RefusedCall
from harness.errors import MalformedOutputError

__all__ = ["collected"]


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
            if judgement.progress is not Progress.GAINED:
                _saturate_if_due(run, budget_reached=False)
        if collection.is_collecting:
            await _admitted(run, turns, turn.calls)
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

    def _left(self) -> BudgetLeft:
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
    if isinstance(turn, Failure):
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


async def _admitted(run: Run, turns: _Turns, calls: tuple[ToolCall, ...]) -> None:
    """
    Admit a batch as far as it fits, run it, judge it the moment it ends.
    """
    admitted = run.budget.reserve_tools(len(calls))
    refused = calls[admitted:]
    turns.refused = ()
    if refused:
        _refuse(run, turns, refused)
        calls = calls[:admitted]
    first = len(run.records)
    await ran_batch(run, calls)
    turns.batch = tuple(run.records[first:])
    judgement = run.collection.end_batch(turns.batch)
    turns.new_facts = judgement.new_facts
    if judgement.progress is not None:
        _note_judgement(run, turns, judgement)
    reached = bool(refused) or run.budget.collection_limit_reached is not None
    if reached or judgement.progress is Progress.NO_GAIN:
        _saturate_if_due(run, budget_reached=reached)

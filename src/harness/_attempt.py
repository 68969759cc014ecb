"""
The one place where a call to a model leaves the harness (section 3.2).

Each makes the active check, reserves budget, classifies the failure, settles usage and writes the
trace, in this order; nothing else calls a router, responder, agent, repairer or guard.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeVar

from harness._budget import judge_usage
from harness._records import AttemptRecord
from harness._run import Run, Stopped
from harness._seam import Answer, Attempt, Failure
from harness._states import (
    AttemptOutcome,
    Component,
    Dimension,
    FailureKind,
    StopCause,
    TraceCode,
    UsageKind,
)
from harness._tables import ATTEMPT_POLICY
from harness._values import Answered
from harness.errors import MalformedOutputError

__all__ = ["attempt_model", "note_attempt", "retried"]

T = TypeVar("T")

#: Checks a component's value, or raises :class:`MalformedOutputError`.
Accept = Callable[[Any], T]


async def attempt_model(
    run: Run,
    component: Component,
    function: Callable[..., Any],
    argument: object,
    accept: Accept[T],
    on_made: Callable[[], None] | None = None,
) -> T | Failure:
    """
    Make one attempt of a model component.

    Args:
        run: The run.
        component: Who is asked.
        function: The host's function.
        argument: What it gets, beside the attempt.
        accept: Checks the value.
        on_made: Called once the attempt is reserved and really made.

    Returns:
        The checked value, or the failure.

    Raises:
        Stopped: The run has ended; a late answer was discarded.
    """
    run.check()
    lacking = run.budget.reserve_model()
    if lacking is not None:
        raise _exhausted(run, component, lacking)
    if on_made is not None:
        on_made()
    number = run.next_number(component)
    began = run.at
    run.note(TraceCode.ATTEMPT_STARTED, component=component.name, number=number)
    attempt = Attempt(component, number, run.life, run.seam.now)
    answer = await run.seam.call(component.name, function, argument, attempt)
    run.at = answer.ended
    value, usage = _unwrapped(answer, attempt)
    kind, tokens, cost = judge_usage(usage)
    run.budget.settle(tokens, cost, known=kind is UsageKind.REPORTED)
    result = _judged(answer, value, accept, kind)
    late = note_attempt(
        run, component, number, began, answer, result, usage=kind, tokens=tokens, cost=cost
    )
    if late:
        raise Stopped
    return result


def _exhausted(run: Run, component: Component, lacking: Dimension) -> Exception:
    run.note(TraceCode.ATTEMPT_REFUSED, component=component.name, lacking=lacking.name)
    return run.stop(StopCause.BUDGET_EXHAUSTED)


def _unwrapped(answer: Answer, attempt: Attempt) -> tuple[Any, object]:
    """
    Separate a value from the usage that it or the error carries; what was reported counts first.
    """
    value = answer.value
    carried: object = None
    if type(value) is Answered:
        value, carried = value.value, value.usage
    elif answer.failure is not None:
        carried = answer.failure.usage
    if carried is None:
        carried = getattr(value, "usage", None) if value is not None else None
    reported = attempt.reported
    return value, carried if reported is None else reported


def _judged(answer: Answer, value: Any, accept: Accept[T], kind: UsageKind) -> T | Failure:
    """
    Check a value; unusable usage spoils an attempt that otherwise succeeded (section 3.3).
    """
    if answer.failure is not None:
        return answer.failure
    if answer.interrupt is not None:
        return Failure(FailureKind.UNCLASSIFIED, type(answer.interrupt).__name__)
    if kind is UsageKind.INVALID:
        return Failure(FailureKind.INVALID_OUTPUT, "Usage", "the reported usage is unusable")
    try:
        return accept(value)
    except MalformedOutputError as error:
        return Failure(FailureKind.INVALID_OUTPUT, type(error).__name__, error.message)


def note_attempt(  # noqa: PLR0913  one record's fields
    run: Run,
    component: Component,
    number: int,
    began: float,
    answer: Answer,
    result: object,
    *,
    usage: UsageKind,
    tokens: int = 0,
    cost: Decimal = Decimal(0),
) -> bool:
    """
    Account for an attempt that returned, and make the active check behind it.

    Args:
        run: The run.
        component: Who was asked.
        number: Which attempt.
        began: When it began.
        answer: What came of the call.
        result: The checked value, or the failure.
        usage: What it said of its usage.
        tokens: The tokens that were charged.
        cost: The money that was charged.

    Returns:
        Whether the run has ended: the answer is late and used for nothing.
    """
    failure = result if type(result) is Failure else None
    interrupt = answer.interrupt
    if interrupt is not None:
        run.interrupted(interrupt)
        outcome = AttemptOutcome.INTERRUPTED
    else:
        outcome = AttemptOutcome.SUCCEEDED if failure is None else AttemptOutcome.FAILED
    late = run.life.check(answer.ended) is not None
    kind = None if failure is None or interrupt is not None else failure.kind
    run.attempts.append(
        AttemptRecord(
            component=component,
            number=number,
            outcome=outcome,
            failure=kind,
            began=began,
            seconds=answer.ended - began,
            late=late,
            usage=usage,
            tokens=tokens,
            cost=cost,
        )
    )
    if failure is None:
        run.note(TraceCode.ATTEMPT_FINISHED, component=component.name, number=number)
    else:
        run.note(
            TraceCode.ATTEMPT_FAILED,
            component=component.name,
            number=number,
            kind=outcome.name if kind is None else kind.name,
            error=failure.error,
            detail=failure.detail,
        )
    if late:
        run.note(TraceCode.LATE_RESULT_DISCARDED, component=component.name, number=number)
    return late


async def retried(
    run: Run,
    component: Component,
    function: Callable[..., Any],
    argument: object,
    accept: Accept[T],
) -> T | Failure:
    """
    Attempt a component as often as its policy allows (section 3.2).

    Returns:
        The checked value, or the last failure.

    Raises:
        Stopped: The run has ended; a retry without budget ends it as ``BUDGET_EXHAUSTED``.
    """
    policy = ATTEMPT_POLICY[component]
    made = 1
    while True:
        result = await attempt_model(run, component, function, argument, accept)
        if not isinstance(result, Failure):
            return result
        retriable = made < policy.max_attempts and result.kind in policy.retried_on
        if not retriable or not await _may_retry(run, component, made, result):
            return result
        made += 1


async def _may_retry(run: Run, component: Component, made: int, failure: Failure) -> bool:
    """
    Wait before a retry; ``False`` where the wait does not fit before the deadline.

    Raises:
        Stopped: The budget has no room for the retry; nothing was reserved.
    """
    seconds = _pause(run, component, made, failure)
    deadline = run.life.deadline
    if deadline is not None and run.at + seconds >= deadline:
        _skipped(run, component, "the wait does not fit before the deadline")
        return False
    lacking = run.budget.model_lacks()
    if lacking is not None:
        _skipped(run, component, f"no budget: {lacking.name}")
        raise run.stop(StopCause.BUDGET_EXHAUSTED)
    if seconds > 0:
        await run.seam.wait(seconds, run.life)
    return True


def _pause(run: Run, component: Component, made: int, failure: Failure) -> float:
    """
    How long to wait: what the provider asks for, else the configured backoff, else not at all.
    """
    if failure.retry_after is not None:
        return failure.retry_after
    backoff = run.setup.backoff
    return 0.0 if backoff is None else max(0.0, backoff(component, made))


def _skipped(run: Run, component: Component, why: str) -> None:
    run.note(TraceCode.RETRY_SKIPPED, component=component.name, why=why)

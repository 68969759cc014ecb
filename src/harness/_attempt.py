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
from harness._values import AgentTurn, Answered
from harness.errors import MalformedOutputError

__all__ = ["attempt_model", "note_attempt", "retried"]

T = TypeVar("T")

#: Checks a component's value, or raises :class:`MalformedOutputError`.
Accept = Callable[[Any], T]


async def attempt_model(  # noqa: PLR0913  one attempt has these parts
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
    run.trace.append((TraceCode.ATTEMPT_STARTED, began, component, number))
    attempt = Attempt(component, number, run.life, run.seam.now)
    answer = await run.seam.call(component._value_, function, argument, attempt)
    run.at = answer.ended
    usage = attempt.reported
    kind, tokens, cost = judge_usage(_carried(answer) if usage is None else usage)
    run.budget.settle(tokens, cost, known=kind is UsageKind.REPORTED)
    result = _judged(answer, accept, kind)
    account = (component, number, began, kind, tokens, cost)
    if note_attempt(run, account, answer, result):
        raise Stopped
    return result


def _exhausted(run: Run, component: Component, lacking: Dimension) -> Exception:
    run.note(TraceCode.ATTEMPT_REFUSED, component=component.name, lacking=lacking.name)
    return run.stop(StopCause.BUDGET_EXHAUSTED)


def _carried(answer: Answer) -> object:
    """
    Give the usage that a value or an error carries; what was reported would count first.
    """
    value = answer.value
    if type(value) is AgentTurn or type(value) is Answered:
        return value.usage
    failure = answer.failure
    return None if failure is None else failure.usage


def _judged(answer: Answer, accept: Accept[T], kind: UsageKind) -> T | Failure:
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
        value = answer.value
        return accept(value.value if type(value) is Answered else value)
    except MalformedOutputError as error:
        return Failure(FailureKind.INVALID_OUTPUT, type(error).__name__, error.message)


#: Component, number, when it began, what it said of its usage, tokens and cost to charge.
Account = tuple[Component, int, float, UsageKind, int, Decimal]


def note_attempt(run: Run, account: Account, answer: Answer, result: object) -> bool:
    """
    Account for an attempt that returned, and make the active check behind it.

    Args:
        run: The run.
        account: Who was asked, and what it is charged.
        answer: What came of the call.
        result: The checked value, or the failure.

    Returns:
        Whether the run has ended: the answer is late and used for nothing.
    """
    component, number, began, usage, tokens, cost = account
    ended = answer.ended
    outcome, kind = AttemptOutcome.SUCCEEDED, None
    if answer.interrupt is not None:
        run.interrupted(answer.interrupt)
        outcome = AttemptOutcome.INTERRUPTED
    elif type(result) is Failure:
        outcome, kind = AttemptOutcome.FAILED, result.kind
    life = run.life
    late = life.stopped is not None or ended >= life.expires
    if late:
        life.check(ended)
    run.attempts.append((component, number, outcome, kind, began, ended, late, usage, tokens, cost))
    if type(result) is Failure:
        run.note(
            TraceCode.ATTEMPT_FAILED,
            component=component,
            number=number,
            kind=outcome if kind is None else kind,
            error=result.error,
            detail=result.detail,
        )
    else:
        run.trace.append((TraceCode.ATTEMPT_FINISHED, ended, component, number))
    if late:
        run.note(TraceCode.LATE_RESULT_DISCARDED, component=component, number=number)
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
    # a wait without end is refused where there is no deadline too
    if run.at + seconds >= run.life.expires:
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

"""Every call of a component: reserved before, counted whatever comes of it, traced (3.2, 3.3)."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from itertools import product
from typing import Any

import pytest

from harness import (
    AgentTurn,
    Answered,
    AttemptOutcome,
    Budget,
    CancelToken,
    Component,
    FailureKind,
    Harness,
    Intent,
    Limits,
    Route,
    RunRecord,
    SemanticVerdict,
    StopCause,
    Usage,
    UsageKind,
)
from harness.errors import ProviderError, RateLimitedError, TransportError
from harness.testing import Script, VirtualClock
from tests.core.doubles import (
    GOOD,
    Source,
    asking,
    citing,
    contract,
    drafting,
    ending,
    events_of,
    harness,
)

POLICY = contract("attempt-policy")
DIAGNOSIS, GENERAL = Route(Intent.DIAGNOSIS), Route(Intent.GENERAL)
SUPPORTED = SemanticVerdict.SUPPORTED
UNCITED = drafting("the pool ran out")
REPAIRED = drafting("the pool ran out", citing(1)).draft
NULL = drafting(None)

# What each component answers when it succeeds, and the cause that its failure leaves.
ANSWERS = {
    "INTENT_ROUTER": (DIAGNOSIS, "ROUTER_UNAVAILABLE"),
    "RESPONDER": ("hello", "RESPONDER_UNAVAILABLE"),
    "DIAGNOSIS_AGENT": (NULL, "AGENT_UNAVAILABLE"),
    "TOOL": ("pool size 5", "NO_CONCLUSION"),
    "EVIDENCE_REPAIR": (REPAIRED, "EVIDENCE_REJECTED"),
    "SEMANTIC_GUARD": (SUPPORTED, "SEMANTIC_UNAVAILABLE"),
}


def _with(component: str, steps: list[Any], **options: Any) -> tuple[Harness, Script]:
    """A harness whose run asks *component*, and what that component answers."""
    script = Script(steps)
    given: dict[str, Any] = {"agent": [asking({}), NULL]}
    source = Source("pool size 5", repeat_last=True)
    if component == "INTENT_ROUTER":
        given["router"] = script
    elif component == "RESPONDER":
        given |= {"router": Script([GENERAL]), "responder": script}
    elif component == "DIAGNOSIS_AGENT":
        given["agent"] = script
    elif component == "TOOL":
        source.script = script
    elif component == "EVIDENCE_REPAIR":
        given |= {"agent": [asking({}), UNCITED], "repairer": script}
    else:
        given |= {"agent": list(GOOD), "semantic_guard": script}
    given |= options
    return harness(given.pop("agent"), source, **given), script


def _attempts(record: RunRecord, component: str) -> list[Any]:
    return [one for one in record.attempts if one.component.name == component]


# --- the attempt policy


@pytest.mark.parametrize(("component", "kind"), list(product(POLICY, FailureKind.__members__)))
def test_enumeration_of_the_attempt_policy(component: str, kind: str) -> None:
    """A component that fails is asked as often as the policy says, and never once more."""
    made, script = _with(component, [ProviderError("x", kind=FailureKind[kind])] * 5)
    record = made.run("why?").record
    row = POLICY[component]
    expected = row["max_attempts"] if kind in row["retried_on"] else 1
    assert len(script.calls) == len(_attempts(record, component)) == expected
    assert {one.failure.name for one in _attempts(record, component)} == {kind}
    invalid = (component, kind) == ("DIAGNOSIS_AGENT", "INVALID_OUTPUT")
    cause = "INVALID_DRAFT" if invalid else ANSWERS[component][1]
    assert record.stop_cause is StopCause[cause]


@pytest.mark.parametrize(
    ("component", "first", "second"),
    list(product(POLICY, FailureKind.__members__, FailureKind.__members__)),
)
def test_enumeration_of_the_attempt_policy_by_attempt(
    component: str, first: str, second: str
) -> None:
    """For each component, kind and attempt: retried by its own kind, and never past the last."""
    errors = [ProviderError("x", kind=FailureKind[kind]) for kind in (first, second)]
    made, script = _with(component, [*errors, ANSWERS[component][0]])
    kinds = [one.failure.name for one in _attempts(made.run("why?").record, component)]
    row = POLICY[component]
    retried = first in row["retried_on"] and row["max_attempts"] == 2
    assert kinds == ([first, second] if retried else [first])
    assert len(script.calls) == len(kinds)


@pytest.mark.parametrize(
    ("component", "kind"),
    [(name, kind) for name in POLICY for kind in POLICY[name]["retried_on"]],
)
def test_enumeration_of_retries_that_succeed(component: str, kind: str) -> None:
    """The second attempt of a component that may be retried counts like a first one."""
    answer, cause = ANSWERS[component]
    made, script = _with(component, [ProviderError("x", kind=FailureKind[kind]), answer])
    record = made.run("why?").record
    outcomes = [one.outcome for one in _attempts(record, component)]
    assert outcomes == [AttemptOutcome.FAILED, AttemptOutcome.SUCCEEDED]
    assert [one.number for one in _attempts(record, component)] == [1, 2]
    assert record.stop_cause is not StopCause[cause]
    assert len(script.calls) == 2


@pytest.mark.parametrize("component", POLICY)
def test_an_answer_is_not_retried(component: str) -> None:
    """Whoever answers is asked once."""
    made, script = _with(component, [ANSWERS[component][0]])
    record = made.run("why?").record
    assert len(script.calls) == len(_attempts(record, component)) == 1


def test_unsupported_is_an_answer() -> None:
    """A verdict of UNSUPPORTED is final, though a second attempt would be allowed."""
    made, script = _with("SEMANTIC_GUARD", [SemanticVerdict.UNSUPPORTED, SUPPORTED])
    assert made.run("why?").record.stop_cause is StopCause.SEMANTIC_UNSUPPORTED
    assert len(script.calls) == 1


@pytest.mark.parametrize(
    "noise",
    ["SUPPORTED", "supported? no", "", {}, {"verdict": None}, True, None, [SUPPORTED], 1],
)
def test_only_a_member_is_a_verdict(noise: Any) -> None:
    """What merely reads like a verdict is INVALID_OUTPUT; the guard never fails open."""
    made, script = _with("SEMANTIC_GUARD", [noise, noise])
    record = made.run("why?").record
    assert record.stop_cause is StopCause.SEMANTIC_UNAVAILABLE
    assert record.gates.verdict is None
    assert len(script.calls) == 2


@pytest.mark.parametrize(
    ("component", "value"),
    [
        *product(["DIAGNOSIS_AGENT"], [None, "draft", NULL.draft, {"calls": []}, 5]),
        *product(["EVIDENCE_REPAIR"], [None, "draft", NULL, {}, 5]),
        *product(["RESPONDER"], [None, 5, GENERAL]),
    ],
)
def test_a_wrong_type(component: str, value: Any) -> None:
    """A value of another type is INVALID_OUTPUT of whoever returned it."""
    made, _ = _with(component, [value])
    record = made.run("why?").record
    assert _attempts(record, component)[0].failure is FailureKind.INVALID_OUTPUT


@pytest.mark.parametrize("component", POLICY)
def test_an_attempt_is_traced(component: str) -> None:
    """An attempt is traced when it starts and when it ends, with its number and its failure."""
    made, _ = _with(component, [TransportError("secret-token")] * 2)
    record = made.run("why?").record
    [failed, *_] = events_of(record, "ATTEMPT_FAILED")
    detail = failed.detail
    assert (detail["component"], detail["number"], detail["kind"]) == (component, 1, "TRANSPORT")
    assert (detail["error"], detail["detail"]) == ("TransportError", "TRANSPORT: secret-token")
    assert "secret-token" not in repr(record.public)
    started = [one.detail["component"] for one in events_of(record, "ATTEMPT_STARTED")]
    assert started == [one.component.name for one in record.attempts]


def test_a_classifier() -> None:
    """A client library's types are classified by the installed classifier, once."""

    class ReadTimeout(Exception):  # noqa: N818  named as client libraries do
        pass

    seen: list[BaseException] = []

    def classifier(error: BaseException) -> FailureKind:
        seen.append(error)
        return FailureKind.TIMEOUT

    error = ReadTimeout()
    made, script = _with("INTENT_ROUTER", [error, DIAGNOSIS], classifier=classifier)
    assert made.run("why?").record.stop_cause is StopCause.NO_CONCLUSION
    assert (seen, len(script.calls)) == ([error], 2)


# --- interrupts


@pytest.mark.parametrize("component", POLICY)
@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupt_of_a_component(component: str, interrupt: type[BaseException]) -> None:
    """An interrupt ends the run, the record is saved, and the exception goes on to the caller."""
    error = interrupt()
    made, script = _with(component, [error])
    with pytest.raises(interrupt) as caught:
        made.run("why?")
    record = made.run_store.load("id-1")
    assert caught.value is error
    assert record is not None
    assert ending(record) == ("CANCELLED", "INTERRUPTED", "CANCELLED", None)
    last = record.attempts[-1]
    assert (last.component.name, last.outcome) == (component, AttemptOutcome.INTERRUPTED)
    assert (last.failure, last.late, len(script.calls)) == (None, True, 1)
    assert events_of(record, "ATTEMPT_FAILED")[0].detail["kind"] == "INTERRUPTED"


def test_an_interrupted_call_has_no_row() -> None:
    """A call that was interrupted has an attempt and a trace entry, but neither row nor record."""
    made, _ = _with("TOOL", [KeyboardInterrupt()])
    with pytest.raises(KeyboardInterrupt):
        made.run("why?", run_id="run")
    record = made.run_store.load("run")
    assert record is not None
    assert (record.invocations, record.used.tool_calls) == ((), 1)
    assert record.used.unknown_usage == 1


# --- waiting


def _waits(backoff: Any = None, **options: Any) -> tuple[Callable[..., RunRecord], VirtualClock]:
    """Run with a router that fails twice; how long the run took is on the clock."""
    clock = VirtualClock()

    def run(*errors: Exception) -> RunRecord:
        given = {"router": Script([*errors, DIAGNOSIS]), "backoff": backoff, **options}
        return harness([NULL], clock=clock, **given).run("why?").record

    return run, clock


@pytest.mark.parametrize(
    ("error", "backoff", "waited"),
    [
        (TransportError(), None, 0.0),
        (TransportError(), lambda component, number: number * 1.5, 1.5),
        (TransportError(), lambda component, number: -5.0, 0.0),
        (TransportError(), lambda component, number: float("nan"), 0.0),
        (RateLimitedError(retry_after=4), None, 4.0),
        (RateLimitedError(retry_after=4), lambda component, number: 9.0, 4.0),
        (RateLimitedError(retry_after=0), lambda component, number: 9.0, 0.0),
        (RateLimitedError(), lambda component, number: 2.0, 2.0),
    ],
)
def test_how_long_is_waited(error: Exception, backoff: Any, waited: float) -> None:
    """A wait is what the provider asks for, else the configured backoff, else nothing."""
    run, clock = _waits(backoff)
    assert len(_attempts(run(error), "INTENT_ROUTER")) == 2
    assert clock.monotonic() == waited


def test_whom_a_backoff_is_asked_for() -> None:
    """A backoff knows the component and how many attempts were made."""
    asked: list[Any] = []

    def waits(*about: Any) -> float:
        asked.append(about)
        return 0.0

    run, _ = _waits(waits)
    run(TransportError(), TransportError())
    assert asked == [(Component.INTENT_ROUTER, 1)]


@pytest.mark.parametrize(
    ("retry_after", "made"), [(9.999, 2), (10.0, 1), (3600.0, 1), (float("inf"), 1)]
)
def test_a_wait_that_does_not_fit(retry_after: float, made: int) -> None:
    """Where the wait does not fit before the deadline the retry is not made and not reserved."""
    run, clock = _waits(limits=Limits(deadline=10, model_attempts=5))
    record = run(RateLimitedError(retry_after=retry_after))
    assert len(_attempts(record, "INTENT_ROUTER")) == made
    assert clock.monotonic() < 10
    if made == 1:
        assert record.stop_cause is StopCause.ROUTER_UNAVAILABLE
        assert record.used.model_attempts == 1
        [skipped] = events_of(record, "RETRY_SKIPPED")
        assert skipped.detail["why"] == "the wait does not fit before the deadline"


def test_a_wait_without_end() -> None:
    """A wait for ever is refused where there is no deadline too."""
    run, _ = _waits()
    record = run(RateLimitedError(retry_after=float("inf")))
    assert record.stop_cause is StopCause.ROUTER_UNAVAILABLE


def test_a_wait_ends_at_once_on_a_cancel() -> None:
    """A cancel during a wait ends the run, and the retry is not made."""
    token = CancelToken()

    class Clock(VirtualClock):
        def wait(self, seconds: float, wake: Any) -> None:
            token.cancel()
            assert wake.is_set()
            super().wait(seconds, wake)

    clock = Clock()
    router = Script([RateLimitedError(retry_after=60)])
    record = harness([], router=router, clock=clock).run("why?", cancel=token).record
    assert ending(record)[1] == "CANCELLED_BY_CALLER"
    assert (record.used.model_attempts, clock.monotonic()) == (1, 0.0)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_during_a_wait(error: type[BaseException]) -> None:
    """Ctrl-C during a wait ends the run as interrupted, with its record saved."""

    class Clock(VirtualClock):
        def wait(self, seconds: float, wake: object) -> None:
            raise error

    made = harness([], router=Script([RateLimitedError(retry_after=60)]), clock=Clock())
    with pytest.raises(error):
        made.run("why?", run_id="run")
    assert ending(made.run_store.load("run"))[1] == "INTERRUPTED"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        (Limits(model_attempts=1, release_reserve=0), "no budget: MODEL_ATTEMPTS"),
        (Limits(tokens=10), "no budget: TOKENS"),
        (Limits(cost=1), "no budget: COST"),
    ],
)
def test_a_retry_without_budget(limits: Limits, why: str) -> None:
    """A retry for which there is no budget is not made, and ends the run as BUDGET_EXHAUSTED."""
    used = Usage(10, 0, 1)
    run, _ = _waits(limits=limits)
    record = run(TransportError(usage=used))
    assert record.stop_cause is StopCause.BUDGET_EXHAUSTED
    assert record.used.model_attempts == 1
    assert events_of(record, "RETRY_SKIPPED")[0].detail["why"] == why


@pytest.mark.parametrize(
    ("limits", "lacking"),
    [
        (Limits(model_attempts=1, release_reserve=0), "MODEL_ATTEMPTS"),
        (Limits(tokens=10), "TOKENS"),
        (Limits(tokens=5), "TOKENS"),
        (Limits(cost=Decimal("0.5")), "COST"),
    ],
)
def test_the_next_attempt_is_refused(limits: Limits, lacking: str) -> None:
    """The run stops before the next spend once a limit is reached or passed, and says which."""
    turn = AgentTurn(asking({}).calls, usage=Usage(4, 6, Decimal("0.5")))
    record = harness([turn, NULL], Source("x"), limits=limits).run("why?").record
    assert ending(record)[:3] == ("BUDGET_EXHAUSTED", "BUDGET_EXHAUSTED", "FALLBACK")
    assert (record.used.model_attempts, record.used.tokens) == (1, 10)
    assert events_of(record, "ATTEMPT_REFUSED")[0].detail["lacking"] == lacking


# --- usage

TURN = asking({})


def _reporting(usage: Any, answer: Any) -> Callable[..., Any]:
    def report(_argument: object, attempt: Any) -> Any:
        attempt.report(usage)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return report


# How usage reaches the harness: through the attempt, the value, or the error.
CARRIERS: dict[str, Callable[[Any], Any]] = {
    "reported": lambda usage: _reporting(usage, NULL),
    "answered": lambda usage: Answered(value=NULL, usage=usage),
    "in the turn": lambda usage: AgentTurn(draft=NULL.draft, usage=usage),
    "reported by a failure": lambda usage: _reporting(usage, TransportError()),
    "in the error": lambda usage: TransportError(usage=usage),
}


@pytest.mark.parametrize("carrier", CARRIERS)
def test_usage_is_settled(carrier: str) -> None:
    """Usage is charged whichever way it comes, and whatever came of the attempt."""
    record = harness([CARRIERS[carrier](Usage(30, 4, Decimal("0.25")))]).run("why?").record
    [attempt] = record.attempts
    assert (attempt.usage, attempt.tokens, attempt.cost) == (
        UsageKind.REPORTED,
        34,
        Decimal("0.25"),
    )
    used = record.used
    assert (used.tokens, used.cost, used.unknown_usage) == (34, Decimal("0.25"), 0)


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize(
    "usage", [Usage(-50, 5), Usage(input_tokens=True), "12", {"input_tokens": 1}]
)
def test_unusable_usage(carrier: str, usage: Any) -> None:
    """Unusable usage is unknown, spoils an attempt that succeeded, and leaves a failure's kind."""
    record = harness([CARRIERS[carrier](usage)]).run("why?").record
    [attempt] = record.attempts
    failed = "failure" in carrier or "error" in carrier
    assert attempt.failure is (FailureKind.TRANSPORT if failed else FailureKind.INVALID_OUTPUT)
    assert (attempt.usage, attempt.tokens) == (UsageKind.INVALID, 0)
    assert (record.used.tokens, record.used.unknown_usage) == (0, 1)


@pytest.mark.parametrize("carrier", CARRIERS)
def test_missing_usage(carrier: str) -> None:
    """Missing usage counts as unknown, and is no failure."""
    record = harness([CARRIERS[carrier](None)]).run("why?").record
    assert record.attempts[0].usage is UsageKind.UNKNOWN
    assert record.used.unknown_usage == 1


def test_a_report_counts_before_what_is_carried() -> None:
    """Usage that was reported through the attempt counts, and is not added to what is carried."""
    step = _reporting(Usage(1, 2), AgentTurn(draft=NULL.draft, usage=Usage(100, 200)))
    assert harness([step]).run("why?").record.used.tokens == 3


def test_every_component_may_answer_with_its_usage() -> None:
    """A plain value may come together with what getting it used, from any component."""

    def answered(value: Any) -> Script:
        return Script([Answered(value=value, usage=Usage(1, 1))])

    made = harness(
        [asking({}), UNCITED],
        Source("pool size 5"),
        router=answered(DIAGNOSIS),
        repairer=answered(REPAIRED),
        semantic_guard=answered(SUPPORTED),
    )
    record = made.run("why?").record
    assert record.stop_cause is StopCause.REPORT_APPROVED
    assert (record.used.tokens, record.used.unknown_usage) == (6, 2)


def test_an_attribute_is_no_usage() -> None:
    """Only the library's own values carry usage: what looks like it is not even looked at."""

    class Odd:
        @property
        def usage(self) -> Any:
            raise RuntimeError

    record = harness([Odd()]).run("why?").record
    assert record.stop_cause is StopCause.INVALID_DRAFT
    assert record.attempts[0].usage is UsageKind.UNKNOWN


def test_tools_report_no_usage() -> None:
    """A tool's attempt has no usage, and counts as no unknown one."""
    record = harness([asking({}), NULL], Source(_reporting(Usage(9, 9), "x"))).run("why?").record
    assert _attempts(record, "TOOL")[0].usage is UsageKind.NONE
    assert (record.used.tokens, record.used.unknown_usage) == (0, 2)


# --- a budget above


def test_a_parent_budget() -> None:
    """A parent budget is charged too, and refuses what it has no room for."""
    tenant = Budget(model_attempts=3)
    made = harness(lambda view: NULL)
    for _ in range(3):
        assert made.run("why?", budget=tenant).record.stop_cause is StopCause.NO_CONCLUSION
    record = made.run("why?", budget=tenant).record
    assert record.stop_cause is StopCause.BUDGET_EXHAUSTED
    assert (record.used.model_attempts, tenant.used.model_attempts) == (0, 3)


def test_durations() -> None:
    """An attempt says when it began and how long it took, on the monotonic clock alone."""
    clock = VirtualClock()

    def slow(*_arguments: Any) -> Any:
        clock.advance(1500)
        clock.step_wall_clock(-3600)
        return DIAGNOSIS

    def turn(*_arguments: Any) -> Any:
        clock.advance(250)
        return NULL

    record = harness(turn, router=slow, clock=clock).run("why?").record
    assert [(one.began, one.seconds) for one in record.attempts] == [(0.0, 1.5), (1.5, 0.25)]
    assert [event.at for event in record.trace] == sorted(event.at for event in record.trace)

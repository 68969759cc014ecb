"""Reported faults 1 to 6: hidden retries, guessed classes, budgets, usage, clocks, late results."""

from __future__ import annotations

import math
from typing import Any

import pytest

from harness import (
    AgentTurn,
    Citation,
    DiagnosisDraft,
    Harness,
    Intent,
    Limits,
    Route,
    SemanticVerdict,
    ToolCall,
    Usage,
)
from harness.errors import (
    InvalidArgumentError,
    ProviderTimeoutError,
    RateLimitedError,
    RejectedError,
    TransportError,
)
from harness.testing import Script, VirtualClock
from tests.faults.common import FACT, asks, call, drafts, ending, kinds, plays

GOOD = [asks(), drafts("The pool ran out.", "@1")]
TRANSPORT = {"fail": "TRANSPORT"}


def logs() -> str:
    """A tool that finds the usual fact."""
    return FACT


def turns(*drafted: AgentTurn) -> Script:
    """An agent that asks for the logs once, then plays the given turns."""
    return Script([AgentTurn([ToolCall("logs")]), *drafted])


def cited(conclusion: str = "The pool ran out.") -> Any:
    """A good draft, citing what was found first."""
    return lambda view, _attempt: AgentTurn(
        draft=DiagnosisDraft(conclusion, [Citation(view.records[0].invocation_id, 1)])
    )


def test_fault_01_every_real_call_is_an_attempt_of_the_record() -> None:
    """A router that fails twice was called twice, and the record has exactly two rows."""
    provider = Script([TransportError("down"), TransportError("down")])
    record = Harness(turns(), [logs], router=provider).run("why?").record
    assert len(provider.calls) == 2
    assert kinds(record, "INTENT_ROUTER") == ["TRANSPORT", "TRANSPORT"]
    assert record.used.model_attempts == 2


def test_fault_01_the_second_attempt_is_the_second_row() -> None:
    """A router that answers on its second attempt leaves a failure and a success."""
    outcome = plays(router=[TRANSPORT, {"intent": "DIAGNOSIS"}], agent=GOOD)
    assert ending(outcome) == ("SUCCESS", "SUCCESS", None)
    assert kinds(outcome.record, "INTENT_ROUTER") == ["TRANSPORT", None]


def test_fault_01_agents_and_tools_are_called_once() -> None:
    """Neither an agent's turn nor a tool's call is ever repeated behind the agent's back."""
    agent = Script([TransportError("down")])
    assert Harness(agent, [logs]).run("why?").record.used.model_attempts == 1
    tool = plays(agent=[asks(), drafts(None)], tools={"logs": [TRANSPORT]})
    assert tool.observed["attempts"] == {"DIAGNOSIS_AGENT": 2, "TOOL": 1}


@pytest.mark.parametrize(
    ("error", "attempts"),
    [
        (RejectedError("401: timeout"), 1),
        (KeyError("timeout"), 1),
        (ProviderTimeoutError(), 2),
        (TimeoutError(), 2),
    ],
)
def test_fault_02_the_class_comes_from_the_type_never_from_the_text(
    error: Exception, attempts: int
) -> None:
    """A permanent error that says "timeout" is not retried; a typed time-out without text is."""
    guard = Script([error], repeat_last=True)
    result = Harness(turns(cited()), [logs], semantic_guard=guard).run("why?").record
    router = Script([error], repeat_last=True)
    routed = Harness(turns(), [logs], router=router).run("why?").record
    assert (len(guard.calls), len(router.calls)) == (attempts, attempts)
    assert result.stop_cause is not None
    assert result.stop_cause.name == "SEMANTIC_UNAVAILABLE"
    assert routed.run_state.name == "FAILED"


def test_fault_02_a_non_retryable_failure_is_not_waited_for() -> None:
    """No backoff is spent where there is no retry."""
    clock = VirtualClock()
    router = Script([RejectedError("401")])
    Harness(turns(), [logs], router=router, clock=clock, backoff=lambda *_: 5.0).run("why?")
    assert clock.monotonic() == 0


def test_fault_03_a_batch_never_runs_past_the_tool_limit() -> None:
    """Of a batch that does not fit, exactly what fits runs, and the findings are kept."""
    outcome = plays(
        limits={"tool_calls": 3},
        progress="INFERRED",
        agent=[
            asks(call("1")),
            asks(call("2")),
            asks(call("3"), call("4"), call("5")),
            asks(call("6")),
        ],
        tools={"logs": [{"facts": [f"fact {n}"]} for n in range(1, 4)]},
    )
    assert ending(outcome) == ("BUDGET_EXHAUSTED", "FALLBACK", "INSUFFICIENT_EVIDENCE")
    assert outcome.observed["attempts"]["TOOL"] == 3
    assert outcome.observed["stop_reason"] == "BUDGET_LIMIT_REACHED"
    codes = outcome.observed["trace"]
    assert codes.count("CALL_REFUSED") == 3
    assert codes.count("STOP_REQUIRED") == 1
    assert all(f"fact {n}" in outcome.observed["public"]["text"] for n in (1, 2, 3))


def test_fault_03_usage_exactly_at_the_limit_stops_the_next_attempt() -> None:
    """A limit that is reached, not passed, refuses the next model call."""
    usage = {"input_tokens": 60, "output_tokens": 40}
    outcome = plays(limits={"tokens": 100}, agent=[{**asks(), "usage": usage}])
    assert ending(outcome) == ("BUDGET_EXHAUSTED", "FALLBACK", "INSUFFICIENT_EVIDENCE")
    assert outcome.observed["attempts"]["DIAGNOSIS_AGENT"] == 1


@pytest.mark.parametrize(
    ("limits", "state", "attempts"),
    [
        ({"model_attempts": 0}, "BUDGET_EXHAUSTED", {}),
        ({"tokens": 0}, "BUDGET_EXHAUSTED", {}),
        ({"cost": "0"}, "BUDGET_EXHAUSTED", {}),
        ({"tool_calls": 0}, "BUDGET_EXHAUSTED", {"DIAGNOSIS_AGENT": 1}),
        ({"evidence_bytes": 0}, "BUDGET_EXHAUSTED", {"DIAGNOSIS_AGENT": 1}),
        ({"deadline_ms": 0}, "TIMED_OUT", {}),
    ],
)
def test_fault_03_a_limit_of_zero_is_none_at_all(
    limits: dict[str, Any], state: str, attempts: dict[str, int]
) -> None:
    """Zero never reads as "no limit": no call of that kind is made."""
    outcome = plays(limits=limits, agent=[asks()])
    assert ending(outcome) == (state, "FAILED", None)
    assert outcome.observed["attempts"] == attempts


@pytest.mark.parametrize("limit", [-1, math.nan, True, "5", math.inf])
@pytest.mark.parametrize("name", ["tool_calls", "tokens", "model_attempts", "deadline"])
def test_fault_03_a_limit_that_is_no_number_is_refused_when_it_is_built(
    name: str, limit: object
) -> None:
    """Negative, NaN, bool, text and infinite limits are refused by name."""
    with pytest.raises(InvalidArgumentError, match=name):
        Limits(**{name: limit})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("usage", "cause"),
    [
        ({}, "REPORT_APPROVED"),
        ({"usage": None}, "REPORT_APPROVED"),
        ({"usage": {"input_tokens": None, "output_tokens": 5}}, "REPORT_APPROVED"),
        ({"usage": {"input_tokens": -50, "output_tokens": 5}}, "INVALID_DRAFT"),
        ({"usage": True}, "INVALID_DRAFT"),
        ({"usage": {"input_tokens": True}}, "INVALID_DRAFT"),
        ({"usage": "12"}, "INVALID_DRAFT"),
        ({"usage": {"cost": "NaN"}}, "INVALID_DRAFT"),
    ],
)
def test_fault_04_odd_usage_never_breaks_the_sum(usage: dict[str, Any], cause: str) -> None:
    """Missing usage is unknown, a missing field is 0, nonsense spoils the turn: never an error."""
    outcome = plays(agent=[{**asks(), **usage}, drafts("The pool ran out.", "@1")])
    assert outcome.observed["stop_cause"] == cause
    assert outcome.observed["used"]["tokens"] in {0, 5}


def test_fault_04_nan_tokens_are_invalid() -> None:
    """A NaN that no JSON can carry is judged like the others."""

    def agent(_view: object, attempt: Any) -> AgentTurn:
        attempt.report(Usage(math.nan, 1))
        return AgentTurn([ToolCall("logs")])

    record = Harness(agent, [logs]).run("why?").record
    assert record.stop_cause is not None
    assert record.stop_cause.name == "INVALID_DRAFT"
    assert record.used.unknown_usage == 1


def test_fault_04_huge_usage_is_settled_and_ends_the_run_at_the_next_spend() -> None:
    """10**30 tokens are a number like any other."""
    huge = {"usage": {"input_tokens": 10**30}}
    outcome = plays(limits={"tokens": 100}, agent=[{**asks(), **huge}])
    assert outcome.observed["used"]["tokens"] == 10**30
    assert ending(outcome)[0] == "BUDGET_EXHAUSTED"


def test_fault_04_a_failed_attempt_is_charged() -> None:
    """The guard's discarded first attempt is in the total; the verdict is attempt 2."""
    outcome = plays(
        agent=[asks(), {**drafts("The pool ran out.", "@1"), "usage": _tokens(10, 5)}],
        semantic_guard=[
            {"malformed": "?", "usage": _tokens(30, 4)},
            {"verdict": "SUPPORTED", "usage": _tokens(30, 2)},
        ],
    )
    assert ending(outcome) == ("SUCCESS", "SUCCESS", None)
    assert outcome.observed["used"]["tokens"] == 15 + 34 + 32
    assert [a.tokens for a in outcome.record.attempts][-2:] == [34, 32]


def _tokens(given: int, taken: int) -> dict[str, int]:
    return {"input_tokens": given, "output_tokens": taken}


def test_fault_05_only_the_monotonic_clock_ends_a_run() -> None:
    """Wall-clock steps of hours neither fire a deadline nor make a duration negative."""
    clock = VirtualClock()

    def step(seconds: float) -> Any:
        def turn(_view: object, _attempt: object) -> AgentTurn:
            clock.advance(10_000)
            clock.step_wall_clock(seconds)
            return AgentTurn([ToolCall("logs", {"n": seconds})])

        return turn

    def late(view: Any, attempt: Any) -> AgentTurn:
        clock.advance(11_000)
        return cited()(view, attempt)  # type: ignore[no-any-return]

    agent = Script([step(-3600), step(7200), late])
    limits = Limits(deadline=30)
    record = Harness(agent, [logs], clock=clock, limits=limits, progress="INFERRED").run("?").record
    assert (record.run_state.name, record.fallback_type and record.fallback_type.name) == (
        "TIMED_OUT",
        "INSUFFICIENT_EVIDENCE",
    )
    assert all(attempt.seconds >= 0 for attempt in record.attempts)
    assert [event.sequence for event in record.trace] == list(range(1, len(record.trace) + 1))
    assert record.started_at.utcoffset() is not None


@pytest.mark.parametrize("milliseconds", [31_000, 30_000])
def test_fault_06_a_result_after_the_deadline_is_used_for_nothing(milliseconds: int) -> None:
    """A perfect draft at or after the deadline is billed, and neither guarded nor published."""
    outcome = plays(
        limits={"deadline_ms": 30_000},
        agent=[
            asks(),
            {**drafts("ZX-MARK", "@1"), "takes_ms": milliseconds, "usage": _tokens(7, 1)},
        ],
    )
    assert ending(outcome) == ("TIMED_OUT", "FALLBACK", "INSUFFICIENT_EVIDENCE")
    assert outcome.observed["used"]["tokens"] == 8
    assert "LATE_RESULT_DISCARDED" in outcome.observed["trace"]
    assert "ZX-MARK" not in outcome.observed["public"]["text"]


def test_fault_06_a_wait_that_does_not_fit_the_deadline_is_not_slept() -> None:
    """A provider's wait of an hour makes the guard unavailable, at once and unreserved."""
    clock = VirtualClock()
    guard = Script([RateLimitedError("slow down", retry_after=3600)])
    harness = Harness(
        turns(cited()), [logs], semantic_guard=guard, clock=clock, limits=Limits(deadline=10)
    )
    record = harness.run("why?").record
    assert record.fallback_type is not None
    assert record.fallback_type.name == "SEMANTIC_UNAVAILABLE"
    assert clock.monotonic() == 0
    skipped = next(event for event in record.trace if event.code.name == "RETRY_SKIPPED")
    assert skipped.detail["why"] == "the wait does not fit before the deadline"
    assert kinds(record, "SEMANTIC_GUARD") == ["RATE_LIMITED"]


def test_fault_06_a_wait_that_fits_is_taken() -> None:
    """A provider's wait that fits is waited, then the retry is made."""
    clock = VirtualClock()
    guard = Script([RateLimitedError(retry_after=4), SemanticVerdict.SUPPORTED])
    router = Script([Route(Intent.DIAGNOSIS)])
    harness = Harness(
        turns(cited()),
        [logs],
        router=router,
        semantic_guard=guard,
        clock=clock,
        limits=Limits(deadline=10),
    )
    assert harness.run("why?").record.run_state.name == "SUCCESS"
    assert clock.monotonic() == 4

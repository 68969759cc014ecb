"""The twelve endings of the demo, as section 5 of the specification states them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attrs import frozen

from harness import FallbackType, ReleaseOutcome, RunState, StopCause
from harness.demo import _scenes

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness import RunRecord, RunResult
    from harness.demo._incident import Incident
    from harness.ports import EventSink


@frozen
class Ending:
    """
    A scene of the specification's section 5, and how the demo reaches it.

    Attributes:
        name: What the command calls it.
        scene: What happens.
        run_state: Why execution stops.
        stop_cause: The exact cause.
        outcome: What becomes public.
        fallback: Why a fallback, or ``None``.
        play: Makes it happen, given the incident and a client.
    """

    name: str
    scene: str
    run_state: RunState
    stop_cause: StopCause
    outcome: ReleaseOutcome
    fallback: FallbackType | None
    play: Callable[[Incident, EventSink], RunResult]

    def is_reached(self, record: RunRecord) -> bool:
        """
        Compare a run with what the specification states.

        Args:
            record: The record of the run.

        Returns:
            Whether run state, cause, outcome and fallback type are the stated ones.
        """
        return (
            record.run_state,
            record.stop_cause,
            record.release_outcome,
            record.fallback_type,
        ) == (
            self.run_state,
            self.stop_cause,
            self.outcome,
            self.fallback,
        )


_SUCCESS, _FALLBACK = ReleaseOutcome.SUCCESS, ReleaseOutcome.FALLBACK
_THIN: Final = FallbackType.INSUFFICIENT_EVIDENCE

#: Every ending, the good one first, as the specification's section 5 states it.
ENDINGS: Final = (
    Ending(
        "report",
        "both gates pass",
        RunState.SUCCESS,
        StopCause.REPORT_APPROVED,
        _SUCCESS,
        None,
        _scenes.report,
    ),
    Ending(
        "no-evidence",
        "checked what could be checked, evidence still too thin",
        RunState.SUCCESS,
        StopCause.NO_CONCLUSION,
        _FALLBACK,
        _THIN,
        _scenes.no_evidence,
    ),
    Ending(
        "missing-context",
        "required context missing",
        RunState.SUCCESS,
        StopCause.MISSING_REQUIRED_CONTEXT,
        _FALLBACK,
        FallbackType.MISSING_REQUIRED_CONTEXT,
        _scenes.missing_context,
    ),
    Ending(
        "tool-error",
        "one tool fails, another answers, both gates pass",
        RunState.SUCCESS,
        StopCause.REPORT_APPROVED,
        _SUCCESS,
        None,
        _scenes.tool_error,
    ),
    Ending(
        "evidence-rejected",
        "evidence guard fails finally",
        RunState.SUCCESS,
        StopCause.EVIDENCE_REJECTED,
        _FALLBACK,
        FallbackType.EVIDENCE_VALIDATION_FAILED,
        _scenes.evidence_rejected,
    ),
    Ending(
        "unsupported",
        "semantic guard: not supported",
        RunState.SUCCESS,
        StopCause.SEMANTIC_UNSUPPORTED,
        _FALLBACK,
        FallbackType.SEMANTIC_UNSUPPORTED,
        _scenes.unsupported,
    ),
    Ending(
        "unavailable",
        "semantic guard unavailable after its attempts",
        RunState.SUCCESS,
        StopCause.SEMANTIC_UNAVAILABLE,
        _FALLBACK,
        FallbackType.SEMANTIC_UNAVAILABLE,
        _scenes.unavailable,
    ),
    Ending(
        "saturated",
        "information saturated, safe progress",
        RunState.SUCCESS,
        StopCause.NO_CONCLUSION,
        _FALLBACK,
        _THIN,
        _scenes.saturated,
    ),
    Ending(
        "budget",
        "budget exhausted, safe progress",
        RunState.BUDGET_EXHAUSTED,
        StopCause.BUDGET_EXHAUSTED,
        _FALLBACK,
        _THIN,
        _scenes.budget,
    ),
    Ending(
        "timeout",
        "deadline, safe progress",
        RunState.TIMED_OUT,
        StopCause.DEADLINE_EXCEEDED,
        _FALLBACK,
        _THIN,
        _scenes.timeout,
    ),
    Ending(
        "cancelled",
        "cancelled by the caller, whose client is still there",
        RunState.CANCELLED,
        StopCause.CANCELLED_BY_CALLER,
        ReleaseOutcome.CANCELLED,
        None,
        _scenes.cancelled,
    ),
    Ending(
        "failed",
        "internal failure that cannot be recovered",
        RunState.FAILED,
        StopCause.STORE_UNTRUSTED,
        ReleaseOutcome.FAILED,
        None,
        _scenes.failed,
    ),
)

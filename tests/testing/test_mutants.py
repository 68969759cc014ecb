"""Five deliberately broken copies of one decision each: the sweep catches every one of them."""

from typing import Any

import pytest

from harness import RunRecord, SemanticVerdict, StopCause
from harness._attempt import attempt_model, note_attempt
from harness._lifecycle import Lifecycle, Stop
from harness._publish import _deliver, publish
from harness._run import Run
from harness._seam import Failure
from harness.errors import MalformedOutputError
from harness.testing.scenario import load_scenario
from harness.testing.sweep import Finding, sweep

_REPORT = {
    "name": "a report",
    "agent": [
        {"calls": [{"tool": "logs"}]},
        {"draft": {"conclusion": "Pool exhausted.", "citations": [{"invocation": "@1"}]}},
    ],
    "tools": {"logs": [{"facts": ["pool size 5 reached"]}]},
    "semantic_guard": [{"verdict": "SUPPORTED"}],
}
_REFUSED = {**_REPORT, "name": "refused", "semantic_guard": [{"verdict": "UNSUPPORTED"}]}
_LEAVING = {**_REPORT, "name": "leaving", "client": {"disconnects_at": "STATUS"}}


def _broken(scenario: dict[str, Any], *, depth: int = 1) -> list[Finding]:
    return list(sweep(load_scenario(scenario), depth=depth).findings)


def _names(findings: list[Finding]) -> set[str]:
    return {finding.broken.invariant for finding in findings}


@pytest.mark.parametrize("scenario", [_REPORT, _REFUSED, _LEAVING])
def test_the_decisions_as_they_are_pass(scenario: dict[str, Any]) -> None:
    """Without a mutant no run breaks an invariant."""
    assert _broken(scenario) == []


def test_dropping_the_active_check_after_a_tool_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool's result that came after the end is saved: nothing may be, once it is over."""

    def unchecked(*arguments: Any) -> bool:
        noted(*arguments)
        return False

    noted = note_attempt
    monkeypatch.setattr("harness._batch.note_attempt", unchecked)
    findings = _broken(_REPORT)
    assert "nothing-after-the-end" in _names(findings)
    places = {str(finding.injections[0]) for finding in findings}
    assert {"tool:1=cancel", "tool:1=late"} <= places


def test_retrying_unsupported_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guard that is asked until it agrees: its refusal was an answer."""

    def agreed(value: object) -> object:
        if value is SemanticVerdict.UNSUPPORTED:
            raise MalformedOutputError("verdict", value, "SUPPORTED")
        return value

    monkeypatch.setattr("harness._gating._verdict", agreed)
    assert "unsupported-is-final" in _names(_broken(_REFUSED))


def test_publishing_before_the_record_is_saved_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Content that leaves first is public without a record, whether or not the save succeeds."""

    async def hasty(run: Run, record: RunRecord) -> RunRecord:
        await _deliver(run, record)
        return await publish(run, record)

    monkeypatch.setattr("harness._flow.publish", hasty)
    assert "saved-before-public" in _names(_broken(_REPORT))


def test_a_second_terminal_state_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that leaves a run which was cancelled before does not make it another ending."""

    def stop(life: Lifecycle, cause: StopCause, at: float, reason: str | None = None) -> bool:
        life.stopped = Stop(cause, at, reason)
        return True

    monkeypatch.setattr(Lifecycle, "stop", stop)
    assert "first-signal-wins" in _names(_broken(_LEAVING))


def test_a_failed_attempt_that_is_free_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """An attempt counts whatever came of it."""

    async def free(run: Run, *arguments: Any) -> Any:
        result = await attempt_model(run, *arguments)
        if isinstance(result, Failure):
            run.budget._own.used_model_attempts -= 1
        return result

    monkeypatch.setattr("harness._attempt.attempt_model", free)
    monkeypatch.setattr("harness._collecting.attempt_model", free)
    assert "calls-accounted" in _names(_broken(_REPORT))

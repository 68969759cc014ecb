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
from harness.testing.faults import Fault
from harness.testing.scenario import load_scenario
from harness.testing.sweep import sweep
from tests.testing.stages import LEAVING, REFUSED, REPORT, names

#: Enough of the faults to catch each mutant, so that the test is quick.
_FAULTS = (Fault.TIMEOUT, Fault.UNKNOWN, Fault.WRONG_TYPE, Fault.CANCEL, Fault.LATE)


def _caught(scenario: dict[str, Any]) -> set[str]:
    """The invariants that a sweep finds broken."""
    return names(sweep(load_scenario(scenario), faults=_FAULTS).findings)


@pytest.mark.parametrize("scenario", [REPORT, REFUSED, LEAVING])
def test_the_decisions_as_they_are_pass(scenario: dict[str, Any]) -> None:
    """Without a mutant no run breaks an invariant."""
    assert _caught(scenario) == set()


def test_dropping_the_active_check_after_a_tool_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool's result that came after the end is saved: nothing may be, once it is over."""

    def unchecked(*arguments: Any) -> bool:
        noted(*arguments)
        return False

    noted = note_attempt
    monkeypatch.setattr("harness._batch.note_attempt", unchecked)
    findings = sweep(load_scenario(REPORT), faults=_FAULTS).findings
    assert "nothing-after-the-end" in names(findings)
    places = {str(finding.injections[0]) for finding in findings}
    assert {"tool:1=cancel", "tool:1=late"} <= places


def test_retrying_unsupported_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guard that is asked until it agrees: its refusal was an answer."""

    def agreed(value: object) -> object:
        if value is SemanticVerdict.UNSUPPORTED:
            raise MalformedOutputError("verdict", value, "SUPPORTED")
        return value

    monkeypatch.setattr("harness._gating._verdict", agreed)
    assert "unsupported-is-final" in _caught(REFUSED)


def test_publishing_before_the_record_is_saved_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Content that leaves first is public without a record, whether or not the save succeeds."""

    async def hasty(run: Run, record: RunRecord) -> RunRecord:
        await _deliver(run, record)
        return await publish(run, record)

    monkeypatch.setattr("harness._flow.publish", hasty)
    assert "saved-before-public" in _caught(REPORT)


def test_a_second_terminal_state_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that leaves a run which was cancelled before does not make it another ending."""

    def stop(life: Lifecycle, cause: StopCause, at: float, reason: str | None = None) -> bool:
        life.stopped = Stop(cause, at, reason)
        return True

    monkeypatch.setattr(Lifecycle, "stop", stop)
    assert "first-signal-wins" in _caught(LEAVING)


def test_a_failed_attempt_that_is_free_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """An attempt counts whatever came of it."""

    async def free(run: Run, *arguments: Any) -> Any:
        result = await attempt_model(run, *arguments)
        if isinstance(result, Failure):
            run.budget._own.used_model_attempts -= 1
        return result

    monkeypatch.setattr("harness._attempt.attempt_model", free)
    monkeypatch.setattr("harness._collecting.attempt_model", free)
    assert "calls-accounted" in _caught(REPORT)

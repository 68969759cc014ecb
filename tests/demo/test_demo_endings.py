"""Every ending of the demo is reached by its mechanism, over one real incident."""

import pytest
from attrs import evolve

from harness import (
    EventKind,
    EvidenceStatus,
    FailureKind,
    LimitationKind,
    RunRecord,
    RunResult,
    StopReason,
    StreamEvent,
)
from harness.demo import ENDINGS, Ending, Incident

#: Section 5 of the specification, with the causes of section 4: run state, cause, outcome, type.
_STATED = {
    "report": "SUCCESS REPORT_APPROVED SUCCESS None",
    "no-evidence": "SUCCESS NO_CONCLUSION FALLBACK INSUFFICIENT_EVIDENCE",
    "missing-context": "SUCCESS MISSING_REQUIRED_CONTEXT FALLBACK MISSING_REQUIRED_CONTEXT",
    "tool-error": "SUCCESS REPORT_APPROVED SUCCESS None",
    "evidence-rejected": "SUCCESS EVIDENCE_REJECTED FALLBACK EVIDENCE_VALIDATION_FAILED",
    "unsupported": "SUCCESS SEMANTIC_UNSUPPORTED FALLBACK SEMANTIC_UNSUPPORTED",
    "unavailable": "SUCCESS SEMANTIC_UNAVAILABLE FALLBACK SEMANTIC_UNAVAILABLE",
    "saturated": "SUCCESS NO_CONCLUSION FALLBACK INSUFFICIENT_EVIDENCE",
    "budget": "BUDGET_EXHAUSTED BUDGET_EXHAUSTED FALLBACK INSUFFICIENT_EVIDENCE",
    "timeout": "TIMED_OUT DEADLINE_EXCEEDED FALLBACK INSUFFICIENT_EVIDENCE",
    "cancelled": "CANCELLED CANCELLED_BY_CALLER CANCELLED None",
    "failed": "FAILED STORE_UNTRUSTED FAILED None",
}


class _Client:
    """A client that keeps what it received."""

    def __init__(self) -> None:
        self.events: list[StreamEvent] = []

    def send(self, event: StreamEvent) -> None:
        self.events.append(event)


def _name(member: object) -> str:
    return getattr(member, "name", "None")


def _ending(name: str) -> Ending:
    return next(ending for ending in ENDINGS if ending.name == name)


@pytest.fixture(scope="session")
def results(incident: Incident) -> dict[str, RunResult]:
    """The run of every ending."""
    return {ending.name: ending.play(incident, _Client()) for ending in ENDINGS}


@pytest.fixture(scope="session")
def records(results: dict[str, RunResult]) -> dict[str, RunRecord]:
    """The record of every ending."""
    return {name: result.record for name, result in results.items()}


def test_the_endings_are_those_of_the_command() -> None:
    """The names are the ones that users know, the good one first."""
    assert [ending.name for ending in ENDINGS] == list(_STATED)


@pytest.mark.parametrize("name", _STATED)
def test_an_ending_is_as_stated(records: dict[str, RunRecord], name: str) -> None:
    """Run state, cause, outcome and fallback type are those that the specification states."""
    record = records[name]
    members = (
        record.run_state,
        record.stop_cause,
        record.release_outcome,
        record.fallback_type,
    )
    assert " ".join(map(_name, members)) == _STATED[name]
    assert _ending(name).is_reached(record)


def test_another_ending_is_told_apart(records: dict[str, RunRecord]) -> None:
    """An ending does not take the run of another one for its own."""
    assert not _ending("budget").is_reached(records["timeout"])
    assert not evolve(_ending("report"), fallback=_ending("budget").fallback).is_reached(
        records["report"]
    )


def test_the_report_names_the_deploy(results: dict[str, RunResult]) -> None:
    """The good report blames the deploy, and all four sources carry it."""
    public = results["report"].public
    assert "changed pool_size from 20 to 5, fraud_check_ms from 0 to 300" in public.text
    assert {source.tool for source in public.sources} == {"logs", "deploys", "config", "metrics"}
    assert public.limitations == ()


def test_every_source_stands_in_its_file(incident: Incident, results: dict[str, RunResult]) -> None:
    """Each cited fact is a line of a file; the one other source is the empty scope."""
    cited = [source for source in results["report"].public.sources if source.source]
    assert len(cited) == 4
    for source in cited:
        name, _, number = source.source.partition(":")
        lines = incident.log.with_name(name).read_text().splitlines()
        assert source.text in lines[int(number) - 1]


def test_empty_scopes_are_no_errors(records: dict[str, RunRecord]) -> None:
    """Asked about another hour, every source answers that it has nothing."""
    rows = records["no-evidence"].invocations
    assert [row.tool for row in rows] == ["logs", "metrics", "deploys", "logs"]
    assert {row.evidence_status for row in rows} == {EvidenceStatus.NO_EVIDENCE}


def test_missing_context_is_named(records: dict[str, RunRecord]) -> None:
    """What is missing is named, and nothing was asked."""
    assert records["missing-context"].missing_context == ("time_range",)
    assert records["missing-context"].attempts == ()


def test_the_failed_source_is_named(results: dict[str, RunResult]) -> None:
    """The report stands, with the source that could not be asked beside it."""
    result = results["tool-error"]
    limits = [(one.kind, one.name, _name(one.code)) for one in result.public.limitations]
    assert limits == [(LimitationKind.SOURCE_UNAVAILABLE, "metrics", "TRANSPORT")]
    assert "pool_timeouts" not in result.text


def test_a_misquote_is_found_twice(records: dict[str, RunRecord]) -> None:
    """The draft was checked, handed to the repairer once, and checked again."""
    gates = records["evidence-rejected"].gates
    assert (gates.checks, gates.repaired, gates.verdict) == (2, True, None)
    assert {violation.kind.name for violation in gates.violations} == {"QUOTE_MISMATCH"}


def test_an_invention_is_not_public(results: dict[str, RunResult]) -> None:
    """The guard refused the draft, and no word of the invention is in the fallback."""
    result = results["unsupported"]
    assert _name(result.record.gates.verdict) == "UNSUPPORTED"
    assert "db-7" not in result.text


def test_the_guard_was_asked_twice(records: dict[str, RunRecord]) -> None:
    """A provider that is down is asked once more, and then given up."""
    failures = [attempt.failure for attempt in records["unavailable"].attempts if attempt.failure]
    assert failures == [FailureKind.TRANSPORT, FailureKind.TRANSPORT]


def test_repeating_saturates(records: dict[str, RunRecord]) -> None:
    """Three batches without gain stop the collection, and no draft had a conclusion."""
    record = records["saturated"]
    assert record.stop_reason is StopReason.INFORMATION_SATURATED
    assert len(record.invocations) == 4


def test_the_budget_is_not_passed(records: dict[str, RunRecord]) -> None:
    """Two model attempts were allowed, and two were made."""
    assert records["budget"].used.model_attempts == 2


def test_a_late_answer_is_used_for_nothing(records: dict[str, RunRecord]) -> None:
    """The call that hung is an attempt, late, and no invocation."""
    record = records["timeout"]
    assert [row.tool for row in record.invocations] == ["logs"]
    assert [attempt.late for attempt in record.attempts][-1] is True


def test_a_cancelled_run_publishes_nothing(results: dict[str, RunResult]) -> None:
    """Something was collected, the reason is kept, and the client got DONE alone."""
    record = results["cancelled"].record
    assert len(record.invocations) == 1
    assert record.cancel_reason == "the operator stopped it"
    assert record.events[-1] is EventKind.DONE
    assert results["cancelled"].text == ""


def test_lost_evidence_is_not_trusted(results: dict[str, RunResult]) -> None:
    """The first record that was not read back ended the run, with a code and no text."""
    assert results["failed"].public.code == "STORE_UNTRUSTED"
    assert len(results["failed"].record.invocations) == 1


def test_an_ending_is_reached_again(incident: Incident, records: dict[str, RunRecord]) -> None:
    """Over the same incident the same report is published, word for word."""
    client = _Client()
    again = _ending("report").play(incident, client)
    assert again.record.public is not None
    assert records["report"].public is not None
    assert again.text == records["report"].public.text
    assert [event.kind for event in client.events][-2:] == [EventKind.CONTENT, EventKind.DONE]

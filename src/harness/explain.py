"""
Why did the user see this? From a stored record alone, from what the user saw back to the cause.

The order is that of section 3.12: stream, release, run termination, gates, tool invocations,
canonical records with scope and bytes, budget and stop reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import frozen

from harness._json import canonical
from harness._records import Invocation, RunRecord
from harness._release import limitation_text, one_line
from harness._states import AttemptOutcome, EventKind, PublicKind, RunState
from harness.errors import InvalidArgumentError

__all__ = ["Explanation", "Section", "events_text", "explain"]

_DIMENSIONS = ("model_attempts", "tool_calls", "tokens", "evidence_bytes", "cost")


@frozen
class Section:
    """
    One step of an explanation.

    Attributes:
        title: What it is about.
        lines: What the record says of it.
    """

    title: str
    lines: tuple[str, ...]


@frozen
class Explanation:
    """
    Why a user saw what they saw; text when printed.

    Attributes:
        run_id: The run.
        sections: In the order of section 3.12.
    """

    run_id: str
    sections: tuple[Section, ...]

    def __str__(self) -> str:
        lines = [f"run {one_line(self.run_id)}"]
        for number, section in enumerate(self.sections, 1):
            lines.append(f"{number}. {section.title}")
            lines.extend(f"   {line}" for line in section.lines)
        return "\n".join(lines)

    def to_data(self) -> dict[str, Any]:
        """
        Give the explanation as plain data.
        """
        return {
            "run_id": self.run_id,
            "sections": [
                {"title": section.title, "lines": list(section.lines)} for section in self.sections
            ],
        }


def explain(record: RunRecord) -> Explanation:
    """
    Explain a run from its record alone.

    Args:
        record: The record, fresh or stored.

    Returns:
        The explanation.

    Raises:
        InvalidArgumentError: It is no record.
    """
    if not isinstance(record, RunRecord):
        raise InvalidArgumentError("record", record, "a RunRecord")
    return Explanation(
        record.run_id,
        (
            Section("Stream: what the client received", _lines(_stream(record))),
            Section("Release: what became public", _lines(_release(record))),
            Section("Run: why execution stopped", _lines(_run(record))),
            Section("Gates: what the guards said", _lines(_gates(record))),
            Section("Tool invocations", _lines(_invocations(record))),
            Section("Canonical records", _lines(_records(record))),
            Section("Budget and stop reason", _lines(_budget(record))),
        ),
    )


def _lines(lines: Iterator[str]) -> tuple[str, ...]:
    # names, scopes and reasons come from outside: none of them may forge a line or drive a terminal
    return tuple(map(one_line, lines))


def events_text(events: tuple[EventKind, ...]) -> str:
    """
    Write the events in one line, a run of statuses once.
    """
    parts: list[str] = []
    for kind in events:
        name = "STATUS*" if kind is EventKind.STATUS else kind.name
        if not parts or parts[-1] != name:
            parts.append(name)
    return " ".join(parts) or "-"


def _name(member: Any) -> str:
    return "none" if member is None else str(member.name)


def _stream(record: RunRecord) -> Iterator[str]:
    yield f"events: {events_text(_accepted(record))}"
    yield f"delivered: {'yes' if record.delivered else 'no'}"


def _accepted(record: RunRecord) -> tuple[EventKind, ...]:
    """
    Give the events that the client accepted.

    A record is saved before it is published, so a stored one ends before its content; that it was
    delivered says that the client accepted that too.
    """
    events = record.events
    published = {EventKind.CONTENT, EventKind.FAILURE}
    if not record.delivered or record.public is None or published.intersection(events):
        return events
    failed = record.public.kind is PublicKind.FAILURE
    return (*events, EventKind.FAILURE if failed else EventKind.CONTENT)


def _release(record: RunRecord) -> Iterator[str]:
    yield f"outcome: {_name(record.release_outcome)}"
    yield f"fallback type: {_name(record.fallback_type)}"
    yield f"decided by rule: {record.release_rule or 'none'}"
    yield f"request status: {record.request_status.name}"
    public = record.public
    if public is not None:
        code = f", code {public.code}" if public.code else ""
        yield f"public: {public.kind.name}{code}"
        for limitation in public.limitations:
            yield f"limitation: {limitation_text(limitation)}"
        if public.kind is PublicKind.REPORT:
            for source in public.sources:
                place = source.source or "the whole scope"
                yield f"cites: {source.tool} {place} ({source.invocation_id})"
    if not record.record_saved:
        yield "the record was not saved, so nothing but a failure could be published"


def _run(record: RunRecord) -> Iterator[str]:
    yield f"state: {record.run_state.name}"
    yield f"cause: {_name(record.stop_cause)}"
    if record.cancel_reason is not None:
        yield f"cancelled because: {record.cancel_reason or '(no reason given)'}"
    yield f"intent: {_name(record.intent)}"
    if record.missing_context:
        yield f"missing context: {', '.join(record.missing_context)}"
    if record.ended_at is not None:
        seconds = (record.ended_at - record.started_at).total_seconds()
        yield f"from {record.started_at.isoformat()}, {max(seconds, 0.0):.3f} s"
    elif record.run_state is RunState.RUNNING:
        yield f"from {record.started_at.isoformat()}, not ended"
    failed = [one for one in record.attempts if one.outcome is not AttemptOutcome.SUCCEEDED]
    for attempt in failed:
        what = attempt.failure.name if attempt.failure else attempt.outcome.name
        late = ", late" if attempt.late else ""
        yield f"attempt failed: {attempt.component.name} {attempt.number}: {what}{late}"


def _gates(record: RunRecord) -> Iterator[str]:
    gates = record.gates
    if not gates.checks:
        yield "evidence guard: no draft was checked"
    else:
        repaired = ", after one repair" if gates.repaired else ""
        yield f"evidence guard: {len(gates.violations)} violations{repaired}"
    for violation in gates.violations[:20]:
        yield f"violation: {violation.kind.name} at {violation.where}"
    yield f"semantic guard: {_name(gates.verdict)}"


def _invocations(record: RunRecord) -> Iterator[str]:
    if not record.invocations:
        yield "none"
    for row in record.invocations:
        code = f" ({row.code.name})" if row.code else ""
        yield f"{row.number}. {row.tool}: {row.status.name} + {_name(row.evidence_status)}{code}"


def _records(record: RunRecord) -> Iterator[str]:
    if not record.invocations:
        yield "none"
    for row in record.invocations:
        scope = canonical(row.scope)
        yield f"{row.invocation_id}: scope {scope}, {row.byte_count} bytes{_cut(row)}"


def _cut(row: Invocation) -> str:
    cut = row.cut
    if cut is None:
        return ""
    if not cut.truncated:
        return ", repaired text"
    facts = f"{cut.kept_facts} of {cut.original_facts} facts"
    return f", cut: {facts}, {cut.kept_bytes} of {cut.original_bytes} bytes"


def _budget(record: RunRecord) -> Iterator[str]:
    used, limits = record.used, record.limits
    for name in _DIMENSIONS:
        limit = getattr(limits, name)
        yield f"{name}: {getattr(used, name)} of {'no limit' if limit is None else limit}"
    yield f"attempts with unknown usage: {used.unknown_usage}"
    yield f"collection: {record.collection_state.name}, stop reason {_name(record.stop_reason)}"

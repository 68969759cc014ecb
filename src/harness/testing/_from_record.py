"""
Writes the scenario that reproduces the ending of a stored run.

A record keeps what was asked and what came of it, not the texts that came back; those are made up
here, in the right number and size, so that an incident can be shared as a regression test without
its evidence. Drafts and cited facts are taken over, because the gates depend on them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from harness._records import AttemptRecord, Invocation, RunRecord, TraceEvent
from harness._states import (
    AttemptOutcome,
    Component,
    EventKind,
    FallbackType,
    Intent,
    InvocationCode,
    Progress,
    StopCause,
    StopReason,
    TraceCode,
    UsageKind,
    ViolationKind,
)
from harness._values import Citation, DiagnosisDraft
from harness.errors import InvalidArgumentError
from harness.testing._schema import COMPONENTS

__all__ = ["scenario_of", "scenario_of_file"]

_NAMES = {component: name for name, component in COMPONENTS.items()}
_LIMITS = (
    "model_attempts",
    "tool_calls",
    "tokens",
    "evidence_bytes",
    "result_bytes",
    "draft_bytes",
    "fact_bytes",
    "facts_per_result",
    "no_gain",
    "violations",
    "release_reserve",
)
_NO_DRAFT: Mapping[str, Any] = {"conclusion": None}
_REFUSED_CALLS = {InvocationCode.UNKNOWN_TOOL, InvocationCode.INVALID_ARGUMENTS}


def scenario_of_file(file: str) -> dict[str, Any]:
    """
    Write the scenario of a record's JSON file.

    Args:
        file: The file.

    Raises:
        OSError: It cannot be read.
        ValueError: It is no record of an ended run.
    """
    # only here: the codec costs time that running scenarios need not pay
    from harness.codec import record_from_json  # noqa: PLC0415

    return scenario_of(record_from_json(Path(file).read_text(encoding="utf-8")))


def scenario_of(record: RunRecord) -> dict[str, Any]:
    """
    Write the scenario that reproduces a run's ending.

    Args:
        record: The record of an ended run.

    Returns:
        The scenario, with the ending as its expectation.

    Raises:
        InvalidArgumentError: The run has not ended.
    """
    if record.stop_cause is None:
        raise InvalidArgumentError("record", record.run_state.name, "the record of an ended run")
    return _Writer(record, record.stop_cause).write()


#: What tells, behind a turn that asked for calls, what the turn said of its progress.
_AFTER_A_TURN: Final = frozenset(
    {
        TraceCode.ATTEMPT_STARTED,
        TraceCode.CALL_REFUSED,
        TraceCode.PROTOCOL_VIOLATION,
        TraceCode.PROGRESS_JUDGED,
    }
)


class _Writer:
    """
    Goes through a run's trace once and writes each component's steps.
    """

    def __init__(self, record: RunRecord, cause: StopCause) -> None:
        self._record = record
        self._cause = cause
        self._rows = {row.number: row for row in record.invocations}
        self._attempts = {(a.component, a.number): a for a in record.attempts}
        self._texts = _cited_texts(record)
        self._steps: dict[Component, list[dict[str, Any]]] = {c: [] for c in Component}
        self._tools: dict[str, list[dict[str, Any]]] = {}
        self._tool_attempts = 0
        self._executed = 0
        self._new: list[str] = []
        self._batch_numbers: list[int] = []
        self._inferred = False
        self._number = 0
        self._serial = 0
        self._known = ""
        self._refused: list[dict[str, Any]] = []
        self._during: str | None = None

    def write(self) -> dict[str, Any]:
        """
        Write the scenario.
        """
        events = tuple(self._record.trace)
        for place, event in enumerate(events):
            self._take(event, events[place + 1 :])
        self._end_batch()
        record = self._record
        scenario: dict[str, Any] = {
            "name": f"from-{record.run_id}",
            "request": {"question": record.request.question, "context": record.request.context},
            "limits": self._limits(),
        }
        scenario.update(self._optional())
        for name, component in COMPONENTS.items():
            steps = self._steps[component]
            if component is not Component.TOOL and (steps or name in {"agent", "semantic_guard"}):
                scenario[name] = steps
        scenario["tools"] = self._tools
        scenario["expect"] = {
            "run_state": record.run_state.name,
            "stop_cause": self._cause.name,
            "release_outcome": _name(record.release_outcome),
            "fallback_type": _name(record.fallback_type),
            "request_status": record.request_status.name,
        }
        return json.loads(json.dumps(scenario))  # type: ignore[no-any-return]

    # --- the frame

    def _limits(self) -> dict[str, Any]:
        limits = self._record.limits
        given = {name: getattr(limits, name) for name in _LIMITS}
        stated: dict[str, Any] = {
            name: value
            for name, value in given.items()
            if value is not None or name in {"no_gain", "violations"}
        }
        if limits.cost is not None:
            stated["cost"] = str(limits.cost)
        if limits.deadline is not None:
            stated["deadline_ms"] = limits.deadline * 1000
        if self._cause is StopCause.BUDGET_EXHAUSTED and self._refused_by_a_parent():
            stated["model_attempts"] = self._record.used.model_attempts
        return stated

    def _refused_by_a_parent(self) -> bool:
        """
        Whether a budget ended the run that its own limits do not explain.
        """
        used, limits = self._record.used, self._record.limits
        own = (
            (used.model_attempts, limits.model_attempts),
            (used.tokens, limits.tokens),
            (used.cost, limits.cost),
        )
        reached = any(limit is not None and spent >= limit for spent, limit in own)
        return not reached and self._record.stop_reason is not StopReason.BUDGET_LIMIT_REACHED

    def _optional(self) -> Iterator[tuple[str, Any]]:
        record = self._record
        routed = bool(self._steps[Component.INTENT_ROUTER]) or record.intent is None
        if routed and not self._steps[Component.INTENT_ROUTER]:
            yield "router", [{"intent": Intent.DIAGNOSIS.name}]
        if self._cause is StopCause.MISSING_REQUIRED_CONTEXT and not routed and not record.attempts:
            yield "required_context", list(record.missing_context)
        if self._inferred:
            yield "progress", "INFERRED"
        if record.fallback_type is FallbackType.BUDGET_EXHAUSTED:
            yield "distinguish_budget", True
        faults = {
            str(row.number): "raise"
            for row in record.invocations
            if row.code is InvocationCode.STORE_FAILED
        }
        if faults:
            yield "canonical_store", {"save": faults}
        if self._cause is StopCause.RECORD_NOT_SAVED:
            yield "run_store", {"begin": "raise"}
        elif not record.record_saved:
            yield "run_store", {"finish": "raise"}
        yield from self._departures()

    def _departures(self) -> Iterator[tuple[str, Any]]:
        """
        Say when the client left, the caller cancelled, or a call was interrupted.
        """
        record = self._record
        if self._cause is StopCause.CLIENT_DISCONNECTED:
            kind = EventKind.STATUS if record.events else EventKind.METADATA
            yield "client", {"disconnects_at": kind.name}
        if self._during is not None and self._cause is StopCause.CANCELLED_BY_CALLER:
            yield "cancel", {"during": self._during}
        if self._during is not None and self._cause is StopCause.INTERRUPTED:
            yield "interrupt", {"during": self._during}

    # --- the steps, one trace event after the other

    def _take(self, event: TraceEvent, after: tuple[TraceEvent, ...]) -> None:
        if event.code is TraceCode.ATTEMPT_STARTED:
            component = Component[event.detail["component"]]
            attempt = self._attempts[component, event.detail["number"]]
            if component is Component.TOOL:
                self._tool(event.detail["tool"], attempt)
            else:
                self._end_batch()
                self._steps[component].append(self._model(component, attempt, after))
                self._during = f"{_NAMES[component]}:{attempt.number}"
        elif event.code is TraceCode.CALL_REFUSED and self._steps[Component.DIAGNOSIS_AGENT]:
            self._refused.append({"tool": event.detail["tool"]})
        elif event.code is TraceCode.PROGRESS_JUDGED:
            self._judged(event)

    def _end_batch(self) -> None:
        """
        Put the calls that did not fit behind those that did: so they were asked for.
        """
        for call in self._refused:
            self._add_call(call)
        self._refused = []

    def _model(
        self, component: Component, attempt: AttemptRecord, after: tuple[TraceEvent, ...]
    ) -> dict[str, Any]:
        step: dict[str, Any] = {"takes_ms": _milliseconds(attempt)}
        if attempt.usage is UsageKind.REPORTED:
            step["usage"] = {"input_tokens": attempt.tokens, "cost": str(attempt.cost)}
        elif attempt.usage is UsageKind.INVALID:
            step["usage"] = {"input_tokens": -1}
        if attempt.failure is not None and attempt.usage is not UsageKind.INVALID:
            return {**step, "fail": attempt.failure.name}
        if attempt.outcome is AttemptOutcome.INTERRUPTED and not _is_last(attempt, after):
            return {**step, "raise": "KeyboardInterrupt"}
        return {**step, **self._answer(component, after)}

    def _answer(self, component: Component, after: tuple[TraceEvent, ...]) -> dict[str, Any]:
        record = self._record
        if component is Component.INTENT_ROUTER:
            intent = record.intent or Intent.DIAGNOSIS
            answer: dict[str, Any] = {"intent": intent.name}
            if self._cause is StopCause.MISSING_REQUIRED_CONTEXT and not record.invocations:
                answer["missing_context"] = list(record.missing_context)
            return answer
        if component is Component.RESPONDER:
            return {"reply": record.public.text if record.public and record.public.text else "ok"}
        if component is Component.SEMANTIC_GUARD:
            verdict = record.gates.verdict
            return {"verdict": "SUPPORTED" if verdict is None else verdict.name}
        if component is Component.EVIDENCE_REPAIR:
            return {"draft": self._draft()}
        return self._turn(after)

    def _turn(self, after: tuple[TraceEvent, ...]) -> dict[str, Any]:
        """
        Tell a turn that asked for calls from one that handed in a draft, by what follows it.
        """
        following = _until_next_turn(after)
        codes = {event.code for event in following}
        asked = any(
            event.code is TraceCode.ATTEMPT_STARTED and event.detail["component"] == "TOOL"
            for event in following
        )
        if not asked and TraceCode.CALL_REFUSED not in codes:
            gates = self._record.gates
            repaired = gates.repaired or any(
                event.code is TraceCode.ATTEMPT_STARTED
                and event.detail["component"] == Component.EVIDENCE_REPAIR.name
                for event in following
            )
            return {"draft": _uncited() if repaired else self._draft()}
        return {"calls": [], **self._statement(following)}

    def _statement(self, following: tuple[TraceEvent, ...]) -> dict[str, Any]:
        # a turn that asked for calls is followed by one of them, or by its refusal
        event = next(event for event in following if event.code in _AFTER_A_TURN)
        if event.code is not TraceCode.PROGRESS_JUDGED:
            return {}
        gained = event.detail["progress"] == Progress.GAINED.name
        facts = {"facts": list(self._new)} if gained else {}
        return {"progress": {"state": event.detail["progress"], **facts}}

    def _judged(self, event: TraceEvent) -> None:
        agent = self._steps[Component.DIAGNOSIS_AGENT]
        gained = event.detail["progress"] == Progress.GAINED.name
        if gained and agent and agent[-1].get("calls"):
            # only the harness itself says GAINED before the next turn was taken
            self._inferred = True

    def _tool(self, name: str, attempt: AttemptRecord) -> None:
        """
        Write one call, and the step of the tool that answered it.
        """
        agent = self._steps[Component.DIAGNOSIS_AGENT][-1]
        if not agent.get("calls"):
            self._new = []
        self._number += 1
        row = None if attempt.late else self._rows.get(self._number)
        call: dict[str, Any] = {"tool": name}
        if row is not None:
            call.update(scope=row.call.scope, arguments=row.call.arguments)
        if row is not None and row.code in _REFUSED_CALLS:
            # whatever refused it, the agent saw an ERROR and the tool was not executed
            call["tool"] = f"refused {name}"
        self._add_call(call)
        if row is None or row.code not in _REFUSED_CALLS:
            self._executed += 1
            self._during = f"tool:{self._executed}"
            step = {"takes_ms": _milliseconds(attempt), **self._result(attempt, row)}
            self._tools.setdefault(name, []).append(step)

    def _add_call(self, call: dict[str, Any]) -> None:
        self._steps[Component.DIAGNOSIS_AGENT][-1].setdefault("calls", []).append(call)

    def _result(self, attempt: AttemptRecord, row: Invocation | None) -> dict[str, Any]:
        if row is None:
            fail = attempt.failure
            return {"facts": []} if fail is None else {"fail": fail.name}
        code = row.code
        if code is InvocationCode.PROJECTION_FAILED:
            return {"projection_fails": True}
        if code is InvocationCode.RESULT_TOO_LARGE:
            return {"raw_size": (self._record.limits.result_bytes or 0) + 1}
        if code is not None and code is not InvocationCode.STORE_FAILED:
            return {"fail": code.name}
        return {"facts": self._facts(row)}

    def _facts(self, row: Invocation) -> list[str]:
        """
        Make up facts of the right number and size; cited texts are the real ones.
        """
        saved = (e for e in self._record.trace if e.code is TraceCode.RECORD_SAVED)
        count = next(
            (e.detail["facts"] for e in saved if e.detail["invocation"] == row.invocation_id), 0
        )
        is_new = self._brought_something_new(row)
        facts: list[str] = []
        room = row.byte_count
        for number in range(1, count + 1):
            self._serial += is_new
            share = max(1, room // (count - number + 1))
            # what was not new stood in an earlier fact, to the letter
            made_up = _made_up(self._serial, share) if is_new or not self._known else self._known
            text = self._texts.get((row.invocation_id, number), made_up)
            room -= len(text.encode())
            facts.append(text)
            self._known = text
            if is_new:
                self._new.append(f"@{row.number}.{number}")
        return facts

    def _brought_something_new(self, row: Invocation) -> bool:
        """
        Whether the batch of an invocation was not judged NO_GAIN the moment it ended.
        """
        seen = False
        for event in self._record.trace:
            if event.code is TraceCode.RECORD_SAVED:
                seen = seen or event.detail["invocation"] == row.invocation_id
            elif seen and event.code is TraceCode.ATTEMPT_STARTED:
                if event.detail["component"] != Component.TOOL.name:
                    return True
            elif seen and event.code is TraceCode.PROGRESS_JUDGED:
                return bool(event.detail["progress"] == Progress.GAINED.name)
        return True

    # --- drafts

    def _draft(self) -> Mapping[str, Any]:
        draft = self._record.gates.draft
        if draft is None:
            too_large = self._cause is StopCause.RESULT_TOO_LARGE
            size = (self._record.limits.draft_bytes or 0) + 1
            return {"conclusion": "x" * size} if too_large else _NO_DRAFT
        return {
            "conclusion": draft.conclusion,
            "citations": self._citations(draft.citations),
            "claims": [
                {"text": claim.text, "citations": self._citations(claim.citations)}
                for claim in draft.claims
            ],
            "recommendations": list(draft.recommendations),
            "missing_context": list(draft.missing_context),
        }

    def _citations(self, citations: tuple[Citation, ...]) -> list[dict[str, Any]]:
        numbers = {row.invocation_id: row.number for row in self._record.invocations}
        written: list[dict[str, Any]] = []
        for citation in citations:
            number = numbers.get(citation.invocation_id)
            known = f"@{number}" if number else f"id of {citation.invocation_id}"
            one: dict[str, Any] = {"invocation": known}
            if citation.fact_id is not None:
                one["fact"] = citation.fact_id
            if citation.quote is not None:
                one["quote"] = citation.quote
            written.append(one)
        return written


def _name(member: Any) -> str | None:
    return None if member is None else str(member.name)


def _milliseconds(attempt: AttemptRecord) -> float:
    """
    Give an attempt's duration without the noise of adding up binary fractions.
    """
    return round(attempt.seconds * 1000, 6)


def _uncited() -> dict[str, Any]:
    """
    The draft that a repair replaced: it is not kept, so one with the same fate stands for it.
    """
    return {"conclusion": "a draft that was refused and repaired"}


def _is_last(attempt: AttemptRecord, after: tuple[TraceEvent, ...]) -> bool:
    return not any(event.code is TraceCode.ATTEMPT_STARTED for event in after) and bool(attempt)


def _until_next_turn(after: tuple[TraceEvent, ...]) -> tuple[TraceEvent, ...]:
    for place, event in enumerate(after):
        started = event.code is TraceCode.ATTEMPT_STARTED
        if started and event.detail["component"] == Component.DIAGNOSIS_AGENT.name:
            return after[:place]
    return after


def _made_up(serial: int, size: int) -> str:
    """
    Make up a text of a size, another one for each serial number while the size allows it.
    """
    text = f"fact {serial}"
    return text[-size:].replace(" ", "-") if size < len(text) else text.ljust(size, ".")


def _cited_texts(record: RunRecord) -> dict[tuple[str, int], str]:
    """
    Take over the texts that the gates depend on: cited facts of a report, or quotes that held.
    """
    public = record.public
    texts: dict[tuple[str, int], str] = {}
    if public is not None:
        for source in public.sources:
            if source.fact_id is not None:
                texts[source.invocation_id, source.fact_id] = source.text
    draft = record.gates.draft
    if draft is not None:
        for where, number, citation in _citations_of(draft):
            broken = any(
                violation.kind is ViolationKind.QUOTE_MISMATCH
                and (violation.where, violation.citation) == (where, number)
                for violation in record.gates.violations
            )
            if citation.quote and not broken:
                key = (citation.invocation_id, citation.fact_id or 1)
                if citation.quote not in texts.get(key, ""):
                    # blanks round a quote are part of it, and a blank text would be no fact
                    texts[key] = f"{texts.get(key, 'fact:')}{citation.quote}."
    return texts


def _citations_of(draft: DiagnosisDraft) -> Iterator[tuple[str, int, Citation]]:
    for number, citation in enumerate(draft.citations, 1):
        yield "conclusion", number, citation
    for place, claim in enumerate(draft.claims, 1):
        for number, citation in enumerate(claim.citations, 1):
            yield f"claims[{place}]", number, citation

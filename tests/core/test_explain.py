"""Why did the user see this? From a stored record alone, in the order of section 3.12."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import evolve

from harness import (
    CancelToken,
    Limits,
    RunRecord,
    SemanticVerdict,
    ToolCall,
    explain,
)
from harness.errors import InvalidArgumentError, TransportError
from harness.stores.memory import MemoryRunStore
from harness.testing import Script, VirtualClock
from tests.core.doubles import (
    GOOD,
    Source,
    asking,
    begun,
    citing,
    drafting,
    evidence,
    harness,
)

TITLES = [
    "Stream: what the client received",
    "Release: what became public",
    "Run: why execution stopped",
    "Gates: what the guards said",
    "Tool invocations",
    "Canonical records",
    "Budget and stop reason",
]

FULL = """\
run id-1
1. Stream: what the client received
   events: METADATA STATUS* CONTENT DONE
   delivered: yes
2. Release: what became public
   outcome: FALLBACK
   fallback type: SEMANTIC_UNSUPPORTED
   decided by rule: semantic_unsupported-with-progress
   request status: SUCCESS
   public: FALLBACK
   limitation: `logs` held more than was kept
   limitation: `logs` could not be asked (TIMEOUT)
   limitation: `docs` was not consulted
3. Run: why execution stopped
   state: SUCCESS
   cause: SEMANTIC_UNSUPPORTED
   intent: DIAGNOSIS
   from 2026-01-01T00:00:00+00:00, 1.500 s
   attempt failed: TOOL 2: TIMEOUT
4. Gates: what the guards said
   evidence guard: 0 violations, after one repair
   semantic guard: UNSUPPORTED
5. Tool invocations
   1. logs: READY + EVIDENCE_FOUND
   2. logs: ERROR + ERROR (TIMEOUT)
   3. logs: READY + NO_EVIDENCE
   4. logs: READY + EVIDENCE_FOUND
6. Canonical records
   E-id-2-1: scope {"service":"pay"}, 4 bytes, cut: 1 of 1 facts, 4 of 11 bytes
   E-id-2-2: scope {"service":"pay"}, 0 bytes
   E-id-2-3: scope {"service":"pay"}, 0 bytes
   E-id-2-4: scope {"service":"pay"}, 3 bytes, repaired text
7. Budget and stop reason
   model_attempts: 4 of 40
   tool_calls: 4 of 100
   tokens: 0 of 1000000
   evidence_bytes: 7 of 4194304
   cost: 0 of no limit
   attempts with unknown usage: 4
   collection: RELEASE, stop reason none"""


def _full() -> RunRecord:
    clock = VirtualClock()

    def slow(*_arguments: Any) -> str:
        clock.advance(1500)
        return "pool size 5"

    calls = asking(*({"n": n} for n in range(4)))
    made = harness(
        [calls, drafting("the pool ran out")],
        Source(slow, TimeoutError(), None, "\ud800"),
        Source(name="docs"),
        repairer=Script([GOOD[1].draft]),
        semantic_guard=Script([SemanticVerdict.UNSUPPORTED]),
        limits=Limits(fact_bytes=4),
        clock=clock,
    )
    return made.run("why?").record


def _section(record: RunRecord, number: int) -> tuple[str, ...]:
    return explain(record).sections[number - 1].lines


def test_a_full_explanation() -> None:
    """An explanation goes from what the user saw back to the cause, section by section."""
    assert str(explain(_full())) == FULL


def test_an_explanation_as_data() -> None:
    """An explanation is plain data too, in the same order."""
    explanation = explain(_full())
    data = json.loads(json.dumps(explanation.to_data()))
    assert [section["title"] for section in data["sections"]] == TITLES
    assert data["sections"][3]["lines"] == list(explanation.sections[3].lines)
    assert data["run_id"] == "id-1"


def test_a_report_is_explained_by_its_sources() -> None:
    """Of a report the cited places are named."""
    agent = [asking({"n": 1}, {"n": 2}), drafting("x", citing(1), citing(2))]
    record = harness(agent, Source("a", None)).run("why?").record
    assert _section(record, 2)[-2:] == (
        "cites: logs the whole scope (E-id-2-1)",
        "cites: logs the whole scope (E-id-2-2)",
    )
    assert "public: REPORT" in _section(record, 2)


def test_a_failure_is_explained_by_its_code() -> None:
    """Of a failure the code is named, and what was not saved is said."""

    class Full(MemoryRunStore):
        def finish(self, record: RunRecord) -> Any:
            raise OSError

    record = harness(GOOD, Source("a"), run_store=Full()).run("why?").record
    assert "public: FAILURE, code RECORD_NOT_SAVED" in _section(record, 2)
    assert _section(record, 2)[-1].startswith("the record was not saved")


@pytest.mark.parametrize(
    ("reason", "line"),
    [("enough", "cancelled because: enough"), ("", "cancelled because: (no reason given)")],
)
def test_a_cancel_is_explained_by_its_reason(reason: str, line: str) -> None:
    """Of a cancelled run the caller's reason is named, and a late attempt as such."""
    token = CancelToken()

    def agent(_view: object) -> Any:
        token.cancel(reason)
        raise TransportError

    record = harness(agent).run("why?", cancel=token).record
    assert line in _section(record, 3)
    assert "attempt failed: DIAGNOSIS_AGENT 1: TRANSPORT, late" in _section(record, 3)
    assert _section(record, 4) == ("evidence guard: no draft was checked", "semantic guard: none")
    assert _section(record, 5) == _section(record, 6) == ("none",)


def test_an_interrupted_attempt() -> None:
    """An attempt that was interrupted is told as such."""
    made = harness([KeyboardInterrupt()])
    with pytest.raises(KeyboardInterrupt):
        made.run("why?", run_id="run")
    record = made.run_store.load("run")
    assert record is not None
    assert "attempt failed: DIAGNOSIS_AGENT 1: INTERRUPTED, late" in _section(record, 3)


def test_violations_are_named() -> None:
    """The violations of the last check are named, with their places, bounded."""
    draft = drafting("x", *(citing(9) for _ in range(30)))
    record = harness([asking({}), draft], Source("a")).run("why?").record
    lines = _section(record, 4)
    assert lines[0] == "evidence guard: 30 violations"
    assert lines[1:-1] == ("violation: UNKNOWN_INVOCATION at conclusion",) * 20


def test_missing_context_is_named() -> None:
    """What was missing is named."""
    record = harness([], required_context=["service", "window"]).run("why?").record
    assert "missing context: service, window" in _section(record, 3)


def test_a_run_that_is_under_way() -> None:
    """A stored run that has not ended is explained as far as it went."""
    record = begun(record_saved=True)
    assert _section(record, 1) == ("events: -", "delivered: no")
    assert _section(record, 2) == (
        "outcome: none",
        "fallback type: none",
        "decided by rule: none",
        "request status: RUNNING",
    )
    assert _section(record, 3)[-1] == "from 2026-03-01T12:00:00+00:00, not ended"


@pytest.mark.parametrize(
    ("agent", "events"),
    [
        (GOOD, "events: METADATA STATUS* CONTENT"),
        ([drafting(None)], "events: METADATA STATUS* FAILURE"),
    ],
)
def test_a_stored_record_tells_of_its_delivery(agent: Any, events: str) -> None:
    """A record is stored before its content leaves; that it was delivered says that it did."""
    made = harness(agent, Source("a"))
    stored = made.run_store.load(made.run("why?").record.run_id)
    assert stored is not None
    assert _section(stored, 1) == (events, "delivered: yes")


def test_a_run_without_an_end() -> None:
    """A record that lost its time of ending is explained without it."""
    record = evolve(_full(), ended_at=None)
    assert not any(line.startswith("from ") for line in _section(record, 3))


def test_a_wall_clock_that_ran_backwards() -> None:
    """A run never took less than no time."""
    record = _full()
    assert record.ended_at is not None
    swapped = evolve(record, started_at=record.ended_at, ended_at=record.started_at)
    assert any(line.endswith(", 0.000 s") for line in _section(swapped, 3))


HOSTILE = "x\n   outcome: SUCCESS\r\x1b[2J\u2028\u202e"


def test_nothing_forges_a_line() -> None:
    """Whatever stands in names, scopes, reasons and ids, each line stays a line of its own."""
    rows = (evidence(call=ToolCall(HOSTILE, {HOSTILE: HOSTILE})).invocation,)
    hostile: dict[str, Any] = {
        "cancel_reason": HOSTILE,
        "missing_context": (HOSTILE,),
        "run_id": HOSTILE,
    }
    plain = explain(evolve(_full(), invocations=rows, cancel_reason="x", missing_context=("x",)))
    forged = explain(evolve(_full(), invocations=rows, **hostile))
    assert len(str(forged).splitlines()) == len(str(plain).splitlines())
    assert str(forged).replace("\n", "").isprintable()


@pytest.mark.parametrize("record", [None, "run", {}])
def test_what_is_no_record(record: Any) -> None:
    """Only a record is explained."""
    with pytest.raises(InvalidArgumentError, match=r"^record is .*; allowed: a RunRecord"):
        explain(record)


def test_an_explanation_is_a_value() -> None:
    """The same record gives the same explanation."""
    assert explain(_full()) == explain(_full())

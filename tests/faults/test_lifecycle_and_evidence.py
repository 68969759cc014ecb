"""Reported faults 7 to 14: lost cancels, clients that leave, empty sources, ids, verdicts."""

from __future__ import annotations

import json
import math
import threading
from typing import Any

import pytest

from harness import (
    AgentTurn,
    CancelToken,
    Citation,
    DiagnosisDraft,
    Fact,
    Harness,
    Limits,
    SemanticVerdict,
    StopCause,
    ToolCall,
)
from harness._lifecycle import Lifecycle
from harness.errors import ClientGoneError
from harness.stores import MemoryCanonicalStore
from harness.testing import Script
from tests.faults.common import FACT, asks, call, drafts, ending, plays

SUPPORTED = Script([SemanticVerdict.SUPPORTED], repeat_last=True)


def logs() -> str:
    """A tool that finds the usual fact."""
    return FACT


def agent_citing(*cites: Any) -> Script:
    """An agent that asks once and then drafts with these citations; callables see the view."""

    def draft(view: Any, _attempt: object) -> AgentTurn:
        given = [cite(view) if callable(cite) else cite for cite in cites]
        return AgentTurn(draft=DiagnosisDraft("The pool ran out.", given))

    return Script([AgentTurn([ToolCall("logs")]), draft])


def own(view: Any) -> Citation:
    """Cites what this run found first."""
    return Citation(view.records[0].invocation_id)


def test_fault_07_a_cancel_beats_the_draft_that_comes_after_it() -> None:
    """A provider that ignores the cancel and returns a good draft changes nothing."""
    outcome = plays(cancel={"during": "agent:2"}, agent=[asks(), drafts("ZX-MARK", "@1")])
    assert ending(outcome) == ("CANCELLED", "CANCELLED", None)
    assert outcome.observed["events"][-1] == "DONE"
    assert outcome.observed["public"]["kind"] == "NONE"
    assert outcome.observed["used"]["model_attempts"] == 2
    assert not outcome.observed["next_turn"]


def test_fault_07_finish_and_cancel_have_exactly_one_winner() -> None:
    """In 200 rounds of two threads behind a barrier one signal wins and the other is late."""
    causes = (StopCause.REPORT_APPROVED, StopCause.CANCELLED_BY_CALLER)
    for _ in range(200):
        life, gate, won = Lifecycle(None), threading.Barrier(2), list[bool]()

        def stop(cause: StopCause, life: Any = life, gate: Any = gate, won: Any = won) -> None:
            gate.wait()
            won.append(life.stop(cause, 1.0))

        threads = [threading.Thread(target=stop, args=(cause,)) for cause in causes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(won) == [False, True]
        assert len(life.late) == 1


def test_fault_07_a_cancel_after_the_end_reports_that_it_lost() -> None:
    """Cancelling a published run says so and leaves the record as it was."""
    token = CancelToken()
    harness = Harness(agent_citing(own), [logs], semantic_guard=SUPPORTED)
    record = harness.run("why?", cancel=token).record
    assert token.cancel("too late") is False
    assert harness.run_store.load(record.run_id).run_state.name == "SUCCESS"  # type: ignore[union-attr]


class _Leaves:
    """A client that is gone once a tool was called."""

    def __init__(self) -> None:
        self.tools: list[str] = []
        self.sent: list[str] = []

    def send(self, event: Any) -> None:
        if len(self.tools) == 2:
            raise ClientGoneError
        self.sent.append(event.kind.name)


def test_fault_08_nothing_runs_after_the_client_left() -> None:
    """No model turn, no tool and no event follow a client that leaves during a batch."""
    client = _Leaves()

    def t1() -> str:
        client.tools.append("t1")
        return "one"

    def t2() -> None:
        client.tools.append("t2")

    def t3() -> str:
        client.tools.append("t3")
        return "three"

    agent = Script(
        [AgentTurn([ToolCall("t1"), ToolCall("t2")]), AgentTurn([ToolCall("t3")])],
    )
    record = Harness(agent, [t1, t2, t3]).run("why?", client=client).record
    assert (record.run_state.name, record.stop_cause) == (
        "CANCELLED",
        StopCause.CLIENT_DISCONNECTED,
    )
    assert client.tools == ["t1", "t2"]
    assert len(agent.calls) == 1
    assert "DONE" not in client.sent


@pytest.mark.parametrize(
    "step",
    [
        {"facts": []},
        {"malformed": None},
        {"malformed": ""},
        {"malformed": "   "},
        {"raw": {}, "facts": []},
        {"raw": {"hits": [], "error": None}, "facts": []},
    ],
)
def test_fault_09_an_empty_answer_is_no_error(step: dict[str, Any]) -> None:
    """Empty lists, blanks and "error": null mean that the scope is empty, and nothing more."""
    outcome = plays(
        agent=[asks(call("10:00"), call("10:00", "metrics")), drafts(None)],
        tools={"logs": [step], "metrics": [{"raise": "ConnectionError"}]},
    )
    assert ending(outcome) == ("SUCCESS", "FALLBACK", "INSUFFICIENT_EVIDENCE")
    assert outcome.observed["invocations"] == [
        ["logs", "READY", "NO_EVIDENCE", None],
        ["metrics", "ERROR", "ERROR", "TRANSPORT"],
    ]
    text = outcome.observed["public"]["text"]
    assert "in this scope only" in text
    assert "window=10:00" in text
    assert "`metrics` could not be asked (TRANSPORT)" in text


def test_fault_09_an_invented_cause_over_an_empty_scope_is_unsupported() -> None:
    """The built-in guard does not take an empty scope for a root cause."""

    def nothing() -> None:
        """Find nothing."""

    agent = Script(
        [
            AgentTurn([ToolCall("nothing")]),
            lambda view, _: AgentTurn(draft=DiagnosisDraft("DB pool exhausted", [own(view)])),
        ]
    )
    record = Harness(agent, [nothing]).run("why?").record
    assert record.fallback_type is not None
    assert record.fallback_type.name == "SEMANTIC_UNSUPPORTED"


def test_fault_09_without_any_safe_fact_nothing_is_published() -> None:
    """Where every source failed, an uncited conclusion ends as a failure."""
    outcome = plays(
        agent=[asks(call("10:00", "metrics")), drafts("DB pool exhausted")],
        tools={"metrics": [{"raise": "ConnectionError"}]},
    )
    assert ending(outcome) == ("FAILED", "FAILED", None)


def _cycle() -> dict[str, Any]:
    held: dict[str, Any] = {}
    held["self"] = held
    return held


def _deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(5000):
        value = [value]
    return value


@pytest.mark.parametrize(
    "odd",
    [
        {"p99": math.nan},
        [math.inf],
        _cycle(),
        _deep(),
        b"\xff\x00",
        object(),
        {"a", "b"},
        {1: 1, "1": 2},
        7,
        True,
    ],
    ids=lambda value: type(value).__name__,
)
def test_fault_10_an_odd_result_is_an_error_of_its_own_call(odd: object) -> None:
    """What is no strict JSON ends as a projection error; the run goes on and succeeds."""

    class Odd:
        name, description, parameters = "odd", "", None

        def execute(self, _call: object, _attempt: object) -> object:
            return odd

        def project(self, _raw: object) -> list[str]:
            return ["never asked"]

    agent = Script(
        [
            AgentTurn([ToolCall("odd"), ToolCall("logs")]),
            lambda view, _: AgentTurn(
                draft=DiagnosisDraft("It ran out.", [Citation(view.records[1].invocation_id)])
            ),
        ]
    )
    odd_tool = Odd()
    if isinstance(odd, (int, bytes)):
        odd_tool.project = None  # type: ignore[assignment,method-assign]
    result = Harness(agent, [odd_tool, logs], semantic_guard=SUPPORTED).run("why?")
    rows = result.record.invocations
    assert result.record.run_state.name == "SUCCESS"
    assert [row.code and row.code.name for row in rows] == ["PROJECTION_FAILED", None]


def test_fault_11_sizes_are_measured_in_bytes() -> None:
    """22,000 CJK characters are 66,000 bytes: over a limit of 65,536."""
    outcome = plays(
        limits={"result_bytes": 65_536},
        progress="INFERRED",
        agent=[asks(call("1")), asks(call("2"))],
        tools={"logs": [{"facts": [FACT]}, {"raw": "\u6f22" * 22_000}]},
    )
    assert ending(outcome) == ("FAILED", "FALLBACK", "INSUFFICIENT_EVIDENCE")
    assert outcome.observed["stop_cause"] == "RESULT_TOO_LARGE"
    assert FACT in outcome.observed["public"]["text"]
    assert "\u6f22" not in outcome.observed["public"]["text"]


@pytest.mark.parametrize(
    ("size", "cause"), [(65_536, "NO_CONCLUSION"), (65_537, "RESULT_TOO_LARGE")]
)
def test_fault_11_the_limit_itself_is_accepted(size: int, cause: str) -> None:
    """Exactly the limit passes; one byte more does not."""
    outcome = plays(
        limits={"result_bytes": 65_536},
        agent=[asks(), drafts(None)],
        tools={"logs": [{"raw_size": size}]},
    )
    assert outcome.observed["stop_cause"] == cause


def test_fault_11_a_fact_is_cut_at_a_character_and_says_so() -> None:
    """A cut inside an emoji leaves valid text of at most the bound, and the row has both sizes."""
    text = "x" * 298 + "\U0001f4a5" + "y"
    harness = _cutting(text)
    row = harness.run("why?").record.invocations[0]
    assert row.cut is not None
    assert (row.cut.original_bytes, row.cut.kept_bytes, row.cut.truncated) == (303, 298, True)
    stored = harness.canonical_store.load(row.invocation_id)
    assert stored is not None
    assert stored.facts == (Fact("x" * 298),)


def _cutting(text: str) -> Harness:
    def logs() -> str:
        return text

    limits = Limits(fact_bytes=300)
    return Harness(agent_citing(own), [logs], limits=limits, semantic_guard=SUPPORTED)


@pytest.mark.parametrize("beside", [(), (own,)], ids=["alone", "beside a good one"])
def test_fault_12_an_id_of_another_run_never_resolves(beside: tuple[Any, ...]) -> None:
    """Even with the same tool, arguments and result, an earlier id is a foreign one."""
    store = MemoryCanonicalStore()
    first = Harness(agent_citing(own), [logs], semantic_guard=SUPPORTED, canonical_store=store)
    foreign = first.run("why?").record.invocations[0].invocation_id
    guard = Script([SemanticVerdict.SUPPORTED])
    bad = Citation(foreign)
    repairer = Script([DiagnosisDraft("The pool ran out.", [bad])])
    second = Harness(
        agent_citing(bad, *beside),
        [logs],
        repairer=repairer,
        semantic_guard=guard,
        canonical_store=store,
    )
    record = second.run("why?").record
    assert record.fallback_type is not None
    assert record.fallback_type.name == "EVIDENCE_VALIDATION_FAILED"
    assert {violation.kind.name for violation in record.gates.violations} == {"FOREIGN_RUN"}
    assert (len(guard.calls), len(repairer.calls)) == (0, 1)
    assert record.invocations[0].invocation_id != foreign


@pytest.mark.parametrize(
    ("cites", "fallback"),
    [
        ([], "EVIDENCE_VALIDATION_FAILED"),
        (["@1", "E99"], "EVIDENCE_VALIDATION_FAILED"),
        (["@1", "@1"], None),
        (["@2"], "EVIDENCE_VALIDATION_FAILED"),
        ([" @1 "], "EVIDENCE_VALIDATION_FAILED"),
        ([f"x{n}" for n in range(10_000)], "EVIDENCE_VALIDATION_FAILED"),
    ],
)
def test_fault_13_one_bad_citation_refuses_the_whole_draft(
    cites: list[str], fallback: str | None
) -> None:
    """A draft is approved or refused, never filtered down to its good part."""
    outcome = plays(
        agent=[asks(call("1"), call("2", "metrics")), drafts("Pool ran out.", *cites)],
        repair=[drafts("Pool ran out.", *cites)],
        tools={"logs": [{"facts": [FACT]}], "metrics": [{"fail": "TIMEOUT"}]},
    )
    assert ending(outcome)[2] == fallback
    assert "E99" not in outcome.observed["public"]["text"]
    if fallback:
        assert outcome.observed["attempts"]["EVIDENCE_REPAIR"] == 1
        assert "SEMANTIC_GUARD" not in outcome.observed["attempts"]


@pytest.mark.parametrize("cites", [["c1"], [1], [None], [[own]], [{"id": 1}]])
def test_fault_13_what_is_no_citation_makes_the_draft_malformed(cites: list[Any]) -> None:
    """A citation list that holds something else is INVALID_OUTPUT, and the facts are kept."""
    agent = Script(
        [
            AgentTurn([ToolCall("logs")]),
            lambda *_: AgentTurn(draft=DiagnosisDraft("It ran out.", cites)),
        ]
    )
    record = Harness(agent, [logs]).run("why?").record
    assert record.stop_cause is StopCause.INVALID_DRAFT
    assert record.fallback_type is not None
    assert record.fallback_type.name == "INSUFFICIENT_EVIDENCE"


def test_fault_13_no_conclusion_without_citations_is_no_citation_fault() -> None:
    """An honest "no conclusion" is insufficient evidence."""
    outcome = plays(agent=[asks(), drafts(None)])
    assert ending(outcome) == ("SUCCESS", "FALLBACK", "INSUFFICIENT_EVIDENCE")


@pytest.mark.parametrize(
    "reply",
    [
        "Nothing cited makes this SUPPORTED",
        "supported? no",
        "SUPPORTED",
        "",
        "I can't help",
        {},
        {"verdict": None},
        {"verdict": True},
        {"verdict": "supported", "score": math.nan},
        [{"verdict": "SUPPORTED"}, {"verdict": "UNSUPPORTED"}],
        TimeoutError(),
    ],
    ids=str,
)
def test_fault_14_noise_is_no_verdict(reply: object) -> None:
    """Only a member is a verdict; anything else twice makes the guard unavailable."""
    guard = Script([reply], repeat_last=True)
    record = Harness(agent_citing(own), [logs], semantic_guard=guard).run("why?").record
    assert len(guard.calls) == 2
    assert record.fallback_type is not None
    assert record.fallback_type.name == "SEMANTIC_UNAVAILABLE"
    failed = [event for event in record.trace if event.code.name == "ATTEMPT_FAILED"]
    assert len(failed) == 2
    assert all(len(json.dumps(dict(event.detail))) < 2_000 for event in failed)

"""Agent turns until a draft: what the agent sees, and when it must stop (sections 3.3, 3.6)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from harness import (
    AgentTurn,
    AgentView,
    Budget,
    BudgetLeft,
    CollectionState,
    FrozenDict,
    Limits,
    Progress,
    ProgressStatement,
    RefusedCall,
    RunRecord,
    StopCause,
    StopReason,
    ToolInfo,
    Usage,
)
from harness.testing import RecordingClient, Script, VirtualClock
from tests.core.doubles import (
    Source,
    asking,
    citing,
    drafting,
    ending,
    events_of,
    harness,
)

NULL = drafting(None)
NO_GAIN = ProgressStatement(Progress.NO_GAIN)
GOOD = drafting("the pool ran out", citing(1))


def _gained(*refs: str) -> ProgressStatement:
    return ProgressStatement(Progress.GAINED, refs)


class Watching:
    """An agent that plays turns and keeps what it saw."""

    def __init__(self, *turns: Any) -> None:
        self.views: list[AgentView] = []
        self._turns = Script(turns)

    def next_turn(self, view: AgentView, attempt: object) -> AgentTurn:
        self.views.append(view)
        turn: AgentTurn = self._turns(view, attempt)
        return turn


def _run(agent: Any, *sources: Source, **options: Any) -> RunRecord:
    return harness(agent, *sources, **options).run("why?").record


def _empty() -> Source:
    return Source(None, repeat_last=True)


def _facts() -> Source:
    return Source(*(f"fact {n}" for n in range(20)))


def _stops(agent: Watching) -> list[str | None]:
    return [view.stop.name if view.stop else None for view in agent.views]


# --- what an agent sees


def test_the_first_view() -> None:
    """Before anything was asked an agent sees the request, the tools and the budget."""
    agent = Watching(NULL)
    made = harness(agent, _facts(), limits=Limits(tokens=50, deadline=30))
    record = made.run("why?", context={"service": "pay"}).record
    [view] = agent.views
    assert (view.question, view.context, view.turn) == ("why?", {"service": "pay"}, 1)
    assert (view.request, view.run_id) == (record.request, record.run_id)
    assert view.tools == (ToolInfo("logs", "scripted", None),)
    assert (list(view.records), list(view.batch), view.new_facts) == ([], [], ())
    assert (view.refused, view.violation, view.stop) == ((), None, None)


def test_the_view_after_a_batch() -> None:
    """After a batch an agent sees its records and new facts, and all records before them."""
    agent = Watching(
        asking({"n": 1}), asking({"n": 2}, {"n": 3}, progress=_gained("E-id-2-1.1")), NULL
    )
    _run(agent, Source("a", "a", TimeoutError()))
    last = agent.views[2]
    assert [record.invocation.number for record in last.records] == [1, 2, 3]
    assert [record.invocation.number for record in last.batch] == [2, 3]
    assert agent.views[1].new_facts == ("E-id-2-1.1",)
    assert agent.views[1].batch[0].fact_ref(1) == "E-id-2-1.1"
    assert (last.new_facts, last.violation) == ((), None)
    assert last.batch[1].invocation.code is not None


def test_a_view_stays_as_it_was() -> None:
    """A view that is kept shows what it showed, whatever happens later, and cannot be changed."""
    agent = Watching(asking({"n": 1}), asking({"n": 2}, progress=NO_GAIN), NULL)
    _run(agent, _facts())
    first, second = (view.records for view in agent.views[:2])
    assert (len(first), len(second)) == (0, 1)
    assert second[0] is second[-1]
    assert second[:5] == (second[0],)
    assert repr(second) == repr([second[0]])
    with pytest.raises(IndexError):
        _ = second[1]
    with pytest.raises(TypeError):
        second[0] = None  # type: ignore[index]


def test_an_agent_sees_what_is_left() -> None:
    """An agent sees what is left of every dimension, its parents' included, at that moment."""
    clock, seen = VirtualClock(), list[BudgetLeft]()
    limits = Limits(
        deadline=30, model_attempts=9, tool_calls=5, tokens=100, evidence_bytes=50, cost=2
    )

    def agent(view: AgentView, attempt: Any) -> AgentTurn:
        seen.append(view.left)
        clock.advance(4_000)
        seen.append(view.left)
        attempt.report(Usage(10, 5, Decimal("0.5")))
        return NULL if view.records else asking({})

    made = harness(agent, Source("12345678"), limits=limits, clock=clock)
    made.run("why?", budget=Budget(model_attempts=7))
    fields = ("model_attempts", "tool_calls", "tokens", "evidence_bytes", "cost", "seconds")
    assert [tuple(getattr(left, name) for name in fields) for left in seen] == [
        (6, 5, 100, 50, Decimal(2), 30.0),
        (6, 5, 100, 50, Decimal(2), 26.0),
        (5, 4, 85, 42, Decimal("1.5"), 26.0),
        (5, 4, 85, 42, Decimal("1.5"), 22.0),
    ]


def test_no_limit_is_none_left() -> None:
    """Where there is no limit, None is left, and never a number."""
    agent = Watching(NULL)
    _run(agent)
    left = agent.views[0].left
    assert left == BudgetLeft(
        model_attempts=None,
        tool_calls=None,
        tokens=None,
        evidence_bytes=None,
        cost=None,
        seconds=None,
    )


def test_a_passed_deadline_leaves_no_seconds() -> None:
    """The seconds that are left are never below zero."""
    clock = VirtualClock()
    seen: list[Any] = []

    def agent(view: AgentView) -> AgentTurn:
        clock.advance(99_000)
        seen.append(view.left.seconds)
        return NULL

    harness(agent, clock=clock, limits=Limits(deadline=30)).run("why?")
    assert seen == [0.0]


# --- progress


@pytest.mark.parametrize(
    ("statement", "violation"),
    [
        (None, "no statement"),
        (_gained("E-id-2-9.1"), "GAINED names no new fact of the last batch"),
        (_gained(), "GAINED names no new fact of the last batch"),
        (NO_GAIN, None),
        (_gained("E-id-2-1.1"), None),
    ],
)
def test_a_statement_is_judged(statement: Any, violation: str | None) -> None:
    """A wrong or missing statement is a violation, that the trace and the next stop tell."""
    agent = Watching(asking({"n": 1}), asking({"n": 2}, progress=statement), NULL)
    record = _run(agent, _facts())
    told = [event.detail["why"] for event in events_of(record, "PROTOCOL_VIOLATION")]
    assert told == ([violation] if violation else [])
    progress = [event.detail["progress"] for event in events_of(record, "PROGRESS_JUDGED")]
    gained = statement is not None and violation is None and statement.state is Progress.GAINED
    assert progress == ["GAINED" if gained else "NO_GAIN"]


def test_a_draft_states_nothing() -> None:
    """A draft need not say anything of the batch before it."""
    record = _run(Watching(asking({}), GOOD), _facts())
    assert record.stop_cause is StopCause.REPORT_APPROVED
    assert events_of(record, "PROTOCOL_VIOLATION") == []


def test_the_first_turn_states_nothing() -> None:
    """What the first turn says of a batch before it is ignored."""
    record = _run(Watching(asking({}, progress=_gained("x")), NULL), _facts())
    assert events_of(record, "PROTOCOL_VIOLATION") == []


def test_progress_may_be_inferred() -> None:
    """Under INFERRED the harness judges each batch itself, and ignores what is said."""
    turns = [asking({"n": n}, progress=_gained("nonsense")) for n in range(3)]
    record = _run(Watching(*turns, NULL), Source("a", "a", None), progress="INFERRED")
    judged = [event.detail for event in events_of(record, "PROGRESS_JUDGED")]
    assert judged == [
        {"progress": "GAINED", "no_gain": 0},
        {"progress": "NO_GAIN", "no_gain": 1},
        {"progress": "NO_GAIN", "no_gain": 2},
    ]


# --- saturation


def test_information_saturates() -> None:
    """After three batches without new evidence the very next turn carries STOP_REQUIRED, once."""
    turns = [asking({"n": n}, progress=NO_GAIN) for n in range(3)]
    agent = Watching(*turns, NULL)
    record = _run(agent, _empty())
    assert _stops(agent) == [None, None, None, "INFORMATION_SATURATED"]
    assert record.stop_cause is StopCause.NO_CONCLUSION
    assert record.collection_state is CollectionState.RELEASE
    assert record.stop_reason is StopReason.INFORMATION_SATURATED
    assert len(events_of(record, "COLLECTION_SATURATED")) == 1
    assert [e.detail["reason"] for e in events_of(record, "STOP_REQUIRED")] == [
        "INFORMATION_SATURATED"
    ]


def test_a_stop_may_be_obeyed_with_success() -> None:
    """Saturation is no ending: who drafts well is released."""
    turns = [asking({"n": n}, progress=NO_GAIN) for n in range(3)]
    agent = Watching(*turns, drafting("nothing there", citing(1)))
    assert _run(agent, _empty()).stop_cause is StopCause.REPORT_APPROVED


def test_a_stop_that_is_ignored() -> None:
    """Who asks for tools after STOP_REQUIRED ends the run; nothing of that turn runs."""
    source = _empty()
    turns = [asking({"n": n}, progress=NO_GAIN) for n in range(3)]
    record = _run(Watching(*turns, asking({"n": 8}, {"n": 9})), source)
    assert record.stop_cause is StopCause.STOP_IGNORED
    assert record.collection_state is CollectionState.TERMINATED
    assert (len(source.script.calls), record.used.tool_calls) == (3, 3)
    refused = [event.detail for event in events_of(record, "CALL_REFUSED")]
    assert refused == [{"tool": "logs", "why": "STOP_REQUIRED"}] * 2


def test_a_gain_resets_the_count() -> None:
    """Empty, empty, found, empty, empty: never saturated."""
    turns = [asking({"n": n}, progress=NO_GAIN) for n in range(3)]
    turns += [asking({"n": 3}, progress=_gained("E-id-2-3.1")), asking({"n": 4}, progress=NO_GAIN)]
    agent = Watching(*turns, drafting("x", citing(3)))
    record = _run(agent, Source(None, None, "found", None, None))
    assert (set(_stops(agent)), record.stop_reason) == ({None}, None)
    assert record.stop_cause is StopCause.REPORT_APPROVED


def test_identical_calls_saturate() -> None:
    """Asking the same three times brings nothing new, whatever it finds."""
    turns = [asking({"n": 1}, progress=NO_GAIN) for _ in range(4)]
    agent = Watching(*turns, NULL)
    record = _run(agent, Source("a", "b", "c", "d"))
    assert record.stop_reason is StopReason.INFORMATION_SATURATED


def test_the_progress_protocol_saturates() -> None:
    """The turn whose second violation saturates collection gets its batch refused."""
    source = _facts()
    agent = Watching(asking({"n": 1}), asking({"n": 2}), asking({"n": 3}, {"n": 4}), NULL)
    record = _run(agent, source)
    assert _stops(agent) == [None, None, None, "PROGRESS_PROTOCOL_VIOLATED"]
    assert len(source.script.calls) == 2
    assert [one.why for one in agent.views[3].refused] == ["PROGRESS_PROTOCOL_VIOLATED"] * 2
    assert agent.views[3].violation == "no statement"
    assert len(events_of(record, "CALL_REFUSED")) == 2


def test_the_first_reason_counts() -> None:
    """Where several reasons hold at once the protocol counts first, then information."""
    limits = Limits(no_gain=1, violations=1, tool_calls=1)
    agent = Watching(asking({"n": 1}), NULL)
    assert _run(agent, _empty(), limits=limits).stop_reason is StopReason.INFORMATION_SATURATED
    agent = Watching(asking({"n": 1}), asking({"n": 2}), NULL)
    record = _run(agent, _facts(), limits=Limits(no_gain=1, violations=1))
    assert record.stop_reason is StopReason.PROGRESS_PROTOCOL_VIOLATED


# --- the budget of collecting


def test_tool_calls_run_out() -> None:
    """A batch is admitted as far as it fits; each refused call is told to the agent and traced."""
    source = _facts()
    agent = Watching(asking({"n": 1}), asking({"n": 2}, {"n": 3}, {"n": 4}, progress=NO_GAIN), NULL)
    record = _run(agent, source, limits=Limits(tool_calls=2))
    last = agent.views[2]
    assert (len(source.script.calls), record.used.tool_calls) == (2, 2)
    assert last.stop is StopReason.BUDGET_LIMIT_REACHED
    assert [refused.call.arguments for refused in last.refused] == [{"n": 3}, {"n": 4}]
    assert last.refused[0] == RefusedCall(last.refused[0].call, "BUDGET_LIMIT_REACHED")
    assert len(record.invocations) == len(
        [a for a in record.attempts if a.component.name == "TOOL"]
    )
    assert len(events_of(record, "CALL_REFUSED")) == 2


def test_an_exact_fit_saturates() -> None:
    """As soon as the last tool call is spent, the next turn must draft."""
    agent = Watching(asking({"n": 1}, {"n": 2}), GOOD)
    record = _run(agent, _facts(), limits=Limits(tool_calls=2))
    assert _stops(agent) == [None, "BUDGET_LIMIT_REACHED"]
    assert record.stop_cause is StopCause.REPORT_APPROVED


@pytest.mark.parametrize("limits", [Limits(tool_calls=0), Limits(evidence_bytes=0)])
def test_none_at_all(limits: Limits) -> None:
    """With a limit of 0 the agent is asked once, under STOP_REQUIRED, and no tool runs."""
    source, agent = _facts(), Watching(asking({"n": 1}))
    record = _run(agent, source, limits=limits)
    assert _stops(agent) == ["BUDGET_LIMIT_REACHED"]
    assert ending(record) == ("BUDGET_EXHAUSTED", "BUDGET_EXHAUSTED", "FAILED", None)
    assert (source.script.calls, record.used.tool_calls) == ([], 0)


def test_evidence_bytes_run_out() -> None:
    """Once the stored texts reach the limit collection saturates; the batch runs to its end."""
    agent = Watching(asking({"n": 1}, {"n": 2}, {"n": 3}), NULL)
    record = _run(agent, _facts(), limits=Limits(evidence_bytes=8))
    assert _stops(agent) == [None, "BUDGET_LIMIT_REACHED"]
    assert (record.used.evidence_bytes, record.used.tool_calls) == (18, 3)


def test_a_budget_stop_that_is_ignored() -> None:
    """Who asks on after the budget's stop ends the run as BUDGET_EXHAUSTED."""
    agent = Watching(asking({"n": 1}), asking({"n": 2}))
    record = _run(agent, _facts(), limits=Limits(tool_calls=1))
    assert record.stop_cause is StopCause.BUDGET_EXHAUSTED
    assert record.collection_state is CollectionState.TERMINATED


@pytest.mark.parametrize(
    ("attempts", "reserve", "stops"),
    [
        (5, 0, [None, None, None, None]),
        (5, 3, [None, None, "BUDGET_LIMIT_REACHED"]),
        (5, 4, [None, "BUDGET_LIMIT_REACHED"]),
        (5, 5, ["BUDGET_LIMIT_REACHED"]),
        (None, 4, [None, None, None, None]),
    ],
)
def test_the_release_reserve(attempts: int | None, reserve: int, stops: list[str | None]) -> None:
    """Collection saturates before a turn once no more than the reserve is left; 0 keeps none."""

    class Obedient(Watching):
        def next_turn(self, view: AgentView, attempt: object) -> AgentTurn:
            self.views.append(view)
            return (
                NULL if view.stop or view.turn == 4 else asking({"n": view.turn}, progress=NO_GAIN)
            )

    agent = Obedient()
    limits = Limits(model_attempts=attempts, release_reserve=reserve, no_gain=None)
    _run(agent, _facts(), limits=limits)
    assert _stops(agent) == stops


def test_a_parents_reserve() -> None:
    """What another run took from a common budget counts for the reserve too."""
    agent = Watching(NULL)
    limits = Limits(model_attempts=9, release_reserve=2)
    made = harness(agent, limits=limits)
    made.run("why?", budget=Budget(model_attempts=2))
    assert _stops(agent) == ["BUDGET_LIMIT_REACHED"]


def test_a_parent_that_others_emptied() -> None:
    """Of a batch for which others left no room nothing runs, and the agent may still draft."""
    tenant, source = Budget(tool_calls=2), _facts()

    def turn(*_arguments: Any) -> AgentTurn:
        tenant.reserve_tools(2)
        return asking({"n": 1})

    agent = Watching(turn, NULL)
    record = harness(agent, source).run("why?", budget=tenant).record
    assert _stops(agent) == [None, "BUDGET_LIMIT_REACHED"]
    assert (source.script.calls, record.used.tool_calls, tenant.used.tool_calls) == ([], 0, 2)


def test_a_run_that_ends_elsewhere_leaves_the_state() -> None:
    """A run that ends in another way leaves the collection state where it was."""
    limits = Limits(tool_calls=1, model_attempts=1, release_reserve=0)
    record = _run(Watching(asking({})), _facts(), limits=limits)
    assert ending(record)[:2] == ("BUDGET_EXHAUSTED", "BUDGET_EXHAUSTED")
    assert record.collection_state is CollectionState.SATURATED
    assert events_of(record, "STOP_REQUIRED") == []


def test_a_draft_while_collecting() -> None:
    """A draft while collecting goes to RELEASE without a stop."""
    record = _run(Watching(NULL))
    assert (record.collection_state, record.stop_reason) == (CollectionState.RELEASE, None)


# --- what the client is told


def test_statuses() -> None:
    """The client is told stages and counts, and never evidence or draft text."""
    client = RecordingClient()
    agent = Watching(asking({"n": 1}, {"n": 2}), asking({"n": 3}), GOOD)
    made = harness(agent, _facts(), limits=Limits(tool_calls=3))
    made.run("why?", client=client)
    told = [event.data for event in client.events if event.kind.name == "STATUS"]
    assert [(data["stage"], data["turn"], data["invocations"]) for data in told] == [
        ("STARTED", 0, 0),
        ("COLLECTING", 1, 0),
        ("COLLECTING", 2, 2),
        ("DRAFTING", 3, 3),
        ("CHECKING_EVIDENCE", 3, 3),
        ("JUDGING", 3, 3),
    ]
    assert all(type(data) is FrozenDict for data in told)

"""The fault plan around a host's own objects, with both drivers."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from math import isnan, nan
from typing import Any

import pytest

from harness import (
    AgentTurn,
    AsyncHarness,
    CancelToken,
    DiagnosisDraft,
    Fact,
    FailureKind,
    Harness,
    Intent,
    ReleaseOutcome,
    Route,
    RunRecord,
    SemanticVerdict,
    StopCause,
)
from harness._values import Citation, Claim, ToolCall
from harness._view import AgentView
from harness.errors import InvalidArgumentError, ProviderError, TransportError
from harness.stores.memory import MemoryCanonicalStore, MemoryRunStore
from harness.testing import RecordingClient, VirtualClock, counting_ids
from harness.testing._hostile import CHANGED, hostile, loosened
from harness.testing.faults import PORTS, SECRET, Fault, FaultPlan, Injection, UnknownError


def _agent(view: AgentView) -> AgentTurn:
    if not view.records:
        return AgentTurn([ToolCall("logs", {"window": "10:00"}, {})])
    citation = Citation(view.records[0].invocation_id)
    return AgentTurn(draft=DiagnosisDraft("It broke.", [citation], [Claim("It did.", [citation])]))


def logs() -> list[str]:
    """Find something."""
    return ["it broke"]


class Guard:
    """A guard with more than its port asks for."""

    model = "small"

    def judge(self, case: object, attempt: object) -> SemanticVerdict:
        return SemanticVerdict.SUPPORTED


def _run(*injections: Injection | str, **parts: Any) -> tuple[RunRecord, FaultPlan]:
    """Run once with every host object wrapped."""
    plan = FaultPlan(injections)
    client = RecordingClient()
    given = {
        "agent": plan.wrap("agent", _agent),
        "tools": [plan.wrap("tool", logs)],
        "semantic_guard": plan.wrap("semantic_guard", Guard()),
        "canonical_store": plan.wrap("canonical_store", MemoryCanonicalStore()),
        "run_store": plan.wrap("run_store", MemoryRunStore()),
        "clock": plan.wrap("clock", VirtualClock()),
        "ids": plan.wrap("ids", counting_ids()),
        "classifier": plan.wrap("classifier", None),
        **parts,
    }
    record, _ = Harness(**given)._execute(
        _request(), cancel=plan.token, client=plan.wrap("client", client)
    )
    return record, plan


def _request() -> Any:
    from harness import Request  # noqa: PLC0415  one use

    return Request("why?")


def test_without_a_fault_a_plan_changes_nothing() -> None:
    """A wrapped harness runs as it would, and every call is on the account."""
    record, plan = _run()
    assert record.release_outcome is ReleaseOutcome.SUCCESS
    sites = {call.site for call in plan.calls}
    assert sites >= {"agent", "tool", "canonical_store.save", "run_store.finish", "client.send"}
    assert [call.number for call in plan.calls] == list(range(1, len(plan.calls) + 1))
    assert plan.calls[0].place == "clock.monotonic:1"
    assert plan.unused == ()


_ENDINGS: list[tuple[Fault, StopCause]] = [
    *((fault, StopCause.AGENT_UNAVAILABLE) for fault in list(Fault)[:3]),
    (Fault.INVALID_OUTPUT, StopCause.INVALID_DRAFT),
    (Fault.UNCLASSIFIED, StopCause.AGENT_UNAVAILABLE),
    (Fault.UNKNOWN, StopCause.AGENT_UNAVAILABLE),
    (Fault.MEMORY_ERROR, StopCause.AGENT_UNAVAILABLE),
    (Fault.RECURSION_ERROR, StopCause.AGENT_UNAVAILABLE),
    (Fault.STOP_ITERATION, StopCause.AGENT_UNAVAILABLE),
    (Fault.KEYBOARD_INTERRUPT, StopCause.INTERRUPTED),
    (Fault.SYSTEM_EXIT, StopCause.INTERRUPTED),
    (Fault.GENERATOR_EXIT, StopCause.INTERRUPTED),
    (Fault.WRONG_TYPE, StopCause.INVALID_DRAFT),
    (Fault.OVERSIZED, StopCause.EVIDENCE_REJECTED),
    (Fault.SURROGATE, StopCause.EVIDENCE_REJECTED),
    (Fault.NAN, StopCause.INVALID_DRAFT),
    (Fault.CYCLIC, StopCause.REPORT_APPROVED),
    (Fault.DEEP, StopCause.REPORT_APPROVED),
    (Fault.LATE, StopCause.DEADLINE_EXCEEDED),
    (Fault.CANCEL, StopCause.CANCELLED_BY_CALLER),
    (Fault.CLOCK_FORWARD, StopCause.DEADLINE_EXCEEDED),
    (Fault.CLOCK_BACKWARD, StopCause.REPORT_APPROVED),
    (Fault.CHANGED_LATER, StopCause.REPORT_APPROVED),
    (Fault.ANSWER_LOST, StopCause.AGENT_UNAVAILABLE),
]


@pytest.mark.parametrize(("fault", "cause"), _ENDINGS, ids=lambda value: value.value)
def test_an_agent_that_fails(fault: Fault, cause: StopCause) -> None:
    """Each fault of the first turn ends the run as the contract says, or does it no harm."""
    record, plan = _run(Injection("agent:1", fault))
    hit = next(call for call in plan.calls if call.place == "agent:1")
    # arguments that are no JSON are an error row; then the agent finds a record and drafts
    if fault in {Fault.CYCLIC, Fault.DEEP}:
        assert [row.code and row.code.name for row in record.invocations] == ["INVALID_ARGUMENTS"]
        assert record.stop_cause is StopCause.EVIDENCE_REJECTED
    else:
        assert record.stop_cause is cause
    assert hit.fault is fault
    assert fault.is_interrupt is (cause is StopCause.INTERRUPTED)


def test_a_plan_keeps_what_each_call_came_to() -> None:
    """A call that raised has its error, a call that returned its value; both say where."""
    _, plan = _run("tool:1=raise:UnknownError")
    call = next(call for call in plan.calls if call.site == "tool")
    assert (call.returned, type(call.error)) == (False, UnknownError)
    assert str(call.error) == SECRET
    assert repr(call) == f"<call {call.number} tool:1=raise:UnknownError>"
    agent = next(call for call in plan.calls if call.site == "agent")
    assert (agent.returned, type(agent.value)) == (True, AgentTurn)
    assert repr(agent) == f"<call {agent.number} agent:1>"


def test_an_answer_that_was_lost_did_its_work() -> None:
    """A store that loses its answer has the record all the same."""
    store = MemoryRunStore()
    plan = FaultPlan(["run_store.finish:1=answer-lost"])
    record, _ = _run(run_store=plan.wrap("run_store", store))
    stored = store.load(record.run_id)
    assert stored is not None
    assert (stored.release_outcome, record.record_saved) == (ReleaseOutcome.SUCCESS, False)


def test_a_fault_whose_call_never_came_is_told() -> None:
    """A place that the run did not come to is named."""
    _, plan = _run("agent:7=late", "agent:1=clock:backward")
    assert plan.unused == (Injection("agent:7", Fault.LATE),)


def test_what_a_port_has_beside_its_methods_is_its_own() -> None:
    """A wrapped object still is what it was, and its methods are looked up once."""
    wrapped = FaultPlan().wrap("semantic_guard", Guard())
    assert wrapped.model == "small"
    assert wrapped.judge is wrapped.judge
    with pytest.raises(AttributeError):
        wrapped.nothing  # noqa: B018  reading it is the test


def test_a_tool_may_have_a_projector() -> None:
    """A tool's projector is a call of its own."""

    class Counting:
        name, description, parameters = "logs", "", None

        def execute(self, _call: object) -> dict[str, int]:
            return {"errors": 3}

        def project(self, raw: dict[str, int]) -> list[str]:
            return [f"{raw['errors']} errors"]

    plan = FaultPlan(["tool.project:1=fail:TIMEOUT"])
    record, _ = _run(tools=[plan.wrap("tool", Counting())])
    assert [row.code and row.code.name for row in record.invocations] == ["PROJECTION_FAILED"]
    assert [call.place for call in plan.calls] == ["tool:1", "tool.project:1"]


def test_a_dropped_step_is_told() -> None:
    """A script is told to drop the step whose place a fault takes, and no other."""
    dropped: list[str] = []
    plan = FaultPlan(["agent:1=fail:TIMEOUT", "agent:2=late"])
    agent = plan.wrap("agent", lambda *_: "real", skip=lambda: dropped.append("step"))
    with pytest.raises(ProviderError):
        agent("view", "attempt")
    assert agent("view", "attempt") == "real"
    assert dropped == ["step"]


def test_a_plan_can_begin_anew() -> None:
    """What was wrapped once serves run after run."""
    plan = FaultPlan(["agent:1=raise:MemoryError"])
    agent = plan.wrap("agent", lambda: "real")
    with pytest.raises(MemoryError):
        agent()
    plan.restart(["agent:2=raise:MemoryError"])
    assert agent() == "real"
    with pytest.raises(MemoryError):
        agent()
    assert [call.place for call in plan.calls] == ["agent:1", "agent:2"]


def test_the_clock_moves_as_the_faults_say() -> None:
    """A late answer and a step move both clocks, and what was told never runs backwards."""
    plan = FaultPlan(["agent:1=clock:forward", "agent:2=clock:backward", "agent:3=late"])
    clock, agent = plan.wrap("clock", VirtualClock()), plan.wrap("agent", lambda: None)
    assert (plan.told, clock.monotonic(), plan.told) == (None, 0.0, 0.0)
    began = clock.utc()
    agent()
    assert (clock.monotonic(), clock.utc() - began) == (3600.0, timedelta(hours=1))
    agent()
    assert (clock.monotonic(), plan.told) == (0.0, 3600.0)
    agent()
    assert clock.monotonic() == plan.told == 1e7


def test_a_clock_that_is_no_clock_tells_nothing() -> None:
    """Only a finite time is one that a run can know."""
    plan = FaultPlan(["clock.monotonic:1=return:nan", "clock.monotonic:2=return:wrong-type"])
    clock = plan.wrap("clock", VirtualClock())
    assert isnan(clock.monotonic())
    clock.monotonic()
    assert plan.told is None


def test_a_wait_is_a_call_too() -> None:
    """A clock that fails while it waits between two attempts ends the run."""
    guard = FaultPlan(["semantic_guard:1=fail:TIMEOUT"]).wrap("semantic_guard", Guard())
    record, plan = _run(
        "clock.wait:1=raise:MemoryError", semantic_guard=guard, backoff=lambda *_: 2.0
    )
    assert record.stop_cause is StopCause.INTERNAL_ERROR
    assert plan.calls[-1].site != "clock.wait"


async def _later(value: Any) -> Any:
    await asyncio.sleep(0)
    return value


@pytest.mark.parametrize(
    ("injection", "cause"),
    [
        ("agent:1=late", StopCause.DEADLINE_EXCEEDED),
        ("agent:1=answer-lost", StopCause.AGENT_UNAVAILABLE),
        ("agent:1=changed-later", StopCause.REPORT_APPROVED),
        ("agent:1=raise:KeyboardInterrupt", StopCause.INTERRUPTED),
        ("tool:1=fail:CAPACITY", StopCause.EVIDENCE_REJECTED),
    ],
)
def test_host_objects_may_be_awaited(injection: str, cause: StopCause) -> None:
    """A plan wraps asynchronous host objects as it wraps plain ones."""

    async def agent(view: AgentView) -> AgentTurn:
        turn: AgentTurn = await _later(_agent(view))
        return turn

    async def logs() -> str:
        found: str = await _later("it broke")
        return found

    plan = FaultPlan([injection])
    harness = AsyncHarness(
        plan.wrap("agent", agent),
        [plan.wrap("tool", logs)],
        semantic_guard=Guard(),
        clock=plan.wrap("clock", VirtualClock()),
    )

    async def run() -> RunRecord:
        record, _ = await harness._execute(_request(), cancel=plan.token)
        return record

    assert asyncio.run(run()).stop_cause is cause
    assert [call.fault for call in plan.calls if call.place == injection.partition("=")[0]]


def test_what_an_awaited_call_raises_is_kept() -> None:
    """An error that comes while a call is awaited is its error."""

    async def fail() -> None:
        await _later(None)
        raise OSError

    plan = FaultPlan()
    with pytest.raises(OSError):  # noqa: PT011  there is no text to match
        asyncio.run(plan.wrap("agent", fail)())
    assert [(call.returned, type(call.error)) for call in plan.calls] == [(False, OSError)]


# --- how faults are written


@pytest.mark.parametrize("fault", Fault)
def test_an_injection_reads_back_as_it_is_written(fault: Fault) -> None:
    """Every fault has a spelling for the command line."""
    injection = Injection("run_store.finish:12", fault)
    assert Injection.parse(str(injection)) == injection
    assert Injection(place="run_store.finish:12", fault=fault.value) == injection


@pytest.mark.parametrize(
    "text",
    [
        "agent:1",
        "agent=late",
        "agent:0=late",
        "agent:x=late",
        "agent:\u0661=late",
        "nothing:1=late",
        "agent:1=never",
        "tool.execute:1=late",
    ],
)
def test_what_is_no_injection_is_refused(text: str) -> None:
    """A place or fault that does not exist is named, with what is allowed."""
    with pytest.raises(InvalidArgumentError, match="allowed"):
        Injection.parse(text)


def test_a_plan_refuses_what_it_cannot_do() -> None:
    """A place that is no text, a place twice, an unknown port."""
    with pytest.raises(InvalidArgumentError, match="place"):
        Injection(7, Fault.LATE)
    with pytest.raises(InvalidArgumentError, match="each place once"):
        FaultPlan(["agent:1=late", "agent:01=cancel"])
    with pytest.raises(InvalidArgumentError, match="port"):
        FaultPlan().wrap("oracle", Guard())
    assert [FaultPlan().wrap(port, None) for port in PORTS] == [None] * len(PORTS)


def test_a_fault_takes_the_place_of_its_call_or_not() -> None:
    """The faults that disturb a call leave it to be made."""
    made = {fault for fault in Fault if not fault.replaces}
    assert made == set(list(Fault)[-6:])
    assert {fault for fault in Fault if fault.is_interrupt} == {
        Fault.KEYBOARD_INTERRUPT,
        Fault.SYSTEM_EXIT,
        Fault.GENERATOR_EXIT,
    }


def test_a_kind_is_raised_as_the_library_spells_it() -> None:
    """Each failure kind is an error of the library of that kind."""
    for kind in FailureKind:
        plan = FaultPlan([f"agent:1=fail:{kind.name}"])
        with pytest.raises(ProviderError) as caught:
            plan.wrap("agent", lambda: None)()
        assert caught.value.kind is kind


# --- hostile values


def _made(flaw: str, site: str, *arguments: Any, real: Callable[[], Any] = lambda: None) -> Any:
    return hostile(flaw, site, 10, arguments, real)


def test_a_value_has_the_shape_of_its_answer() -> None:
    """Where an answer can hold the flaw it is an answer; elsewhere the bare value."""
    assert _made("oversized", "router") == Route(Intent.DIAGNOSIS, ["x" * 11])
    assert isnan(_made("nan", "router"))
    assert _made("surrogate", "repair").conclusion == "half \ufffd of a pair"
    assert isnan(_made("nan", "repair"))
    assert _made("oversized", "tool") == "x" * 11
    assert _made("nan", "tool.project")[0] == "a fact"
    assert _made("oversized", "clock.monotonic") == 1e300
    assert isnan(_made("nan", "clock.monotonic"))
    assert _made("oversized", "clock.utc").year == 9999
    assert _made("nan", "clock.utc").tzinfo is None
    assert type(_made("wrong-type", "clock.utc")) is object
    assert _made("oversized", "semantic_guard") == "x" * 11


def test_a_turn_asks_with_the_value_or_drafts_it() -> None:
    """A turn carries the flaw in its draft, its usage or its arguments."""
    assert type(_made("wrong-type", "agent")) is object
    assert _made("oversized", "agent").draft.conclusion == "x" * 11
    view = AgentView(run_id="r", request=_request(), turn=1, tools=(), left=lambda: None)  # type: ignore[arg-type, return-value]
    nan_turn = _made("nan", "agent", view)
    assert (nan_turn.calls[0].tool, nan_turn.usage is None) == ("no such tool", False)
    cyclic = _made("cyclic", "agent")
    assert (cyclic.usage, cyclic.calls[0].refused is None) == (None, False)


def test_a_record_comes_back_with_a_fact_more() -> None:
    """A store's answer is the real record with the flaw, where there is one."""
    record, plan = _run()
    saved = next(c for c in plan.calls if c.site == "canonical_store.save").arguments[0]
    other = _made("surrogate", "canonical_store.load", real=lambda: saved)
    assert other.facts[-1].text == "half \ud83d of a pair"
    assert _made("surrogate", "canonical_store.load") == "half \ud83d of a pair"
    assert isnan(_made("nan", "canonical_store.load", real=lambda: saved))
    assert record.record_saved


@pytest.mark.parametrize(
    "value",
    [
        ["a", "b"],
        {"a": 1},
        Route(Intent.DIAGNOSIS, ["tenant"]),
        DiagnosisDraft("c", [Citation("i")], [Claim("t", [Citation("i")])], ["r"], ["m"]),
        AgentTurn([ToolCall("logs", {"a": 1}, {"b": [1]})]),
        AgentTurn(draft=DiagnosisDraft("c", [Citation("i")])),
        "text",
        Fact("text"),
    ],
)
def test_records_are_copies_of_what_was_handed_over(value: Any) -> None:
    """What a host changes afterwards changes lists and dicts, and never a record."""
    handed_over, change = loosened(value)
    assert handed_over == value
    change()
    plain = isinstance(value, (list, dict))
    assert (CHANGED in str(handed_over)) is plain
    assert (handed_over == value) is not plain


def test_a_changed_answer_is_changed_behind_the_call() -> None:
    """The change comes once the answer has arrived, before the next call is made."""
    plan = FaultPlan(["tool:1=changed-later"])
    tool, agent = plan.wrap("tool", logs), plan.wrap("agent", lambda: None)
    clock = plan.wrap("clock", VirtualClock())
    found = tool.execute(ToolCall("logs"), None)
    clock.monotonic()
    assert found == ["it broke"]
    agent()
    assert found == [CHANGED]


def test_a_cancel_is_the_plans_own() -> None:
    """Each plan cancels by a token of its own."""
    plan = FaultPlan(["agent:1=cancel"])
    assert type(plan.token) is CancelToken
    plan.wrap("agent", lambda: None)()
    assert (plan.token.is_cancelled, plan.token.reason) == (True, "the fault plan")
    assert not FaultPlan().token.is_cancelled


def test_a_lost_answer_looks_like_a_broken_connection() -> None:
    """The error of a lost answer is one that may pass."""
    plan = FaultPlan(["agent:1=answer-lost"])
    with pytest.raises(TransportError):
        plan.wrap("agent", lambda: nan)()

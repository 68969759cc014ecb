"""The failure graph from end to end: every ending, and what is late counts for nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from harness import (
    AgentTurn,
    CancelToken,
    Claim,
    EventKind,
    FallbackType,
    Harness,
    Intent,
    LimitationKind,
    Limits,
    PublicKind,
    ReleaseOutcome,
    ReleasePolicy,
    Route,
    RunRecord,
    RunState,
    SemanticVerdict,
    StopCause,
)
from harness.errors import InvalidOutputError, RejectedError, TransportError
from harness.stores.memory import MemoryCanonicalStore
from harness.testing import RecordingClient, Script, VirtualClock
from tests.core.doubles import (
    GOOD,
    Source,
    asking,
    citing,
    drafting,
    ending,
    events_of,
    harness,
)

UNSUPPORTED = SemanticVerdict.UNSUPPORTED
NULL = drafting(None)
MANY = [asking({"n": n}) for n in range(9)]
BAD_DRAFT = drafting("the pool ran out", citing(9))


def _source() -> Source:
    return Source("pool size 5", repeat_last=True)


def _empty() -> Source:
    return Source(None, repeat_last=True)


def _slow(*agent: Any, at: int) -> Harness:
    """A harness whose n-th turn takes the whole of its deadline."""
    clock = VirtualClock()

    def turn(number: int, step: Any) -> Callable[..., Any]:
        def take(*_arguments: Any) -> Any:
            clock.advance(30_000 if number == at else 1)
            return step

        return take

    steps = [turn(number, step) for number, step in enumerate(agent, 1)]
    return harness(steps, _source(), clock=clock, limits=Limits(deadline=30))


def _broken_ids() -> Harness:
    return harness(GOOD, _source(), ids=Script(["run", OSError("no ids")]))


# The scenes of section 5, retyped: run state, cause, outcome and fallback type; what is public.
SCENES: dict[str, tuple[Callable[[], Harness], str]] = {
    "both gates pass": (
        lambda: harness(GOOD, _source()),
        "SUCCESS REPORT_APPROVED SUCCESS None REPORT",
    ),
    "required context missing": (
        lambda: harness([], required_context=["tenant"]),
        "SUCCESS MISSING_REQUIRED_CONTEXT FALLBACK MISSING_REQUIRED_CONTEXT FALLBACK",
    ),
    "context missing, says the router": (
        lambda: harness([], router=Script([Route(Intent.DIAGNOSIS, ("tenant",))])),
        "SUCCESS MISSING_REQUIRED_CONTEXT FALLBACK MISSING_REQUIRED_CONTEXT FALLBACK",
    ),
    "context missing, says the agent": (
        lambda: harness([drafting(None, missing_context=["tenant"])]),
        "SUCCESS MISSING_REQUIRED_CONTEXT FALLBACK MISSING_REQUIRED_CONTEXT FALLBACK",
    ),
    "evidence too thin": (
        lambda: harness([asking({}), NULL], _source()),
        "SUCCESS NO_CONCLUSION FALLBACK INSUFFICIENT_EVIDENCE FALLBACK",
    ),
    "nothing found at all": (
        lambda: harness([NULL]),
        "FAILED NO_CONCLUSION FAILED None FAILURE",
    ),
    "information saturated": (
        lambda: harness(MANY, _empty(), progress="INFERRED"),
        "SUCCESS STOP_IGNORED FALLBACK INSUFFICIENT_EVIDENCE FALLBACK",
    ),
    "stopped by the progress protocol": (
        lambda: harness(MANY, _source()),
        "SUCCESS STOP_IGNORED FALLBACK INSUFFICIENT_EVIDENCE FALLBACK",
    ),
    "evidence guard fails finally": (
        lambda: harness([asking({}), BAD_DRAFT], _source()),
        "SUCCESS EVIDENCE_REJECTED FALLBACK EVIDENCE_VALIDATION_FAILED FALLBACK",
    ),
    "evidence guard fails without facts": (
        lambda: harness([drafting("the pool ran out")]),
        "FAILED EVIDENCE_REJECTED FAILED None FAILURE",
    ),
    "semantic guard: not supported": (
        lambda: harness(GOOD, _source(), semantic_guard=Script([UNSUPPORTED])),
        "SUCCESS SEMANTIC_UNSUPPORTED FALLBACK SEMANTIC_UNSUPPORTED FALLBACK",
    ),
    "semantic guard unavailable": (
        lambda: harness(GOOD, _source(), semantic_guard=Script([TransportError()] * 2)),
        "SUCCESS SEMANTIC_UNAVAILABLE FALLBACK SEMANTIC_UNAVAILABLE FALLBACK",
    ),
    "budget exhausted, safe progress": (
        lambda: harness(GOOD, _source(), limits=Limits(model_attempts=1, release_reserve=0)),
        "BUDGET_EXHAUSTED BUDGET_EXHAUSTED FALLBACK INSUFFICIENT_EVIDENCE FALLBACK",
    ),
    "budget told apart": (
        lambda: harness(
            GOOD,
            _source(),
            limits=Limits(model_attempts=1, release_reserve=0),
            policy=ReleasePolicy(distinguish_budget=True),
        ),
        "BUDGET_EXHAUSTED BUDGET_EXHAUSTED FALLBACK BUDGET_EXHAUSTED FALLBACK",
    ),
    "budget exhausted, nothing safe": (
        lambda: harness([], limits=Limits(model_attempts=0)),
        "BUDGET_EXHAUSTED BUDGET_EXHAUSTED FAILED None FAILURE",
    ),
    "deadline, nothing safe": (
        lambda: _slow(*GOOD, at=1),
        "TIMED_OUT DEADLINE_EXCEEDED FAILED None FAILURE",
    ),
    "deadline, safe progress": (
        lambda: _slow(*GOOD, at=2),
        "TIMED_OUT DEADLINE_EXCEEDED FALLBACK INSUFFICIENT_EVIDENCE FALLBACK",
    ),
    "a deadline of zero": (
        lambda: harness([], limits=Limits(deadline=0)),
        "TIMED_OUT DEADLINE_EXCEEDED FAILED None FAILURE",
    ),
    "internal failure": (
        _broken_ids,
        "FAILED INTERNAL_ERROR FAILED None FAILURE",
    ),
    "one tool fails, another answers": (
        lambda: harness(
            [asking({}), asking({}, tool="cfg"), drafting("x", citing(2))],
            Source(ConnectionError()),
            Source("max=5", name="cfg"),
        ),
        "SUCCESS REPORT_APPROVED SUCCESS None REPORT",
    ),
    "every tool fails": (
        lambda: harness([asking({}), NULL], Source(ConnectionError())),
        "FAILED NO_CONCLUSION FAILED None FAILURE",
    ),
    "router unavailable": (
        lambda: harness([], router=Script([RejectedError()])),
        "FAILED ROUTER_UNAVAILABLE FAILED None FAILURE",
    ),
    "agent unavailable after facts": (
        lambda: harness([asking({}), TransportError()], _source()),
        "FAILED AGENT_UNAVAILABLE FALLBACK INSUFFICIENT_EVIDENCE FALLBACK",
    ),
    "agent unavailable": (
        lambda: harness([TransportError()]),
        "FAILED AGENT_UNAVAILABLE FAILED None FAILURE",
    ),
    "malformed draft after facts": (
        lambda: harness([asking({}), InvalidOutputError()], _source()),
        "SUCCESS INVALID_DRAFT FALLBACK INSUFFICIENT_EVIDENCE FALLBACK",
    ),
    "a turn with calls and a draft": (
        lambda: harness([AgentTurn(asking({}).calls, NULL.draft)]),
        "FAILED INVALID_DRAFT FAILED None FAILURE",
    ),
    "a turn with neither": (
        lambda: harness([AgentTurn()]),
        "FAILED INVALID_DRAFT FAILED None FAILURE",
    ),
    "a general request": (
        lambda: harness([], router=Script([Route(Intent.GENERAL)]), responder=Script(["hello"])),
        "SUCCESS REPLY_GIVEN SUCCESS None REPLY",
    ),
    "a general request that nobody answers": (
        lambda: harness(
            [], router=Script([Route(Intent.GENERAL)]), responder=Script([TransportError()])
        ),
        "FAILED RESPONDER_UNAVAILABLE FAILED None FAILURE",
    ),
    "a result too large, after facts": (
        lambda: harness(
            [asking({"n": 1}, {"n": 2})], Source("a", "x" * 99), limits=Limits(result_bytes=50)
        ),
        "FAILED RESULT_TOO_LARGE FALLBACK INSUFFICIENT_EVIDENCE FALLBACK",
    ),
    "a draft too large": (
        lambda: harness([asking({}), drafting("x" * 99)], _source(), limits=Limits(draft_bytes=50)),
        "FAILED RESULT_TOO_LARGE FALLBACK INSUFFICIENT_EVIDENCE FALLBACK",
    ),
    "calls after tool calls ran out": (
        lambda: harness(MANY, _source(), limits=Limits(tool_calls=1)),
        "BUDGET_EXHAUSTED BUDGET_EXHAUSTED FALLBACK INSUFFICIENT_EVIDENCE FALLBACK",
    ),
}


@pytest.mark.parametrize("name", SCENES)
def test_every_scene(name: str) -> None:
    """Each scene ends as the contract says, in all four views, and says the same when saved."""
    build, expected = SCENES[name]
    made, client = build(), RecordingClient()
    record = made.run("why?", client=client).record
    assert [*map(str, ending(record)), record.public.kind.name] == expected.split()  # type: ignore[union-attr]
    content = {"FAILURE": EventKind.FAILURE}.get(expected.split()[-1], EventKind.CONTENT)
    assert client.kinds[-2:] == [content, EventKind.DONE]
    assert client.kinds[:2] == [EventKind.METADATA, EventKind.STATUS]
    saved = made.run_store.load(record.run_id)
    assert saved is not None
    assert ending(saved) == ending(record)
    assert (record.record_saved, record.delivered, saved.delivered) == (True, True, True)


@pytest.mark.parametrize("name", SCENES)
def test_every_scene_without_a_client(name: str) -> None:
    """Without a client a run ends in the same way and publishes the same."""
    with_client = SCENES[name][0]().run("why?", client=RecordingClient()).record
    without = SCENES[name][0]().run("why?").record
    assert ending(without) == ending(with_client)
    assert without.public == with_client.public
    assert without.used == with_client.used


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_repeats(name: str) -> None:
    """The same script gives the same record, event by event, and the same text."""
    assert SCENES[name][0]().run("why?").record == SCENES[name][0]().run("why?").record


def test_the_scenes_have_every_cause() -> None:
    """The scenes above, and the tests of cancels and stores beside them, have every cause."""
    elsewhere = {"CANCELLED_BY_CALLER", "CLIENT_DISCONNECTED", "INTERRUPTED"}
    elsewhere |= {"STORE_UNTRUSTED", "RECORD_NOT_SAVED"}
    causes = {expected.split()[1] for _, expected in SCENES.values()}
    assert causes | elsewhere == set(StopCause.__members__)


# --- what a report and a fallback hold


def test_a_report() -> None:
    """A report is the draft as it was, with its sources and what it could not take into account."""
    draft = drafting(
        "the pool ran out",
        citing(1, 1),
        claims=[Claim("5 is the limit", [citing(1, 1), citing(2)])],
        missing_context=["tenant"],
    )
    tools = (Source("pool size 5"), Source(None, name="cfg"), Source(name="docs"))
    calls = AgentTurn(asking({}).calls + asking({}, tool="cfg").calls)
    record = harness([calls, draft], *tools).run("why?").record
    public = record.public
    assert public is not None
    assert (public.draft, public.text) == (draft.draft, "the pool ran out\n\n- 5 is the limit\n")
    assert [(source.tool, source.text, source.fact_id) for source in public.sources] == [
        ("logs", "pool size 5", 1),
        ("cfg", "", None),
    ]
    assert [(one.kind, one.name) for one in public.limitations] == [
        (LimitationKind.NEVER_CONSULTED, "docs"),
        (LimitationKind.MISSING_CONTEXT, "tenant"),
    ]
    assert record.snapshot is None


def test_a_fallback_holds_no_word_of_the_draft() -> None:
    """A fallback is written from the snapshot alone; the draft stays private."""
    agent = [asking({}), drafting("ZX-MARK", citing(1), recommendations=["ZX-DO"])]
    client = RecordingClient()
    made = harness(agent, _source(), semantic_guard=Script([UNSUPPORTED]))
    record = made.run("why?", client=client).record
    assert "pool size 5" in record.public.text  # type: ignore[union-attr]
    assert "ZX" not in repr(client.events)
    assert record.gates.draft is agent[1].draft
    assert record.snapshot is not None


@pytest.mark.parametrize("conclusion", [None, "", " \n"])
def test_no_conclusion(conclusion: str | None) -> None:
    """A draft without a conclusion is no error, and passes no gate."""
    guard = Script([])
    record = (
        harness([asking({}), drafting(conclusion)], _source(), semantic_guard=guard).run("w").record
    )
    assert record.stop_cause is StopCause.NO_CONCLUSION
    assert (record.gates.checks, record.gates.verdict, guard.calls) == (0, None, [])


def test_missing_context_without_facts() -> None:
    """Where nothing was collected, missing context still makes a fallback that names it."""
    record = harness([drafting(None, missing_context=["tenant"])]).run("why?").record
    assert record.missing_context == ("tenant",)
    assert "- Provide `tenant`.\n" in record.public.text  # type: ignore[union-attr]


# --- routing and context (section 3.4)

DIAGNOSIS, GENERAL = Route(Intent.DIAGNOSIS), Route(Intent.GENERAL)


@pytest.mark.parametrize(
    ("context", "missing"),
    [
        (None, ("service", "time_range")),
        ({"service": "pay"}, ("time_range",)),
        ({"service": " \t", "time_range": "10:00"}, ("service",)),
        ({"service": "pay", "time_range": "10:00"}, ()),
        ({"Service": "pay", "time_range": "10:00"}, ("service",)),
    ],
)
def test_required_context(context: dict[str, str] | None, missing: tuple[str, ...]) -> None:
    """Required context is checked before the agent is asked; blank counts as missing."""
    made = harness([NULL], required_context=["service", "time_range"])
    record = made.run("why?", context=context).record
    assert record.missing_context == missing
    assert record.used.model_attempts == (not missing)


def test_the_router_is_asked_first() -> None:
    """What the router misses and what is declared is named together, each once, in this order."""
    router = Script([Route(Intent.DIAGNOSIS, ("tenant", "service"))])
    made = harness([], router=router, required_context=["service", "window"])
    record = made.run("why?").record
    assert record.missing_context == ("tenant", "service", "window")
    assert record.intent is Intent.DIAGNOSIS
    assert [call[0] for call in router.calls] == [record.request]


def test_a_general_request_needs_no_context() -> None:
    """What is required of a diagnosis is not required of a general request."""
    made = harness(
        [], router=Script([GENERAL]), responder=Script(["hello"]), required_context=["service"]
    )
    record = made.run("hi").record
    assert (record.intent, record.public.text) == (Intent.GENERAL, "hello")  # type: ignore[union-attr]
    assert record.public.kind is PublicKind.REPLY  # type: ignore[union-attr]


@pytest.mark.parametrize("value", [GENERAL, "DIAGNOSIS", None, Intent.DIAGNOSIS, {"intent": 1}])
def test_what_is_no_route(value: Any) -> None:
    """Without a responder a GENERAL route is INVALID_OUTPUT like anything that is no route."""
    router = Script([value, value])
    record = harness([], router=router).run("why?").record
    assert record.stop_cause is StopCause.ROUTER_UNAVAILABLE
    assert [one.failure.name for one in record.attempts] == ["INVALID_OUTPUT"] * 2  # type: ignore[union-attr]
    assert record.intent is None


def test_without_a_router() -> None:
    """Without a router every request is a diagnosis from the start."""
    record = harness([TransportError()]).run("why?").record
    assert record.intent is Intent.DIAGNOSIS


@pytest.mark.parametrize("reply", ["", "  ", None, 5, b"hello"])
def test_what_is_no_reply(reply: Any) -> None:
    """A reply is text that is not blank, asked for once."""
    responder = Script([reply])
    record = harness([], router=Script([GENERAL]), responder=responder).run("hi").record
    assert record.stop_cause is StopCause.RESPONDER_UNAVAILABLE
    assert len(responder.calls) == 1


def test_a_reply_is_bounded_and_repaired() -> None:
    """A reply is bounded like a tool's result, and repaired before anybody sees it."""

    def reply(text: str) -> RunRecord:
        given = {"router": Script([GENERAL]), "responder": Script([text])}
        return harness([], limits=Limits(result_bytes=6), **given).run("hi").record

    assert reply("日本").public.text == "日本"  # type: ignore[union-attr]
    assert reply("日本x").stop_cause is StopCause.RESULT_TOO_LARGE
    assert reply("a\ud800").public.text == "a\ufffd"  # type: ignore[union-attr]


# --- late answers (section 3.1)


def _late_setup(where: str) -> tuple[Harness, Any]:
    """A harness in which each component can be told to do something while it is asked."""
    hook: list[Callable[[], Any]] = [lambda: None]

    def during(name: str, value: Any) -> Callable[..., Any]:
        def play(*_arguments: Any) -> Any:
            if name == where:
                hook[0]()
            return value

        return play

    script = Script([during("agent", asking({})), during("draft", drafting("x", citing(9)))])
    made = harness(
        script,
        Source(during("tool", "MARK")),
        router=during("router", DIAGNOSIS),
        repairer=during("repair", drafting("x", citing(1)).draft),
        semantic_guard=during("guard", SemanticVerdict.SUPPORTED),
        limits=Limits(deadline=10),
        clock=(clock := VirtualClock()),
    )
    return made, (hook, clock)


# Where a run is stopped: which attempts were made, and whether the tool's record was kept.
STOPPED = {
    "router": ("INTENT_ROUTER", 0),
    "agent": ("DIAGNOSIS_AGENT", 0),
    "tool": ("TOOL", 0),
    "draft": ("DIAGNOSIS_AGENT", 1),
    "repair": ("EVIDENCE_REPAIR", 1),
    "guard": ("SEMANTIC_GUARD", 1),
}


@pytest.mark.parametrize("where", STOPPED)
def test_a_cancel_during_a_call(where: str) -> None:
    """A cancel ends the run at once: the call's result is counted, traced, and used for nothing."""
    made, (hook, _) = _late_setup(where)
    token = CancelToken()
    hook[0] = lambda: token.cancel("enough")
    record = made.run("why?", cancel=token).record
    component, rows = STOPPED[where]
    assert ending(record) == ("CANCELLED", "CANCELLED_BY_CALLER", "CANCELLED", None)
    assert (record.cancel_reason, record.public.kind) == ("enough", PublicKind.NONE)  # type: ignore[union-attr]
    last = record.attempts[-1]
    assert (last.component.name, last.late, last.outcome.name) == (component, True, "SUCCEEDED")
    assert events_of(record, "LATE_RESULT_DISCARDED")[0].detail["component"] == component
    assert len(record.invocations) == rows
    assert record.events == (EventKind.METADATA, EventKind.STATUS, EventKind.DONE)


@pytest.mark.parametrize("where", STOPPED)
def test_a_deadline_during_a_call(where: str) -> None:
    """A deadline that passes during a call ends the run; only what was kept before is released."""
    made, (hook, clock) = _late_setup(where)
    hook[0] = lambda: clock.advance(10_000)
    record = made.run("why?").record
    component, rows = STOPPED[where]
    outcome = ReleaseOutcome.FALLBACK if rows else ReleaseOutcome.FAILED
    assert (record.run_state, record.release_outcome) == (RunState.TIMED_OUT, outcome)
    assert record.attempts[-1].late
    assert record.attempts[-1].component.name == component
    assert ("MARK" in record.public.text) is bool(rows)  # type: ignore[union-attr]


@pytest.mark.parametrize("where", STOPPED)
def test_a_cancel_after_the_deadline_is_a_time_out(where: str) -> None:
    """A cancel that comes after the deadline is a late signal, even where nobody had noticed."""
    made, (hook, clock) = _late_setup(where)
    token = CancelToken()
    hook[0] = lambda: (clock.advance(10_000), token.cancel("too late"))
    record = made.run("why?", cancel=token).record
    assert (record.stop_cause, record.cancel_reason) == (StopCause.DEADLINE_EXCEEDED, None)
    [late] = events_of(record, "LATE_SIGNAL")
    assert late.detail["cause"] == "CANCELLED_BY_CALLER"


@pytest.mark.parametrize("where", STOPPED)
def test_a_deadline_after_a_cancel_is_late(where: str) -> None:
    """A deadline that passes after a cancel changes nothing and is traced."""
    made, (hook, clock) = _late_setup(where)
    token = CancelToken()
    hook[0] = lambda: (token.cancel("enough"), clock.advance(10_000))
    record = made.run("why?", cancel=token).record
    assert record.stop_cause is StopCause.CANCELLED_BY_CALLER
    [late] = events_of(record, "LATE_SIGNAL")
    assert late.detail["cause"] == "DEADLINE_EXCEEDED"


@pytest.mark.parametrize("where", STOPPED)
def test_a_cancelled_run_reads_no_store(where: str) -> None:
    """A cancelled run publishes nothing, so that nothing is read back for it."""
    made, (hook, _) = _late_setup(where)
    token = CancelToken()
    store = made.canonical_store

    def cancel_and_break() -> None:
        token.cancel()
        store.load = None  # type: ignore[assignment, method-assign]

    hook[0] = cancel_and_break
    assert made.run("why?", cancel=token).record.release_outcome is ReleaseOutcome.CANCELLED


# --- faults of the harness itself


def test_an_internal_fault_fails_closed() -> None:
    """A fault of an id source ends the run, publishes a stable code, and is told in the trace."""
    record = _broken_ids().run("why?").record
    assert record.failure_code == "INTERNAL_ERROR"
    [fault] = events_of(record, "INTERNAL_FAULT")
    assert fault.detail == {"error": "OSError", "detail": "no ids"}


def test_an_internal_fault_without_words() -> None:
    """A fault whose text cannot be had is a fault all the same."""

    class Odd(Exception):  # noqa: N818  any exception
        def __str__(self) -> str:
            raise self

    made = harness(GOOD, _source(), ids=Script(["run", Odd()]))
    [fault] = events_of(made.run("why?").record, "INTERNAL_FAULT")
    assert fault.detail == {"error": "Odd", "detail": ""}


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt(), SystemExit(1)])
def test_an_interrupt_between_two_calls(interrupt: BaseException) -> None:
    """An interrupt that hits the harness itself ends the run as one, after the record is saved."""
    made = harness(GOOD, _source(), ids=Script([interrupt]))
    with pytest.raises(type(interrupt)):
        made.run("why?", run_id="run")
    saved = made.run_store.load("run")
    assert saved is not None
    assert ending(saved) == ("CANCELLED", "INTERRUPTED", "CANCELLED", None)


def test_a_clock_that_breaks() -> None:
    """A clock that breaks under way ends the run as an internal error, saved and published."""

    class Breaking(VirtualClock):
        readings = 0

        def monotonic(self) -> float:
            self.readings += 1
            if self.readings > 6:
                raise OSError
            return super().monotonic()

    record = harness(GOOD, _source(), clock=Breaking()).run("why?").record
    assert (record.stop_cause, record.record_saved) == (StopCause.INTERNAL_ERROR, True)
    assert record.events[-1] is EventKind.DONE


def test_trust_lost_while_the_snapshot_is_read() -> None:
    """A store that fails while the snapshot is read leaves the cause and takes the trust."""

    class Forgetting(MemoryCanonicalStore):
        reads = 0

        def load(self, invocation_id: str) -> Any:
            self.reads += 1
            return None if self.reads > 1 else super().load(invocation_id)

    made = harness([asking({}), NULL], _source(), canonical_store=Forgetting())
    record = made.run("why?").record
    assert ending(record) == ("FAILED", "NO_CONCLUSION", "FAILED", None)
    assert (record.failure_code, record.snapshot) == ("NO_CONCLUSION", None)
    assert record.release_rule == "trust-lost-after-a-safe-ending"


@pytest.mark.parametrize("fault", [OSError("disk"), KeyboardInterrupt()])
def test_a_store_that_raises_while_the_snapshot_is_read(fault: BaseException) -> None:
    """An error or an interrupt there publishes a failure; the interrupt goes on to the caller."""

    class Raising(MemoryCanonicalStore):
        reads = 0

        def load(self, invocation_id: str) -> Any:
            self.reads += 1
            if self.reads > 1:
                raise fault
            return super().load(invocation_id)

    made = harness([asking({}), NULL], _source(), canonical_store=Raising())
    if isinstance(fault, Exception):
        record = made.run("why?").record
    else:
        with pytest.raises(KeyboardInterrupt):
            made.run("why?", run_id="run")
        record = made.run_store.load("run")  # type: ignore[assignment]
    assert ending(record) == ("FAILED", "NO_CONCLUSION", "FAILED", None)


def test_only_ready_records_are_read_back() -> None:
    """The snapshot is made of what is READY; a failed call is a limitation of it."""
    tools = (Source("pool size 5", TimeoutError()),)
    record = harness([asking({"n": 1}, {"n": 2}), NULL], *tools).run("why?").record
    snapshot = record.snapshot
    assert snapshot is not None
    assert (len(snapshot.facts), snapshot.limitations[0].code) == (1, record.invocations[1].code)
    assert record.fallback_type is FallbackType.INSUFFICIENT_EVIDENCE

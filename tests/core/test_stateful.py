"""
A whole run, with anything at any moment: the laws of the contract hold after each step.

The machine decides, call by call, what comes back: results, faults, interrupts, nonsense; in
between time passes, the caller cancels, and stores and the client fail. Whatever it did is then
played again to the synchronous driver, and must give the same record.
"""

from __future__ import annotations

import pickle
import re
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from itertools import count
from typing import Any, Final, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from harness import (
    AgentTurn,
    AttemptRecord,
    CanonicalRecord,
    Citation,
    Claim,
    DiagnosisDraft,
    Fact,
    FailureKind,
    Intent,
    Limits,
    OnDisconnect,
    Progress,
    ProgressMode,
    ProgressStatement,
    Route,
    RunRecord,
    SemanticVerdict,
    StopCause,
    ToolCall,
    Usage,
    UsageKind,
)
from harness._lifecycle import Stop
from harness._previous import is_previous_turn
from harness._release import write_fallback
from harness._seam import Aborted
from harness.codec import record_from_json, record_to_json
from harness.errors import ProviderError, RateLimitedError
from tests.core.stepped import ABSENT, COMPONENTS, Config, Replay, Step, Stepped

#: A state machine has longer examples than other tests; still ten times as many when thorough.
EXAMPLES: Final = settings().max_examples * (10 if settings().max_examples > 1000 else 2)

# Section 4, retyped: run state and release that can stand together.
PAIRS = {
    ("SUCCESS", "SUCCESS"),
    ("SUCCESS", "FALLBACK"),
    ("FAILED", "FALLBACK"),
    ("FAILED", "FAILED"),
    ("TIMED_OUT", "FALLBACK"),
    ("TIMED_OUT", "FAILED"),
    ("BUDGET_EXHAUSTED", "FALLBACK"),
    ("BUDGET_EXHAUSTED", "FAILED"),
    ("CANCELLED", "CANCELLED"),
}

# What each outcome sends to a client that stays.
ENDS = {
    "SUCCESS": "CONTENT DONE",
    "FALLBACK": "CONTENT DONE",
    "FAILED": "FAILURE DONE",
    "CANCELLED": "DONE",
}

# Attempts in a row that each component may make.
MOST = {"INTENT_ROUTER": 2, "RESPONDER": 1, "EVIDENCE_REPAIR": 1, "SEMANTIC_GUARD": 2}

# Written into whatever must stay inside; no name of a stage, a code or a kind holds one of them.
DRAFT, SECRET, FACT, REPLY = "ZxDraft", "ZxSecret", "ZxFact", "ZxReply"

LOAD, SAVE = "canonical_store.load", "canonical_store.save"
SITES = (
    *(SAVE, LOAD, "PROJECT", "client.send"),
    *("run_store.begin", "run_store.finish", "run_store.mark_delivered"),
)

# Wrong answers of those sites; None of ``finish`` says that it stored the record, and is none.
WRONG: dict[str, tuple[Any, Any]] = {
    LOAD: (None, "nonsense"),
    "PROJECT": (None, "nonsense"),
    "run_store.finish": (False, "nonsense"),
}

_Rule = TypeVar("_Rule", bound=Callable[..., Any])

# --- what can come back

_number = st.sampled_from([1, 1, 1, 2, 3, 9])
_citations = st.lists(
    st.builds(
        lambda n, fact, quote: Citation(f"E-id-2-{n}", fact, quote),
        _number,
        st.sampled_from([None, None, 1, 2]),
        st.sampled_from([None, None, FACT, "nowhere"]),
    ),
    max_size=3,
)
_statements = st.sampled_from(
    [
        None,
        ProgressStatement(Progress.NO_GAIN),
        ProgressStatement(Progress.GAINED, ("E-id-2-1.1", "E-id-2-2.1")),
        ProgressStatement(Progress.GAINED, ("E-id-2-3.1", "E-id-2-4.1", "E-id-2-5.1")),
        ProgressStatement(Progress.GAINED, ("nonsense",)),
    ]
)
_calls = st.lists(
    st.sampled_from(
        [
            ToolCall("logs", {"service": "pay"}, {"n": 1}),
            ToolCall("logs", {"service": "pay"}, {"n": 2}),
            ToolCall("logs", {"service": "pay"}, {"n": 3}),
            ToolCall("cfg", {"file": "app.ini"}),
            ToolCall("strict", None, {"q": "x"}),
            ToolCall("strict", None, {"q": 5}),
            ToolCall("logs", None, "{bad"),
            ToolCall("get_logz"),
        ]
    ),
    min_size=1,
    max_size=3,
)
_usages = st.sampled_from(
    [
        None,
        None,
        Usage(3, 4, Decimal("0.1")),
        Usage(5),
        Usage(-1),
        Usage(input_tokens=True),
        "12",
        Usage(30, 1),
    ]
)
_routes = st.sampled_from(
    [Route(Intent.DIAGNOSIS), Route(Intent.GENERAL), Route(Intent.DIAGNOSIS, ("tenant",))]
)
_nonsense = st.sampled_from([None, 5, "SUPPORTED", {"a": 1}, [1], b"x", float("nan"), AgentTurn()])
_errors = st.sampled_from(
    [
        lambda text: ProviderError(text, kind=FailureKind.TIMEOUT),
        lambda text: ProviderError(text, kind=FailureKind.INVALID_OUTPUT, usage=Usage(2, 2)),
        lambda text: ProviderError(text, kind=FailureKind.REJECTED),
        lambda text: RateLimitedError(text, retry_after=2),
        lambda text: RateLimitedError(text, retry_after=3600),
        ConnectionError,
        TimeoutError,
        ValueError,
        MemoryError,
        RecursionError,
        StopIteration,
    ]
)
_interrupts = st.sampled_from([KeyboardInterrupt, SystemExit, GeneratorExit])
_happenings = st.sampled_from(
    [("time", 1), ("time", 4_000), ("time", 10_000), ("cancel", "enough"), ("wall", -3600)]
)
_limit = st.sampled_from([None, None, 0, 1, 2, 4])
_limits = st.builds(
    Limits,
    deadline=st.sampled_from([None, None, 0, 10, 30]),
    model_attempts=st.sampled_from([None, None, 1, 3, 6]),
    tool_calls=_limit,
    tokens=st.sampled_from([None, None, None, 10, 40]),
    evidence_bytes=st.sampled_from([None, None, None, 0, 20]),
    cost=st.sampled_from([None, None, None, Decimal("0.2")]),
    result_bytes=st.sampled_from([None, 200]),
    draft_bytes=st.sampled_from([None, None, 120]),
    facts_per_result=st.sampled_from([None, 1]),
    no_gain=st.sampled_from([1, 3]),
    violations=st.sampled_from([1, 2]),
    release_reserve=st.sampled_from([0, 0, 2]),
)
_configs = st.builds(
    Config,
    router=st.booleans(),
    responder=st.booleans(),
    repairer=st.booleans(),
    backoff=st.sampled_from([0.0, 1.5]),
    limits=_limits,
    parent=st.sampled_from([None, None, 4]),
    progress=st.sampled_from(ProgressMode),
    on_disconnect=st.sampled_from(OnDisconnect),
    distinguish=st.booleans(),
    required=st.sampled_from([(), (), (), ("service",)]),
    client=st.booleans(),
)


def _waits_for(*components: str) -> Callable[[_Rule], _Rule]:
    """Whether the run waits for one of these components, or for any."""
    return precondition(
        lambda self: (
            self.stepped.waiting is not None
            and (not components or self.stepped.waiting in components)
        )
    )


class WholeRun(RuleBasedStateMachine):
    """One run of one harness."""

    stepped: Stepped

    @initialize(config=_configs, early=st.lists(_happenings, max_size=1))
    def begin(self, config: Config, early: list[tuple[str, Any]]) -> None:
        self.config = config
        self.marks = count(1)
        self.first_stop: Any = None
        self.stepped = Stepped(config)
        for kind, value in early:
            self.stepped.plan("run_store.begin", Step(before=((kind, value),)))
        self.stepped.begin()

    def _mark(self, kind: str) -> str:
        return f"{kind}-{next(self.marks)}."

    # --- answers

    @_waits_for("INTENT_ROUTER")
    @rule(route=_routes, usage=_usages)
    def the_router_answers(self, route: Route, usage: Any) -> None:
        self.stepped.answer(Step(route, usage=usage))

    @_waits_for("RESPONDER")
    @rule(blank=st.booleans(), usage=_usages)
    def the_responder_answers(self, blank: bool, usage: Any) -> None:
        self.stepped.answer(Step(" " if blank else self._mark(REPLY), usage=usage))

    @_waits_for("DIAGNOSIS_AGENT")
    @rule(calls=_calls, statement=_statements, usage=_usages)
    def the_agent_asks(self, calls: list[ToolCall], statement: Any, usage: Any) -> None:
        self.stepped.answer(Step(AgentTurn(tuple(calls), None, statement), usage=usage))

    def _draft(
        self, concludes: bool, citations: list[Citation], claims: list[Any]
    ) -> DiagnosisDraft:
        mark = self._mark(DRAFT)
        return DiagnosisDraft(
            f"the pool ran out {mark}" if concludes else None,
            tuple(citations),
            tuple(Claim(f"claim {mark}", tuple(cited)) for cited in claims),
            (f"do {mark}",),
            () if concludes else ("tenant",) * len(claims),
        )

    @_waits_for("DIAGNOSIS_AGENT", "EVIDENCE_REPAIR")
    @rule(
        concludes=st.sampled_from([True, True, True, False]),
        citations=_citations,
        claims=st.lists(_citations, max_size=1),
        usage=_usages,
    )
    def somebody_drafts(
        self, concludes: bool, citations: list[Citation], claims: list[Any], usage: Any
    ) -> None:
        draft = self._draft(concludes, citations, claims)
        repairs = self.stepped.waiting == "EVIDENCE_REPAIR"
        self.stepped.answer(Step(draft if repairs else AgentTurn(draft=draft), usage=usage))

    @_waits_for("SEMANTIC_GUARD")
    @rule(verdict=st.sampled_from(SemanticVerdict), usage=_usages)
    def the_guard_judges(self, verdict: SemanticVerdict, usage: Any) -> None:
        self.stepped.answer(Step(verdict, usage=usage))

    @_waits_for("TOOL")
    @rule(facts=st.integers(0, 2), sourced=st.booleans())
    def the_tool_finds(self, facts: int, sourced: bool) -> None:
        texts = [self._mark(FACT) for _ in range(facts)]
        found = [Fact(text, "a.log:7") for text in texts] if sourced else texts
        self.stepped.answer(Step(found))

    @_waits_for("TOOL")
    @rule(
        value=st.sampled_from(
            [f"{FACT} known", "x" * 300, {"hits": []}, None, f"{FACT} \ud800", [None]]
        )
    )
    def the_tool_answers(self, value: Any) -> None:
        self.stepped.answer(Step(value))

    # --- faults

    @_waits_for()
    @rule(error=_errors, usage=_usages)
    def somebody_fails(self, error: Any, usage: Any) -> None:
        self.stepped.answer(Step(error=error(self._mark(SECRET)), usage=usage))

    @_waits_for()
    @rule(error=_interrupts)
    def somebody_is_interrupted(self, error: Any) -> None:
        self.stepped.answer(Step(error=error()))

    @_waits_for()
    @rule(value=_nonsense, usage=_usages)
    def somebody_answers_nonsense(self, value: Any, usage: Any) -> None:
        self.stepped.answer(Step(value, usage=usage))

    @_waits_for()
    @rule(happening=_happenings)
    def something_happens(self, happening: tuple[str, Any]) -> None:
        self.stepped.happen(*happening)

    @_waits_for()
    @rule(site=st.sampled_from(SITES), error=_errors | _interrupts, answers=st.integers(0, 5))
    def something_will_fail(self, site: str, error: Any, answers: int) -> None:
        if site in WRONG and answers < 2:
            self.stepped.plan(site, Step(WRONG[site][answers]))
            return
        made = error() if error in (KeyboardInterrupt, SystemExit, GeneratorExit) else None
        self.stepped.plan(site, Step(error=made or error(self._mark(SECRET))))

    @_waits_for()
    @rule(site=st.sampled_from(SITES), happening=_happenings)
    def something_will_happen(self, site: str, happening: tuple[str, Any]) -> None:
        self.stepped.plan(site, Step(before=(happening,)))

    # --- behind the end

    @precondition(lambda self: self.stepped.waiting is None)
    @rule(reason=st.sampled_from(["", "too late"]))
    def a_cancel_comes_too_late(self, reason: str) -> None:
        before = pickle.dumps(self.stepped.record)
        assert not self.stepped.world.token.cancel(reason)
        assert pickle.dumps(self.stepped.record) == before

    # --- laws of every moment

    @invariant()
    def the_first_terminal_state_stays(self) -> None:
        stopped = self.stepped.run.life.stopped
        if self.first_stop is not None:
            assert stopped is self.first_stop
        self.first_stop = stopped

    @invariant()
    def counted_limits_are_never_passed(self) -> None:
        used, limits = self.stepped.run.budget.used, self.config.limits
        for name in ("model_attempts", "tool_calls"):
            limit = getattr(limits, name)
            assert limit is None or getattr(used, name) <= limit
        if self.stepped.parent is not None:
            assert self.stepped.parent.used.model_attempts == used.model_attempts <= 4

    @invariant()
    def the_order_of_events_is_legal(self) -> None:
        sent = " ".join(event.kind.name for event in self.stepped.world.events)
        assert re.fullmatch(r"(METADATA( STATUS)*( (CONTENT|FAILURE))?( DONE)?)?", sent)

    @invariant()
    def nothing_private_is_sent(self) -> None:
        sent = repr([e for e in self.stepped.world.events if e.kind.name != "CONTENT"])
        assert not any(mark in sent for mark in (DRAFT, SECRET, FACT, REPLY))

    # --- laws of the ending

    def teardown(self) -> None:
        """End the run where it has not ended, then hold its ending against every law."""
        if not hasattr(self, "stepped"):
            return
        while self.stepped.waiting is not None:
            self.stepped.answer(Step(error=ProviderError(kind=FailureKind.REJECTED)))
        self.the_first_terminal_state_stays()
        self.the_order_of_events_is_legal()
        check_ending(self.config, self.stepped)


# --- the laws


def check_ending(config: Config, stepped: Stepped) -> None:
    """Hold an ended run against every law of the contract."""
    record, world = stepped.record, stepped.world
    assert record is not None
    check_states(record)
    check_accounts(record, stepped)
    check_attempts(record)
    check_stream(config, record, world.events)
    check_publicity(record, stepped)
    check_store(record, stepped)
    check_json(record)
    check_replay(config, record, stepped)


def check_states(record: RunRecord) -> None:
    """One terminal state, in a legal pair, told once in the trace."""
    pair = (record.run_state.name, record.release_outcome.name)  # type: ignore[union-attr]
    assert pair in PAIRS or (not record.record_saved and pair[1] == "FAILED")
    codes = Counter(code.name for code in record.trace.codes)
    assert codes["RUN_STARTED"] == codes["RUN_ENDED"] == codes["RELEASE_DECIDED"] == 1
    assert codes["RUN_SAVED"] == record.record_saved
    assert codes["STOP_REQUIRED"] <= 1
    assert codes["INTERNAL_FAULT"] == 0
    assert [event.sequence for event in record.trace] == [*range(1, len(record.trace) + 1)]
    assert [event.at for event in record.trace] == sorted(event.at for event in record.trace)
    told = record.collection_state.name in ("DRAFTING", "TERMINATED")
    assert not told or record.stop_reason is not None


def check_accounts(record: RunRecord, stepped: Stepped) -> None:
    """Every call outward is accounted once: in attempts, in the budget and in the trace."""
    made = Counter(site for site, _ in stepped.world.log if site in COMPONENTS)
    attempts = Counter(component.name for component in record.attempts.components)
    refused = [
        event
        for event in record.trace
        if event.code.name == "ATTEMPT_FAILED"
        and event.detail["error"] in ("UNKNOWN_TOOL", "INVALID_ARGUMENTS")
    ]
    assert attempts == made + Counter(TOOL=len(refused))
    used = record.used
    assert used.tool_calls == attempts["TOOL"]
    assert used.model_attempts == sum(attempts.values()) - attempts["TOOL"]
    models = [one for one in record.attempts if one.component.name != "TOOL"]
    assert used.tokens == sum(one.tokens for one in models)
    assert used.cost == sum(one.cost for one in models)
    assert used.unknown_usage == sum(one.usage is not UsageKind.REPORTED for one in models)
    assert used.evidence_bytes == sum(row.byte_count for row in record.invocations)
    codes = Counter(code.name for code in record.trace.codes)
    finished = codes["ATTEMPT_FINISHED"] + codes["ATTEMPT_FAILED"]
    assert codes["ATTEMPT_STARTED"] == finished == len(record.attempts)
    rows = [
        row for row in record.invocations if row.code is None or row.code.name != "STORE_FAILED"
    ]
    assert codes["RECORD_SAVED"] == len(rows)


def check_attempts(record: RunRecord) -> None:
    """Attempts are numbered, last no negative time, and none follows the end of the run."""
    seen: Counter[str] = Counter()
    for attempt in record.attempts:
        name = attempt.component.name
        seen[name] += 1
        assert attempt.number == seen[name]
        assert attempt.seconds >= 0
        assert seen[name] <= MOST.get(name, seen[name])
    late = [attempt.late for attempt in record.attempts]
    assert not any(late[:-1])
    assert _outcomes_are_whole(record.attempts)


def _outcomes_are_whole(attempts: Any) -> bool:
    def whole(one: AttemptRecord) -> bool:
        return (one.outcome.name == "FAILED") is (one.failure is not None)

    return all(map(whole, attempts))


def check_stream(config: Config, record: RunRecord, events: list[Any]) -> None:
    """The client got what the record says, as far as it stayed."""
    if config.client:
        assert [event.kind for event in events] == list(record.events)
    ends = ENDS[record.release_outcome.name]  # type: ignore[union-attr]
    sent = " ".join(kind.name for kind in record.events)
    whole = re.compile(rf"METADATA( STATUS)+ {ends}")
    stayed = not any(code.name == "CLIENT_GONE" for code in record.trace.codes)
    assert bool(whole.fullmatch(sent)) or not stayed
    assert record.delivered is bool({"CONTENT", "FAILURE"} & {*sent.split()})
    for event in events:
        if event.kind.name == "DONE":
            assert event.data["outcome"] == record.release_outcome.name  # type: ignore[union-attr]
        if event.kind.name == "CONTENT":
            assert record.record_saved
            assert event.data["text"] == record.public.text  # type: ignore[union-attr]


def check_publicity(record: RunRecord, stepped: Stepped) -> None:
    """Only what was approved is public; a fallback's text is a function of its snapshot."""
    public = record.public
    assert public is not None
    outside = repr((public, record.snapshot, stepped.world.events))
    shown = repr(stepped.world.shown)
    assert SECRET not in outside + shown
    report = public.kind.name == "REPORT"
    assert (DRAFT in outside) is report
    if report:
        assert public.draft is record.gates.draft
        assert record.gates.verdict is SemanticVerdict.SUPPORTED
    assert REPLY not in outside or record.intent is Intent.GENERAL
    for mark in _lost_facts(record, stepped):
        assert mark not in outside + shown
    if record.snapshot is not None and record.fallback_type is not None:
        copy = pickle.loads(pickle.dumps(record.snapshot))  # noqa: S301
        assert write_fallback(record.fallback_type, copy) == public.text
    if public.kind.name in ("FAILURE", "NONE"):
        assert (public.text, public.sources, public.limitations) == ("", (), ())
    assert is_previous_turn(record) is (report and record.delivered)


def _lost_facts(record: RunRecord, stepped: Stepped) -> set[str]:
    """The marks of facts that came too late, or that could not be stored."""
    kept: set[str] = set()
    store: Any = stepped.harness.canonical_store
    for one in store._records.values():
        if isinstance(one, CanonicalRecord) and one.invocation in record.invocations:
            kept |= {fact.text for fact in one.facts}
    found = re.findall(
        rf"{FACT}-\d+\.", repr([step.answer for site, step in stepped.world.log if site == "TOOL"])
    )
    return set(found) - kept


def check_store(record: RunRecord, stepped: Stepped) -> None:
    """What the run store has is what the record says."""
    store: Any = stepped.harness.run_store
    stored = store._records.get(record.run_id)
    if record.record_saved:
        assert stored is not None
        assert (stored.run_state, stored.public) == (record.run_state, record.public)
    elif stored is not None and stored.run_state.name != "RUNNING":
        # the store may have stored it before it failed
        assert stored.stop_cause is record.stop_cause


def check_json(record: RunRecord) -> None:
    """The record survives JSON: the same value, and the same bytes when it is written again."""
    text = record_to_json(record)
    again = record_from_json(text)
    assert again == record
    assert record_to_json(again).encode() == text.encode()


def check_replay(config: Config, record: RunRecord, stepped: Stepped) -> None:
    """The same script gives the same record, the same events and the same interrupt."""
    replay = Replay(config, stepped.world.log)
    again, interrupt = replay.run()
    assert not replay.left
    assert again == record
    assert replay.world.events == stepped.world.events
    raised = [step.error for _, step in stepped.world.log if step.error is not None]
    interrupts = [error for error in raised if not isinstance(error, Exception)]
    assert interrupt is stepped.run.interrupt
    assert interrupt is (interrupts[0] if interrupts else None)


@pytest.mark.parametrize("steps", [20])
def test_property_state_machine_over_a_whole_run(steps: int) -> None:
    """Whatever comes back, in whatever order, every law of the contract holds."""
    run_state_machine_as_test(
        WholeRun, settings=settings(max_examples=EXAMPLES, stateful_step_count=steps)
    )


def test_the_first_interrupt_goes_on() -> None:
    """The first interrupt of a run is the caller's; a call that was cut short raised none."""
    stepped = Stepped(Config())
    stepped.begin()
    run = stepped.run
    run.interrupted(Aborted())
    assert (run.interrupt, run.life.stopped) == (None, None)
    first = KeyboardInterrupt()
    run.interrupted(first)
    run.interrupted(SystemExit())
    assert run.interrupt is first
    assert run.life.stopped == Stop(StopCause.INTERRUPTED, 0.0)
    assert run.life.late == [Stop(StopCause.INTERRUPTED, 0.0)]
    stepped.answer(Step(AgentTurn()))
    assert stepped.record is not None
    assert stepped.record.stop_cause is StopCause.INTERRUPTED


def test_a_step_leaves_the_host_object_alone() -> None:
    """A step without an answer of its own does what the host object does."""
    assert Step().answer is ABSENT

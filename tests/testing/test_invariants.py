"""Each invariant is told a lie about a real run, and finds it."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from attrs import evolve

from harness import (
    CollectionState,
    EventKind,
    EvidenceStatus,
    Fact,
    FailureKind,
    FallbackType,
    Limits,
    ReleaseOutcome,
    RunRecord,
    RunState,
    SemanticVerdict,
    StopCause,
    StreamEvent,
)
from harness._records import Attempts, SnapshotFact, Trace
from harness._values import Answered
from harness.errors import InvalidArgumentError, RunExistsError
from harness.testing._hostile import CHANGED, FLAWS
from harness.testing.faults import SECRET, Call
from harness.testing.invariants import INVARIANTS, Observation, check_invariants
from tests.testing.stages import (
    ELSEWHERE,
    FAILURE,
    LEAVING,
    MISSING,
    REFUSED,
    REPLY,
    REPORT,
    SATURATED,
    UNAVAILABLE,
    UNSAVED,
    broken,
    called,
    forged,
    last_call,
    lying,
    observed,
    record_of,
    without,
)

Lie = Callable[[Observation], Observation]

_RUNS: dict[str, Observation] = {
    name: observed(scenario)
    for name, scenario in {
        "report": REPORT,
        "refused": REFUSED,
        "leaving": LEAVING,
        "reply": REPLY,
        "failure": FAILURE,
        "unsaved": UNSAVED,
        "elsewhere": ELSEWHERE,
        "unavailable": UNAVAILABLE,
        "missing": MISSING,
        "saturated": SATURATED,
    }.items()
}


def _says(**fields: Any) -> Lie:
    return lambda run: lying(run, **fields)


def _came_to(site: str, nth: int = 1, **fields: Any) -> Lie:
    return lambda run: called(run, site, nth, **fields)


def _lacks(place: str) -> Lie:
    return lambda run: without(run, place)


def _more(site: str, **fields: Any) -> Lie:
    """The last call somewhere was made once more, at the end."""

    def lie(run: Observation) -> Observation:
        last = last_call(run, site)
        number = len(run.calls) + 1
        more = Call(number, site, f"{site}:9", last.arguments, last.began, last.cancelled)
        more.returned, more.value = last.returned, last.value
        for name, value in fields.items():
            setattr(more, name, value)
        return evolve(run, calls=[*run.calls, more])

    return lie


def _traced(*changes: Callable[[list[Any]], list[Any]]) -> Lie:
    """The trace has other events."""

    def lie(run: Observation) -> Observation:
        raw: list[Any] = list(record_of(run).trace._raw)
        for change in changes:
            raw = change(raw)
        return lying(run, trace=Trace(raw))

    return lie


def _attempted(place: int, field: int, value: Any) -> Lie:
    """One field of an attempt's account differs."""

    def lie(run: Observation) -> Observation:
        raw = [list(account) for account in record_of(run).attempts._raw]
        raw[place][field] = value
        return lying(run, attempts=Attempts(map(tuple, raw)))

    return lie


def _attempts_of(*places: int) -> Lie:
    """The attempts are those at some places."""

    def lie(run: Observation) -> Observation:
        raw = record_of(run).attempts._raw
        return lying(run, attempts=Attempts([raw[place] for place in places]))

    return lie


def _used(**fields: Any) -> Lie:
    return lambda run: lying(run, used=evolve(record_of(run).used, **fields))


def _limited(**fields: Any) -> Lie:
    return lambda run: lying(run, limits=Limits(**{"deadline": None, **fields}))


def _row(**fields: Any) -> Lie:
    """The first invocation's row differs."""

    def lie(run: Observation) -> Observation:
        first, *rest = record_of(run).invocations
        return lying(run, invocations=(forged(first, **fields), *rest))

    return lie


def _sent(kind: EventKind, number: int = -1, **data: Any) -> Lie:
    """An event that was sent carried something else."""

    def lie(run: Observation) -> Observation:
        sends = [c for c in run.calls if c.site == "client.send" and c.arguments[0].kind is kind]
        event = sends[number].arguments[0]
        place = int(sends[number].place.rpartition(":")[2])
        other = StreamEvent(kind, {**event.data, **data})
        return called(run, "client.send", place, arguments=(other,))

    return lie


def _draft(**fields: Any) -> Lie:
    """The published draft differs, and was handed in as it is."""

    def lie(run: Observation) -> Observation:
        record = record_of(run)
        assert record.public is not None
        draft = forged(record.public.draft, **fields)
        turn = forged(last_call(run, "agent").value, draft=draft)
        run = lying(run, public=forged(record.public, draft=draft))
        return called(run, "agent", 2, value=turn)

    return lie


def _cited(**fields: Any) -> Lie:
    """The first citation of the published draft differs."""

    def lie(run: Observation) -> Observation:
        record = record_of(run)
        assert record.public is not None
        assert record.public.draft is not None
        citation = forged(record.public.draft.citations[0], **fields)
        return _draft(citations=(citation,))(run)

    return lie


def _snapshot(**fields: Any) -> Lie:
    return lambda run: lying(run, snapshot=forged(record_of(run).snapshot, **fields))


def _stored(**fields: Any) -> Lie:
    return lambda run: evolve(run, stored=forged(run.stored, **fields))


def _all(*lies: Lie) -> Lie:
    def lie(run: Observation) -> Observation:
        for one in lies:
            run = one(run)
        return run

    return lie


def _again(code: str) -> Callable[[list[Any]], list[Any]]:
    return lambda raw: [*raw, *[event for event in raw if event[0].name == code]]


def _dropped(code: str) -> Callable[[list[Any]], list[Any]]:
    return lambda raw: [event for event in raw if event[0].name != code]


def _changed_record(run: Observation) -> Observation:
    record = last_call(run, "canonical_store.save").arguments[0]
    other = evolve(record, facts=(Fact(CHANGED),))
    return called(run, "canonical_store.save", arguments=(other,))


def _cancelled_from(place: str) -> Lie:
    """The caller had cancelled before a call."""

    def lie(run: Observation) -> Observation:
        number = next(call.number for call in run.calls if call.place == place)
        for call in run.calls[number - 1 :]:
            site, _, nth = call.place.rpartition(":")
            run = called(run, site, int(nth), cancelled=True)
        return evolve(run, cancelled=True)

    return lie


_INTERRUPT = KeyboardInterrupt()
_RAISED: dict[str, Any] = {"returned": False, "error": _INTERRUPT}

#: Which run, which lie about it, which invariant is broken, and what it says.
_LIES: list[tuple[str, Lie, str, str]] = [
    # one-ending
    ("report", _says(run_state=RunState.RUNNING), "one-ending", "ended as RUNNING"),
    ("report", _more("run_store.finish"), "one-ending", "saved 2 times"),
    ("report", _traced(_again("RUN_ENDED")), "one-ending", "2 RUN_ENDED"),
    ("report", lambda run: evolve(run, stored=None), "one-ending", "has no record"),
    ("report", _stored(public=None), "one-ending", "the run store has another public"),
    # legal-states
    ("report", _says(release_outcome=ReleaseOutcome.FAILED), "legal-states", "SUCCESS with rel"),
    ("report", _says(stop_cause=StopCause.DEADLINE_EXCEEDED), "legal-states", "SUCCESS with cau"),
    ("refused", _says(run_state=RunState.FAILED), "legal-states", "something to release"),
    ("refused", _says(fallback_type=None), "legal-states", "fallback type None"),
    (
        "report",
        lambda run: lying(run, public=record_of(_RUNS["failure"]).public),
        "legal-states",
        "publishes FAILURE",
    ),
    ("saturated", _says(collection_state=CollectionState.COLLECTING), "legal-states", "collection"),
    ("report", _says(collection_state=CollectionState.DRAFTING), "legal-states", "stop reason"),
    ("report", _row(evidence_status=EvidenceStatus.ERROR), "legal-states", "invocation 1 is"),
    # draft-stays-private, reply-is-given, report-is-proven
    (
        "refused",
        _sent(EventKind.CONTENT, text="So: Pool exhausted."),
        "draft-stays-private",
        "of a draft was published in a FALLBACK",
    ),
    (
        "refused",
        _sent(EventKind.CONTENT, text="- The pool is small."),
        "draft-stays-private",
        "The pool is small.",
    ),
    ("reply", _came_to("responder", value="Bye."), "reply-is-given", "never gave"),
    ("report", _came_to("agent", 2, value=None), "report-is-proven", "nobody drafted"),
    (
        "report",
        _came_to("semantic_guard", value=Answered(value=SemanticVerdict.UNSUPPORTED)),
        "report-is-proven",
        "after the verdicts ['UNSUPPORTED']",
    ),
    (
        "report",
        _came_to("semantic_guard", value=FLAWS["deep"](0)),
        "report-is-proven",
        "after the verdicts ['list']",
    ),
    ("report", _draft(citations=()), "report-is-proven", "cites nothing"),
    ("report", _cited(fact_id=2), "report-is-proven", "does not hold"),
    ("report", _cited(quote="size 6"), "report-is-proven", "does not hold"),
    ("report", _lacks("canonical_store.save:1"), "report-is-proven", "does not hold"),
    # fallback-from-snapshot, findings-kept, secrets-stay-private
    ("refused", _says(snapshot=None), "fallback-from-snapshot", "exactly with a fallback"),
    ("refused", _snapshot(missing_context=("tenant",)), "fallback-from-snapshot", "not the text"),
    ("refused", _says(public=None), "fallback-from-snapshot", "not the text"),
    (
        "refused",
        _says(release_outcome=ReleaseOutcome.FAILED, snapshot=None, fallback_type=None),
        "findings-kept",
        "1 findings",
    ),
    (
        "refused",
        _says(fallback_type=FallbackType.INSUFFICIENT_EVIDENCE),
        "findings-kept",
        "released as INSUFFICIENT_EVIDENCE",
    ),
    (
        "missing",
        _says(fallback_type=FallbackType.INSUFFICIENT_EVIDENCE),
        "findings-kept",
        "MISSING_REQUIRED_CONTEXT was released",
    ),
    (
        "refused",
        _snapshot(facts=(SnapshotFact("logs", "never seen", ""),)),
        "findings-kept",
        "a fact that no record has",
    ),
    ("refused", _snapshot(facts=()), "findings-kept", "lost a fact"),
    ("refused", _snapshot(scopes=()), "findings-kept", "other scopes"),
    (
        "failure",
        _sent(EventKind.FAILURE, detail=SECRET),
        "secrets-stay-private",
        "an exception's text",
    ),
    ("report", _sent(EventKind.CONTENT, text=CHANGED), "secrets-stay-private", "CONTENT shows"),
    ("report", _changed_record, "secrets-stay-private", "a canonical record shows"),
    (
        "report",
        lambda run: lying(run, gates=forged(record_of(run).gates, draft=CHANGED)),
        "secrets-stay-private",
        "the kept draft",
    ),
    ("report", _says(run_id=object()), "survives-json", "Error"),
    (
        "report",
        _came_to("canonical_store.save", returned=False, error=OSError()),
        "store-is-trusted",
        "canonical_store.save:1 failed",
    ),
    (
        "report",
        _came_to("canonical_store.load", value=None),
        "store-is-trusted",
        "canonical_store.load:1 gave something else",
    ),
    # saved-before-public
    ("report", _lacks("run_store.finish:1"), "saved-before-public", "the store never took it"),
    ("unsaved", _sent(EventKind.FAILURE, code="X"), "saved-before-public", "FAILURE was sent"),
    ("report", _came_to("run_store.finish", number=99), "saved-before-public", "CONTENT was"),
    ("report", _sent(EventKind.CONTENT, text="x"), "saved-before-public", "other content"),
    (
        "report",
        lambda run: called(run, "run_store.finish", value=record_of(run)),
        "saved-before-public",
        "another process had ended",
    ),
    # events-in-order, delivery-is-known
    (
        "report",
        _came_to("client.send", 2, arguments=(StreamEvent(EventKind.METADATA),)),
        "events-in-order",
        "METADATA after METADATA",
    ),
    ("report", _sent(EventKind.STATUS, fact="secret"), "events-in-order", "STATUS carries"),
    ("report", _sent(EventKind.DONE, outcome="FAILED"), "events-in-order", "DONE carries FAILED"),
    ("report", _came_to("client.send", 2, returned=False), "events-in-order", "had gone"),
    ("report", _lacks("client.send:8"), "events-in-order", "got no DONE"),
    ("report", _came_to("run_store.begin", number=99), "events-in-order", "before the run was"),
    ("report", _says(events=()), "delivery-is-known", "other events"),
    ("report", _says(delivered=False), "delivery-is-known", "delivered = False"),
    (
        "failure",
        _all(_stored(delivered=True), _lacks("client.send:4"), _says(delivered=False)),
        "delivery-is-known",
        "the run store says",
    ),
    # nothing-else-leaves
    ("report", _came_to("tool", **_RAISED), "nothing-else-leaves", "KeyboardInterrupt of <call"),
    ("report", lambda run: evolve(run, record=None), "nothing-else-leaves", "gave no record"),
    ("report", lambda run: evolve(run, left=OSError("x")), "nothing-else-leaves", "OSError left"),
    (
        "report",
        lambda run: evolve(run, left=InvalidArgumentError("x", 1, "2")),
        "nothing-else-leaves",
        "InvalidArgumentError left",
    ),
    (
        "report",
        lambda run: evolve(run, left=RunExistsError("x", RunState.SUCCESS)),
        "nothing-else-leaves",
        "RunExistsError left",
    ),
    ("report", lambda run: evolve(run, left=_INTERRUPT), "nothing-else-leaves", "not the first"),
    (
        "report",
        _all(_came_to("tool", **_RAISED), lambda run: evolve(run, left=_INTERRUPT, record=None)),
        "nothing-else-leaves",
        "before its record was made",
    ),
    # calls-accounted
    ("report", _lacks("agent:1"), "calls-accounted", "DIAGNOSIS_AGENT: 1 calls, 2 attempts"),
    ("report", _lacks("tool:1"), "calls-accounted", "TOOL: 0 calls were executed and 0 refused"),
    ("report", _attempted(0, 1, 7), "calls-accounted", "not numbered in order"),
    ("report", _used(model_attempts=2), "calls-accounted", "model attempts: 2"),
    ("report", _used(tool_calls=2), "calls-accounted", "tool calls: 2"),
    ("report", _used(tokens=2), "calls-accounted", "tokens: 2"),
    ("report", _used(cost=Decimal(2)), "calls-accounted", "cost: 2"),
    ("report", _used(unknown_usage=0), "calls-accounted", "unknown usage: 0"),
    ("report", _used(evidence_bytes=2), "calls-accounted", "evidence bytes: 2"),
    ("report", _traced(_dropped("ATTEMPT_FINISHED")), "calls-accounted", "ends 0 of 4"),
    ("report", _came_to("agent", **_RAISED), "calls-accounted", "agent:1 INTERRUPTED, its"),
    (
        "failure",
        _attempted(0, 3, FailureKind.TRANSPORT),
        "calls-accounted",
        "failed as TIMEOUT, its attempt as",
    ),
    ("report", _attempted(0, 5, -1.0), "calls-accounted", "took -1.0 seconds"),
    # limits-kept, retries-by-policy, unsupported-is-final
    ("report", _limited(model_attempts=2), "limits-kept", "3 model attempts of 2"),
    ("report", _limited(tool_calls=0), "limits-kept", "1 tool calls of 0"),
    ("report", _limited(tokens=0), "limits-kept", "after 0 tokens of 0"),
    ("report", _limited(cost=0), "limits-kept", "after 0 spent of 0"),
    ("unavailable", _attempts_of(3, 4, 4), "retries-by-policy", "asked 3 times"),
    ("report", _attempts_of(3, 3), "retries-by-policy", "asked again after SUCCEEDED"),
    (
        "unavailable",
        _attempted(3, 3, FailureKind.REJECTED),
        "retries-by-policy",
        "asked again after REJECTED",
    ),
    ("failure", _attempts_of(0, 0), "retries-by-policy", "after it had failed"),
    ("refused", _more("semantic_guard"), "unsupported-is-final", "asked again after UNSUPPORTED"),
    (
        "refused",
        _says(release_outcome=ReleaseOutcome.SUCCESS),
        "unsupported-is-final",
        "had refused",
    ),
    # nothing-after-the-end, cancel-wins, interrupt-ends, first-signal-wins
    ("report", _cancelled_from("tool:1"), "nothing-after-the-end", "after the cancel"),
    ("report", _came_to("tool", began=1e9), "nothing-after-the-end", "after the deadline"),
    ("report", _came_to("agent", **_RAISED), "nothing-after-the-end", "after the interrupt"),
    ("report", _cancelled_from("clock.monotonic:10"), "cancel-wins", "ended as REPORT_APPR"),
    ("report", _says(stop_cause=StopCause.CANCELLED_BY_CALLER), "cancel-wins", "nobody canc"),
    ("report", _says(run_state=RunState.TIMED_OUT), "cancel-wins", "before its deadline"),
    ("report", _says(stop_cause=StopCause.INTERRUPTED), "interrupt-ends", "nobody interrupted"),
    ("report", _came_to("agent", **_RAISED), "interrupt-ends", "agent:1 interrupted the run"),
    (
        "report",
        _all(
            _cancelled_from("client.send:4"),
            _came_to("semantic_guard", **_RAISED),
            _says(stop_cause=StopCause.INTERRUPTED),
        ),
        "first-signal-wins",
        "CANCELLED_BY_CALLER came first, and the run ended as INTERRUPTED",
    ),
    (
        "leaving",
        _came_to("run_store.begin", returned=False, error=OSError()),
        "first-signal-wins",
        "RECORD_NOT_SAVED came first",
    ),
    # rows-and-records, saturated-stays
    (
        "report",
        lambda run: lying(run, invocations=record_of(run).invocations * 2),
        "rows-and-records",
        "not in order",
    ),
    (
        "report",
        lambda run: lying(run, invocations=record_of(run).invocations * 2),
        "rows-and-records",
        "2 rows of 1 calls",
    ),
    ("report", _row(byte_count=7), "rows-and-records", "has no record of its content"),
    ("report", _says(invocations=()), "rows-and-records", "has no row"),
    (
        "saturated",
        _traced(lambda raw: [*raw, *[e for e in raw if e[0].name == "ATTEMPT_STARTED"]]),
        "saturated-stays",
        "after collection was saturated",
    ),
]


@pytest.mark.parametrize("name", _RUNS)
def test_a_real_run_breaks_nothing(name: str) -> None:
    """Every invariant holds of the runs that the lies are told about."""
    assert broken(_RUNS[name]) == {}


@pytest.mark.parametrize(
    ("name", "lie", "invariant", "words"),
    _LIES,
    ids=[f"{name}-{invariant}-{words[:20]}" for name, _, invariant, words in _LIES],
)
def test_a_lie_is_found(name: str, lie: Lie, invariant: str, words: str) -> None:
    """What is wrong about a run breaks the invariant that forbids it, in words."""
    assert words in broken(lie(_RUNS[name])).get(invariant, "holds")


def test_every_invariant_has_a_lie() -> None:
    """No invariant is without a run that breaks it, and each says what it promises."""
    assert {invariant for _, _, invariant, _ in _LIES} == set(INVARIANTS)
    assert all(sentence.endswith((".", ").")) for sentence in INVARIANTS.values())


def test_a_wrong_status_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The status of the database row is compared with the contract's, not with the library's."""
    monkeypatch.setattr(RunRecord, "request_status", RunState.RUNNING)
    assert "request status RUNNING" in broken(_RUNS["report"])["legal-states"]


def test_a_record_that_comes_back_different_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What JSON loses is found."""
    other = forged(record_of(_RUNS["report"]), cancel_reason="lost")
    monkeypatch.setattr("harness.codec.record_from_json", lambda _text: other)
    assert broken(_RUNS["report"]) == {"survives-json": "the record that comes back differs; "}


_MANY = {
    **REFUSED,
    "name": "many",
    "tools": {"logs": [{"facts": [f"pool size 5, {number}" for number in range(60)]}]},
}
_DETACHED = {**LEAVING, "name": "detached", "on_disconnect": "DETACH"}
_INTERRUPTED = [f"clock.monotonic:{number}=raise:SystemExit" for number in range(1, 27)]


@pytest.mark.parametrize(
    ("scenario", "injection"),
    [
        *[(REPORT, injection) for injection in _INTERRUPTED],
        (REPORT, "tool:1=late"),
        (REPORT, "tool:1=cancel"),
        (REPORT, "tool:1=raise:GeneratorExit"),
        (REPORT, "tool:1=answer-lost"),
        (REPORT, "canonical_store.save:1=fail:TIMEOUT"),
        (REPORT, "run_store.begin:1=raise:KeyboardInterrupt"),
        (REPORT, "ids:1=fail:TIMEOUT"),
        (REPORT, "ids:1=raise:KeyboardInterrupt"),
        (REFUSED, "canonical_store.load:3=fail:TIMEOUT"),
        (REFUSED, "canonical_store.load:3=return:oversized"),
        (UNAVAILABLE, "classifier:1=raise:KeyboardInterrupt"),
        (LEAVING, "classifier:1=cancel"),
        (LEAVING, "classifier:1=raise:KeyboardInterrupt"),
        (_DETACHED, "agent:1=cancel"),
        (_MANY, "clock.utc:2=clock:backward"),
        (REPLY, "responder:1=return:surrogate"),
    ],
)
def test_the_truth_is_believed(scenario: dict[str, Any], injection: str) -> None:
    """A run that met a fault as the contract says breaks nothing."""
    assert broken(observed(scenario, injection)) == {}


def test_an_interrupt_after_the_deadline_is_no_failure_of_the_store() -> None:
    """A read that was interrupted too late ends the run as timed out, with what was verified."""
    faults = ("canonical_store.load:2=raise:SystemExit", "clock.monotonic:19=late")
    run = observed(REFUSED, *faults)
    assert broken(run) == {}
    assert record_of(run).release_outcome is ReleaseOutcome.FALLBACK
    assert isinstance(run.left, SystemExit)


def test_a_run_that_exists_may_leave() -> None:
    """The refusal of a run id that exists is the store's own error."""
    error = RunExistsError("run", RunState.SUCCESS)
    run = called(_RUNS["report"], "run_store.begin", returned=False, error=error)
    assert broken(evolve(run, left=error, record=None)) == {}


def test_a_run_without_a_clock_has_no_deadline() -> None:
    """What cannot be told is not held against a run: no clock, no deadline, nobody who cancels."""
    run = _RUNS["report"]
    untimed = evolve(run, calls=[c for c in run.calls if c.site != "clock.monotonic"])
    assert "nothing-after-the-end" not in broken(untimed)
    assert broken(evolve(run, deadline=None)) == {}


def test_what_is_known_is_not_checked_again() -> None:
    """An invariant can be left out."""
    run = lying(_RUNS["report"], run_id=object())
    assert "survives-json" in broken(run)
    assert check_invariants(run, skip={"survives-json"}) == ()

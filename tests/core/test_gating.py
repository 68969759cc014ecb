"""The two gates: evidence guard with one repair, then the semantic guard (section 3.7)."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from harness import (
    CanonicalRecord,
    Citation,
    Claim,
    DiagnosisDraft,
    FailureKind,
    Limits,
    RepairCase,
    RunRecord,
    SemanticCase,
    SemanticVerdict,
    StopCause,
    Usage,
    ViolationKind,
)
from harness.errors import ProviderError
from harness.stores.memory import MemoryCanonicalStore
from harness.testing import Script
from tests.core.doubles import (
    GOOD,
    Source,
    asking,
    citing,
    drafting,
    ending,
    events_of,
    evidence,
    harness,
)

PASSING = DiagnosisDraft("the pool ran out", [citing(1)])
UNCITED = drafting("the pool ran out")


def _drafted(draft: Any, **options: Any) -> RunRecord:
    """The record of a run that asks once and then drafts."""
    made = harness([asking({}), draft], Source("pool size 5"), **options)
    return made.run("why?").record


# --- the evidence guard


def test_a_draft_that_passes() -> None:
    """A draft whose every citation holds is judged by the semantic guard."""
    guard = Script([SemanticVerdict.SUPPORTED])
    record = _drafted(GOOD[1], semantic_guard=guard)
    case: SemanticCase = guard.calls[0][0]
    assert (case.conclusion, [fact.text for fact in case.facts]) == (
        "the pool ran out",
        ["pool size 5"],
    )
    gates = record.gates
    assert (gates.checks, gates.violations, gates.repaired) == (1, (), False)
    assert gates.verdict is SemanticVerdict.SUPPORTED
    assert events_of(record, "SEMANTIC_JUDGED")[0].detail["verdict"] == "SUPPORTED"


def test_violations_are_kept_and_traced() -> None:
    """A draft that breaks rules is refused; the record names each, the trace the first twenty."""
    claims = [Claim(f"claim {n}") for n in range(30)]
    record = _drafted(drafting("x", citing(9), claims=claims))
    assert record.stop_cause is StopCause.EVIDENCE_REJECTED
    assert len(record.gates.violations) == 31
    assert record.gates.violations[0].kind is ViolationKind.UNKNOWN_INVOCATION
    [checked] = events_of(record, "EVIDENCE_CHECKED")
    assert checked.detail["count"] == 31
    assert checked.detail["violations"] == ("UNKNOWN_INVOCATION", *["UNCITED"] * 19)


def test_an_id_of_another_run() -> None:
    """Evidence of another run proves nothing in this one, though the question is the same."""
    foreign: list[str] = []

    def agent(view: Any) -> Any:
        if not view.records:
            return asking({})
        cited = foreign or [view.records[0].invocation_id]
        foreign[:] = cited
        return drafting("the pool ran out", Citation(cited[0]))

    made = harness(agent, Source("pool size 5", repeat_last=True))
    first, second = made.run("why?").record, made.run("why?").record
    assert first.stop_cause is StopCause.REPORT_APPROVED
    assert second.stop_cause is StopCause.EVIDENCE_REJECTED
    assert [one.kind for one in second.gates.violations] == [ViolationKind.FOREIGN_RUN]


def test_a_call_that_failed_cannot_be_cited() -> None:
    """An invocation that ended in ERROR proves nothing."""
    made = harness([asking({}), GOOD[1]], Source(TimeoutError()))
    record = made.run("why?").record
    assert [one.kind for one in record.gates.violations] == [ViolationKind.NOT_READY]
    assert ending(record)[:3] == ("FAILED", "EVIDENCE_REJECTED", "FAILED")


# --- one repair


@pytest.mark.parametrize("second", [PASSING, UNCITED.draft])
def test_a_repair(second: DiagnosisDraft) -> None:
    """A repaired draft is checked again, once; its repairer saw violations and records."""
    repairer = Script([second])
    record = _drafted(UNCITED, repairer=repairer)
    case: RepairCase = repairer.calls[0][0]
    assert (case.draft, case.request) == (UNCITED.draft, record.request)
    assert [one.kind for one in case.violations] == [ViolationKind.UNCITED]
    assert [one.invocation_id for one in case.records] == ["E-id-2-1"]
    assert (record.gates.checks, record.gates.repaired) == (2, True)
    assert record.gates.draft is second
    passed = second is PASSING
    assert record.stop_cause is StopCause["REPORT_APPROVED" if passed else "EVIDENCE_REJECTED"]
    assert len(repairer.calls) == 1


def test_a_draft_that_passes_is_not_repaired() -> None:
    """A repair is for violations alone."""
    repairer = Script([])
    assert _drafted(GOOD[1], repairer=repairer).stop_cause is StopCause.REPORT_APPROVED
    assert repairer.calls == []


@pytest.mark.parametrize("kind", FailureKind)
def test_a_repair_that_fails(kind: FailureKind) -> None:
    """A repair that fails leaves the draft rejected, whatever the failure."""
    record = _drafted(UNCITED, repairer=Script([ProviderError("x", kind=kind)]))
    assert record.stop_cause is StopCause.EVIDENCE_REJECTED
    assert (record.gates.checks, record.gates.repaired) == (1, False)


@pytest.mark.parametrize(
    ("limits", "lacking"),
    [
        (Limits(model_attempts=2, release_reserve=0), "MODEL_ATTEMPTS"),
        (Limits(tokens=8), "TOKENS"),
        (Limits(cost=1), "COST"),
    ],
)
def test_no_budget_for_a_repair(limits: Limits, lacking: str) -> None:
    """Without budget for it the repair is skipped, and the draft is rejected."""
    repairer = Script([])
    turn = evolve(UNCITED, usage=Usage(4, 4, 1))
    record = _drafted(turn, repairer=repairer, limits=limits)
    assert (record.stop_cause, repairer.calls) == (StopCause.EVIDENCE_REJECTED, [])
    [skipped] = events_of(record, "RETRY_SKIPPED")
    assert skipped.detail == {"component": "EVIDENCE_REPAIR", "why": f"no {lacking}"}


@pytest.mark.parametrize(
    ("repaired", "cause"),
    [
        (DiagnosisDraft(None), "NO_CONCLUSION"),
        (DiagnosisDraft(" ", missing_context=["tenant"]), "MISSING_REQUIRED_CONTEXT"),
        (DiagnosisDraft("x" * 999), "RESULT_TOO_LARGE"),
    ],
)
def test_a_repair_that_is_no_report(repaired: DiagnosisDraft, cause: str) -> None:
    """A repaired draft is held to the same rules as a first one."""
    record = _drafted(UNCITED, repairer=Script([repaired]), limits=Limits(draft_bytes=500))
    assert record.stop_cause is StopCause[cause]
    assert record.gates.repaired
    assert (record.gates.draft is None) is (cause == "RESULT_TOO_LARGE")


# --- the size of a draft


def test_a_draft_at_the_limit() -> None:
    """A draft exactly at the limit passes, one byte over it ends the run, with facts released."""
    size = len('{"conclusion":"日","citations":[{"invocation":"E-id-2-1"}],"claims":[],')
    size += len('"recommendations":[],"missing_context":[]}') + 2
    draft = drafting("日", citing(1))
    assert _drafted(draft, limits=Limits(draft_bytes=size)).stop_cause is StopCause.REPORT_APPROVED
    record = _drafted(draft, limits=Limits(draft_bytes=size - 1))
    assert ending(record) == ("FAILED", "RESULT_TOO_LARGE", "FALLBACK", "INSUFFICIENT_EVIDENCE")
    assert (record.gates.checks, record.gates.draft) == (0, None)


# --- the store between the gates


class Odd(MemoryCanonicalStore):
    """A store that answers otherwise once the records are in."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self._answer = answer
        self._reads = 0

    def load(self, invocation_id: str) -> Any:
        self._reads += 1
        if self._reads == 1:
            return super().load(invocation_id)
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer


@pytest.mark.parametrize(
    "answer", [OSError("gone"), None, "text", evidence("something else"), {"facts": []}]
)
def test_a_cited_record_that_is_not_what_was_saved(answer: Any) -> None:
    """A record that is not what was saved breaks the trust: nothing is released."""
    record = _drafted(GOOD[1], canonical_store=Odd(answer))
    assert ending(record) == ("FAILED", "STORE_UNTRUSTED", "FAILED", None)
    [event] = events_of(record, "STORE_FAILED")
    assert event.detail == {"invocation": "E-id-2-1", "expected": True}


@pytest.mark.parametrize("answer", [OSError("gone"), "text", 5])
def test_an_unknown_record_that_cannot_be_read(answer: Any) -> None:
    """A store that fails for an id that nobody saved is not to be trusted either."""
    record = _drafted(drafting("x", Citation("E99")), canonical_store=Odd(answer))
    assert record.stop_cause is StopCause.STORE_UNTRUSTED
    assert events_of(record, "STORE_FAILED")[0].detail["expected"] is False


def test_a_record_that_this_run_never_made() -> None:
    """A store that claims a record of this run that it never saved is believed nothing."""
    claimed = evidence("invented", run_id="id-1", number=9)
    record = _drafted(drafting("x", Citation("E99")), canonical_store=Odd(claimed))
    assert [one.kind for one in record.gates.violations] == [ViolationKind.UNKNOWN_INVOCATION]
    assert "invented" not in repr(record.public)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupt_between_the_gates(error: type[BaseException]) -> None:
    """An interrupt while a cited record is read ends the run as one."""
    made = harness(GOOD, Source("pool size 5"), canonical_store=Odd(error()))
    with pytest.raises(error):
        made.run("why?")
    saved = made.run_store.load("id-1")
    assert saved is not None
    assert (saved.stop_cause, saved.gates.checks) == (StopCause.INTERRUPTED, 0)


def test_a_record_that_changes_after_it_was_checked() -> None:
    """What the store hands out may change behind it: the report cites what was saved."""
    kept: list[CanonicalRecord] = []

    class Sharing(MemoryCanonicalStore):
        def load(self, invocation_id: str) -> Any:
            record = super().load(invocation_id)
            assert record is not None
            kept.append(evolve(record, facts=record.facts))
            return kept[-1]

    def guard(_case: object) -> SemanticVerdict:
        object.__setattr__(kept[-1], "facts", evidence("forged").facts)
        return SemanticVerdict.SUPPORTED

    record = _drafted(GOOD[1], canonical_store=Sharing(), semantic_guard=guard)
    assert record.stop_cause is StopCause.REPORT_APPROVED
    assert [source.text for source in record.public.sources] == ["pool size 5"]  # type: ignore[union-attr]

"""The evidence guard: every citation against the canonical records (section 3.7)."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import (
    Citation,
    CitedSource,
    Claim,
    DiagnosisDraft,
    Fact,
    FrozenDict,
    InvocationCode,
    QueriedScope,
    SemanticCase,
    ToolCall,
    Violation,
    ViolationKind,
)
from harness._evidence import check_evidence, cited_ids, cited_sources, is_too_large, semantic_case
from tests.core.doubles import evidence

FOUND = evidence(Fact("pool size 5 reached", "a.log:7"), Fact("37 waiters", "a.log:9"), number=1)
EMPTY = evidence(number=2)
BROKEN = evidence(number=3, code=InvocationCode.TIMEOUT)
FOREIGN = evidence("pool size 5 reached", run_id="other")
RECORDS = {record.invocation_id: record for record in (FOUND, EMPTY, BROKEN, FOREIGN)}
IDS = {"found": "E-run-1", "empty": "E-run-2", "broken": "E-run-3", "foreign": "E-other-1"}

# What a citation of each record breaks, by the number of the fact and the quote that it names.
KINDS = {
    ("found", None, None): None,
    ("found", None, "waiters"): None,
    ("found", 1, None): None,
    ("found", 2, "37"): None,
    ("found", 1, "pool size 5 reached"): None,
    ("found", 1, "37"): "QUOTE_MISMATCH",
    ("found", 1, "Pool"): "QUOTE_MISMATCH",
    ("found", 1, ""): "QUOTE_MISMATCH",
    ("found", None, ""): "QUOTE_MISMATCH",
    ("found", None, "reached37"): "QUOTE_MISMATCH",
    ("found", 0, None): "UNKNOWN_FACT",
    ("found", 3, None): "UNKNOWN_FACT",
    ("found", -1, "37"): "UNKNOWN_FACT",
    ("found", 10**18, None): "UNKNOWN_FACT",
    ("empty", None, None): None,
    ("empty", 1, None): "UNKNOWN_FACT",
    ("empty", None, "x"): "QUOTE_MISMATCH",
    ("broken", None, None): "NOT_READY",
    ("broken", 1, "x"): "NOT_READY",
    ("foreign", None, None): "FOREIGN_RUN",
    ("foreign", 9, ""): "FOREIGN_RUN",
}


def _check(draft: DiagnosisDraft) -> tuple[Violation, ...]:
    return check_evidence(draft, RECORDS, "run")


def _draft(*citations: Citation, claims: tuple[Claim, ...] = ()) -> DiagnosisDraft:
    return DiagnosisDraft("the pool ran out", citations, claims)


@pytest.mark.parametrize(("which", "fact", "quote"), KINDS)
def test_a_citation(which: str, fact: int | None, quote: str | None) -> None:
    """A citation holds, or breaks exactly the first rule that the contract names."""
    kind = KINDS[which, fact, quote]
    expected = (
        () if kind is None else (Violation(ViolationKind[kind], "conclusion", 1, IDS[which]),)
    )
    assert _check(_draft(Citation(IDS[which], fact, quote))) == expected


@pytest.mark.parametrize("name", [" E-run-1", "E-run-1 ", "e-run-1", "E-run-01", "", "E-run-9"])
def test_ids_are_literal(name: str) -> None:
    """An id is compared as it is: no trimming, no case folding, no guess."""
    [violation] = _check(_draft(Citation(name)))
    assert (violation.kind, violation.invocation_id) == (ViolationKind.UNKNOWN_INVOCATION, name)


def test_every_violation_is_named() -> None:
    """Every violation is found, with its place, in the order of the text."""
    claims = (Claim("a", ()), Claim("b", (Citation("E-run-1"), Citation("E-run-3"))))
    draft = _draft(Citation("gone"), Citation("E-run-1", 9), claims=claims)
    assert _check(draft) == (
        Violation(ViolationKind.UNKNOWN_INVOCATION, "conclusion", 1, "gone"),
        Violation(ViolationKind.UNKNOWN_FACT, "conclusion", 2, "E-run-1"),
        Violation(ViolationKind.UNCITED, "claims[1]"),
        Violation(ViolationKind.NOT_READY, "claims[2]", 2, "E-run-3"),
    )


def test_an_uncited_conclusion() -> None:
    """A conclusion that cites nothing is a violation, though each of its claims cites."""
    draft = _draft(claims=(Claim("a", (Citation("E-run-1"),)),))
    assert _check(draft) == (Violation(ViolationKind.UNCITED, "conclusion"),)


def test_one_good_citation_carries_no_bad_one() -> None:
    """A draft is refused as a whole: one valid citation does not carry a made-up one through."""
    assert len(_check(_draft(Citation("E-run-1"), Citation("E99")))) == 1


def test_recommendations_need_no_citation() -> None:
    """Recommendations are visible, but cite nothing."""
    draft = DiagnosisDraft("x", (Citation("E-run-1"),), (), ("raise the pool",))
    assert _check(draft) == ()


@given(st.lists(st.sampled_from(sorted(KINDS, key=str)), max_size=8))
def test_property_each_citation_is_judged_alone(
    keys: list[tuple[str, int | None, str | None]],
) -> None:
    """What a citation breaks does not depend on what stands beside it."""
    draft = _draft(*(Citation(IDS[which], fact, quote) for which, fact, quote in keys))
    kinds = [KINDS[key] for key in keys if KINDS[key] is not None] if keys else ["UNCITED"]
    assert [violation.kind.name for violation in _check(draft)] == kinds


def test_ten_thousand_unknown_ids() -> None:
    """Many unknown ids are many violations."""
    assert len(_check(_draft(*(Citation(f"E{n}") for n in range(10_000))))) == 10_000


# --- what the gates see

CLAIMS = (
    Claim("37 wait", (Citation("E-run-1", 2), Citation("E-run-2"))),
    Claim("5 is the limit", (Citation("E-run-1", None, "size 5"),)),
)
PASSED = DiagnosisDraft("the pool ran out", (Citation("E-run-1", 2),), CLAIMS, ("raise it",))


def test_the_cited_ids() -> None:
    """The cited ids are given once each, in order."""
    assert cited_ids(PASSED) == ("E-run-1", "E-run-2")


def test_the_semantic_case() -> None:
    """The semantic guard sees all visible text, the cited facts once, and the empty scopes."""
    assert semantic_case(PASSED, RECORDS) == SemanticCase(
        conclusion="the pool ran out",
        claims=("37 wait", "5 is the limit"),
        recommendations=("raise it",),
        facts=(FOUND.facts[1], FOUND.facts[0]),
        empty_scopes=(QueriedScope("logs", FrozenDict({"service": "pay"})),),
    )


def test_a_whole_record_is_cited() -> None:
    """A citation without a number or quote cites every fact of its record, in order."""
    case = semantic_case(_draft(Citation("E-run-1")), RECORDS)
    assert (case.facts, case.empty_scopes) == (FOUND.facts, ())


def test_a_case_without_a_conclusion() -> None:
    """Where nothing is concluded the guard reads nothing as the conclusion."""
    assert semantic_case(DiagnosisDraft(None, [Citation("E-run-1")]), RECORDS).conclusion == ""


def test_exactly_the_cited_facts() -> None:
    """A fact that no citation names is not shown to the guard."""
    case = semantic_case(_draft(Citation("E-run-1", 1)), RECORDS)
    assert case.facts == FOUND.facts[:1]


def test_the_sources_of_a_report() -> None:
    """A report's citations are resolved to their places, each once, empty scopes last."""
    assert cited_sources(PASSED, RECORDS) == (
        CitedSource("logs", "a.log:9", "37 waiters", "E-run-1", 2),
        CitedSource("logs", "a.log:7", "pool size 5 reached", "E-run-1", 1),
        CitedSource("logs", "", "", "E-run-2"),
    )


def test_a_scope_of_arguments() -> None:
    """A call without a scope looked at what its arguments say."""
    record = evidence(call=ToolCall("logs", None, {"q": "x"}))
    case = semantic_case(_draft(Citation("E-run-1")), {"E-run-1": record})
    assert case.empty_scopes == (QueriedScope("logs", FrozenDict({"q": "x"})),)


# --- the size of a draft


def _encoded(draft: DiagnosisDraft) -> bytes:
    """A draft as JSON: what is left out of a citation is not encoded."""

    def cite(citation: Citation) -> Mapping[str, object]:
        parts = {"fact": citation.fact_id, "quote": citation.quote}
        given = {key: value for key, value in parts.items() if value is not None}
        return {"invocation": citation.invocation_id, **given}

    claims = [{"text": c.text, "citations": [cite(x) for x in c.citations]} for c in draft.claims]
    whole = {
        "conclusion": draft.conclusion,
        "citations": [cite(x) for x in draft.citations],
        "claims": claims,
        "recommendations": draft.recommendations,
        "missing_context": draft.missing_context,
    }
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode()


_TEXT = st.text(st.characters(codec="utf-8"), max_size=6)
_CITATIONS = st.lists(
    st.builds(Citation, _TEXT, st.none() | st.integers(-9, 99), st.none() | _TEXT), max_size=3
)
_CLAIMS = st.lists(st.builds(Claim, _TEXT.map("a{}".format), _CITATIONS), max_size=3)
_DRAFTS = st.builds(
    DiagnosisDraft, st.none() | _TEXT, _CITATIONS, _CLAIMS, st.lists(_TEXT), st.lists(_TEXT)
)


@given(_DRAFTS)
def test_property_a_draft_is_measured_in_bytes(draft: DiagnosisDraft) -> None:
    """A draft is too large once its JSON encoding in UTF-8 exceeds the limit by one byte."""
    size = len(_encoded(draft))
    assert not is_too_large(draft, size)
    assert is_too_large(draft, size - 1)
    assert not is_too_large(draft, None)


def test_a_draft_far_below_the_limit() -> None:
    """A draft of nothing but escapes is still measured exactly."""
    draft = DiagnosisDraft("\x01" * 1000, [Citation("\x02", 10**18, "\x03")] * 3)
    size = len(_encoded(draft))
    assert (is_too_large(draft, size), is_too_large(draft, size - 1)) == (False, True)


def test_records_are_read_by_id() -> None:
    """A record is found by the id that it was asked for, whatever it says of itself."""
    [violation] = check_evidence(_draft(Citation("alias")), {"alias": FOREIGN}, "run")
    assert violation.kind is ViolationKind.FOREIGN_RUN
    assert check_evidence(_draft(Citation("alias")), {"alias": FOUND}, "run") == ()

"""What cited facts carry: literal cases, and properties over texts that nobody wrote."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness import (
    AgentTurn,
    AgentView,
    Citation,
    DiagnosisDraft,
    Fact,
    Harness,
    ReleaseOutcome,
    ToolCall,
    tool,
)
from harness.errors import InvalidArgumentError
from harness.guards import MismatchReason, SupportCheck, check_support
from tests.guards.cases import (
    HOSTILE,
    MEANINGS,
    NAMES,
    NEGATIONS,
    NUMBERS,
    POOL,
    TIMES,
    Case,
)


def check(facts: str | Iterable[str], *texts: str, **named: Any) -> SupportCheck:
    """Check texts against facts of one source."""
    listed = [facts] if isinstance(facts, str) else facts
    return check_support(texts, [Fact(fact, "payment.log:812") for fact in listed], **named)


def reason(facts: str | Iterable[str], *texts: str, **named: Any) -> str | None:
    """The first reason for refusing texts, or ``None`` where they are supported."""
    found = check(facts, *texts, **named)
    assert found.supported is not bool(found.mismatches)
    return found.mismatches[0].reason.name if found.mismatches else None


@pytest.mark.parametrize(
    ("fact", "text", "expected"), [*NUMBERS, *NAMES, *TIMES, *NEGATIONS, *MEANINGS, *HOSTILE]
)
def test_what_a_fact_carries(fact: str, text: str, expected: str | None) -> None:
    """A text is supported, or refused for the stated reason first."""
    assert reason(fact, text) == expected


def test_a_source_is_known_by_its_name() -> None:
    """The file that a fact stands in may be named."""
    assert reason("disk full", "payment.log says that the disk was full.") is None
    assert reason("disk full", "other.log says that the disk was full.") == "UNKNOWN_HOST"


def test_the_order_of_the_facts_changes_nothing() -> None:
    """The same facts in another order give the same answer, reasons included."""
    facts = [POOL, "disk full", "payment failed: no connection", "retries 3"]
    texts = ("The pool was exhausted with 21 connections.", "The disk was not full.")
    assert check(facts, *texts) == check(facts[::-1], *texts)


def test_every_text_is_judged() -> None:
    """One unsupported claim makes the whole case unsupported, and is named."""
    found = check("disk full", "The disk was full.", "The network was down.")
    assert [(one.reason, one.text) for one in found.mismatches] == [
        (MismatchReason.UNKNOWN_WORD, "The network was down."),
    ] * len(found.mismatches)
    assert not found.supported


def test_a_long_list_of_reasons_is_cut() -> None:
    """A hostile text does not make an endless list: 32 are named, each cut."""
    found = check("disk full", " ".join(f"w{n}x{n}" for n in range(200)))
    assert len(found.mismatches) == 32
    assert all(len(one.detail) <= 200 and len(one.text) <= 200 for one in found.mismatches)


@pytest.mark.parametrize(
    ("named", "argument"),
    [
        ({"texts": "abc"}, "texts"),
        ({"texts": [1]}, "texts"),
        ({"texts": ["a"], "facts": ["s"]}, "facts"),
        ({"texts": ["a"], "advice": "abc"}, "advice"),
    ],
)
def test_wrong_arguments_are_named(named: dict[str, Any], argument: str) -> None:
    """A single text, or something that is none, is refused by its argument's name."""
    with pytest.raises(InvalidArgumentError, match=argument):
        check_support(**{"facts": [], **named})


def test_nothing_is_checkable_in_nothing() -> None:
    """No text at all is no report."""
    assert reason("disk full") == "UNCHECKABLE"


def test_clauses_may_be_carried_by_different_facts() -> None:
    """Each complete clause of a sentence needs one passage, and not all of them the same one."""
    facts = ["the disk was full today", "writes were stopped by kernel"]
    assert reason(facts, "The disk was full today, and writes were stopped by the kernel.") is None
    joined = "The disk was stopped by the kernel today."
    assert reason(facts, joined) == "NOT_TOGETHER"
    ends = "The disk was full today, and the kernel."
    assert reason(facts, ends) == "NOT_TOGETHER"


def test_a_passage_is_a_line_with_its_neighbours() -> None:
    """Three lines before and behind belong to what a line says; a fact of its own does not."""
    near = "ALERT raised on db-1\nValue of latency 900 ms\n"
    assert reason(near, "The alert on db-1 had a latency of 900 ms.") is None
    far = "ALERT raised on db-1\n" + "Nothing\n" * 8 + "Value of latency 900 ms\n"
    assert reason(far, "The alert on db-1 had a latency of 900 ms.") == "NOT_TOGETHER"
    assert reason(near.splitlines(), "The alert on db-1 had a latency of 900 ms.") == "NOT_TOGETHER"


# --- empty scopes


class _Scope:
    """A scope as a semantic case states it."""

    def __init__(self, scope: object, tool: object = "metrics") -> None:
        self.scope = scope
        self.tool = tool


@pytest.mark.parametrize(
    ("scope", "text", "expected"),
    [
        ({"service": "payment"}, "No errors were found in payment.", None),
        ({"service": "payment"}, "No errors were found in the payment service.", None),
        ({"service": "payment"}, "The log of payment was empty.", None),
        ({"service": "payment"}, "metrics found no errors in payment.", None),
        ({"service": "payment"}, "No errors were found in checkout.", "UNKNOWN_WORD"),
        ({"service": "payment"}, "No errors were found.", "UNKNOWN_WORD"),
        ({"service": "payment"}, "Errors were found in payment.", "UNKNOWN_WORD"),
        ({"service": "payment"}, "payment cannot be found.", "UNKNOWN_WORD"),
        ({"service": "payment"}, "payment had no errors of disk.", "UNKNOWN_WORD"),
        (
            {"service": "payment"},
            "No errors were found in payment because it slept.",
            "UNKNOWN_WORD",
        ),
        ({"service": "payment"}, "There were no lines, none, found in payment.", "UNKNOWN_WORD"),
        ({"hosts": ["web-1", ("web-2",)], "day": None}, "No errors were found on web-2.", None),
        ({"port": 5432}, "No errors were found on 5432.", None),
    ],
)
def test_an_empty_scope_carries_that_nothing_was_found_in_it(
    scope: Mapping[str, object], text: str, expected: str | None
) -> None:
    """What was sought may be named; where it was sought must be this scope; nothing else passes."""
    assert reason([], text, empty_scopes=[_Scope(scope)]) == expected


def test_a_scope_is_read_to_a_depth() -> None:
    """A scope that nests without end is read as far as the guard reads, and carries no more."""
    nested: object = "payment"
    for _ in range(30):
        nested = [nested]
    text = "No errors were found in payment."
    assert reason([], text, empty_scopes=[_Scope(nested)]) == "UNKNOWN_WORD"
    assert reason([], text, empty_scopes=[{"service": "payment"}]) is None
    assert reason([], text, empty_scopes=[_Scope({"service": "payment"}, tool=7)]) is None


# --- recommendations


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Increase the size of the pool.", None),
        ("Check db-1 for more details.", "UNKNOWN_IDENTIFIER"),
        ("Increase the pool to 40 connections.", "UNKNOWN_NUMBER"),
        ("Restart everything else soon.", "UNCHECKABLE"),
        ("The network was down.", "UNKNOWN_WORD"),
        ("Increase the pool because the network was down.", "UNKNOWN_WORD"),
        ("Increase the pool, and check the connections in use.", None),
        ("Check the pool, then.", None),
    ],
)
def test_advice_may_use_its_own_words_but_no_facts_of_its_own(
    text: str, expected: str | None
) -> None:
    """An action may be named freely; numbers, names and statements must be known."""
    assert reason(POOL, "The pool was exhausted.", advice=[text]) == expected


def test_advice_may_name_an_empty_scope() -> None:
    """A recommendation may name what was asked and held nothing."""
    scopes = [_Scope({"host": "db-1"})]
    texts = ("The pool was exhausted.",)
    assert reason(POOL, *texts, advice=["Check db-1 next."], empty_scopes=scopes) is None


# --- bounds


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        (["Alpha\n" * 300, "Beta\n" * 300], f"{' alpha beta' * 250}." * 6),
        ([f"{'alpha because ' * 128}\n" * 7], f"{'alpha because ' * 250}alpha."),
        (["\n".join([" ".join(map(str, range(250)))] * 7)], f"{' 7 8' * 250}.\n" * 7),
    ],
    ids=["passages", "relations", "numbers"],
)
def test_the_work_is_bounded(facts: list[str], text: str) -> None:
    """A text that fits everywhere and nowhere is refused once the work that it costs is spent."""
    assert "TOO_LONG" in {one.reason.name for one in check(facts, text).mismatches}


def test_a_fact_that_does_not_fit_carries_nothing() -> None:
    """Four million characters are read; what lies beyond them is no evidence."""
    assert reason(["x" * 4_000_001, "zz disk full"], "The disk was full.") == "UNKNOWN_WORD"


def test_a_long_line_is_cut_at_a_mark() -> None:
    """A line of thousands of words is evidence still, piece by piece."""
    line = ", ".join(f"item{n} ready" for n in range(400))
    assert reason(line, "item3 was ready.") is None
    assert reason("word " * 600 + "disk full", "The disk was full.") is None


# --- properties

_WORDS = st.sampled_from(
    ["pool", "disk", "latency", "broker", "timeout", "retries", "payment", "queue", "worker"]
)
_HARD = st.one_of(
    st.integers(2, 99_999).map(str),
    st.builds("{:02}:{:02}:{:02}".format, *[st.integers(10, 23)] * 3),
    st.builds("2024-{:02}-{:02}".format, st.integers(1, 12), st.integers(1, 28)),
    st.builds("/var/log/app{}.log".format, st.integers(1, 999)),
    st.builds("db-{}.prod.example".format, st.integers(1, 999)),
    st.builds("pod_{}x".format, st.integers(1, 999)),
    st.builds("ERR-{}".format, st.integers(100, 999)),
)


@st.composite
def facts_with_a_hard_part(draw: st.DrawFn) -> tuple[str, str, str]:
    """Text before, something hard, and text behind."""
    before = " ".join(draw(st.lists(_WORDS, min_size=2, max_size=4)))
    behind = " ".join(draw(st.lists(_WORDS, min_size=1, max_size=4)))
    return before, draw(_HARD), behind


@given(facts_with_a_hard_part())
def test_a_verbatim_copy_is_supported(parts: tuple[str, str, str]) -> None:
    """Whatever a fact says, saying it again is supported, in any case and spacing."""
    fact = " ".join(parts)
    assert check(fact, fact).supported
    assert check(fact, f"  {fact.upper()} ").supported


@given(facts_with_a_hard_part(), _HARD)
def test_another_number_or_name_is_not_supported(parts: tuple[str, str, str], other: str) -> None:
    """A copy with another number, time, path, host, identifier or code in it is refused."""
    before, hard, behind = parts
    assume(other.casefold() != hard.casefold())
    fact = f"{before} {hard} {behind}"
    changed = f"{before} {other} {behind}"
    assert not check(fact, changed).supported
    assert not check(fact, f"The {changed}.").supported


@given(st.text(), st.text())
def test_any_text_gets_an_answer(fact: str, text: str) -> None:
    """No text makes the guard raise; it is supported or refused, the same each time."""
    assert check(fact, text) == check(fact, text)
    assert check(fact, text, advice=[text], empty_scopes=[{text: fact}]) is not None


@given(st.sampled_from([case for case in (*NUMBERS, *NAMES, *TIMES) if case[2] is None]), _WORDS)
def test_more_evidence_takes_nothing_away_that_a_fact_of_its_own_carries(
    case: Case, word: str
) -> None:
    """A further cited fact about something else leaves a supported text supported."""
    fact, text, _ = case
    assert reason([fact, f"unrelated {word} notice"], text) is None


# --- in its place


def test_the_guard_in_its_place() -> None:
    """Without another guard it is the harness's: what it refuses is released as a fallback."""

    @tool
    def search_log(text: str) -> list[Fact]:
        """Search."""
        return [Fact(POOL, f"payment.log:{text}")]

    def run(conclusion: str, *recommendations: str) -> Any:
        def agent(view: AgentView) -> AgentTurn:
            if not view.records:
                return AgentTurn([ToolCall("search_log", {"s": "payment"}, {"text": "812"})])
            cited = [Citation(view.records[0].invocation_id, fact_id=1)]
            draft = DiagnosisDraft(conclusion, cited, recommendations=recommendations)
            return AgentTurn(draft=draft)

        return Harness(agent, [search_log]).run("Why?").record

    supported = run("The pool was exhausted, with 20 of 20 connections in use.")
    assert supported.release_outcome is ReleaseOutcome.SUCCESS
    advised = run("The pool was exhausted.", "Increase the size of the pool.")
    assert advised.release_outcome is ReleaseOutcome.SUCCESS
    refused = run("The disk was full.")
    assert refused.release_outcome is ReleaseOutcome.FALLBACK
    assert refused.stop_cause.name == "SEMANTIC_UNSUPPORTED"

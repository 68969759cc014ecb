"""The safe snapshot: what was really observed, bounded (section 3.8)."""

from __future__ import annotations

import pytest

from harness import (
    Cut,
    Fact,
    FrozenDict,
    InvocationCode,
    Limitation,
    LimitationKind,
    ProgressSnapshot,
    QueriedScope,
    SnapshotFact,
    ToolCall,
)
from harness._progress import limitations_of, project_snapshot
from tests.core.doubles import evidence

UNAVAILABLE = LimitationKind.SOURCE_UNAVAILABLE
NEVER = LimitationKind.NEVER_CONSULTED
CUT = Cut(original_facts=2, kept_facts=1, original_bytes=9, kept_bytes=3)
REPAIRED = Cut(original_facts=1, kept_facts=1, original_bytes=3, kept_bytes=3, repaired=True)
SCOPE = FrozenDict({"service": "pay"})

# What each code of an ERROR row says of its source; None: nothing, the source was not asked.
OF_CODE = {
    "UNKNOWN_TOOL": None,
    "INVALID_ARGUMENTS": None,
    "PROJECTION_FAILED": "PROJECTION_FAILED",
    "RESULT_TOO_LARGE": "PROJECTION_FAILED",
    "STORE_FAILED": "SOURCE_UNAVAILABLE",
    "TIMEOUT": "SOURCE_UNAVAILABLE",
    "TRANSPORT": "SOURCE_UNAVAILABLE",
    "RATE_LIMITED": "SOURCE_UNAVAILABLE",
    "INVALID_OUTPUT": "SOURCE_UNAVAILABLE",
    "CAPACITY": "SOURCE_UNAVAILABLE",
    "REJECTED": "SOURCE_UNAVAILABLE",
    "UNCLASSIFIED": "SOURCE_UNAVAILABLE",
}


@pytest.mark.parametrize("code", InvocationCode)
def test_a_failed_source(code: InvocationCode) -> None:
    """A failed source is a limitation with its code; one that was never really asked is not."""
    kind = OF_CODE[code.name]
    expected = (
        (Limitation(NEVER, "logs"),)
        if kind is None
        else (Limitation(LimitationKind[kind], "logs", code),)
    )
    assert limitations_of([evidence(code=code).invocation], ["logs"]) == expected


def test_sources_never_consulted() -> None:
    """A configured tool that no call reached is named, in the order of the tools."""
    rows = [evidence("a").invocation]
    assert limitations_of(rows, ["docs", "logs", "cfg"]) == (
        Limitation(NEVER, "docs"),
        Limitation(NEVER, "cfg"),
    )
    assert limitations_of([], []) == ()


def test_an_unknown_tool_is_not_named() -> None:
    """The name of a tool that does not exist is an agent's text and becomes no limitation."""
    row = evidence(call=ToolCall("secret plan"), code=InvocationCode.UNKNOWN_TOOL).invocation
    assert limitations_of([row], []) == ()


@pytest.mark.parametrize(
    ("cut", "kinds"), [(CUT, [LimitationKind.TRUNCATED]), (REPAIRED, []), (None, [])]
)
def test_a_cut_is_a_limitation(cut: Cut | None, kinds: list[LimitationKind]) -> None:
    """A source that held more than was kept is named; repaired text is not."""
    found = limitations_of([evidence("a", cut=cut).invocation], ["logs"])
    assert [limitation.kind for limitation in found] == kinds


def test_each_limitation_once() -> None:
    """A source that failed twice in the same way is named once, another failure apart."""
    codes = (InvocationCode.TIMEOUT, InvocationCode.TIMEOUT, InvocationCode.REJECTED)
    rows = [evidence(number=n, code=code).invocation for n, code in enumerate(codes)]
    assert limitations_of(rows, ["logs"]) == (
        Limitation(UNAVAILABLE, "logs", InvocationCode.TIMEOUT),
        Limitation(UNAVAILABLE, "logs", InvocationCode.REJECTED),
    )


def test_limitations_are_bounded() -> None:
    """No more than a hundred limitations are named."""
    found = limitations_of([], [f"tool{n}" for n in range(300)])
    assert len(found) == 100
    assert found[-1].name == "tool99"


# --- the snapshot


def test_a_snapshot() -> None:
    """A snapshot holds scopes, facts and empty scopes in order, and what they suggest."""
    limitations = (
        Limitation(UNAVAILABLE, "metrics", InvocationCode.TIMEOUT),
        Limitation(NEVER, "docs"),
        Limitation(LimitationKind.TRUNCATED, "logs"),
        Limitation(LimitationKind.PROJECTION_FAILED, "db", InvocationCode.PROJECTION_FAILED),
    )
    found, empty = evidence(Fact("a", "x:1"), "b"), evidence(number=2, call=ToolCall("cfg"))
    assert project_snapshot([found, empty], limitations, ("tenant",)) == ProgressSnapshot(
        scopes=(QueriedScope("logs", SCOPE), QueriedScope("cfg", FrozenDict())),
        facts=(SnapshotFact("logs", "a", "x:1"), SnapshotFact("logs", "b", "")),
        empty=(QueriedScope("cfg", FrozenDict()),),
        limitations=limitations,
        missing_context=("tenant",),
        next_steps=(
            "PROVIDE_CONTEXT:tenant",
            "RETRY_SOURCE:metrics",
            "ASK_SOURCE:docs",
            "NARROW_SCOPE:logs",
            "WIDEN_SCOPE:cfg",
        ),
    )


def test_an_empty_snapshot() -> None:
    """Without records, limitations and missing context there is nothing to say."""
    assert project_snapshot([], (), ()) == ProgressSnapshot()


def test_facts_and_scopes_once() -> None:
    """A fact that was found twice, or a scope asked twice, stands there once."""
    records = [evidence("a", "a"), evidence("a", number=2), evidence("b", number=3)]
    snapshot = project_snapshot(records, (), ())
    assert [fact.text for fact in snapshot.facts] == ["a", "b"]
    assert len(snapshot.scopes) == 1
    assert snapshot.left_out == 0


def test_a_scope_found_both_empty_and_not() -> None:
    """A scope is empty if one of its records is; each list has it once."""
    records = [evidence(number=1), evidence("a", number=2), evidence(number=3)]
    snapshot = project_snapshot(records, (), ())
    assert (len(snapshot.scopes), len(snapshot.empty)) == (1, 1)
    assert snapshot.next_steps == ("WIDEN_SCOPE:logs",)


def test_a_known_fact_hides_none_behind_it() -> None:
    """What follows a fact that is known already is kept all the same."""
    records = [evidence("a"), evidence("a", "b", number=2)]
    assert [fact.text for fact in project_snapshot(records, (), ()).facts] == ["a", "b"]


def test_facts_are_bounded_in_number() -> None:
    """The first fifty facts are kept; how many are left out is said."""
    snapshot = project_snapshot([evidence(*(f"fact {n}" for n in range(80)))], (), ())
    assert [fact.text for fact in snapshot.facts] == [f"fact {n}" for n in range(50)]
    assert snapshot.left_out == 30


def test_facts_are_bounded_in_bytes() -> None:
    """No more than 64 KiB of fact texts are kept, in UTF-8 and not in characters."""
    big = "ü" * (16 * 1024)
    snapshot = project_snapshot([evidence(f"{big}1", f"{big}2", f"{big}3")], (), ())
    assert len(snapshot.facts) == 1
    assert snapshot.left_out == 2
    exact = project_snapshot([evidence(big, f"{big[:-1]}ab")], (), ())
    assert len(exact.facts) == 2


def test_scopes_are_bounded() -> None:
    """The first fifty scopes of each list are kept; how many are left out is said."""
    calls = [ToolCall("logs", {"n": n}) for n in range(70)]
    records = [evidence(number=n, call=call) for n, call in enumerate(calls)]
    snapshot = project_snapshot(records, (), ())
    assert (len(snapshot.scopes), len(snapshot.empty), snapshot.left_out) == (50, 50, 20)


def test_next_steps_are_bounded() -> None:
    """No more than a hundred steps are suggested, each once."""
    names = tuple(f"context {n}" for n in range(300))
    snapshot = project_snapshot([], (), names)
    assert len(snapshot.next_steps) == 100

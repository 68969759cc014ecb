"""Progress, saturation and STOP_REQUIRED (section 3.6)."""

from __future__ import annotations

from itertools import product

import pytest

from harness import (
    CanonicalRecord,
    CollectionState,
    InvocationCode,
    Progress,
    ProgressMode,
    ProgressStatement,
    StopReason,
    ToolCall,
)
from harness._collection import Collection, Judgement, next_collection_state
from harness.errors import IllegalTransitionError
from tests.core.doubles import contract, evidence

REPORTED, INFERRED = ProgressMode.REPORTED, ProgressMode.INFERRED
GAINED, NO_GAIN = Progress.GAINED, Progress.NO_GAIN
STATES = list(CollectionState.__members__)
LEGAL = {(a, b) for a, b in contract("legal-states")["collection_transitions"]}


def _collection(mode: ProgressMode = REPORTED, no_gain: int = 3, violations: int = 2) -> Collection:
    return Collection(mode, no_gain, violations)


def _gained(*facts: str) -> ProgressStatement:
    return ProgressStatement(GAINED, facts)


def _found(number: int, *texts: str) -> CanonicalRecord:
    return evidence(*texts, number=number)


def _ref(number: int, fact: int = 1) -> str:
    return f"E-run-{number}.{fact}"


# --- transitions


@pytest.mark.parametrize(("state", "target"), sorted(LEGAL))
def test_enumeration_of_legal_collection_transitions(state: str, target: str) -> None:
    """Each transition of the contract can be made."""
    made = next_collection_state(CollectionState[state], CollectionState[target])
    assert made is CollectionState[target]


@pytest.mark.parametrize(("state", "target"), sorted(set(product(STATES, STATES)) - LEGAL))
def test_enumeration_of_illegal_collection_transitions(state: str, target: str) -> None:
    """No other transition can be made; the error names it and what is allowed."""
    collection = _collection()
    collection.state = CollectionState[state]
    with pytest.raises(IllegalTransitionError, match=f"{state} -> {target} cannot") as caught:
        collection.move(CollectionState[target])
    assert caught.value.machine == "CollectionState"
    assert {to.name for to in caught.value.allowed} == {b for a, b in LEGAL if a == state}  # type: ignore[attr-defined]
    assert collection.state.name == state


def test_saturation_happens_once() -> None:
    """What is saturated cannot be saturated again; the first reason stays."""
    collection = _collection()
    collection.saturate(StopReason.INFORMATION_SATURATED)
    assert not collection.is_collecting
    with pytest.raises(IllegalTransitionError):
        collection.saturate(StopReason.BUDGET_LIMIT_REACHED)
    assert collection.stop_reason is StopReason.INFORMATION_SATURATED


# --- what is new


def test_new_facts() -> None:
    """Facts that no earlier fact of the run had are new, each text once."""
    collection = _collection(INFERRED)
    first = collection.end_batch([_found(1, "a", "b", "a"), _found(2, "b", "c")])
    assert first == Judgement(GAINED, None, (_ref(1), _ref(1, 2), _ref(2, 2)))
    assert collection.end_batch([_found(3, "c", "a")]) == Judgement(NO_GAIN)


def test_a_repeated_call_brings_nothing_new() -> None:
    """A call that repeats one that ended READY brings no new evidence, whatever it finds."""
    collection, call = _collection(INFERRED), ToolCall("logs", {"s": 1}, {"q": "x"})
    assert collection.end_batch([evidence(call=call)]).progress is NO_GAIN
    again = evidence("fresh", number=2, call=ToolCall("logs", {"s": 1}, {"q": "x"}))
    assert collection.end_batch([again]) == Judgement(NO_GAIN)
    # what the repetition found is known from now on
    assert collection.end_batch([_found(3, "fresh")]) == Judgement(NO_GAIN)


@pytest.mark.parametrize(
    "other",
    [
        ToolCall("cfg", {"s": 1}, {"q": "x"}),
        ToolCall("logs", {"s": 2}, {"q": "x"}),
        ToolCall("logs", {"s": 1}, {"q": "y"}),
        ToolCall("logs", {"s": 1}, {}),
    ],
)
def test_another_call_is_no_repetition(other: ToolCall) -> None:
    """Another tool, scope or argument makes another call."""
    collection = _collection(INFERRED)
    collection.end_batch([evidence(call=ToolCall("logs", {"s": 1}, {"q": "x"}))])
    assert collection.end_batch([evidence("fresh", number=2, call=other)]).progress is GAINED


def test_a_failed_call_may_be_repeated() -> None:
    """A call that ended in ERROR was not answered: repeating it may bring new evidence."""
    collection, call = _collection(INFERRED), ToolCall("logs", {}, {"q": "x"})
    failed = evidence(call=call, code=InvocationCode.TIMEOUT)
    assert collection.end_batch([failed]).progress is NO_GAIN
    assert collection.end_batch([evidence("fresh", number=2, call=call)]).progress is GAINED


def test_a_repetition_within_a_batch() -> None:
    """Repetitions within a batch count like any other, in the order of the calls."""
    collection, call = _collection(INFERRED), ToolCall("logs", {}, {"q": "x"})
    batch = [evidence("a", number=1, call=call), evidence("b", number=2, call=call)]
    assert collection.end_batch(batch).new_facts == (_ref(1),)


# --- counting


def test_an_inferred_gain_resets_the_count() -> None:
    """Under INFERRED a batch is judged at its end, and a gain resets the count."""
    collection = _collection(INFERRED)
    for number in range(2):
        collection.end_batch([_found(number)])
    assert collection.no_gain == 2
    collection.end_batch([_found(3, "a")])
    assert collection.no_gain == 0
    assert collection.judge(_gained("nonsense")) is None


def test_a_reported_gain_waits_for_its_statement() -> None:
    """Under REPORTED a batch with new facts is judged by the next statement."""
    collection = _collection()
    collection.no_gain = 2
    assert collection.end_batch([_found(1, "a")]) == Judgement(None, None, (_ref(1),))
    assert collection.no_gain == 2
    assert collection.judge(_gained("x", _ref(1))) == Judgement(GAINED, None, (_ref(1),))
    assert (collection.no_gain, collection.violations) == (0, 0)


def test_an_empty_batch_counts_at_once_and_once() -> None:
    """A batch without new evidence counts the moment it ends; a later violation adds none."""
    collection = _collection()
    assert collection.end_batch([_found(1)]) == Judgement(NO_GAIN)
    assert collection.no_gain == 1
    judged = collection.judge(_gained(_ref(1)))
    assert judged == Judgement(NO_GAIN, "GAINED after a batch without new evidence", ())
    assert (collection.no_gain, collection.violations) == (1, 1)


@pytest.mark.parametrize(
    ("statement", "violation"),
    [
        (None, "no statement"),
        (ProgressStatement(GAINED), "GAINED names no new fact of the last batch"),
        (_gained(_ref(1, 2)), "GAINED names no new fact of the last batch"),
        (_gained(_ref(9)), "GAINED names no new fact of the last batch"),
        (ProgressStatement(NO_GAIN), None),
        (ProgressStatement(NO_GAIN, (_ref(1),)), None),
    ],
)
def test_a_statement_after_new_facts(
    statement: ProgressStatement | None, violation: str | None
) -> None:
    """A missing or wrong statement is a violation; with it, or NO_GAIN, the batch gained none."""
    collection = _collection()
    collection.end_batch([_found(1, "a")])
    assert collection.judge(statement) == Judgement(NO_GAIN, violation, (_ref(1),))
    assert collection.no_gain == 1
    assert collection.violations == (violation is not None)


@pytest.mark.parametrize(
    ("statement", "violations"), [(None, 1), (ProgressStatement(NO_GAIN), 0), (_gained("x"), 1)]
)
def test_a_statement_after_an_empty_batch(
    statement: ProgressStatement | None, violations: int
) -> None:
    """After a batch without new evidence NO_GAIN is right, and everything else a violation."""
    collection = _collection()
    collection.end_batch([_found(1)])
    collection.judge(statement)
    assert (collection.no_gain, collection.violations) == (1, violations)


def test_the_first_turn_states_nothing() -> None:
    """Before the first batch no statement is due, whatever the turn says."""
    collection = _collection()
    assert collection.judge(_gained("x")) is None
    assert collection.judge(None) is None
    assert (collection.no_gain, collection.violations) == (0, 0)


def test_statements_of_no_gain_add_up() -> None:
    """Batch after batch without a gain counts one more, though each of them brought new facts."""
    collection = _collection()
    for number in (1, 2, 3):
        collection.end_batch([_found(number, f"text {number}")])
        collection.judge(ProgressStatement(NO_GAIN))
        assert collection.no_gain == number
    assert collection.reason(budget_reached=False) is StopReason.INFORMATION_SATURATED


def test_a_statement_is_judged_once() -> None:
    """Each batch has one statement."""
    collection = _collection()
    collection.end_batch([_found(1, "a")])
    collection.judge(_gained(_ref(1)))
    assert collection.judge(None) is None


def test_an_old_fact_is_no_gain() -> None:
    """A gain names a fact of the last batch, not of an earlier one."""
    collection = _collection()
    collection.end_batch([_found(1, "a")])
    collection.judge(_gained(_ref(1)))
    collection.end_batch([_found(2, "b")])
    assert collection.judge(_gained(_ref(1))) == Judgement(
        NO_GAIN, "GAINED names no new fact of the last batch", (_ref(2),)
    )


# --- saturation


@pytest.mark.parametrize(
    ("violations", "no_gain", "budget", "reason"),
    [
        (0, 0, False, None),
        (1, 2, False, None),
        (1, 2, True, StopReason.BUDGET_LIMIT_REACHED),
        (1, 3, False, StopReason.INFORMATION_SATURATED),
        (0, 4, True, StopReason.INFORMATION_SATURATED),
        (2, 0, False, StopReason.PROGRESS_PROTOCOL_VIOLATED),
        (3, 4, True, StopReason.PROGRESS_PROTOCOL_VIOLATED),
    ],
)
def test_reasons(violations: int, no_gain: int, budget: bool, reason: StopReason | None) -> None:
    """Where several reasons hold at once, the first in the order of the contract is taken."""
    collection = _collection()
    collection.violations, collection.no_gain = violations, no_gain
    assert collection.reason(budget_reached=budget) is reason


@pytest.mark.parametrize("limit", [0, 1])
def test_a_limit_of_none_at_all(limit: int) -> None:
    """With a limit of 0 or 1 the first batch without gain saturates, and not the beginning."""
    collection = Collection(INFERRED, limit, limit)
    assert collection.reason(budget_reached=False) is None
    collection.end_batch([_found(1)])
    assert collection.reason(budget_reached=False) is StopReason.INFORMATION_SATURATED


def test_no_limit() -> None:
    """Without limits neither batches without gain nor violations saturate."""
    collection = Collection(REPORTED, None, None)
    collection.no_gain = collection.violations = 1000
    assert collection.reason(budget_reached=False) is None


def test_a_gain_never_resets_violations() -> None:
    """A gain resets the batches without gain, never the violations."""
    collection = _collection()
    collection.end_batch([_found(1)])
    collection.judge(None)
    collection.end_batch([_found(2, "a")])
    collection.judge(_gained(_ref(2)))
    assert (collection.no_gain, collection.violations) == (0, 1)

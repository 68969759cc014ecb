"""Reserve before it is spent, settle what is known only afterwards (section 3.3)."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from threading import Barrier, Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import Budget, BudgetLeft, BudgetUse, Dimension, Usage, UsageKind
from harness._budget import judge_usage
from harness.errors import InvalidArgumentError

NONE = dict.fromkeys(("model_attempts", "tool_calls", "tokens", "evidence_bytes", "cost"))
LIMITS = {
    "model_attempts": 2,
    "tool_calls": 3,
    "tokens": 100,
    "evidence_bytes": 10,
    "cost": Decimal("0.5"),
}


def _reserve(budget: Budget, times: int) -> list[Dimension | None]:
    return [budget.reserve_model() for _ in range(times)]


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_model_attempts(limit: int) -> None:
    """So many model attempts are reserved as the limit allows, and not one more."""
    budget = Budget(model_attempts=limit)
    refused = [Dimension.MODEL_ATTEMPTS] * 2
    assert _reserve(budget, limit + 2) == [None] * limit + refused
    assert budget.used.model_attempts == limit
    assert budget.model_attempts_left == 0


@pytest.mark.parametrize(
    ("limit", "wanted", "granted"), [(3, 2, 2), (3, 3, 3), (3, 5, 3), (0, 2, 0), (None, 9, 9)]
)
def test_tool_calls(limit: int | None, wanted: int, granted: int) -> None:
    """A batch is admitted as far as it fits, and what was never made is given back."""
    budget = Budget(tool_calls=limit)
    assert budget.reserve_tools(wanted) == granted
    assert budget.used.tool_calls == granted
    budget.give_back_tools(granted)
    assert budget.used.tool_calls == 0
    budget.give_back_tools(0)
    assert budget.reserve_tools(wanted) == granted


@pytest.mark.parametrize(
    ("spent", "lacking"),
    [
        ((99, "0.49"), None),
        ((100, "0"), Dimension.TOKENS),
        ((0, "0.50"), Dimension.COST),
        ((250, "9"), Dimension.TOKENS),
    ],
)
def test_settled_dimensions(spent: tuple[int, str], lacking: Dimension | None) -> None:
    """The next attempt is refused once tokens or cost reach or pass their limit."""
    budget = Budget(tokens=100, cost=Decimal("0.5"))
    budget.settle(spent[0], Decimal(spent[1]), known=True)
    assert budget.model_lacks() is lacking
    assert budget.reserve_model() is lacking
    assert budget.used.model_attempts == (lacking is None)


def test_looking_reserves_nothing() -> None:
    """Asking what an attempt lacks reserves nothing."""
    budget = Budget(model_attempts=1)
    assert budget.model_lacks() is None
    assert budget.used == BudgetUse()


@pytest.mark.parametrize(
    ("limits", "reached"),
    [
        ({"tool_calls": 2}, Dimension.TOOL_CALLS),
        ({"evidence_bytes": 7}, Dimension.EVIDENCE_BYTES),
        ({"tool_calls": 3, "evidence_bytes": 8}, None),
        ({}, None),
        ({"tool_calls": 2, "evidence_bytes": 7}, Dimension.TOOL_CALLS),
    ],
)
def test_what_ends_collecting(limits: dict[str, int], reached: Dimension | None) -> None:
    """Tool calls and evidence bytes end collecting as soon as their limit is reached."""
    budget = Budget(**limits)  # type: ignore[arg-type]
    budget.reserve_tools(2)
    budget.settle_evidence(7)
    assert budget.collection_limit_reached is reached


def test_what_was_used() -> None:
    """What was used is reported in full, unknown usage counted apart."""
    budget = Budget()
    budget.reserve_model()
    budget.reserve_tools(2)
    budget.settle(30, Decimal("0.25"), known=True)
    budget.settle(0, Decimal(0), known=False)
    budget.settle_evidence(5)
    assert budget.used == BudgetUse(
        model_attempts=1,
        tool_calls=2,
        tokens=30,
        evidence_bytes=5,
        cost=Decimal("0.25"),
        unknown_usage=1,
    )


def test_what_is_left() -> None:
    """What is left is never below zero, and None where there is no limit."""
    budget = Budget(**LIMITS)  # type: ignore[arg-type]
    assert budget.left(4.5) == BudgetLeft(**LIMITS, seconds=4.5)  # type: ignore[arg-type]
    budget.reserve_tools(2)
    budget.settle(130, Decimal("0.2"), known=True)
    assert budget.left(None) == BudgetLeft(
        **{**LIMITS, "tool_calls": 1, "tokens": 0, "cost": Decimal("0.3")},  # type: ignore[arg-type]
        seconds=None,
    )
    assert Budget().left(None) == BudgetLeft(**NONE, seconds=None)
    assert Budget().model_attempts_left is None


def test_a_parent_must_have_room_too() -> None:
    """Several runs draw from one parent; what it refuses is reserved nowhere."""
    parent = Budget(model_attempts=3, tool_calls=4)
    one, two = Budget(model_attempts=2, parent=parent), Budget(parent=parent)
    assert _reserve(one, 3) == [None, None, Dimension.MODEL_ATTEMPTS]
    assert _reserve(two, 2) == [None, Dimension.MODEL_ATTEMPTS]
    assert (one.reserve_tools(3), two.reserve_tools(3)) == (3, 1)
    assert (one.used.tool_calls, two.used.tool_calls, parent.used.tool_calls) == (3, 1, 4)
    assert (one.used.model_attempts, two.used.model_attempts) == (2, 1)


def test_settling_charges_the_parents() -> None:
    """Tokens, cost and evidence are charged to every budget above; each may refuse the next."""
    tenant = Budget(tokens=50, evidence_bytes=8)
    run = Budget(cost=1, parent=Budget(parent=tenant))
    run.settle(50, Decimal(0), known=True)
    run.settle(0, Decimal(0), known=False)
    run.settle_evidence(8)
    assert tenant.used == run.used == BudgetUse(tokens=50, evidence_bytes=8, unknown_usage=1)
    assert run.model_lacks() is Dimension.TOKENS
    assert run.collection_limit_reached is Dimension.EVIDENCE_BYTES
    assert run.left(None).tokens == 0


def test_threads_never_pass_a_parent() -> None:
    """Under 64 threads a parent's limits are met exactly, not passed by one."""
    parent, barrier = Budget(model_attempts=1000, tool_calls=900), Barrier(64)

    def draw() -> None:
        run = Budget(parent=parent)
        barrier.wait()
        for _ in range(20):
            run.reserve_model()
            run.give_back_tools(run.reserve_tools(2) // 2)

    threads = [Thread(target=draw) for _ in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert parent.used.model_attempts == 1000
    assert parent.used.tool_calls <= 900
    assert parent.left(None).model_attempts == 0


@pytest.mark.parametrize("name", ["model_attempts", "tool_calls", "tokens", "evidence_bytes"])
@pytest.mark.parametrize("value", [-1, True, 1.5, "5", float("nan"), Decimal(1)])
def test_a_bad_limit_is_refused(name: str, value: Any) -> None:
    """A limit is a non-negative whole number or None; the error names it and the value."""
    with pytest.raises(InvalidArgumentError) as caught:
        Budget(**{name: value})
    allowed = "a non-negative whole number, or None for no limit"
    assert caught.value.args == (name, value, allowed)
    assert caught.value.value is value


@pytest.mark.parametrize("value", [-1, True, 0.5, "5", Decimal("NaN"), Decimal("-0.1")])
def test_a_bad_cost_is_refused(value: Any) -> None:
    """A cost is a non-negative Decimal or whole number, never a float."""
    with pytest.raises(InvalidArgumentError, match=r"^cost is "):
        Budget(cost=value)


@pytest.mark.parametrize("largest", [10**60, Decimal(10**60)])
def test_usage_that_nobody_can_have_made(largest: Any) -> None:
    """Counts and money end below 10^60: what reaches that is invalid, and charged as nothing."""
    below = 10**60 - 1
    given = Usage(below, cost=Decimal(below))
    assert judge_usage(given) == (UsageKind.REPORTED, below, Decimal(below))
    assert judge_usage(Usage(largest)) == (UsageKind.INVALID, 0, Decimal(0))
    assert judge_usage(Usage(cost=largest)) == (UsageKind.INVALID, 0, Decimal(0))


def test_a_bad_parent_is_refused() -> None:
    """A parent is a budget."""
    with pytest.raises(InvalidArgumentError, match=r"^parent is 5; allowed: a Budget"):
        Budget(parent=5)  # type: ignore[arg-type]


@given(
    st.integers(0, 6),
    st.integers(0, 6),
    st.lists(st.tuples(st.sampled_from(["model", "tools", "back"]), st.integers(0, 4))),
)
def test_property_counted_limits_are_never_passed(
    attempts: int, calls: int, steps: list[tuple[str, int]]
) -> None:
    """Whatever the order of reservations, the limits of a run and its parent hold at each step."""
    parent = Budget(model_attempts=4, tool_calls=5)
    run = Budget(model_attempts=attempts, tool_calls=calls, parent=parent)
    held = 0
    for kind, number in steps:
        if kind == "model":
            run.reserve_model()
        elif kind == "tools":
            held += run.reserve_tools(number)
        else:
            back = min(held, number)
            run.give_back_tools(back)
            held -= back
        assert run.used.model_attempts <= min(attempts, 4)
        assert held == run.used.tool_calls == parent.used.tool_calls <= min(calls, 5)


# --- usage

NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("usage", "tokens", "cost"),
    [
        (Usage(), 0, "0"),
        (Usage(None, 5), 5, "0"),
        (Usage(3, 4), 7, "0"),
        (Usage(3.0, 4), 7, "0"),
        (Usage(0, 0, Decimal("0.01")), 0, "0.01"),
        (Usage(1, 1, 2), 2, "2"),
        (Usage(1, 1, 0.1), 2, "0.1"),
        (Usage(10**30, 1), 10**30 + 1, "0"),
    ],
)
def test_usable_usage(usage: Usage, tokens: int, cost: str) -> None:
    """Tokens add up, an absent field of a reported usage is 0, a float cost is taken as written."""
    assert judge_usage(usage) == (UsageKind.REPORTED, tokens, Decimal(cost))


def test_missing_usage() -> None:
    """Usage that is missing as a whole is unknown."""
    assert judge_usage(None) == (UsageKind.UNKNOWN, 0, Decimal(0))


@pytest.mark.parametrize("field", ["input_tokens", "output_tokens", "cost"])
@pytest.mark.parametrize("value", [-1, True, False, NAN, INFINITY, -0.5, "12", [], b"1", 1j])
def test_unusable_usage(field: str, value: Any) -> None:
    """Negative, NaN, infinite, bool or non-numeric usage is invalid and charged as nothing."""
    usage = Usage(**{"input_tokens": 5, "output_tokens": 5, field: value})
    assert judge_usage(usage) == (UsageKind.INVALID, 0, Decimal(0))


@pytest.mark.parametrize("value", [1.5, Decimal(3)])
def test_a_fraction_of_a_token(value: Any) -> None:
    """Tokens are whole numbers."""
    assert judge_usage(Usage(value))[0] is UsageKind.INVALID


@pytest.mark.parametrize("cost", [Decimal("NaN"), Decimal("Infinity"), Decimal(-1)])
def test_an_unusable_cost(cost: Decimal) -> None:
    """A cost is a finite number that is not negative."""
    assert judge_usage(Usage(1, 1, cost))[0] is UsageKind.INVALID


@pytest.mark.parametrize("value", [True, 5, "12", {"input_tokens": 5}, {}, [1, 2], NAN])
def test_what_is_no_usage(value: Any) -> None:
    """Whatever stands in the place of a usage is invalid."""
    assert judge_usage(value)[0] is UsageKind.INVALID


def _settle_all(budget: Budget) -> list[Callable[[], None]]:
    return [lambda: budget.settle(1, Decimal("0.1"), known=True)] * 3


def test_costs_add_up_exactly() -> None:
    """Money is added as decimals: three tenths are three tenths."""
    budget = Budget()
    for settle in _settle_all(budget):
        settle()
    assert budget.used.cost == Decimal("0.3")

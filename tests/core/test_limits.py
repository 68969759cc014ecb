"""The limits of a run: what they default to and what they refuse (section 3.3)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from attrs import asdict

from harness import Limits
from harness._limits import to_cost, to_seconds
from harness.errors import InvalidArgumentError

COUNTS = (
    "model_attempts",
    "tool_calls",
    "tokens",
    "evidence_bytes",
    "result_bytes",
    "draft_bytes",
    "fact_bytes",
    "facts_per_result",
    "no_gain",
    "violations",
)

# The table of defaults that the documentation prints.
DEFAULTS = {
    "deadline": 300.0,
    "model_attempts": 40,
    "tool_calls": 100,
    "tokens": 1_000_000,
    "evidence_bytes": 4_194_304,
    "cost": None,
    "result_bytes": 8_388_608,
    "draft_bytes": 1_048_576,
    "fact_bytes": 4096,
    "facts_per_result": 200,
    "no_gain": 3,
    "violations": 2,
    "release_reserve": 4,
}

NONSENSE = [-1, True, False, "5", 1.5, float("nan"), float("inf"), Decimal(1), [], b"1", 1j]


def test_defaults() -> None:
    """The defaults are those that a production user would keep."""
    assert asdict(Limits()) == DEFAULTS


def test_no_limits() -> None:
    """Without limits nothing is limited but progress."""
    expected = {**dict.fromkeys(DEFAULTS), "no_gain": 3, "violations": 2, "release_reserve": 0}
    assert asdict(Limits.none()) == expected


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("value", [0, 1, 10**30, None])
def test_a_count(name: str, value: int | None) -> None:
    """A limit is a non-negative whole number or None; 0 is a limit like any other."""
    assert getattr(Limits(**{name: value}), name) == value  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [*COUNTS, "release_reserve"])
@pytest.mark.parametrize("value", NONSENSE)
def test_a_bad_count(name: str, value: Any) -> None:
    """Anything else is refused when the limits are built; the error names limit and value."""
    with pytest.raises(InvalidArgumentError, match=f"^{name} is .*; allowed: a non-negative"):
        Limits(**{name: value})


def test_the_reserve_is_a_number() -> None:
    """The release reserve is a number and never None."""
    with pytest.raises(InvalidArgumentError, match=r"^release_reserve is None; allowed"):
        Limits(release_reserve=None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "seconds"), [(None, None), (0, 0.0), (5, 5.0), (0.25, 0.25), (10**9, 1e9)]
)
def test_a_deadline(value: float | None, seconds: float | None) -> None:
    """A deadline is a number of seconds, or None."""
    assert Limits(deadline=value).deadline == to_seconds(value) == seconds


@pytest.mark.parametrize(
    "value", [-1, -0.1, True, "5", float("nan"), float("inf"), 10**400, Decimal(1), []]
)
def test_a_bad_deadline(value: Any) -> None:
    """A negative, NaN, infinite or non-numeric deadline is refused by name."""
    with pytest.raises(InvalidArgumentError, match=r"^deadline is .*; allowed: a non-negative"):
        Limits(deadline=value)
    with pytest.raises(InvalidArgumentError, match=r"^wait is "):
        to_seconds(value, "wait")


@pytest.mark.parametrize(
    ("value", "cost"),
    [(None, None), (0, Decimal(0)), (3, Decimal(3)), (Decimal("0.5"), Decimal("0.5"))],
)
def test_a_cost(value: Any, cost: Decimal | None) -> None:
    """A cost is a Decimal, a whole number or None."""
    assert Limits(cost=value).cost == to_cost(value) == cost


@pytest.mark.parametrize("value", [-1, True, 0.5, "5", Decimal("NaN"), Decimal("Infinity")])
def test_a_bad_cost(value: Any) -> None:
    """A negative, infinite or non-decimal cost is refused by name; a float is never exact."""
    with pytest.raises(InvalidArgumentError, match=r"^cost is .*; allowed: a non-negative"):
        Limits(cost=value)

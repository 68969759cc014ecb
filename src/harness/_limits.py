"""The limits of a run, with defaults that a production user would keep (section 3.3)."""

from __future__ import annotations

from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from harness.errors import InvalidArgumentError

if TYPE_CHECKING:
    from attrs import Attribute

__all__ = ["Limits", "to_cost", "to_seconds"]

_COUNT = "a non-negative whole number, or None for no limit"
_COST = "a non-negative finite Decimal or whole number, or None for no limit"
_SECONDS = "a non-negative finite number of seconds, or None for none"


def _count(_record: object, attribute: Attribute[Any], value: object) -> None:
    """
    Refuse anything but a non-negative int or None; ``True`` is no number here.
    """
    if value is None or (type(value) is int and value >= 0):
        return
    raise InvalidArgumentError(attribute.name, value, _COUNT)


def _count_needed(_record: object, attribute: Attribute[Any], value: object) -> None:
    if type(value) is int and value >= 0:
        return
    raise InvalidArgumentError(attribute.name, value, "a non-negative whole number")


def to_cost(value: object, name: str = "cost") -> Decimal | None:
    """
    Accept a cost: a Decimal, a whole number or None.

    Raises:
        InvalidArgumentError: It is negative, no number, a float or text.
    """
    if value is None:
        return None
    if type(value) is int:
        value = Decimal(value)
    if isinstance(value, Decimal) and value.is_finite() and value >= 0:
        return value
    raise InvalidArgumentError(name, value, _COST)


def to_seconds(value: object, name: str = "deadline") -> float | None:
    """
    Accept a number of seconds, or None.

    Raises:
        InvalidArgumentError: It is negative, NaN, infinite, a bool or no number.
    """
    if value is None:
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            seconds = float(value)
        except OverflowError:
            seconds = -1.0
        if isfinite(seconds) and seconds >= 0:
            return seconds
    raise InvalidArgumentError(name, value, _SECONDS)


@frozen(kw_only=True)
class Limits:
    """
    What one run may use. See :ref:`limits` and section 3.3.

    Every limit is a non-negative number, or ``None`` for no limit; 0 means none at all.

    Attributes:
        deadline: Seconds that the run may take, on a monotonic clock.
        model_attempts: Calls of models: router, responder, agent turns, repair, semantic guard.
        tool_calls: Calls of tools; running out saturates collection.
        tokens: Input plus output tokens; the next model call after the limit is refused.
        evidence_bytes: UTF-8 bytes of stored fact texts; running out saturates collection.
        cost: Money in a unit of the host's choice, as a ``Decimal``.
        result_bytes: The largest raw tool result, in bytes of its encoding; over it the run ends.
            Bounds a responder's reply likewise.
        draft_bytes: The largest draft, in bytes of its JSON encoding; over it the run ends.
        fact_bytes: The longest fact text in UTF-8 bytes; longer ones are cut and flagged.
        facts_per_result: The most facts of one result; more are cut off and flagged.
        no_gain: Batches in a row without gain that saturate collection.
        violations: Wrong or missing progress statements that saturate collection.
        release_reserve: Model attempts kept back for drafting and the gates; 0 keeps none.

    Raises:
        InvalidArgumentError: A limit is negative, NaN, a bool, text or no number.
    """

    deadline: float | None = field(default=300.0, converter=to_seconds)
    model_attempts: int | None = field(default=40, validator=_count)
    tool_calls: int | None = field(default=100, validator=_count)
    tokens: int | None = field(default=1_000_000, validator=_count)
    evidence_bytes: int | None = field(default=4 * 1024 * 1024, validator=_count)
    cost: Decimal | None = field(default=None, converter=to_cost)
    result_bytes: int | None = field(default=8 * 1024 * 1024, validator=_count)
    draft_bytes: int | None = field(default=1024 * 1024, validator=_count)
    fact_bytes: int | None = field(default=4096, validator=_count)
    facts_per_result: int | None = field(default=200, validator=_count)
    no_gain: int | None = field(default=3, validator=_count)
    violations: int | None = field(default=2, validator=_count)
    release_reserve: int = field(default=4, validator=_count_needed)

    @classmethod
    def none(cls) -> Limits:
        """
        Give limits that limit nothing but progress: for tests and scenario files.
        """
        return cls(
            deadline=None,
            model_attempts=None,
            tool_calls=None,
            tokens=None,
            evidence_bytes=None,
            result_bytes=None,
            draft_bytes=None,
            fact_bytes=None,
            facts_per_result=None,
            release_reserve=0,
        )

"""
Reserve before it is spent, settle what is known only afterwards (section 3.3).

1. Reservations are atomic over the budget and its parents: both must have room.
2. Counted limits are never exceeded, not by one, not under parallel calls.
3. Tokens and cost are settled after an attempt; the *next* reservation is refused at the limit.
"""

from __future__ import annotations

from decimal import Decimal
from threading import RLock
from typing import Any, Final

from harness._limits import to_cost
from harness._records import BudgetLeft, BudgetUse
from harness._states import Dimension, UsageKind
from harness._values import Usage
from harness.errors import InvalidArgumentError

__all__ = ["Budget", "judge_usage"]

_ZERO: Final = Decimal(0)


class Budget:
    """
    What a run, a tenant, a conversation or a batch may use. Safe to share between threads.

    Give one as ``parent`` to several runs and they draw from it together.

    Args:
        model_attempts: The most calls of models, or ``None`` for no limit.
        tool_calls: The most calls of tools.
        tokens: Tokens after which no further model call starts.
        evidence_bytes: Bytes of stored fact texts after which collection saturates.
        cost: Money after which no further model call starts.
        parent: A budget that must have room too.

    Raises:
        InvalidArgumentError: A limit is negative, a bool, text or no number.
    """

    __slots__ = (
        "_cost",
        "_evidence_bytes",
        "_lock",
        "_model_attempts",
        "_tokens",
        "_tool_calls",
        "_unknown",
        "_used_cost",
        "_used_evidence",
        "_used_models",
        "_used_tokens",
        "_used_tools",
        "parent",
    )

    def __init__(
        self,
        *,
        model_attempts: int | None = None,
        tool_calls: int | None = None,
        tokens: int | None = None,
        evidence_bytes: int | None = None,
        cost: Decimal | int | None = None,
        parent: Budget | None = None,
    ) -> None:
        if parent is not None and not isinstance(parent, Budget):
            raise InvalidArgumentError("parent", parent, "a Budget, or None")
        self._model_attempts = _limit("model_attempts", model_attempts)
        self._tool_calls = _limit("tool_calls", tool_calls)
        self._tokens = _limit("tokens", tokens)
        self._evidence_bytes = _limit("evidence_bytes", evidence_bytes)
        self._cost = to_cost(cost)
        self._used_models = self._used_tools = self._used_tokens = self._used_evidence = 0
        self._unknown = 0
        self._used_cost = _ZERO
        #: The budget that must have room too, or ``None``.
        self.parent = parent
        # one lock for the whole family, so that a reservation is atomic over all of it
        self._lock: RLock = RLock() if parent is None else parent._lock  # noqa: SLF001

    def reserve_model(self) -> Dimension | None:
        """
        Reserve one model attempt.

        Returns:
            ``None`` when it is reserved, else the dimension that has no room; nothing is reserved.
        """
        with self._lock:
            lacking = self._model_lacks()
            if lacking is not None:
                return lacking
            budget: Budget | None = self
            while budget is not None:
                budget._used_models += 1
                budget = budget.parent
            return None

    def model_lacks(self) -> Dimension | None:
        """
        Say which dimension has no room for a model attempt, without reserving it.
        """
        with self._lock:
            return self._model_lacks()

    def _model_lacks(self) -> Dimension | None:
        budget: Budget | None = self
        while budget is not None:
            if budget._model_attempts is not None and budget._used_models >= budget._model_attempts:
                return Dimension.MODEL_ATTEMPTS
            if budget._tokens is not None and budget._used_tokens >= budget._tokens:
                return Dimension.TOKENS
            if budget._cost is not None and budget._used_cost >= budget._cost:
                return Dimension.COST
            budget = budget.parent
        return None

    def reserve_tools(self, wanted: int) -> int:
        """
        Reserve as many of a batch's tool calls as fit, in one step.

        Args:
            wanted: How many the batch asks for.

        Returns:
            How many were reserved; the first so many calls of the batch may be made.
        """
        with self._lock:
            granted = wanted
            budget: Budget | None = self
            while budget is not None:
                if budget._tool_calls is not None:
                    granted = min(granted, max(0, budget._tool_calls - budget._used_tools))
                budget = budget.parent
            self._add_tools(granted)
            return granted

    def give_back_tools(self, count: int) -> None:
        """
        Give back tool calls that were reserved and never made.
        """
        with self._lock:
            self._add_tools(-count)

    def _add_tools(self, count: int) -> None:
        budget: Budget | None = self
        while budget is not None:
            budget._used_tools += count
            budget = budget.parent

    def settle(self, tokens: int, cost: Decimal, *, known: bool) -> None:
        """
        Charge what a model attempt used.

        Args:
            tokens: Input plus output tokens.
            cost: Money.
            known: Whether the attempt reported a usable usage.
        """
        with self._lock:
            budget: Budget | None = self
            while budget is not None:
                budget._used_tokens += tokens
                budget._used_cost += cost
                budget._unknown += not known
                budget = budget.parent

    def settle_evidence(self, count: int) -> None:
        """
        Charge the bytes of stored fact texts.
        """
        with self._lock:
            budget: Budget | None = self
            while budget is not None:
                budget._used_evidence += count
                budget = budget.parent

    @property
    def collection_limit_reached(self) -> Dimension | None:
        """
        The dimension that ends collecting, or ``None`` (section 3.3).
        """
        budget: Budget | None = self
        while budget is not None:
            if budget._tool_calls is not None and budget._used_tools >= budget._tool_calls:
                return Dimension.TOOL_CALLS
            if (
                budget._evidence_bytes is not None
                and budget._used_evidence >= budget._evidence_bytes
            ):
                return Dimension.EVIDENCE_BYTES
            budget = budget.parent
        return None

    @property
    def used(self) -> BudgetUse:
        """
        What was used so far, reservations included.
        """
        with self._lock:
            return BudgetUse(
                model_attempts=self._used_models,
                tool_calls=self._used_tools,
                tokens=self._used_tokens,
                evidence_bytes=self._used_evidence,
                cost=self._used_cost,
                unknown_usage=self._unknown,
            )

    @property
    def model_attempts_left(self) -> int | None:
        """
        How many model attempts are left, the parents' included; ``None``: no limit.
        """
        return self._least("_model_attempts", "_used_models")

    def left(self, seconds: float | None) -> BudgetLeft:
        """
        Say what is left of every dimension, the parents' limits included.

        Args:
            seconds: Seconds until the deadline, or ``None``.
        """
        with self._lock:
            return BudgetLeft(
                model_attempts=self._least("_model_attempts", "_used_models"),
                tool_calls=self._least("_tool_calls", "_used_tools"),
                tokens=self._least("_tokens", "_used_tokens"),
                evidence_bytes=self._least("_evidence_bytes", "_used_evidence"),
                cost=self._least("_cost", "_used_cost"),
                seconds=seconds,
            )

    def _least(self, limit_name: str, used_name: str) -> Any:
        least: Any = None
        budget: Budget | None = self
        while budget is not None:
            limit = getattr(budget, limit_name)
            if limit is not None:
                left = max(limit - getattr(budget, used_name), 0)
                least = left if least is None else min(least, left)
            budget = budget.parent
        return least


def _limit(name: str, value: int | None) -> int | None:
    if value is None or (type(value) is int and value >= 0):
        return value
    raise InvalidArgumentError(name, value, "a non-negative whole number, or None for no limit")


def judge_usage(reported: object) -> tuple[UsageKind, int, Decimal]:
    """
    Judge what an attempt reported (section 3.3).

    Usage that is missing as a whole is unknown; a missing field of a reported one is 0. Negative,
    NaN, bool or non-numeric usage is invalid and counts as unknown.

    Args:
        reported: A :class:`Usage`, or whatever was handed over in its place.

    Returns:
        The kind, the tokens and the cost to charge.
    """
    if reported is None:
        return UsageKind.UNKNOWN, 0, _ZERO
    if type(reported) is Usage:
        given = _tokens(reported.input_tokens)
        taken = _tokens(reported.output_tokens)
        cost = _money(reported.cost)
        if given is not None and taken is not None and cost is not None:
            return UsageKind.REPORTED, given + taken, cost
    return UsageKind.INVALID, 0, _ZERO


def _tokens(value: object) -> int | None:
    if value is None:
        return 0
    if type(value) is float and value.is_integer():
        value = int(value)
    return value if type(value) is int and value >= 0 else None


def _money(value: object) -> Decimal | None:
    if value is None:
        return _ZERO
    if type(value) is int:
        value = Decimal(value)
    elif type(value) is float:
        value = Decimal(str(value))
    if isinstance(value, Decimal) and value.is_finite() and value >= 0:
        return value
    return None

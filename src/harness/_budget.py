"""
Reserve before it is spent, settle what is known only afterwards (section 3.3).

1. Reservations are atomic over the budget and its parents: both must have room.
2. Counted limits are never exceeded, not by one, not under parallel calls.
3. Tokens and cost are settled after an attempt; the *next* reservation is refused at the limit.
"""

from __future__ import annotations

from decimal import Context, Decimal
from threading import Lock
from typing import Any, Final

from harness._limits import to_cost
from harness._records import BudgetLeft, BudgetUse
from harness._states import Dimension, UsageKind
from harness._values import Usage
from harness.errors import InvalidArgumentError

__all__ = ["MONEY", "Budget", "judge_usage"]

_ZERO: Final = Decimal(0)
#: No usage is larger: a number beyond this is a mistake, and could not be added up or written.
_LARGEST: Final = 10**60
#: Adds money exactly, whatever context the host's thread works in.
MONEY: Final = Context(prec=100, traps=[])


class _Ledger:
    """
    The limits of one budget and what was drawn from it, by whichever run.
    """

    __slots__ = (
        "cost",
        "evidence_bytes",
        "model_attempts",
        "tokens",
        "tool_calls",
        "unknown_usage",
        "used_cost",
        "used_evidence_bytes",
        "used_model_attempts",
        "used_tokens",
        "used_tool_calls",
    )

    def __init__(
        self,
        model_attempts: int | None,
        tool_calls: int | None,
        tokens: int | None,
        evidence_bytes: int | None,
        cost: Decimal | None,
    ) -> None:
        self.model_attempts = model_attempts
        self.tool_calls = tool_calls
        self.tokens = tokens
        self.evidence_bytes = evidence_bytes
        self.cost = cost
        self.used_model_attempts = self.used_tool_calls = 0
        self.used_tokens = self.used_evidence_bytes = self.unknown_usage = 0
        self.used_cost = _ZERO

    def model_lacks(self) -> Dimension | None:
        """
        Say which dimension has no room for a model attempt.
        """
        if self.model_attempts is not None and self.used_model_attempts >= self.model_attempts:
            return Dimension.MODEL_ATTEMPTS
        if self.tokens is not None and self.used_tokens >= self.tokens:
            return Dimension.TOKENS
        if self.cost is not None and self.used_cost >= self.cost:
            return Dimension.COST
        return None

    def collection_lacks(self) -> Dimension | None:
        """
        Say which dimension ends collecting.
        """
        if self.tool_calls is not None and self.used_tool_calls >= self.tool_calls:
            return Dimension.TOOL_CALLS
        if self.evidence_bytes is not None and self.used_evidence_bytes >= self.evidence_bytes:
            return Dimension.EVIDENCE_BYTES
        return None


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

    __slots__ = ("_chain", "_lock", "_own")

    def __init__(  # noqa: PLR0913  one name for each limit
        self,
        *,
        model_attempts: int | None = None,
        tool_calls: int | None = None,
        tokens: int | None = None,
        evidence_bytes: int | None = None,
        cost: Decimal | int | None = None,
        parent: Budget | None = None,
    ) -> None:
        self._own = _Ledger(
            _limit("model_attempts", model_attempts),
            _limit("tool_calls", tool_calls),
            _limit("tokens", tokens),
            _limit("evidence_bytes", evidence_bytes),
            to_cost(cost),
        )
        if parent is None:
            self._chain: tuple[_Ledger, ...] = (self._own,)
            self._lock = Lock()
        elif isinstance(parent, Budget):
            self._chain = (self._own, *parent._chain)
            # one lock for the whole family, so that a reservation is atomic over all of it
            self._lock = parent._lock
        else:
            raise InvalidArgumentError("parent", parent, "a Budget, or None")

    def reserve_model(self) -> Dimension | None:
        """
        Reserve one model attempt.

        Returns:
            ``None`` when it is reserved, else the dimension that has no room; nothing is reserved.
        """
        with self._lock:
            for ledger in self._chain:
                lacking = ledger.model_lacks()
                if lacking is not None:
                    return lacking
            for ledger in self._chain:
                ledger.used_model_attempts += 1
        return None

    def model_lacks(self) -> Dimension | None:
        """
        Say which dimension has no room for a model attempt, without reserving it.
        """
        with self._lock:
            for ledger in self._chain:
                lacking = ledger.model_lacks()
                if lacking is not None:
                    return lacking
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
            for ledger in self._chain:
                if ledger.tool_calls is not None:
                    room = ledger.tool_calls - ledger.used_tool_calls
                    if room < granted:
                        granted = max(room, 0)
            for ledger in self._chain:
                ledger.used_tool_calls += granted
            return granted

    def give_back_tools(self, count: int) -> None:
        """
        Give back tool calls that were reserved and never made.
        """
        if count:
            with self._lock:
                for ledger in self._chain:
                    ledger.used_tool_calls -= count

    def settle(self, tokens: int, cost: Decimal, *, known: bool) -> None:
        """
        Charge what a model attempt used.

        Args:
            tokens: Input plus output tokens.
            cost: Money.
            known: Whether the attempt reported a usable usage.
        """
        with self._lock:
            for ledger in self._chain:
                if known:
                    ledger.used_tokens += tokens
                    ledger.used_cost = MONEY.add(ledger.used_cost, cost)
                else:
                    ledger.unknown_usage += 1

    def settle_evidence(self, count: int) -> None:
        """
        Charge the bytes of stored fact texts.
        """
        with self._lock:
            for ledger in self._chain:
                ledger.used_evidence_bytes += count

    @property
    def collection_limit_reached(self) -> Dimension | None:
        """
        The dimension that ends collecting, or ``None`` (section 3.3).
        """
        with self._lock:
            for ledger in self._chain:
                lacking = ledger.collection_lacks()
                if lacking is not None:
                    return lacking
        return None

    @property
    def used(self) -> BudgetUse:
        """
        What was used so far, reservations included.
        """
        own = self._own
        with self._lock:
            return BudgetUse(
                model_attempts=own.used_model_attempts,
                tool_calls=own.used_tool_calls,
                tokens=own.used_tokens,
                evidence_bytes=own.used_evidence_bytes,
                cost=own.used_cost,
                unknown_usage=own.unknown_usage,
            )

    @property
    def model_attempts_left(self) -> int | None:
        """
        How many model attempts are left, the parents' included; ``None``: no limit.
        """
        least: int | None = self._least("model_attempts")
        return least

    def left(self, seconds: float | None) -> BudgetLeft:
        """
        Say what is left of every dimension, the parents' limits included.

        Args:
            seconds: Seconds until the deadline, or ``None``.
        """
        with self._lock:
            return BudgetLeft(
                model_attempts=self._least("model_attempts"),
                tool_calls=self._least("tool_calls"),
                tokens=self._least("tokens"),
                evidence_bytes=self._least("evidence_bytes"),
                cost=self._least("cost"),
                seconds=seconds,
            )

    def _least(self, name: str) -> Any:
        left = [
            max(getattr(ledger, name) - getattr(ledger, f"used_{name}"), 0)
            for ledger in self._chain
            if getattr(ledger, name) is not None
        ]
        return min(left) if left else None


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
    return value if type(value) is int and 0 <= value < _LARGEST else None


def _money(value: object) -> Decimal | None:
    if value is None:
        return _ZERO
    if type(value) is int:
        value = Decimal(value)
    elif type(value) is float:
        value = Decimal(str(value))
    if isinstance(value, Decimal) and value.is_finite() and 0 <= value < _LARGEST:
        return value
    return None

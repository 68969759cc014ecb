"""A budget whose parents' answers are journaled: other runs draw from them too (section 3.3)."""

from __future__ import annotations

from typing import Any, Final

from harness._budget import Budget
from harness._journal._course import Course
from harness._limits import Limits
from harness._states import Dimension

__all__ = ["BudgetUnderParent"]


class BudgetUnderParent(Budget):
    """
    A run's budget under a parent. What the parents answer is read through the run's course.

    Args:
        limits: The run's limits.
        parent: The parent; ``None`` in a replay, where the journal answers alone.
        course: The run's course.
    """

    __slots__ = ("_course",)

    def __init__(self, limits: Limits, parent: Budget | None, course: Course) -> None:
        super().__init__(
            model_attempts=limits.model_attempts,
            tool_calls=limits.tool_calls,
            tokens=limits.tokens,
            evidence_bytes=limits.evidence_bytes,
            cost=limits.cost,
            parent=parent,
        )
        self._course: Final = course

    def reserve_model(self) -> Dimension | None:
        """
        Reserve one model attempt.
        """
        with self._lock:
            lacking = self._lacking("model_lacks")
            if lacking is None:
                for ledger in self._chain:
                    ledger.used_model_attempts += 1
            return lacking

    def model_lacks(self) -> Dimension | None:
        """
        Say which dimension has no room for a model attempt.
        """
        with self._lock:
            return self._lacking("model_lacks")

    def reserve_tools(self, wanted: int) -> int:
        """
        Reserve as many of a batch's tool calls as fit.

        Args:
            wanted: How many the batch asks for.
        """
        with self._lock:
            granted = wanted
            for room in (self._room("tool_calls", 0, 1), self._parents_room("tool_calls")):
                granted = granted if room is None else min(granted, room)
            for ledger in self._chain:
                ledger.used_tool_calls += granted
            return granted

    @property
    def collection_limit_reached(self) -> Dimension | None:
        """
        The dimension that ends collecting, or ``None``.
        """
        with self._lock:
            return self._lacking("collection_lacks")

    @property
    def model_attempts_left(self) -> int | None:
        """
        How many model attempts are left, the parents' included.
        """
        with self._lock:
            rooms = (self._room("model_attempts", 0, 1), self._parents_room("model_attempts"))
        left = [room for room in rooms if room is not None]
        return min(left) if left else None

    def _lacking(self, question: str) -> Dimension | None:
        def parents() -> Dimension | None:
            answers = [getattr(ledger, question)() for ledger in self._chain[1:]]
            return next((answer for answer in answers if answer is not None), None)

        # asked first, so that the journal has its answer whatever the run's own limits say
        theirs: Dimension | None = self._course.read("budget", parents)
        own: Dimension | None = getattr(self._own, question)()
        return own or theirs

    def _parents_room(self, name: str) -> int | None:
        room: int | None = self._course.read("budget", lambda: self._room(name, 1, None))
        return room

    def _room(self, name: str, first: int, last: int | None) -> int | None:
        left: list[Any] = [
            max(0, getattr(ledger, name) - getattr(ledger, f"used_{name}"))
            for ledger in self._chain[first:last]
            if getattr(ledger, name) is not None
        ]
        return min(left) if left else None

"""What an agent sees before each turn, and what a repairer sees (sections 3.3, 3.6, 3.7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

from attrs import field, frozen

from harness._records import BudgetLeft, CanonicalRecord, Violation
from harness._states import StopReason
from harness._tools import Parameter
from harness._values import DiagnosisDraft, Request, ToolCall

__all__ = ["AgentView", "Prefix", "RefusedCall", "RepairCase", "ToolInfo"]

T_co = TypeVar("T_co", covariant=True)


class Prefix(Sequence[T_co], Generic[T_co]):
    """
    The first items of a list that only grows: an immutable view that costs nothing to make.
    """

    __slots__ = ("_items", "_length")

    def __init__(self, items: list[T_co]) -> None:
        self._items = items
        self._length = len(items)

    @overload
    def __getitem__(self, index: int) -> T_co: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[T_co, ...]: ...

    def __getitem__(self, index: int | slice) -> T_co | tuple[T_co, ...]:
        if isinstance(index, slice):
            return tuple(self._items[i] for i in range(self._length)[index])
        return self._items[range(self._length)[index]]

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return repr(list(self))


@frozen
class ToolInfo:
    """
    A configured tool, as the agent may ask for it.

    Attributes:
        name: Its name, taken literally.
        description: What it does.
        parameters: Its declared parameters; ``None`` accepts any.
    """

    name: str
    description: str
    parameters: Mapping[str, Parameter] | None


@frozen
class RefusedCall:
    """
    A call of the last batch that was not executed.

    Attributes:
        call: The call.
        why: Why: a stop reason's name.
    """

    call: ToolCall
    why: str


@frozen(kw_only=True)
class AgentView:
    """
    What the agent sees before a turn.

    Attributes:
        run_id: The run; an agent that is shared between runs keeps what it remembers by this.
        request: Question, context and previous turns.
        turn: The n-th turn, from 1.
        tools: What may be asked.
        records: Every finished invocation so far, errors with their code, oldest first.
        batch: Those of the last batch.
        new_facts: References of the last batch's new facts, for a ``GAINED`` statement.
        refused: Calls of the last batch that were not executed.
        violation: What was wrong with the last statement, or ``None``.
        stop: Set on the one turn that must draft: why no more tools may run.
    """

    run_id: str
    request: Request
    turn: int
    tools: tuple[ToolInfo, ...] = ()
    records: Sequence[CanonicalRecord] = ()
    batch: Sequence[CanonicalRecord] = ()
    new_facts: tuple[str, ...] = ()
    refused: tuple[RefusedCall, ...] = ()
    violation: str | None = None
    stop: StopReason | None = None
    _left: Callable[[], BudgetLeft] = field(repr=False, eq=False, alias="left")

    @property
    def question(self) -> str:
        """
        The request's question.
        """
        return self.request.question

    @property
    def context(self) -> Mapping[str, Any]:
        """
        The request's context.
        """
        return self.request.context

    @property
    def left(self) -> BudgetLeft:
        """
        What is left of every dimension, now.
        """
        return self._left()


@frozen(kw_only=True)
class RepairCase:
    """
    What a repairer gets for its one attempt (section 3.7).

    Attributes:
        request: Question, context and previous turns.
        draft: The draft that was refused.
        violations: What is wrong with its citations.
        records: Every finished invocation of the run.
    """

    request: Request
    draft: DiagnosisDraft
    violations: tuple[Violation, ...]
    records: Sequence[CanonicalRecord]

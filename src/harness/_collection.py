"""
Progress, saturation and STOP_REQUIRED (section 3.6).

1. New evidence is a fact whose text no earlier fact of this run had, from a call that does not
   repeat an earlier one that ended READY.
2. A batch without new evidence is NO_GAIN the moment it ends, once, whatever is claimed later.
3. Where several reasons hold at once, the first of StopReason's order is taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from attrs import frozen

from harness._records import CanonicalRecord
from harness._states import CollectionState, Progress, ProgressMode, StopReason
from harness._tables import COLLECTION_TRANSITIONS
from harness._values import ProgressStatement
from harness.errors import IllegalTransitionError

__all__ = ["Collection", "Judgement", "next_collection_state"]

_GAINED: Final = Progress.GAINED
#: More references than that are not looked at: a batch never brings so many facts.
_MOST_NAMED: Final = 1_000


def next_collection_state(state: CollectionState, target: CollectionState) -> CollectionState:
    """
    Make a transition of the collection state.

    Raises:
        IllegalTransitionError: The table does not have it; the state is unchanged.
    """
    if (state, target) not in COLLECTION_TRANSITIONS:
        allowed = tuple(to for come, to in sorted(COLLECTION_TRANSITIONS, key=str) if come is state)
        raise IllegalTransitionError("CollectionState", state, target, allowed)
    return target


@frozen
class Judgement:
    """
    What the harness made of a batch or of a statement about it.

    Attributes:
        progress: Gained or not; ``None`` where the agent's statement is still due.
        violation: What is wrong with the statement, or ``None``.
        new_facts: References of the batch's new facts.
    """

    progress: Progress | None
    violation: str | None = None
    new_facts: tuple[str, ...] = ()


class Collection:
    """
    The collection state of one run and what it counts.

    Args:
        mode: Who says what is progress.
        no_gain_limit: Batches in a row without gain that saturate, or ``None``.
        violation_limit: Protocol violations that saturate, or ``None``.
    """

    __slots__ = (
        "_mode",
        "_new",
        "_no_gain_limit",
        "_ready_calls",
        "_statement_due",
        "_texts",
        "_violation_limit",
        "no_gain",
        "state",
        "stop_reason",
        "violations",
    )

    def __init__(
        self, mode: ProgressMode, no_gain_limit: int | None, violation_limit: int | None
    ) -> None:
        self._mode = mode
        self._no_gain_limit = no_gain_limit
        self._violation_limit = violation_limit
        self._texts: set[str] = set()
        self._ready_calls: set[str] = set()
        self._new: tuple[str, ...] = ()
        self._statement_due = False
        self.state = CollectionState.COLLECTING
        self.stop_reason: StopReason | None = None
        #: Batches in a row without gain.
        self.no_gain = 0
        #: Protocol violations of the run.
        self.violations = 0

    @property
    def is_collecting(self) -> bool:
        """
        Whether evidence tools may still run.
        """
        return self.state is CollectionState.COLLECTING

    def move(self, target: CollectionState) -> None:
        """
        Make a transition.

        Raises:
            IllegalTransitionError: The table does not have it.
        """
        self.state = next_collection_state(self.state, target)

    def end_batch(self, records: Iterable[CanonicalRecord]) -> Judgement:
        """
        Judge a batch the moment it ends.

        Args:
            records: Its records, in the order of the calls.
        """
        new: list[str] = []
        for record in records:
            self._take(record, new)
        self._new = tuple(new)
        self._statement_due = self._mode is ProgressMode.REPORTED
        if not new:
            self.no_gain += 1
            return Judgement(Progress.NO_GAIN)
        if self._statement_due:
            return Judgement(None, new_facts=self._new)
        self.no_gain = 0
        return Judgement(_GAINED, new_facts=self._new)

    def _take(self, record: CanonicalRecord, new: list[str]) -> None:
        invocation = record.invocation
        if not invocation.is_ready:
            return
        key = invocation.call.key
        repeats = key in self._ready_calls
        self._ready_calls.add(key)
        texts = self._texts
        for number, fact in enumerate(record.facts, 1):
            if fact.text not in texts:
                texts.add(fact.text)
                if not repeats:
                    new.append(f"{invocation.invocation_id}.{number}")

    def judge(self, statement: ProgressStatement | None) -> Judgement | None:
        """
        Judge what a turn that asks for another batch says of the previous one.

        Args:
            statement: The turn's statement.

        Returns:
            The judgement; ``None`` where no statement is due.
        """
        if not self._statement_due:
            return None
        self._statement_due = False
        violation = self._violation(statement)
        gained = violation is None and statement is not None and statement.state is _GAINED
        if violation is not None:
            self.violations += 1
        if gained:
            self.no_gain = 0
        elif self._new:
            # a batch without new evidence was counted when it ended
            self.no_gain += 1
        return Judgement(_GAINED if gained else Progress.NO_GAIN, violation, self._new)

    def _violation(self, statement: ProgressStatement | None) -> str | None:
        if statement is None:
            return "no statement"
        if statement.state is not _GAINED:
            return None
        if not self._new:
            return "GAINED after a batch without new evidence"
        if not any(reference in self._new for reference in statement.facts[:_MOST_NAMED]):
            return "GAINED names no new fact of the last batch"
        return None

    def reason(self, *, budget_reached: bool) -> StopReason | None:
        """
        Say why no more tools may run, the first reason that holds; ``None``: they may.

        Args:
            budget_reached: Whether a limit of collecting is reached.
        """
        if self.violations and _reached(self.violations, self._violation_limit):
            return StopReason.PROGRESS_PROTOCOL_VIOLATED
        if self.no_gain and _reached(self.no_gain, self._no_gain_limit):
            return StopReason.INFORMATION_SATURATED
        return StopReason.BUDGET_LIMIT_REACHED if budget_reached else None

    def saturate(self, reason: StopReason) -> None:
        """
        Stop asking for evidence.

        Raises:
            IllegalTransitionError: The state is not COLLECTING.
        """
        self.move(CollectionState.SATURATED)
        self.stop_reason = reason


def _reached(count: int, limit: int | None) -> bool:
    return limit is not None and count >= limit

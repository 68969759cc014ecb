"""Terminal states under contention: every interleaving of the critical sections."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from attrs import evolve

from harness import Budget, CancelToken, RunState, StopCause
from harness._lifecycle import Lifecycle
from harness.errors import RunExistsError
from harness.stores import MemoryRunStore
from harness.testing._samples import sample_endings, sample_opening
from tests.races.schedules import Action, Scheduler, interleavings, with_lock

_ENDINGS = sample_endings("run-1")


def test_one_of_four_terminal_signals_wins() -> None:
    """Finish, cancel, disconnect and an interrupt: the first one is the end, the rest are late."""
    causes = (
        StopCause.REPORT_APPROVED,
        StopCause.CANCELLED_BY_CALLER,
        StopCause.CLIENT_DISCONNECTED,
        StopCause.INTERRUPTED,
    )
    lives: list[Lifecycle] = []

    def make(scheduler: Scheduler) -> Sequence[Action]:
        life = with_lock(Lifecycle(60.0), scheduler)
        lives.append(life)
        return [partial(life.stop, cause, 1.0) for cause in causes]

    winners = set()
    count = 0
    for scheduler in interleavings(make):
        count += 1
        life = lives[-1]
        assert scheduler.results.count(True) == 1
        assert life.stopped is not None
        assert causes[scheduler.results.index(True)] is life.stopped.cause
        assert len(life.late) == 3
        winners.add(life.stopped.cause)
    assert winners == set(causes)
    assert count >= 24


def test_a_deadline_beats_whatever_comes_at_or_after_it() -> None:
    """The earlier instant wins, in whatever order the threads come."""
    lives: list[Lifecycle] = []

    def make(scheduler: Scheduler) -> Sequence[Action]:
        life = with_lock(Lifecycle(10.0), scheduler)
        lives.append(life)
        return [
            partial(life.stop, StopCause.CANCELLED_BY_CALLER, 10.0, "late"),
            partial(life.check, 11.0),
            partial(life.stop, StopCause.REPORT_APPROVED, 12.0),
        ]

    for _ in interleavings(make):
        stopped = lives[-1].stopped
        assert stopped is not None
        assert stopped.cause is StopCause.DEADLINE_EXCEEDED


def test_the_compare_and_set_of_a_run_has_one_winner() -> None:
    """Two processes end a run while a third begins it again and a fourth reads it."""
    stores: list[MemoryRunStore] = []

    def make(scheduler: Scheduler) -> Sequence[Action]:
        store = MemoryRunStore()
        store.begin(sample_opening("run-1"))
        stores.append(with_lock(store, scheduler))
        return [
            partial(store.finish, _ENDINGS["report"]),
            partial(store.finish, _ENDINGS["cancelled"]),
            partial(store.begin, sample_opening("run-1")),
            partial(store.load, "run-1"),
        ]

    standing = set()
    for scheduler in interleavings(make):
        one, other, again, seen = scheduler.results
        stored = stores[-1].load("run-1")
        assert stored is not None
        assert [one, other].count(None) == 1
        assert {one, other} - {None} == {stored}
        assert isinstance(again, RunExistsError)
        assert getattr(seen, "run_state", None) in {RunState.RUNNING, stored.run_state}
        standing.add(stored.run_state)
    assert standing == {RunState.SUCCESS, RunState.CANCELLED}


def test_a_delivery_is_noted_on_an_ending_only() -> None:
    """Marked while it is being ended: refused before the ending, noted after it."""
    stores: list[MemoryRunStore] = []

    def make(scheduler: Scheduler) -> Sequence[Action]:
        store = MemoryRunStore()
        store.begin(sample_opening("run-1"))
        stores.append(with_lock(store, scheduler))
        return [
            partial(store.finish, _ENDINGS["report"]),
            partial(store.mark_delivered, "run-1"),
        ]

    delivered = set()
    for scheduler in interleavings(make):
        refused = isinstance(scheduler.results[1], Exception)
        stored = stores[-1].load("run-1")
        assert stored == evolve(_ENDINGS["report"], delivered=not refused)
        delivered.add(not refused)
    assert delivered == {True, False}


def test_the_last_attempt_of_a_budget_is_given_once() -> None:
    """Of three that ask for two attempts, two get one, in every order."""
    budgets: list[Budget] = []

    def make(scheduler: Scheduler) -> Sequence[Action]:
        parent = with_lock(Budget(model_attempts=2), scheduler)
        budgets.append(parent)
        children = [Budget(model_attempts=9, parent=parent) for _ in range(3)]
        return [child.reserve_model for child in children]

    for scheduler in interleavings(make):
        assert scheduler.results.count(None) == 2
        assert budgets[-1].used.model_attempts == 2


def test_a_token_reaches_a_run_that_joins_while_it_is_used() -> None:
    """Joined before or after the cancel, or while it is under way: the run is told once."""
    told: list[list[str]] = []

    def make(scheduler: Scheduler) -> Sequence[Action]:
        token = with_lock(CancelToken(), scheduler)
        heard: list[str] = []
        told.append(heard)

        def listen(reason: str) -> bool:
            heard.append(reason)
            return True

        return [
            partial(token.cancel, "enough"),
            partial(_joined, token, listen),
            partial(token.cancel, "again"),
        ]

    for _ in interleavings(make):
        assert len(told[-1]) == 1
        assert told[-1][0] in {"enough", "again"}


def _joined(token: Any, listen: Any) -> None:
    token._join(1, listen)

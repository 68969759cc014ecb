"""
Threads that take turns where they are told to: every interleaving of a few of them, in turn.

A thread runs until it reaches a lock, and waits there for its turn. Which thread goes on is chosen
by a schedule; after a run the last choice that had another way is changed, until no other way is
left. Nothing depends on luck or on time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

Action = Callable[[], object]


class Scheduler:
    """
    Runs threads one at a time, by choices.

    Args:
        choices: Which of the waiting threads goes on, choice by choice; then always the first.
    """

    def __init__(self, choices: Sequence[int]) -> None:
        self._choices = list(choices)
        self._turn = threading.Condition()
        self._running: int | None = None
        self._waiting: set[int] = set()
        self._blocked: dict[int, Lock] = {}
        self._alive: set[int] = set()
        self._local = threading.local()
        #: How many ways there were at each choice, and which was taken.
        self.taken: list[tuple[int, int]] = []
        self.results: list[object] = []

    def run(self, actions: Sequence[Action]) -> None:
        """Run one thread an action to its end."""
        self.results = [None] * len(actions)
        self._alive = set(range(len(actions)))
        threads = [
            threading.Thread(target=self._work, args=(place, action), daemon=True)
            for place, action in enumerate(actions)
        ]
        # each runs by itself up to its first lock: nothing is shared before that
        for place, thread in enumerate(threads):
            self._running = place
            thread.start()
            with self._turn:
                assert self._turn.wait_for(lambda: self._running is None, timeout=30)
        with self._turn:
            while self._alive:
                assert self._waiting == self._alive, "a thread neither waits nor ends"
                self._choose()
        for thread in threads:
            thread.join(30)

    def _choose(self) -> None:
        able = sorted(
            place
            for place in self._waiting
            if place not in self._blocked or self._blocked[place].is_free
        )
        assert able, "deadlock"
        number = len(self.taken)
        choice = self._choices[number] if number < len(self._choices) else 0
        self.taken.append((len(able), choice))
        self._running = able[choice]
        self._waiting.discard(self._running)
        self._blocked.pop(self._running, None)
        self._turn.notify_all()
        assert self._turn.wait_for(lambda: self._running is None, timeout=30)

    def _work(self, place: int, action: Action) -> None:
        self._local.place = place
        try:
            self.results[place] = action()
        except Exception as error:  # noqa: BLE001  given back to be judged
            self.results[place] = error
        with self._turn:
            self._alive.discard(place)
            self._running = None
            self._turn.notify_all()

    def pause(self, lock: Lock | None = None) -> None:
        """Wait for the turn; with a lock, until it is free as well."""
        place = getattr(self._local, "place", None)
        if place is None:
            # the test's own thread, before and after the race
            return
        with self._turn:
            self._waiting.add(place)
            if lock is not None:
                self._blocked[place] = lock
            if self._running == place:
                self._running = None
            self._turn.notify_all()
            self._turn.wait_for(lambda: self._running == place, timeout=30)


class Lock:
    """A lock at which a thread waits for its turn; takes the place of ``threading.Lock``."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.is_free = True

    def __enter__(self) -> Self:
        self._scheduler.pause(self)
        assert self.is_free
        self.is_free = False
        return self

    def __exit__(self, *_error: object) -> None:
        self.is_free = True
        self._scheduler.pause()


def interleavings(make: Callable[[Scheduler], Sequence[Action]]) -> Iterator[Scheduler]:
    """
    Run the same actions in every order of their critical sections.

    Args:
        make: Makes fresh actions, on objects whose locks are the scheduler's.

    Yields:
        Each scheduler, after its run.
    """
    choices: list[int] = []
    while True:
        scheduler = Scheduler(choices)
        scheduler.run(make(scheduler))
        yield scheduler
        taken = scheduler.taken
        while taken and taken[-1][1] + 1 >= taken[-1][0]:
            taken.pop()
        if not taken:
            return
        choices = [choice for _, choice in taken[:-1]] + [taken[-1][1] + 1]


def with_lock(thing: Any, scheduler: Scheduler) -> Any:
    """Give an object the scheduler's lock instead of its own."""
    object.__setattr__(thing, "_lock", Lock(scheduler))
    return thing

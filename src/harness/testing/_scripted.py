"""Scripted host objects: each call answers with the next step; strict in both directions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from harness._records import StreamEvent
from harness._states import EventKind
from harness.errors import ClientGoneError

__all__ = ["RecordingClient", "Script", "counting_ids"]


class Script:
    """
    Plays steps, one a call, as a router, responder, agent, repairer, guard or tool function.

    A step is a value to return, an exception to raise, or a function of the call's arguments
    that gives one of them.

    Args:
        steps: The steps.
        repeat_last: Whether the last step answers every further call.
    """

    def __init__(self, steps: Iterable[Any], *, repeat_last: bool = False) -> None:
        self._steps = list(steps)
        self._repeat_last = repeat_last
        #: The arguments of each call.
        self.calls: list[tuple[Any, ...]] = []

    def __call__(self, *arguments: Any) -> Any:
        """
        Play the next step.

        Raises:
            AssertionError: No step is left.
        """
        place = len(self.calls)
        self.calls.append(arguments)
        if place >= len(self._steps):
            if not self._repeat_last or not self._steps:
                message = f"call {place + 1} of a script of {len(self._steps)} steps"
                raise AssertionError(message)
            place = len(self._steps) - 1
        step = self._steps[place]
        if isinstance(step, BaseException):
            raise step
        return step(*arguments) if callable(step) else step

    def assert_finished(self) -> None:
        """
        Demand that every step was played, and none too many.

        Raises:
            AssertionError: Steps are left, or calls came after the last.
        """
        made, scripted = len(self.calls), len(self._steps)
        if made < scripted or (made > scripted and not self._repeat_last):
            message = f"{made} calls of a script of {scripted} steps"
            raise AssertionError(message)


class RecordingClient:
    """
    A client that keeps what it accepts, and may go away at a kind of event.

    Args:
        disconnects_at: Sending the first event of this kind fails, and all after it.
    """

    def __init__(self, disconnects_at: EventKind | None = None) -> None:
        self._disconnects_at = disconnects_at
        #: The events that were accepted.
        self.events: list[StreamEvent] = []
        #: Whether it went away.
        self.gone = False

    def send(self, event: StreamEvent) -> None:
        """
        Accept an event, or go away.

        Raises:
            ClientGoneError: It is gone.
        """
        if self.gone or event.kind is self._disconnects_at:
            self.gone = True
            raise ClientGoneError
        self.events.append(event)

    @property
    def kinds(self) -> list[EventKind]:
        """
        The kinds that were accepted.
        """
        return [event.kind for event in self.events]


def counting_ids(prefix: str = "id") -> Callable[[], str]:
    """
    Give an id source that counts: ``id-1``, ``id-2``; for reproducible records.

    Args:
        prefix: What each id begins with.
    """
    numbers = iter(range(1, 1 << 62))

    def new_id() -> str:
        return f"{prefix}-{next(numbers)}"

    return new_id

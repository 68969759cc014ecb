"""Parts of the journal by themselves: what a whole run shows only by chance."""

from __future__ import annotations

from typing import Any

import pytest

from harness import StopCause
from harness._journal._batches import PlayedBatch
from harness._journal._course import Course
from harness._journal._life import JournaledLifecycle
from harness._journal._recorder import Recorder
from harness._journal._tape import Entry, Tape
from harness._lifecycle import Stop
from harness._run import Stopped
from harness._sync import drive


class _Port:
    def __init__(self) -> None:
        self.noted: list[Stop] = []

    def stopping(self, cause: StopCause) -> None:
        raise AssertionError(cause)

    def note_signal(self, signal: Stop) -> None:
        self.noted.append(signal)


def test_the_first_signal_from_outside_wins_before_the_flow_has_seen_any() -> None:
    """Two come while a call is under way: both are noted, in order, and the first one ends it."""
    port = _Port()
    life = JournaledLifecycle(None, port)
    life.flowing = False
    assert life.stop(StopCause.CANCELLED_BY_CALLER, 1.0, "enough")
    assert not life.stop(StopCause.CLIENT_DISCONNECTED, 2.0)
    assert life.stopped is None
    assert life.check(3.0) is not None
    life.flowing = True
    life.settle()
    assert [signal.cause for signal in port.noted] == [
        StopCause.CANCELLED_BY_CALLER,
        StopCause.CLIENT_DISCONNECTED,
    ]
    assert life.stopped is not None
    assert life.stopped.cause is StopCause.CANCELLED_BY_CALLER


def test_a_batch_that_was_stopped_from_outside_is_stopped_again() -> None:
    """No step of it was stopped itself: the signal of the flow is made anew."""
    told = Entry("next", 0, {"k": "next", "raised": "Stopped"}, "journal[9]")
    course = Course(Tape([told]), Recorder(None, "run-1"), tolerant=True)

    async def step() -> Any:
        raise AssertionError

    batch: PlayedBatch[Any] = PlayedBatch(course, [step])
    with pytest.raises(Stopped):
        drive(batch.next())

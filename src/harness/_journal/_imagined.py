"""
A world that a replay goes on in where today's flow leaves its journal.

Time stands still but for waits, stores keep what they are given, the client accepts everything: so
a decision of today can be followed to its record. A model or a tool cannot be imagined.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NoReturn, TypeVar

from harness._journal._asks import MODEL_SITES, TOOL
from harness._journal._batches import PlayedBatch
from harness._journal._course import Course
from harness._lifecycle import Lifecycle
from harness._records import CanonicalRecord, RunRecord
from harness._run import Run, ToolSpec
from harness._seam import Answer, Attempt, Batch
from harness._toolstep import ToolOutcome
from harness._values import ToolCall

__all__ = ["BeyondJournal", "ImaginedSeam"]

T = TypeVar("T")


class BeyondJournal(Exception):  # noqa: N818  a signal inside this package
    """
    The replay needs an answer that the journal does not have.
    """


class ImaginedSeam:
    """
    Answers where the journal has no answer, and calls nothing.

    Args:
        course: The run's course; refused where nothing can be imagined.
        at: The last instant of the journal.
        time: The last wall-clock time of the journal.
        saved: The canonical records that the run handed to its store.
    """

    def __init__(
        self, course: Course, at: float, time: datetime, saved: Mapping[str, CanonicalRecord]
    ) -> None:
        self._course: Final = course
        self._at = at
        self._time: Final = time
        self._saved: Final = saved
        self._ids = 0

    def now(self) -> float:
        """
        The last instant that was known.
        """
        return self._at

    reading = now

    def utc(self) -> datetime:
        """
        The last time that was known.
        """
        self._imagine()
        return self._time

    def new_id(self) -> str:
        """
        An id that no real run has.
        """
        self._imagine()
        self._ids += 1
        return f"imagined-{self._ids}"

    async def call(self, site: str, _function: Callable[..., Any], *arguments: Any) -> Answer:
        """
        Answer as a store or a client that works.
        """
        if site == TOOL or site in MODEL_SITES:
            self._give_up()
        self._imagine()
        is_load = site == "canonical_store.load"
        return Answer(self._saved.get(arguments[0]) if is_load else None, self._at)

    async def run_tool(
        self, _run: Run, _spec: ToolSpec, _call: ToolCall, _attempt: Attempt
    ) -> ToolOutcome:
        """
        Give up: nobody knows what a tool would have found.
        """
        self._give_up()  # pragma: no cover  the journal's seam makes tool calls itself

    async def wait(self, seconds: float, _life: Lifecycle) -> None:
        """
        Let time pass.
        """
        self._imagine()
        self._at += seconds

    def start(self, steps: Sequence[Callable[[], Awaitable[T]]]) -> Batch[T]:
        """
        Take a batch's steps one at a time.
        """
        return PlayedBatch(self._course, steps)

    def end(self, record: RunRecord) -> None:
        """
        Nothing is to be done.
        """

    # --- for calls whose answer the journal lost

    async def answer(self, _site: str, _function: Any, _arguments: tuple[Any, ...], /) -> Answer:
        """
        Give up: the journal ends in the middle of this call.
        """
        self._give_up()

    def outcome(self) -> ToolOutcome:
        """
        Give up: likewise.
        """
        self._give_up()

    def _imagine(self) -> None:
        """
        Go on where today's flow has left the journal, not where the journal is only cut short.
        """
        if not self._course.divergences:
            self._give_up()

    def _give_up(self) -> NoReturn:
        beyond = BeyondJournal()
        self._course.refuse(beyond)
        raise beyond

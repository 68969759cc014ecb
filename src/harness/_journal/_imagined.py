"""
A world that a replay goes on in where today's flow leaves its journal.

Time stands still but for waits, stores keep what they are given, the client accepts everything: so
a decision of today can be followed to its record. A model or a tool cannot be imagined.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from harness._journal._asks import MODEL_SITES, TOOL
from harness._journal._course import Course
from harness._lifecycle import Lifecycle
from harness._records import CanonicalRecord
from harness._run import Run
from harness._seam import Answer
from harness._sync import OneByOne
from harness._toolstep import ToolOutcome

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
    """

    run: Run

    def __init__(self, course: Course, at: float, time: datetime | None) -> None:
        self._course: Final = course
        self._at = at
        self._time: Final = time or datetime.fromtimestamp(0, UTC)
        self._ids = 0
        self._saved: dict[str, CanonicalRecord] = {}

    def now(self) -> float:
        """
        The last instant that was known.
        """
        return max(self._at, self.run.at)

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
            self._end()
        self._imagine()
        value = None
        if site == "canonical_store.load":
            value = self._saved.get(arguments[0])
        return Answer(value, self.now())

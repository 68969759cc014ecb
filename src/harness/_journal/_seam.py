"""
A seam over any driver's seam: every answer is journaled before the flow acts on it.

A call that cannot be made twice is noted as begun before it is made. A tool call is one entry, its
outcome: facts and codes, so that the raw result need not be kept.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar

from harness._canonical import is_intact
from harness._journal._answers import (
    answer_from,
    answer_to,
    outcome_from,
    outcome_to,
    raised_from,
    raised_to,
)
from harness._journal._asks import ENDING_SITES, MODEL_SITES, TOOL, ask_of, ask_of_tool, content_of
from harness._journal._batches import PlayedBatch, RecordedBatch, in_lanes
from harness._journal._course import Course, asked
from harness._journal._lost import Lost
from harness._journal._tape import Entry
from harness._lifecycle import Lifecycle
from harness._records import CanonicalRecord, RunRecord
from harness._run import Run, ToolSpec
from harness._seam import Answer, Attempt, Batch, Failed, Failure, Seam
from harness._states import FailureKind, RunState
from harness._toolstep import ToolOutcome, run_tool
from harness._values import ToolCall
from harness.errors import RunExistsError

__all__ = ["JournalSeam"]

T = TypeVar("T")

_SAVE: Final = "canonical_store.save"
_LOAD: Final = "canonical_store.load"
_BEGIN: Final = "run_store.begin"
#: Reading is repeated without harm: it is not noted before it is done.
_REPEATABLE: Final = frozenset({_LOAD})
#: What belongs to a tool call's outcome.
_WITHIN_A_TOOL: Final = frozenset({TOOL, "PROJECT"})


class JournalSeam:
    """
    Goes outside through another seam, and keeps a journal of it.

    Args:
        inner: The driver's seam.
        course: The run's course through its journal.
        lost: Answers for calls whose answer the journal lost.
        saved: Takes the canonical records of this run, as they are handed to the store.
    """

    def __init__(
        self, inner: Seam, course: Course, lost: Lost, saved: dict[str, CanonicalRecord]
    ) -> None:
        self._inner: Final = inner
        self._course: Final = course
        self._lost: Final = lost
        self.saved: Final = saved
        self._went_out = False

    def now(self) -> float:
        """
        Seconds since the run began, for whoever is not the flow.
        """
        return self._inner.now()

    def reading(self) -> float:
        """
        Seconds since the run began, as the flow's active check reads it.
        """
        at: float = self._course.read("now", self._inner.now)
        return at

    def utc(self) -> datetime:
        """
        Wall-clock time in UTC.
        """
        time: datetime = self._course.read("utc", self._inner.utc)
        return time

    def new_id(self) -> str:
        """
        A globally unique id.
        """
        made: str = self._course.read("id", self._inner.new_id)
        return made

    async def call(self, site: str, function: Callable[..., Any], *arguments: Any) -> Answer:
        """
        Call a host object, unless the journal knows its answer.
        """
        course = self._course
        if site in _WITHIN_A_TOOL:
            return await self._outside(self._inner.call(site, function, *arguments), course.lane)
        if site == _SAVE:
            self.saved[arguments[0].invocation_id] = arguments[0]
        lane = await course.turn()
        if self._is_played(site, ask_of(site, arguments)):
            entry = await self._answered(lane)
            if entry is not None:
                return self._known(site, entry, arguments)
            answer = await self._outside(self._lost.answer(site, function, arguments), lane)
        elif await self._may_go_out(site, arguments):
            answer = await self._outside(self._inner.call(site, function, *arguments), lane)
        else:
            answer = Failed(self._inner.now(), _unwritten())
        self._note_answer(site, answer, arguments)
        return answer

    async def run_tool(
        self, run: Run, spec: ToolSpec, call: ToolCall, attempt: Attempt
    ) -> ToolOutcome:
        """
        Execute a tool call and project its result, unless the journal knows what it came to.
        """
        course = self._course
        lane = await course.turn()
        if self._is_played(TOOL, ask_of_tool(call, attempt.number)):
            entry = await self._answered(lane)
            if entry is not None:
                return course.decode(outcome_from, entry.data, entry.path)
            outcome = self._lost.outcome()
        elif course.save():
            self._went_out = True
            outcome = await self._outside(run_tool(run, spec, call, attempt), lane)
        else:
            outcome = ToolOutcome(Failed(self._inner.now(), _unwritten()))
        course.note("answer", {**outcome_to(outcome), **self._wall()})
        course.save()
        return outcome

    async def wait(self, seconds: float, life: Lifecycle) -> None:
        """
        Wait, unless the wait was over then; one that was cut short is finished.
        """
        course = self._course
        lane = await course.turn()
        entry = course.take("wait", {"wait": seconds})
        if entry is not None:
            raised = raised_from(entry.data)
            if raised is not None:
                raise raised
            return
        if not self._went_out:
            # part of it may have passed before the crash
            seconds = min(seconds, max(0.0, course.run.at + seconds - self._inner.now()))
        try:
            await self._outside(self._inner.wait(seconds, life), lane)
        except BaseException as error:
            course.note("wait", raised_to(error))
            raise
        course.note("wait", {"seconds": seconds})

    def start(self, steps: Sequence[Callable[[], Awaitable[T]]]) -> Batch[T]:
        """
        Start a batch's steps, or read them back.
        """
        laned = in_lanes(self._course, steps)
        if self._course.is_live:
            return RecordedBatch(self._course, self._inner.start(laned))
        return PlayedBatch(self._course, laned)

    def end(self, record: RunRecord) -> None:
        """
        Note that the run is over, and as what.
        """
        course = self._course
        actual = {"end": content_of(record)}
        entry = course.take("end", actual)
        if entry is None:
            course.note("end", {"record": actual["end"]})
            course.save()
        elif entry.data.get("record") != actual["end"] and not course.divergences:
            course.differ({"end": entry.data.get("record")}, actual)

    # --- one call

    def _is_played(self, site: str, ask: dict[str, Any]) -> bool:
        """
        Take the beginning of a call from the journal, or note it.
        """
        course = self._course
        actual = {"site": site, **ask}
        entry = course.take("start", actual)
        if entry is None:
            course.step += 1
            course.note("start", {"site": site, "ask": ask, **self._moment()})
            return False
        expected = course.decode(asked, entry)
        if expected == actual:
            course.step += 1
        elif site in ENDING_SITES and expected["site"] == site:
            # a decision that shows in what is published; the way goes on as it did
            course.step += 1
            course.differ(expected, actual)
        else:
            course.diverge(entry, actual)
            return self._is_played(site, ask)
        return True

    async def _answered(self, lane: int) -> Entry | None:
        """
        Take a call's answer; ``None`` where the journal ends before it.
        """
        course = self._course
        course.lane = lane
        await course.turn()
        return course.take("answer", {"reads": "answer"})

    async def _may_go_out(self, site: str, arguments: tuple[Any, ...]) -> bool:
        """
        Store that the call begins; ``False`` where it must not, since nobody would know of it.

        Raises:
            RunExistsError: A journal of that run exists.
            JournalConflictError: Somebody else goes on with the run.
        """
        course = self._course
        if site in _REPEATABLE:
            return True
        is_first = not course.is_begun
        try:
            is_stored = course.save()
        except Exception:
            if is_first:
                record: RunRecord = arguments[0]
                raise RunExistsError(record.run_id, await self._state_of(record.run_id)) from None
            raise
        self._went_out = True
        # what is saved and published goes on without a journal: the run must not stay open
        return is_stored or site in ENDING_SITES

    async def _state_of(self, run_id: str) -> RunState:
        load = self._course.run.setup.run_store.load
        stored = (await self._inner.call("run_store.load", load, run_id)).value
        return stored.run_state if type(stored) is RunRecord else RunState.RUNNING

    async def _outside(self, going: Awaitable[T], lane: int) -> T:
        """
        Leave the flow, and come back to it.
        """
        course = self._course
        course.life.flowing = False
        try:
            return await going
        finally:
            course.lane, course.life.flowing = lane, True
            course.life.settle()

    def _known(self, site: str, entry: Entry, arguments: tuple[Any, ...]) -> Answer:
        """
        Give the answer that the journal has.
        """
        attempt = _attempt(site, arguments)
        answer = self._course.decode(answer_from, entry.data, entry.path, attempt)
        if entry.data.get("intact") is True:
            answer.value = self.saved.get(arguments[0])
        return answer

    def _note_answer(self, site: str, answer: Answer, arguments: tuple[Any, ...]) -> None:
        course = self._course
        own = self.saved.get(arguments[0]) if site == _LOAD else None
        if own is not None and answer.is_ok and is_intact(answer.value, own):
            # what was saved is known: it stands in the outcome of its tool call
            course.note("answer", {"ended": answer.ended, "intact": True})
            return
        data = answer_to(answer, _attempt(site, arguments))
        course.note("answer", {**data, **self._wall()})
        if site == _BEGIN and "exists" in data:
            course.note("end", {"refused": True})
        if site not in _REPEATABLE:
            course.save()

    def _moment(self) -> dict[str, Any]:
        """
        Say when a call begins, for a resume.
        """
        try:
            return {"at": self._inner.now(), **self._wall()}
        except Exception:  # noqa: BLE001  a broken clock is told by the flow's own check
            return {}

    def _wall(self) -> dict[str, Any]:
        try:
            return {"wall": self._inner.utc().isoformat()}
        except Exception:  # noqa: BLE001  the same
            return {}


def _attempt(site: str, arguments: tuple[Any, ...]) -> Attempt | None:
    return arguments[1] if site in MODEL_SITES else None


def _unwritten() -> Failure:
    return Failure(FailureKind.UNCLASSIFIED, "JournalUnavailable", "the call was not made")

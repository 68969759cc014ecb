"""How a journaled run is made: fresh, replayed, or resumed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from attrs import evolve, frozen

from harness._budget import Budget
from harness._journal._budget import BudgetUnderParent
from harness._journal._codec import from_data
from harness._journal._course import Course
from harness._journal._header import Header, header_data
from harness._journal._imagined import ImaginedSeam
from harness._journal._life import JournaledLifecycle
from harness._journal._lost import AskAgain, Lost
from harness._journal._recorder import Recorder
from harness._journal._seam import JournalSeam
from harness._journal._tape import Entry, Tape
from harness._run import Backoff, Run, Setup
from harness._seam import Seam
from harness._states import Component
from harness._values import Request
from harness.ports import EventSink, Journal

__all__ = ["Begin", "Moment", "begin_run", "last_moment", "replayed_run", "resumed_run"]


@frozen(kw_only=True)
class Begin:
    """
    What one run is given.

    Attributes:
        setup: The harness's parts.
        run_id: The run.
        request: What is asked.
        deadline: Seconds that the caller gave, or ``None``.
        client: Receives the events, or ``None``.
        parent: A parent budget, or ``None``.
    """

    setup: Setup
    run_id: str
    request: Request
    deadline: float | None
    client: EventSink | None
    parent: Budget | None


def begin_run(begin: Begin, inner: Seam, journal: Journal) -> Run:
    """
    Make a fresh run that is journaled.

    Args:
        begin: What it is given.
        inner: The driver's seam.
        journal: The journal.
    """
    recorder = Recorder(journal, begin.run_id)
    course = Course(Tape(), recorder)
    data = header_data(
        begin.setup,
        begin.run_id,
        begin.request,
        deadline=begin.deadline,
        client=begin.client is not None,
        parent=begin.parent is not None,
    )
    course.note("run", data)
    return _run(begin, course, inner, AskAgain(inner, begin.setup), parent=begin.parent is not None)


def resumed_run(
    begin: Begin, header: Header, entries: Sequence[Entry], inner: Seam, journal: Journal
) -> Run:
    """
    Make a run that goes on from its journal, and take it over from whoever wrote it.

    Args:
        begin: What it is given.
        header: How the journal begins.
        entries: What the journal has.
        inner: The driver's seam.
        journal: The journal.

    Raises:
        JournalConflictError: Somebody else goes on with it.
    """
    recorder = Recorder(journal, begin.run_id, len(entries))
    course = Course(Tape(entries[1:]), recorder)
    if entries[-1].kind != "end":
        course.note("resume", {"wall": inner.utc().isoformat()})
        fault = recorder.flush()
        if fault is not None:
            raise fault
    return _run(begin, course, inner, AskAgain(inner, begin.setup), parent=header.parent)


def replayed_run(begin: Begin, header: Header, entries: Sequence[Entry]) -> tuple[Run, Course]:
    """
    Make a run that is read back and calls nothing.

    Args:
        begin: What it is given.
        header: How the journal begins.
        entries: What the journal has.
    """
    course = Course(Tape(entries[1:]), Recorder(None, begin.run_id), tolerant=True)
    moment = last_moment(entries)
    saved: dict[str, Any] = {}
    imagined = ImaginedSeam(course, moment.at, moment.wall or _EPOCH, saved)
    run = _run(begin, course, imagined, imagined, parent=header.parent, saved=saved)
    return run, course


_EPOCH: Final = datetime.fromtimestamp(0, UTC)


def _run(  # noqa: PLR0913  the parts of a journaled run
    begin: Begin,
    course: Course,
    inner: Seam,
    lost: Lost,
    *,
    parent: bool,
    saved: dict[str, Any] | None = None,
) -> Run:
    setup = begin.setup
    if setup.backoff is not None:
        setup = evolve(setup, backoff=_journaled_backoff(setup.backoff, course))
    limits = setup.limits
    given = [seconds for seconds in (limits.deadline, begin.deadline) if seconds is not None]
    course.life = JournaledLifecycle(min(given) if given else None, course)
    seam = JournalSeam(inner, course, lost, {} if saved is None else saved)
    budget: Budget = Budget(
        model_attempts=limits.model_attempts,
        tool_calls=limits.tool_calls,
        tokens=limits.tokens,
        evidence_bytes=limits.evidence_bytes,
        cost=limits.cost,
    )
    if parent:
        budget = BudgetUnderParent(limits, begin.parent, course)
    course.run = Run(setup, seam, begin.request, begin.run_id, course.life, budget, begin.client)
    return course.run


def _journaled_backoff(backoff: Backoff, course: Course) -> Backoff:
    """
    Read a host's backoff through the journal: it may be drawn by lot.
    """

    def seconds(component: Component, number: int) -> float:
        value: float = course.read("backoff", lambda: backoff(component, number))
        return value

    return seconds


@frozen
class Moment:
    """
    When a journal was written last.

    Attributes:
        at: Seconds since the run began.
        wall: The wall-clock time then, or ``None``.
    """

    at: float
    wall: datetime | None


def last_moment(entries: Sequence[Entry]) -> Moment:
    """
    Say when a journal was written last.

    Args:
        entries: What the journal has.

    Raises:
        RecordDecodeError: A time in it is none.
    """
    at, wall = 0.0, None
    for entry in entries:
        for name in ("at", "ended", "is"):
            value = entry.data.get(name) if entry.kind in _CLOCKED.get(name, ()) else None
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                at = max(at, value)
        if "wall" in entry.data:
            path = f"{entry.path}.wall"
            wall = from_data({"!": "time", "is": entry.text("wall")}, path)
    return Moment(at, wall)


#: Which entries say an instant, and under which name.
_CLOCKED: Final = {"at": ("start",), "ended": ("answer",), "is": ("now",)}

"""
Replay a run from its journal, or resume one that a crash cut short.

A harness that was built with a ``journal`` keeps every answer that came through its ports, before
it acts on it. :func:`replay` runs the same flow over that journal and calls nothing: it gives the
same record, or says at which step today's code, limits or policy decide otherwise. :func:`resume`
goes on where a crash cut a run short, and makes no call twice. See :doc:`/how-to/replay`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from harness._budget import Budget
from harness._cancel import CancelToken
from harness._flow import run_flow
from harness._journal import (
    Begin,
    BeyondJournal,
    Divergence,
    Entry,
    Header,
    PastInterrupt,
    bare_setup,
    differences,
    last_moment,
    read_entries,
    read_header,
    replayed_run,
    resumed_run,
    under_rules_of,
)
from harness._limits import Limits
from harness._records import RunRecord, StreamEvent
from harness._release import ReleasePolicy
from harness._result import RunResult
from harness._run import Run, Setup
from harness._sync import Harness, HarnessBase, SyncSeam, drive, listening
from harness.errors import (
    ClientGoneError,
    DivergenceError,
    InvalidArgumentError,
    JournalConflictError,
)
from harness.ports import Clock, EventSink, Journal

if TYPE_CHECKING:
    from harness._aio import AsyncHarness

__all__ = [
    "Divergence",
    "DivergenceError",
    "Journal",
    "JournalConflictError",
    "ReplayResult",
    "cut_short",
    "replay",
    "resume",
    "resume_async",
]


@frozen(kw_only=True)
class ReplayResult:
    """
    What came of a replay.

    Attributes:
        record: The record of today, or ``None`` where the journal does not have what it needs: the
            run was cut short, or today's flow asks a model or a tool that nobody asked then.
        divergences: The steps at which today's flow decides otherwise; empty where it does not.
        changed: What the harness has otherwise today, in words; whether it matters or not.
        steps: How many outward calls were read back.
    """

    record: RunRecord | None
    divergences: tuple[Divergence, ...]
    changed: tuple[str, ...]
    steps: int

    @property
    def is_same(self) -> bool:
        """
        Whether the whole run was read back, and every decision is the same.
        """
        return self.record is not None and not self.divergences

    def __str__(self) -> str:
        lines = [f"changed  {text}" for text in self.changed]
        lines += [f"differs  {one}" for one in self.divergences]
        record = self.record
        if record is None:
            lines.append(f"ends     after {self.steps} steps: the journal knows no more")
        elif not self.divergences:
            lines.append(f"same     {self.steps} steps, {_ending(record)}")
        else:
            lines.append(f"today    {_ending(record)}")
        return "\n".join(lines)


def _ending(record: RunRecord) -> str:
    outcome = record.release_outcome
    fallback = record.fallback_type
    released = "-" if outcome is None else outcome.name
    return f"{record.run_state.name}, {released}" + (f" ({fallback.name})" if fallback else "")


def replay(
    journal: Journal,
    run_id: str | None = None,
    *,
    harness: HarnessBase | None = None,
    limits: Limits | None = None,
    policy: ReleasePolicy | None = None,
) -> ReplayResult:
    """
    Run the flow over a journal, with no call outside.

    By itself the journal is enough: it holds the rules that the run was begun under. Another
    harness, other limits or another policy answer *what would today's have done?*

    Args:
        journal: The journal.
        run_id: The run; may be left out where the journal holds only one.
        harness: Whose rules and tools apply; none of its parts is called, but its backoff where
            the journal has none.
        limits: Limits to apply.
        policy: A release policy to apply.

    Returns:
        The record, and where it differs.

    Raises:
        InvalidArgumentError: The journal does not have the run, or has several.
        RecordDecodeError: A line of the journal cannot be read; names which.
        SchemaVersionError: A later version wrote it.
        RunExistsError: So it was then: the run was refused.
    """
    entries = _entries(journal, _only(journal) if run_id is None else run_id)
    header = read_header(entries[0])
    setup = bare_setup(header) if harness is None else _setup_of(harness)
    if limits is not None:
        setup = evolve(setup, limits=limits)
    if policy is not None:
        setup = evolve(setup, policy=policy)
    client: EventSink | None = _Unreachable() if header.client else None
    run, course = replayed_run(_begin(header, setup, client, None), header, entries)
    record: RunRecord | None = None
    with suppress(BeyondJournal):
        record = drive(run_flow(run))
    return ReplayResult(
        record=record,
        divergences=tuple(course.divergences),
        changed=differences(header, setup, rules=True),
        steps=course.step,
    )


def cut_short(journal: Journal) -> tuple[str, ...]:
    """
    Name the runs that have begun and not ended: to be resumed, unless they are still under way.

    Args:
        journal: The journal.

    Raises:
        InvalidArgumentError: It is no journal.
    """
    ended = ('{"k":"end"',)
    lines = _checked(journal).last_lines()
    return tuple(run_id for run_id, line in lines if not line.startswith(ended))


def resume(  # noqa: PLR0913  a run's parts in this process
    journal: Journal,
    run_id: str,
    harness: Harness,
    *,
    cancel: CancelToken | None = None,
    client: EventSink | None = None,
    budget: Budget | None = None,
) -> RunResult:
    """
    Go on with a run that was cut short, from where its journal ends.

    Finished calls are not made again; a call under way at the crash counts as spent and failed as
    ``TRANSPORT``. The run keeps the rules it was begun under, and its deadline: the time before the
    crash and the time since count. Where it is still under way elsewhere, it goes on here alone.

    A run that has ended is read back, and nothing is called.

    Args:
        journal: The journal.
        run_id: The run.
        harness: Built like the one that began the run, on the same stores.
        cancel: Cancels the run from any thread.
        client: Receives what is still to be sent. Without one the client counts as gone, if there
            was one.
        budget: The parent budget, charged with the whole run.

    Returns:
        The result.

    Raises:
        InvalidArgumentError: The journal does not have the run, or an argument is something else.
        DivergenceError: Today's code would have run it differently; it is left as it is.
        JournalConflictError: Somebody else resumes it.
        RecordDecodeError: A line of the journal cannot be read.
        SchemaVersionError: A later version wrote it.
        RunExistsError: A run of that id existed before it.
        BaseException: What a host object raised that is no ``Exception``, after the record was
            saved (section 3.1).
    """
    if not isinstance(harness, Harness):
        raise InvalidArgumentError("harness", harness, "a Harness; resume_async takes the other")
    entries, header = _to_resume(journal, run_id, harness, client, budget)
    clock = harness._clock  # noqa: SLF001  a driver of the same package, as below
    seam = SyncSeam(clock, clock.monotonic(), harness._ids, harness._classifier)  # noqa: SLF001
    seam.count_from(_passed(entries, clock))
    begin = _begin(header, under_rules_of(_setup_of(harness), header), client, budget)
    run = resumed_run(_with_client(begin, header), header, entries, seam, journal)
    with listening(cancel, run):
        record = drive(run_flow(run))
    return _result(record, run.interrupt)


async def resume_async(  # noqa: PLR0913  the same
    journal: Journal,
    run_id: str,
    harness: AsyncHarness,
    *,
    cancel: CancelToken | None = None,
    client: Any = None,
    budget: Budget | None = None,
) -> RunResult:
    """
    Go on with a run under asyncio, as :func:`resume` does.

    The batch of tools that the crash fell into is finished one call at a time; later ones run
    together again.

    Args:
        journal: The journal.
        run_id: The run.
        harness: Built like the one that began the run, on the same stores.
        cancel: Cancels the run from any thread.
        client: Receives what is still to be sent.
        budget: The parent budget.

    Returns:
        The result.

    Raises:
        HarnessError: As for :func:`resume`.
        CancelledError: The task was cancelled; the record was saved before (section 3.1).
        BaseException: What a host object raised that is no ``Exception``, likewise.
    """
    from harness._aio import AsyncHarness, AsyncSeam  # noqa: PLC0415  loads asyncio

    if not isinstance(harness, AsyncHarness):
        raise InvalidArgumentError("harness", harness, "an AsyncHarness; resume takes the other")
    entries, header = _to_resume(journal, run_id, harness, client, budget)
    passed = _passed(entries, harness._clock)  # noqa: SLF001  a driver of the same package

    def prepare(seam: AsyncSeam) -> Run:
        seam.count_from(passed)
        begin = _begin(header, under_rules_of(_setup_of(harness), header), client, budget)
        return resumed_run(_with_client(begin, header), header, entries, seam, journal)

    return _result(*await harness._carry_on(prepare, cancel))  # noqa: SLF001


def _result(record: RunRecord, interrupt: BaseException | None) -> RunResult:
    # one that is in the journal interrupted a process that is gone
    if interrupt is None or isinstance(interrupt, PastInterrupt):
        return RunResult(record)
    raise interrupt


# --- what a journal is read for


def _checked(journal: Any) -> Journal:
    if isinstance(journal, Journal):
        return journal
    raise InvalidArgumentError("journal", journal, "an object with append, read and last_lines")


def _only(journal: Journal) -> str:
    runs = [run_id for run_id, _ in _checked(journal).last_lines()]
    if len(runs) == 1:
        return runs[0]
    raise InvalidArgumentError("run_id", None, f"one of the journal's {len(runs)} runs")


def _entries(journal: Journal, run_id: Any) -> list[Entry]:
    lines = _checked(journal).read(run_id) if isinstance(run_id, str) else ()
    if not lines:
        raise InvalidArgumentError("run_id", run_id, "a run that the journal has")
    return read_entries(lines, run_id)


def _setup_of(harness: Any) -> Setup:
    if not isinstance(harness, HarnessBase):
        raise InvalidArgumentError("harness", harness, "a Harness or AsyncHarness")
    return harness._setup  # noqa: SLF001  the parts of a driver of the same package


def _begin(header: Header, setup: Setup, client: EventSink | None, parent: Budget | None) -> Begin:
    return Begin(
        setup=setup,
        run_id=header.run_id,
        request=header.request,
        deadline=header.deadline,
        client=client,
        parent=parent,
    )


def _to_resume(
    journal: Journal, run_id: str, harness: HarnessBase, client: Any, budget: Any
) -> tuple[list[Entry], Header]:
    """
    Read a journal that a run shall go on from, and check that it can.
    """
    entries = _entries(journal, run_id)
    header = read_header(entries[0])
    changed = differences(header, _setup_of(harness), rules=False)
    if changed:
        raise DivergenceError(run_id, changed)
    harness._check_client(client)  # noqa: SLF001  as for a fresh run
    if client is not None and not header.client:
        raise InvalidArgumentError("client", client, "None: the run was begun without a client")
    if budget is not None and not isinstance(budget, Budget):
        raise InvalidArgumentError("budget", budget, "a Budget, or None")
    if budget is not None and not header.parent:
        raise InvalidArgumentError("budget", budget, "None: the run was begun without a parent")
    return entries, header


def _with_client(begin: Begin, header: Header) -> Begin:
    if begin.client is None and header.client:
        return evolve(begin, client=_Unreachable())
    return begin


class _Unreachable:
    """
    Stands for the client of a run whose process has ended, and its connection with it.
    """

    def send(self, event: StreamEvent) -> None:
        """
        Accept nothing.

        Args:
            event: The event.

        Raises:
            ClientGoneError: Always.
        """
        del event
        raise ClientGoneError


def _passed(entries: list[Entry], clock: Clock) -> float:
    """
    Say how much of the run's time has passed: up to its last entry, and the wall-clock gap since.
    """
    moment = last_moment(entries)
    if moment.wall is None:
        return moment.at
    return moment.at + max(0.0, (clock.utc() - moment.wall).total_seconds())

"""
What a host implements: one protocol a role.

Every method may be called from the thread that runs the harness; a host object that is shared
between runs must be safe to share. Raise :class:`harness.errors.ProviderError` (or one of its
kinds) to classify a failure; everything else is classified by type (section 3.2).

The asynchronous driver accepts the same protocols with ``async def`` methods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from threading import Event
from typing import Any, Protocol, runtime_checkable

from harness._records import CanonicalRecord, RunRecord, SemanticCase, StreamEvent
from harness._seam import Attempt
from harness._states import SemanticVerdict
from harness._tools import Parameter
from harness._values import AgentTurn, DiagnosisDraft, Fact, Request, Route, ToolCall
from harness._view import AgentView, RepairCase

__all__ = [
    "Attempt",
    "CanonicalStore",
    "Clock",
    "DiagnosisAgent",
    "EventSink",
    "EvidenceRepairer",
    "IdSource",
    "Journal",
    "ProjectingTool",
    "Responder",
    "Router",
    "RunStore",
    "SemanticGuard",
    "Tool",
]


@runtime_checkable
class Router(Protocol):
    """
    Says what a request asks for (section 3.4). Tried up to twice.
    """

    def route(self, request: Request, attempt: Attempt) -> Route:
        """
        Route a request.

        Args:
            request: The request.
            attempt: Where to report usage.
        """
        ...


@runtime_checkable
class Responder(Protocol):
    """
    Answers a general request (section 3.4). Tried once.
    """

    def reply(self, request: Request, attempt: Attempt) -> str:
        """
        Reply to a request that asks for no diagnosis; not blank.

        Args:
            request: The request.
            attempt: Where to report usage.
        """
        ...


@runtime_checkable
class DiagnosisAgent(Protocol):
    """
    Takes the turns of a diagnosis (section 3.6). One model request a turn, never retried.
    """

    def next_turn(self, view: AgentView, attempt: Attempt) -> AgentTurn:
        """
        Ask for tool calls, or hand in a draft.

        Args:
            view: What is known so far; where ``view.stop`` is set, only a draft is accepted.
            attempt: Where to report usage.
        """
        ...


@runtime_checkable
class Tool(Protocol):
    """
    Queries a source (section 3.5). Executed once a call, never retried.

    Attributes:
        name: What agents ask for; unique in a harness.
        description: What it does, for agents.
        parameters: Declared parameters, checked before execution; ``None`` accepts any.
    """

    @property
    def name(self) -> str: ...  # noqa: D102  documented above

    @property
    def description(self) -> str: ...  # noqa: D102  documented above

    @property
    def parameters(self) -> Mapping[str, Parameter] | None: ...  # noqa: D102  documented above

    def execute(self, call: ToolCall, attempt: Attempt) -> object:
        """
        Execute a call.

        Args:
            call: Scope and arguments; immutable (``call.arguments.thaw()`` gives a copy).
            attempt: Deadline and cancellation.

        Returns:
            Text, a :class:`Fact`, an iterable of them, or ``None``; any other value needs
            :meth:`ProjectingTool.project`.
        """
        ...


@runtime_checkable
class ProjectingTool(Tool, Protocol):
    """
    A tool that turns its raw result into facts itself (section 3.5).
    """

    def project(self, raw: Any) -> Iterable[Fact | str]:
        """
        Turn a raw result into facts.

        Args:
            raw: What :meth:`execute` returned, after its size was checked.
        """
        ...


@runtime_checkable
class EvidenceRepairer(Protocol):
    """
    Repairs a draft's citations, once, without tools (section 3.7).
    """

    def repair(self, case: RepairCase, attempt: Attempt) -> DiagnosisDraft:
        """
        Give a new draft; it is checked again.

        Args:
            case: The draft, its violations and the run's records.
            attempt: Where to report usage.
        """
        ...


@runtime_checkable
class SemanticGuard(Protocol):
    """
    Judges whether the cited evidence supports the visible text (section 3.7). Tried up to twice.
    """

    def judge(self, case: SemanticCase, attempt: Attempt) -> SemanticVerdict:
        """
        Give a verdict; nothing else of what it says reaches the public.

        Args:
            case: All visible text, and exactly what it cites.
            attempt: Where to report usage.
        """
        ...


@runtime_checkable
class CanonicalStore(Protocol):
    """
    Keeps canonical records (section 3.5). Whatever it raises breaks the trust in the run.
    """

    def save(self, record: CanonicalRecord) -> None:
        """
        Save a record.

        Args:
            record: The record; its id is globally unique.
        """
        ...

    def load(self, invocation_id: str) -> CanonicalRecord | None:
        """
        Read a record of any run.

        Args:
            invocation_id: Its id, compared literally.

        Returns:
            The record as it was saved, or ``None`` where there is none.
        """
        ...


@runtime_checkable
class RunStore(Protocol):
    """
    Keeps run records; the host's database row (section 3.10).
    """

    def begin(self, record: RunRecord) -> None:
        """
        Open a run.

        Args:
            record: The record, ``RUNNING``.

        Raises:
            RunExistsError: A run of that id exists; it is unaffected.
        """
        ...

    def finish(self, record: RunRecord) -> RunRecord | None:
        """
        End a run: a compare-and-set from ``RUNNING``.

        Args:
            record: The ended record.

        Returns:
            ``None`` where *record* is stored now; else the ending that stood there before.
        """
        ...

    def mark_delivered(self, run_id: str) -> None:
        """
        Note that the client accepted the content or the failure.

        Args:
            run_id: The run.
        """
        ...

    def load(self, run_id: str) -> RunRecord | None:
        """
        Read a run's record.

        Args:
            run_id: The run.
        """
        ...


@runtime_checkable
class EventSink(Protocol):
    """
    Sends events to the client (section 3.10).
    """

    def send(self, event: StreamEvent) -> None:
        """
        Send one event; returning means that the client accepted it.

        Args:
            event: The event.

        Raises:
            ClientGoneError: The client is gone. Any other exception counts as that too.
        """
        ...


@runtime_checkable
class Clock(Protocol):
    """
    Time (section 3.1).
    """

    def monotonic(self) -> float:
        """
        Seconds on a clock that never steps; for deadlines and durations.
        """
        ...

    def utc(self) -> datetime:
        """
        Wall-clock time, timezone-aware UTC; for records only.
        """
        ...

    def wait(self, seconds: float, wake: Event) -> None:
        """
        Wait between two attempts.

        Args:
            seconds: How long.
            wake: Set when the run ends; then the wait ends at once.
        """
        ...


@runtime_checkable
class Journal(Protocol):
    """
    Keeps, for each run, the lines of its journal: strict JSON, in ASCII, one entry a line.

    What :meth:`append` returned from must survive the end of the process. Its lines hold evidence
    and drafts: keep them as safe, and as briefly, as the canonical records.
    """

    def append(self, run_id: str, number: int, lines: Sequence[str]) -> None:
        """
        Add lines to a run's journal: all of them, or none.

        Args:
            run_id: The run.
            number: How many lines the run must have so far.
            lines: The lines.

        Raises:
            JournalConflictError: It has another number of lines: somebody else goes on with it.
        """
        ...

    def read(self, run_id: str) -> Sequence[str]:
        """
        Read a run's lines, in order; none where the run is not known.

        Args:
            run_id: The run, compared literally.
        """
        ...

    def last_lines(self) -> Iterable[tuple[str, str]]:
        """
        Give each run with its last line, in the order of their ids.
        """
        ...


#: Gives a globally unique id at each call.
IdSource = Callable[[], str]

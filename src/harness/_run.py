"""One run: what the harness was built with, and the state that belongs to this run alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from attrs import frozen

from harness._budget import Budget
from harness._collection import Collection
from harness._lifecycle import Lifecycle
from harness._limits import Limits
from harness._records import CanonicalRecord, Invocation, RawEvent, Violation
from harness._release import ReleasePolicy
from harness._seam import Aborted, Seam
from harness._states import (
    Component,
    Intent,
    OnDisconnect,
    ProgressMode,
    SemanticVerdict,
    StopCause,
    TraceCode,
)
from harness._stream import EventStream
from harness._tools import Parameter
from harness._values import DiagnosisDraft, Request
from harness._view import ToolInfo
from harness.ports import CanonicalStore, EventSink, RunStore

__all__ = ["Backoff", "Run", "Setup", "Stopped", "ToolSpec"]

#: Seconds to wait before the n-th retry of a component; 0 for none.
Backoff = Callable[[Component, int], float]

#: A host's function of one argument and the attempt.
HostFunction = Callable[..., Any]


@frozen
class ToolSpec:
    """
    A configured tool, with what the flow needs of it looked up once.

    Attributes:
        name: Its name.
        parameters: Its declared parameters; ``None`` accepts any.
        execute: Executes a call.
        project: Projects a raw result, where the tool does so itself.
    """

    name: str
    parameters: Mapping[str, Parameter] | None
    execute: HostFunction
    project: Callable[[Any], Iterable[Any]] | None = None


@frozen(kw_only=True)
class Setup:
    """
    What a harness was built with; immutable and shared by all its runs.
    """

    agent: HostFunction
    tools: Mapping[str, ToolSpec]
    tool_infos: tuple[ToolInfo, ...]
    router: HostFunction | None
    responder: HostFunction | None
    repairer: HostFunction | None
    guard: HostFunction
    canonical_store: CanonicalStore
    run_store: RunStore
    limits: Limits
    progress: ProgressMode
    required_context: tuple[str, ...]
    policy: ReleasePolicy
    on_disconnect: OnDisconnect
    backoff: Backoff | None
    max_parallel_tools: int


class Stopped(Exception):  # noqa: N818  a signal of the flow to itself, never seen outside
    """
    The run has ended: unwinds to the flow's own ending.
    """


class Run:
    """
    The state of one run. Only the flow writes it; other threads reach it through the lifecycle.
    """

    __slots__ = (
        "_seam_now",
        "at",
        "attempt_numbers",
        "attempts",
        "budget",
        "checks",
        "cited",
        "client_gone",
        "collection",
        "draft",
        "evidence_prefix",
        "intent",
        "interrupt",
        "invocations",
        "life",
        "made_calls",
        "missing_context",
        "opened",
        "records",
        "repaired",
        "reply",
        "request",
        "run_id",
        "seam",
        "setup",
        "sink",
        "started_at",
        "stream",
        "trace",
        "trusted",
        "turn",
        "verdict",
        "violations",
    )

    def __init__(  # noqa: PLR0913  one call site; each is a part of the run
        self,
        setup: Setup,
        seam: Seam,
        request: Request,
        run_id: str,
        life: Lifecycle,
        budget: Budget,
        sink: EventSink | None,
    ) -> None:
        self.setup: Final = setup
        self.seam: Final = seam
        self.request: Final = request
        self.run_id: Final = run_id
        self.life: Final = life
        self.budget: Final = budget
        self.sink: Final = sink
        self._seam_now: Final = seam.reading
        limits = setup.limits
        self.collection: Final = Collection(setup.progress, limits.no_gain, limits.violations)
        self.stream: Final = EventStream()
        #: The last instant that was read, in seconds since the run began.
        self.at = 0.0
        self.trace: Final[list[RawEvent]] = []
        self.attempts: Final[list[tuple[Any, ...]]] = []
        self.attempt_numbers: Final[dict[Component, int]] = {}
        self.invocations: Final[list[Invocation]] = []
        self.records: Final[list[CanonicalRecord]] = []
        self.evidence_prefix = ""
        #: Wall-clock time, for the record.
        self.started_at = datetime.fromtimestamp(0, UTC)
        # without a router every run is routed from the start (section 3.4)
        self.intent: Intent | None = Intent.DIAGNOSIS if setup.router is None else None
        self.missing_context: tuple[str, ...] = ()
        #: What the gates said, so far; see Gates.
        self.checks = 0
        self.violations: tuple[Violation, ...] = ()
        self.repaired = False
        self.verdict: SemanticVerdict | None = None
        self.draft: DiagnosisDraft | None = None
        #: The records that an approved report cites.
        self.cited: Mapping[str, CanonicalRecord] = {}
        #: The reply to a general request.
        self.reply = ""
        self.turn = 0
        #: How many tool calls were really made.
        self.made_calls = 0
        self.opened = False
        self.client_gone = False
        #: Whether the canonical store always gave back what it was given.
        self.trusted = True
        #: The first exception of a host that goes on to the caller after the record was saved.
        self.interrupt: BaseException | None = None

    def note(self, code: TraceCode, /, **detail: object) -> None:
        """
        Note a trace event at the last instant that was read.
        """
        self.trace.append((code, self.at, detail))

    def check(self) -> None:
        """
        Make the active check now (section 3).

        Raises:
            Stopped: The run has ended.
        """
        self.check_at(self._seam_now())

    def check_at(self, at: float) -> None:
        """
        Make the active check at an instant that was just read.

        Raises:
            Stopped: The run has ended.
        """
        self.at = at
        life = self.life
        if life.stopped is not None or at >= life.expires:
            life.check(at)
            raise Stopped

    def stop(self, cause: StopCause) -> Stopped:
        """
        Claim the run's end, for the caller to raise what is returned.
        """
        self.life.stop(cause, self.at)
        return Stopped()

    def interrupted(self, error: BaseException) -> None:
        """
        Take note of a host's exception that is no ``Exception``: it ends the run (section 3.1).
        """
        if type(error) is Aborted:
            # the run has ended already, by whatever cut the call short
            return
        if self.interrupt is None:
            self.interrupt = error
        self.life.stop(StopCause.INTERRUPTED, self.at)

    def note_late_signals(self) -> None:
        """
        Trace the terminal signals that have lost since this was done last (section 3.1).
        """
        late = self.life.late
        while late:
            self.note(TraceCode.LATE_SIGNAL, cause=late.pop(0).cause)

    def next_number(self, component: Component) -> int:
        """
        Number a component's next attempt.
        """
        numbers = self.attempt_numbers
        number = numbers[component] = numbers.get(component, 0) + 1
        return number

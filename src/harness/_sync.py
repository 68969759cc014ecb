"""The synchronous reference driver: plain functions, no event loop, nothing ever suspends."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from math import isfinite
from threading import Event
from types import CoroutineType, NoneType
from typing import Any, Final, Generic, TypeVar

from harness._budget import Budget
from harness._cancel import CancelToken
from harness._flow import run_flow
from harness._json import clean_text
from harness._lifecycle import Lifecycle
from harness._limits import Limits, to_seconds
from harness._records import CanonicalRecord, RunRecord
from harness._release import ReleasePolicy
from harness._result import RunResult
from harness._run import Backoff, Run, Setup
from harness._seam import Answer, Classifier, Failed, Failure, Seam, classify
from harness._setup import build_setup, has_methods, is_asynchronous
from harness._states import (
    FailureKind,
    OnDisconnect,
    ProgressMode,
    SemanticVerdict,
    StopCause,
)
from harness._toolstep import run_tool
from harness._values import AgentTurn, Fact, PreviousTurn, Request, Route
from harness.errors import AwaitableResultError, InvalidArgumentError
from harness.ports import (
    CanonicalStore,
    Clock,
    DiagnosisAgent,
    EventSink,
    EvidenceRepairer,
    IdSource,
    Journal,
    Responder,
    Router,
    RunStore,
    SemanticGuard,
    Tool,
)
from harness.stores.memory import MemoryCanonicalStore, MemoryRunStore

__all__ = ["Harness", "HarnessBase", "SyncSeam", "SystemClock", "began"]

T = TypeVar("T")


_NO_OFFSET: Final = timedelta(0)

#: What hosts return most, and what nobody awaits: looking it up is cheaper than asking.
PLAIN: Final = frozenset(
    {NoneType, str, list, tuple, dict, Fact, Route, AgentTurn, SemanticVerdict, CanonicalRecord}
)


class SystemClock:
    """
    The machine's clocks: monotonic for deadlines, UTC for records.
    """

    #: Seconds on a clock that never steps.
    monotonic = staticmethod(time.monotonic)

    def utc(self) -> datetime:
        """
        Wall-clock time, UTC.
        """
        return datetime.now(UTC)

    def wait(self, seconds: float, wake: Event) -> None:
        """
        Wait between two attempts; ends at once when *wake* is set.

        Args:
            seconds: How long.
            wake: Set when the run ends.
        """
        wake.wait(seconds)


class SeamClock:
    """
    A run's time: seconds since it began, never backwards, whatever the host's clock does.
    """

    __slots__ = ("_clock", "_last", "_monotonic", "_start", "_utc")

    #: The host's mapping of exceptions, of the drivers that classify them.
    _classifier: Classifier | None

    def __init__(self, clock: Clock, start: float) -> None:
        self._clock = clock
        self._monotonic = clock.monotonic
        self._start = start
        self._last = 0.0
        self._utc: datetime | None = None

    def now(self) -> float:
        """
        Seconds since the run began.
        """
        at = self._monotonic() - self._start
        # also false for NaN, so that a broken clock stands still and never runs backwards
        if at > self._last:  # noqa: PLR1730  a call more, on the line that runs most often
            self._last = at
        return self._last

    #: The same for the flow; what keeps a journal reads it apart.
    reading = now

    #: A tool call as it is.
    run_tool = staticmethod(run_tool)

    def end(self, _record: RunRecord) -> None:
        """
        Nobody takes note that the run is over.
        """

    def count_from(self, seconds: float) -> None:
        """
        Count time that had passed before this process took the run over.

        Args:
            seconds: How much.
        """
        self._start -= seconds

    def instant(self) -> float:
        """
        The instant at which a call returned, known or not: its answer is not lost with a clock.

        The next active check reads the clock again, and a broken one ends the run there.
        """
        try:
            return self.now()
        except Exception:  # noqa: BLE001  a broken clock stands still
            return self._last

    def failed(self, error: BaseException) -> Failed:
        """
        Say what came of a call that raised: a failure, classified once, here, or an interrupt.

        What interrupts a classifier or the clock meanwhile is carried like what a host raises.

        Args:
            error: What the host raised.
        """
        if not isinstance(error, Exception):
            with suppress(BaseException):
                # the first interrupt goes on to the caller, whatever the clock raises
                return Failed(self.instant(), interrupt=error)
            return Failed(self._last, interrupt=error)
        try:
            return Failed(self.instant(), classify(error, self._classifier), error=error)
        except Exception:  # noqa: BLE001  an error that cannot even be looked at
            failure = Failure(FailureKind.UNCLASSIFIED, type(error).__name__)
            return Failed(self._last, failure, error=error)
        except BaseException as interrupt:  # noqa: BLE001  carried to the caller by the flow
            return Failed(self._last, interrupt=interrupt)

    def utc(self) -> datetime:
        """
        Wall-clock time, UTC; the last good one, where the host's clock has broken since.

        Raises:
            InvalidArgumentError: It never gave a time in UTC.
        """
        try:
            now = self._clock.utc()
            if now.utcoffset() == _NO_OFFSET:
                self._utc = now
        except Exception:  # noqa: BLE001, S110  a broken wall clock keeps no run from its ending
            pass
        if self._utc is None:
            raise InvalidArgumentError("clock.utc()", None, "a timezone-aware time in UTC")
        return self._utc


class SyncSeam(SeamClock):
    """
    Calls the host's plain functions and returns.
    """

    __slots__ = ("_classifier", "_ids")

    #: A flow that never suspends cannot be closed.
    is_closing: Final = False

    def __init__(
        self, clock: Clock, start: float, ids: IdSource, classifier: Classifier | None
    ) -> None:
        super().__init__(clock, start)
        self._ids = ids
        self._classifier = classifier

    def new_id(self) -> str:
        """
        A globally unique id.
        """
        return self._ids()

    async def call(self, site: str, function: Callable[..., Any], *arguments: Any) -> Answer:  # noqa: ARG002  wrappers read it
        """
        Call a host object.
        """
        try:
            value = function(*arguments)
        except BaseException as error:  # noqa: BLE001  classified, or carried to the caller
            return self.failed(error)
        # asked of the type, as the language does: a proxy's own __getattr__ may raise
        if type(value) not in PLAIN and hasattr(type(value), "__await__"):
            return Failed(self.instant(), _refused_awaitable(value, function))
        # instant(), without the call: this line runs five times a step
        try:
            at = self._monotonic() - self._start
            if at > self._last:  # noqa: PLR1730  a call more, on the line that runs most often
                self._last = at
        except Exception:  # noqa: BLE001, S110  as in instant
            pass
        except BaseException as interrupt:  # noqa: BLE001  the clock's, carried like the host's
            return Failed(self._last, interrupt=interrupt)
        return Answer(value, self._last)

    async def wait(self, seconds: float, life: Lifecycle) -> None:
        """
        Wait; ends at once when the run ends.
        """
        self._clock.wait(seconds, life.wake())

    def start(self, steps: Sequence[Callable[[], Awaitable[T]]]) -> OneByOne[T]:
        """
        Run a batch's steps one at a time, in order.
        """
        return OneByOne(steps)


class OneByOne(Generic[T]):
    """
    Steps that run when they are asked for.
    """

    __slots__ = ("_next", "_steps")

    def __init__(self, steps: Sequence[Callable[[], Awaitable[T]]]) -> None:
        self._steps = steps
        self._next = 0

    async def next(self) -> tuple[int, T] | None:
        """
        Run the next step.
        """
        place = self._next
        if place == len(self._steps):
            return None
        self._next = place + 1
        return place, await self._steps[place]()

    async def close(self) -> tuple[int, ...]:
        """
        Leave what was not started.
        """
        return ()


def _refused_awaitable(value: object, function: Callable[..., Any]) -> Failure:
    """
    Refuse an awaitable without leaving it to warn that nobody awaited it.
    """
    if isinstance(value, CoroutineType):
        value.close()
    error = AwaitableResultError(getattr(function, "__qualname__", repr(function))[:200])
    return Failure(FailureKind.INVALID_OUTPUT, type(error).__name__, str(error))


class HarnessBase:
    """
    What both drivers have in common: the checked setup, and how a run is prepared.
    """

    __slots__ = ("_classifier", "_clock", "_ids", "_journal", "_setup")

    _allow_async = False

    def __init__(  # noqa: PLR0913  one parameter a port
        self,
        agent: DiagnosisAgent | Callable[..., Any],
        tools: Iterable[Tool | Callable[..., Any]] = (),
        *,
        router: Router | Callable[..., Any] | None = None,
        responder: Responder | Callable[..., Any] | None = None,
        repairer: EvidenceRepairer | Callable[..., Any] | None = None,
        semantic_guard: SemanticGuard | Callable[..., Any] | None = None,
        canonical_store: CanonicalStore | None = None,
        run_store: RunStore | None = None,
        limits: Limits | None = None,
        progress: ProgressMode | str = ProgressMode.REPORTED,
        required_context: Iterable[str] = (),
        policy: ReleasePolicy | None = None,
        on_disconnect: OnDisconnect | str = OnDisconnect.CANCEL,
        classifier: Classifier | None = None,
        backoff: Backoff | None = None,
        clock: Clock | None = None,
        ids: IdSource | None = None,
        max_parallel_tools: int = 1,
        journal: Journal | None = None,
    ) -> None:
        if semantic_guard is None:
            semantic_guard = _lexical_guard()
        self._setup: Setup = build_setup(
            agent=agent,
            tools=tools,
            router=router,
            responder=responder,
            repairer=repairer,
            semantic_guard=semantic_guard,
            canonical_store=MemoryCanonicalStore() if canonical_store is None else canonical_store,
            run_store=MemoryRunStore() if run_store is None else run_store,
            limits=Limits() if limits is None else limits,
            progress=progress,
            required_context=required_context,
            policy=ReleasePolicy() if policy is None else policy,
            on_disconnect=on_disconnect,
            backoff=backoff,
            max_parallel_tools=max_parallel_tools,
            allow_async=self._allow_async,
        )
        self._classifier = _function("classifier", classifier)
        self._ids: IdSource = _function("ids", ids) or _random_id
        if clock is not None and not has_methods(clock, ("monotonic", "utc", "wait")):
            raise InvalidArgumentError("clock", clock, "an object with monotonic, utc and wait")
        self._clock: Clock = SystemClock() if clock is None else clock
        if journal is not None and not has_methods(journal, ("append", "read", "last_lines")):
            allowed = "an object with append, read and last_lines, or None"
            raise InvalidArgumentError("journal", journal, allowed)
        self._journal = journal

    @property
    def limits(self) -> Limits:
        """
        The limits of each run.
        """
        return self._setup.limits

    @property
    def canonical_store(self) -> CanonicalStore:
        """
        Where canonical records are kept.
        """
        return self._setup.canonical_store

    @property
    def run_store(self) -> RunStore:
        """
        Where run records are kept.
        """
        return self._setup.run_store

    def _prepare(  # noqa: PLR0913  what one run may be given
        self,
        seam: Seam,
        request: Request,
        run_id: str | None,
        deadline: float | None,
        client: EventSink | None,
        budget: Budget | None,
    ) -> Run:
        """
        Make the state of one run.
        """
        self._check_client(client)
        if budget is not None and not isinstance(budget, Budget):
            raise InvalidArgumentError("budget", budget, "a Budget, or None")
        if self._journal is not None:
            # only here: most runs keep no journal
            from harness._journal import Begin, begin_run  # noqa: PLC0415

            begin = Begin(
                setup=self._setup,
                run_id=self._run_id(run_id),
                request=request,
                deadline=to_seconds(deadline),
                client=client,
                parent=budget,
            )
            return begin_run(begin, seam, self._journal)
        limits = self._setup.limits
        own = Budget(
            model_attempts=limits.model_attempts,
            tool_calls=limits.tool_calls,
            tokens=limits.tokens,
            evidence_bytes=limits.evidence_bytes,
            cost=limits.cost,
            parent=budget,
        )
        life = Lifecycle(_earlier(limits.deadline, to_seconds(deadline)))
        return Run(self._setup, seam, request, self._run_id(run_id), life, own, client)

    def _check_client(self, client: object) -> None:
        if client is None:
            return
        if not has_methods(client, ("send",)):
            raise InvalidArgumentError("client", client, "an object with send, or None")
        if not self._allow_async and is_asynchronous(getattr(client, "send", None)):
            raise AwaitableResultError("client")

    def _run_id(self, run_id: Any) -> str:
        given = "run_id" if run_id is not None else "ids()"
        try:
            run_id = self._ids() if run_id is None else run_id
        except Exception as error:
            raise InvalidArgumentError(given, type(error), "text that is not blank") from error
        if not isinstance(run_id, str) or not run_id.strip():
            raise InvalidArgumentError(given, run_id, "text that is not blank")
        return clean_text(run_id)


class Harness(HarnessBase):
    """
    Runs diagnoses synchronously. Immutable; safe to share between threads.

    Args:
        agent: An object with ``next_turn(view, attempt)``, or a function of the view.
        tools: Tools, or typed functions; each name once.
        router: Says what a request asks for; without one every request is a diagnosis.
        responder: Answers general requests; needed where the router may say ``GENERAL``.
        repairer: Repairs a draft's citations once.
        semantic_guard: Judges the visible text; default: the built-in lexical guard.
        canonical_store: Keeps evidence; default: in memory.
        run_store: Keeps run records; default: in memory.
        limits: What one run may use; see :class:`Limits` for the defaults.
        progress: Who says what is progress: ``REPORTED`` or ``INFERRED``.
        required_context: Names that every diagnosis needs in its context.
        policy: What a host may choose about releases.
        on_disconnect: ``CANCEL`` or ``DETACH``.
        classifier: Maps a client library's exceptions to a ``FailureKind``, or ``None``.
        backoff: Seconds to wait before a retry, as a function of component and number.
        clock: Time; default: the machine's clocks.
        ids: Gives globally unique ids; default: 128 random bits.
        journal: Keeps what came through the ports, for :mod:`harness.replay`; default: none.

    Raises:
        InvalidArgumentError: An argument is something else; names it and what is allowed.
        AwaitableResultError: A host object is asynchronous; use ``AsyncHarness`` for it.
    """

    __slots__ = ()

    def run(  # noqa: PLR0913  what one run may be given
        self,
        question: str | Request,
        *,
        context: Mapping[str, str] | None = None,
        previous: Iterable[PreviousTurn] = (),
        conversation_id: str | None = None,
        run_id: str | None = None,
        cancel: CancelToken | None = None,
        deadline: float | None = None,
        client: EventSink | None = None,
        budget: Budget | None = None,
    ) -> RunResult:
        """
        Run one diagnosis from its question to its published ending.

        Args:
            question: What is asked, or a whole :class:`Request`.
            context: What is known, names to texts.
            previous: Published reports of the conversation; make them with ``previous_turn``.
            conversation_id: Groups runs in the run store.
            run_id: A globally unique id; default: a fresh one.
            cancel: Cancels this run from any thread.
            deadline: Seconds; shortens the limits' deadline, never extends it.
            client: Receives the events as they happen.
            budget: A parent budget that must have room too.

        Returns:
            The result; every expected ending is one.

        Raises:
            InvalidArgumentError: An argument is something else; nothing was run.
            RunExistsError: A run of that id exists; nothing was run.
            BaseException: What a host object raised that is no ``Exception``, after the record
                was saved (section 3.1).
        """
        request = to_request(question, context, previous, conversation_id)
        record, interrupt = self._execute(
            request, run_id=run_id, cancel=cancel, deadline=deadline, client=client, budget=budget
        )
        if interrupt is not None:
            raise interrupt
        return RunResult(record)

    def _execute(  # noqa: PLR0913  what one run may be given
        self,
        request: Request,
        *,
        run_id: str | None = None,
        cancel: CancelToken | None = None,
        deadline: float | None = None,
        client: EventSink | None = None,
        budget: Budget | None = None,
    ) -> tuple[RunRecord, BaseException | None]:
        """
        Execute a run: the record that stands, and the interrupt that goes on to the caller.
        """
        seam = SyncSeam(self._clock, began(self._clock), self._ids, self._classifier)
        run = self._prepare(seam, request, run_id, deadline, client, budget)
        with listening(cancel, run):
            return drive(run_flow(run)), run.interrupt


def began(clock: Clock) -> float:
    """
    Read a clock for the first time: by one that cannot tell the time nothing is run.

    Args:
        clock: The host's clock.

    Raises:
        InvalidArgumentError: It raised, or gave no number.
    """
    allowed = "a finite number of seconds"
    try:
        start = clock.monotonic()
        if isfinite(start):
            return start
    except Exception as error:
        raise InvalidArgumentError("clock.monotonic()", type(error), allowed) from error
    raise InvalidArgumentError("clock.monotonic()", start, allowed)


def drive(coroutine: Any) -> RunRecord:
    """
    Drive a coroutine that never suspends.
    """
    try:
        coroutine.send(None)
    except StopIteration as finished:
        record: RunRecord = finished.value
        return record
    coroutine.close()
    message = "the flow suspended under the synchronous driver"
    raise RuntimeError(message)


class listening:  # noqa: N801  reads as a context
    """
    Let a run listen to its caller's token while it runs.
    """

    __slots__ = ("_run", "_token")

    def __init__(self, token: CancelToken | None, run: Run) -> None:
        if token is not None and not isinstance(token, CancelToken):
            raise InvalidArgumentError("cancel", token, "a CancelToken, or None")
        self._token = token
        self._run = run

    def _cancelled(self, reason: str) -> bool:
        run, at = self._run, self._run.at
        try:
            # a clock that is broken in one run must not keep the token from the others
            with suppress(Exception):
                at = run.seam.now()
        finally:
            won = run.life.stop(StopCause.CANCELLED_BY_CALLER, at, reason)
        return won

    def __enter__(self) -> None:
        if self._token is not None:
            self._token._join(id(self), self._cancelled)  # noqa: SLF001  one module's two halves

    def __exit__(self, *_error: object) -> None:
        if self._token is not None:
            self._token._leave(id(self))  # noqa: SLF001


def to_request(
    question: str | Request,
    context: Mapping[str, str] | None,
    previous: Iterable[PreviousTurn],
    conversation_id: str | None,
) -> Request:
    """
    Build the request of a run.

    Raises:
        InvalidArgumentError: An argument is something else.
    """
    if not isinstance(question, Request):
        return Request(question, context, previous, conversation_id)
    if context is not None or previous != () or conversation_id is not None:
        allowed = "nothing beside a whole Request"
        raise InvalidArgumentError("context, previous, conversation_id", context, allowed)
    return question


def _earlier(first: float | None, second: float | None) -> float | None:
    given = [seconds for seconds in (first, second) if seconds is not None]
    return min(given) if given else None


def _random_id() -> str:
    return os.urandom(16).hex()


def _function(name: str, value: Any) -> Any:
    if value is None or callable(value):
        return value
    raise InvalidArgumentError(name, value, "a function, or None")


def _lexical_guard() -> SemanticGuard:
    # only here, so that a harness with a guard of its own does not load the lexicon
    from harness.guards import LexicalGuard  # noqa: PLC0415

    guard: SemanticGuard = LexicalGuard()
    return guard

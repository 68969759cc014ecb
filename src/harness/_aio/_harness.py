"""The asynchronous driver: the same flow, awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar, cast

from harness._aio._engine import Spawned, engine_here, in_trio, running_loop
from harness._aio._events import Channel, RunEvents
from harness._aio._loop import LoopSeam
from harness._aio._ports import (
    AnyAgent,
    AnyCanonicalStore,
    AnyEventSink,
    AnyRepairer,
    AnyResponder,
    AnyRouter,
    AnyRunStore,
    AnySemanticGuard,
)
from harness._aio._seam import AsyncSeam
from harness._budget import Budget
from harness._cancel import CancelToken
from harness._flow import run_flow
from harness._limits import Limits
from harness._records import RunRecord
from harness._release import ReleasePolicy
from harness._result import RunResult
from harness._run import Backoff, Run
from harness._seam import Classifier
from harness._states import OnDisconnect, ProgressMode
from harness._sync import HarnessBase, listening, to_request
from harness._values import PreviousTurn, Request
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

__all__ = ["AsyncHarness", "run_in_loop"]

T = TypeVar("T")


class AsyncHarness(HarnessBase):
    """
    Runs diagnoses under asyncio or trio. Immutable; safe to share between tasks and threads.

    Takes what :class:`Harness` takes. Host objects may be asynchronous or plain; what is plain
    is called where the loop runs, so wrap what blocks in :func:`in_threads`. A deadline and a
    cancel cut short the call that is under way (section 3.1), and a batch of tools runs together.

    Args:
        agent: An object with ``next_turn(view, attempt)``, or a function of the view.
        tools: Tools, or typed functions; each name once.
        router: Says what a request asks for; without one every request is a diagnosis.
        responder: Answers general requests; needed where the router may say ``GENERAL``.
        repairer: Repairs a draft's citations once.
        semantic_guard: Judges the visible text; default: the built-in lexical guard.
        canonical_store: Keeps evidence; default: in memory.
        run_store: Keeps run records; default: in memory. Its calls are never cut short.
        limits: What one run may use; see :class:`Limits` for the defaults.
        progress: Who says what is progress: ``REPORTED`` or ``INFERRED``.
        required_context: Names that every diagnosis needs in its context.
        policy: What a host may choose about releases.
        on_disconnect: ``CANCEL`` or ``DETACH``.
        classifier: Maps a client library's exceptions to a ``FailureKind``, or ``None``.
        backoff: Seconds to wait before a retry, as a function of component and number.
        clock: Time; default: the machine's clocks.
        ids: Gives globally unique ids; default: 128 random bits.
        max_parallel_tools: How many tools of a batch run at the same time; default: 8.
        journal: Keeps what came through the ports, for :mod:`harness.replay`; default: none.

    Raises:
        InvalidArgumentError: An argument is something else; names it and what is allowed.
    """

    __slots__ = ("_background",)

    _allow_async = True

    def __init__(  # noqa: PLR0913  one parameter a port
        self,
        agent: AnyAgent | Callable[..., Any],
        tools: Iterable[Tool | Callable[..., Any]] = (),
        *,
        router: AnyRouter | Callable[..., Any] | None = None,
        responder: AnyResponder | Callable[..., Any] | None = None,
        repairer: AnyRepairer | Callable[..., Any] | None = None,
        semantic_guard: AnySemanticGuard | Callable[..., Any] | None = None,
        canonical_store: AnyCanonicalStore | None = None,
        run_store: AnyRunStore | None = None,
        limits: Limits | None = None,
        progress: ProgressMode | str = ProgressMode.REPORTED,
        required_context: Iterable[str] = (),
        policy: ReleasePolicy | None = None,
        on_disconnect: OnDisconnect | str = OnDisconnect.CANCEL,
        classifier: Classifier | None = None,
        backoff: Backoff | None = None,
        clock: Clock | None = None,
        ids: IdSource | None = None,
        max_parallel_tools: int = 8,
        journal: Journal | None = None,
    ) -> None:
        super().__init__(
            cast("DiagnosisAgent", agent),
            tools,
            router=cast("Router | None", router),
            responder=cast("Responder | None", responder),
            repairer=cast("EvidenceRepairer | None", repairer),
            semantic_guard=cast("SemanticGuard | None", semantic_guard),
            canonical_store=cast("CanonicalStore | None", canonical_store),
            run_store=cast("RunStore | None", run_store),
            limits=limits,
            progress=progress,
            required_context=required_context,
            policy=policy,
            on_disconnect=on_disconnect,
            classifier=classifier,
            backoff=backoff,
            clock=clock,
            ids=ids,
            max_parallel_tools=max_parallel_tools,
            journal=journal,
        )
        #: The streamed runs under way, held so that nobody collects one whose consumer left.
        self._background: set[Spawned] = set()

    async def run(  # noqa: PLR0913  what one run may be given
        self,
        question: str | Request,
        *,
        context: Mapping[str, str] | None = None,
        previous: Iterable[PreviousTurn] = (),
        conversation_id: str | None = None,
        run_id: str | None = None,
        cancel: CancelToken | None = None,
        deadline: float | None = None,
        client: AnyEventSink | None = None,
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
            CancelledError: The task was cancelled; the record was saved before (section 3.1).
            BaseException: What a host object raised that is no ``Exception``, likewise.
        """
        request = to_request(question, context, previous, conversation_id)
        record, interrupt = await self._execute(
            request, run_id=run_id, cancel=cancel, deadline=deadline, client=client, budget=budget
        )
        if interrupt is not None:
            raise interrupt
        return RunResult(record)

    def stream(  # noqa: PLR0913  what one run may be given
        self,
        question: str | Request,
        *,
        context: Mapping[str, str] | None = None,
        previous: Iterable[PreviousTurn] = (),
        conversation_id: str | None = None,
        run_id: str | None = None,
        cancel: CancelToken | None = None,
        deadline: float | None = None,
        budget: Budget | None = None,
    ) -> RunEvents:
        """
        Start a run in a task of its own, and give its events to iterate over.

        The consumer is the client of section 3.10: content counts as delivered once it was taken,
        and leaving before the end is a cancel, or with ``DETACH`` lets the run go on.

        Args:
            question: As for :meth:`run`, and so are the others.
            context: What is known, names to texts.
            previous: Published reports of the conversation.
            conversation_id: Groups runs in the run store.
            run_id: A globally unique id.
            cancel: Cancels this run from any thread.
            deadline: Seconds; shortens the limits' deadline.
            budget: A parent budget.

        Returns:
            The events. Where neither asyncio nor trio runs, there is a ``RuntimeError``.

        Raises:
            InvalidArgumentError: An argument is something else; nothing was run.
        """
        request = to_request(question, context, previous, conversation_id)
        engine = engine_here()
        channel = Channel(engine)
        run, seam = self._begin(request, run_id, deadline, channel, budget)
        channel.attach(run, seam)
        drive = partial(self._drive, run, seam, _listening(cancel, run, seam))

        def ended(cancelled: bool) -> None:  # noqa: FBT001  told by place, by either engine
            self._background.discard(task)
            channel.ended(cancelled=cancelled)

        task = engine.spawn(partial(channel.carry, drive), ended)
        self._background.add(task)
        return RunEvents(channel, task)

    async def _execute(  # noqa: PLR0913  what one run may be given
        self,
        request: Request,
        *,
        run_id: str | None = None,
        cancel: CancelToken | None = None,
        deadline: float | None = None,
        client: AnyEventSink | None = None,
        budget: Budget | None = None,
    ) -> tuple[RunRecord, BaseException | None]:
        """
        Execute a run: the record that stands, and the interrupt that goes on to the caller.
        """
        run, seam = self._begin(request, run_id, deadline, client, budget)
        return await self._drive(run, seam, _listening(cancel, run, seam))

    def _begin(
        self,
        request: Request,
        run_id: str | None,
        deadline: float | None,
        client: AnyEventSink | None,
        budget: Budget | None,
    ) -> tuple[Run, AsyncSeam]:
        """
        Make the state of one run, and its way out.
        """
        seam = self._seam()
        sink = cast("EventSink | None", client)
        run = seam.run = self._prepare(seam, request, run_id, deadline, sink, budget)
        return run, seam

    def _seam(self) -> AsyncSeam:
        """
        Make a way out for one run, which has still to be told its run.
        """
        if in_trio():
            # only here: whoever runs asyncio needs no trio
            from harness._aio._trio import TrioSeam  # noqa: PLC0415

            return TrioSeam(self._clock, self._ids, self._classifier)
        return LoopSeam(self._clock, self._ids, self._classifier, running_loop())

    async def _carry_on(
        self, prepare: Callable[[AsyncSeam], Run], cancel: CancelToken | None
    ) -> tuple[RunRecord, BaseException | None]:
        """
        Drive a run that somebody else prepares: one that is resumed from its journal.
        """
        seam = self._seam()
        run = seam.run = prepare(seam)
        return await self._drive(run, seam, _listening(cancel, run, seam))

    async def _drive(
        self, run: Run, seam: AsyncSeam, listening: _listening
    ) -> tuple[RunRecord, BaseException | None]:
        """
        Await the flow, and leave nothing behind.
        """
        with listening:
            try:
                return await seam.within(run_flow(run)), run.interrupt
            except Exception:
                # a refused run: the caller's cancel that came meanwhile goes on all the same
                if run.interrupt is not None:
                    raise run.interrupt from None
                raise
            finally:
                seam.close()


class _listening(listening):  # noqa: N801  reads as a context
    """
    Let a run listen to its caller's token, and cut its call short when it is cancelled.
    """

    __slots__ = ("_seam",)

    def __init__(self, token: CancelToken | None, run: Run, seam: AsyncSeam) -> None:
        super().__init__(token, run)
        self._seam = seam

    def _cancelled(self, reason: str) -> bool:
        try:
            return super()._cancelled(reason)
        finally:
            self._seam.abort_soon()


def run_in_loop(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """
    Run a coroutine function in a loop of its own, for plain code of this package.

    Args:
        main: The function.

    Returns:
        What it returns.
    """
    return asyncio.run(main())

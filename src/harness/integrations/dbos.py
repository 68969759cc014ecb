"""
A run as a durable workflow of DBOS, and each outward call a step; needs the extra ``dbos``.

Kill the process between any two steps and start it again: DBOS executes the workflow again, the
steps that were taken give back what they returned, and the run goes on as if nothing had happened.
A call that was under way is not made again where it is a model's or a tool's; it counts as spent
and failed as ``TRANSPORT``. See :doc:`/how-to/durable`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from contextvars import Context
from datetime import UTC
from threading import Event
from typing import Final

from dbos import DBOS, SetWorkflowID
from dbos import error as dbos_error

from harness._budget import Budget
from harness._flow import run_flow
from harness._journal._codec import from_data, to_data
from harness._lifecycle import Lifecycle
from harness._limits import to_seconds
from harness._records import RunRecord, StreamEvent
from harness._result import RunResult
from harness._run import Run
from harness._seam import SeamBroken
from harness._states import RunState, StopCause
from harness._sync import Harness, SyncSeam, drive, to_request
from harness._values import PreviousTurn, Request
from harness.codec import record_from_json, record_to_json
from harness.errors import ClientGoneError, InvalidArgumentError
from harness.integrations._steps import EngineCancelled, StepSeam
from harness.stores._recovery import ended_from_outside

__all__ = ["DurableHarness"]

#: The event under which a workflow notes the call that is under way.
_UNDER_WAY: Final = "harness.call"
#: The stream that a run's events go to.
_EVENTS: Final = "harness.events"
#: How long the process of a cancelled run may take to end it, in seconds.
GRACE: Final = 5.0
#: Between two looks at a run that was asked to end, in seconds.
_LOOK: Final = 0.02


class DurableHarness:
    """
    Runs a harness's diagnoses as workflows of DBOS.

    Build it before ``DBOS.launch()``, in every process that executes or recovers its workflows,
    with the same name: DBOS finds the workflow by it. The harness keeps its parts, its stores above
    all: give it stores that outlive a process.

    A run's id is its workflow's id. A workflow has no caller to go through, so there is no
    ``cancel`` token, parent budget or client object: see :meth:`cancel`, and :meth:`events`.
    Batches of tools run one call at a time: DBOS numbers steps in the order they are taken in.

    Args:
        harness: What each run executes.
        name: The workflow's name in DBOS.

    Raises:
        InvalidArgumentError: The harness is no ``Harness`` or keeps a journal, or the name is
            blank.
    """

    def __init__(self, harness: Harness, name: str = "diagnosis") -> None:
        given: object = harness
        if not isinstance(given, Harness):
            raise InvalidArgumentError("harness", given, "a Harness")
        if harness._journal is not None:  # noqa: SLF001  a driver of the same package, as below
            raise InvalidArgumentError("harness", given, "one without a journal: DBOS keeps it")
        named: object = name
        if not isinstance(named, str) or not named.strip():
            raise InvalidArgumentError("name", named, "text that is not blank")
        self._harness: Final = harness

        def workflow(text: str) -> str:
            return self._execute(text)

        self._workflow: Final[Callable[[str], str]] = DBOS.workflow(name=name)(workflow)

    def run(  # noqa: PLR0913  what one run may be given
        self,
        question: str | Request,
        *,
        context: Mapping[str, str] | None = None,
        previous: Iterable[PreviousTurn] = (),
        conversation_id: str | None = None,
        run_id: str | None = None,
        deadline: float | None = None,
        stream: bool = False,
    ) -> RunResult:
        """
        Run one diagnosis as a workflow, and wait for its ending.

        Args:
            question: What is asked, or a whole :class:`Request`.
            context: What is known, names to texts.
            previous: Published reports of the conversation.
            conversation_id: Groups runs in the run store.
            run_id: The run's and the workflow's id; default: a fresh one. An id that DBOS knows
                already gives that run's ending, and runs nothing.
            deadline: Seconds from the first step; shortens the limits' deadline.
            stream: Whether the run has a client, who reads :meth:`events`.

        Returns:
            The result; every expected ending is one. So is what a host object raised that is no
            ``Exception``: the process that it meant may be another by now.

        Raises:
            InvalidArgumentError: An argument is something else; nothing was run.
            RunExistsError: The run store has a run of that id from elsewhere; nothing was run.
            DBOSException: The engine itself failed; the workflow stays as it is.
        """
        started = self.start(
            question,
            context=context,
            previous=previous,
            conversation_id=conversation_id,
            run_id=run_id,
            deadline=deadline,
            stream=stream,
        )
        return self.result(started)

    def start(  # noqa: PLR0913  what one run may be given
        self,
        question: str | Request,
        *,
        context: Mapping[str, str] | None = None,
        previous: Iterable[PreviousTurn] = (),
        conversation_id: str | None = None,
        run_id: str | None = None,
        deadline: float | None = None,
        stream: bool = False,
    ) -> str:
        """
        Start one diagnosis as a workflow.

        Args:
            question: As for :meth:`run`, like the others.
            context: What is known.
            previous: Published reports.
            conversation_id: Groups runs.
            run_id: The run's id.
            deadline: Seconds.
            stream: Whether the run has a client.

        Returns:
            The run's id.

        Raises:
            InvalidArgumentError: An argument is something else; nothing was started.
            DBOSException: The engine could not take it.
        """
        request = to_request(question, context, previous, conversation_id)
        run_id = self._harness._run_id(run_id)  # noqa: SLF001
        text = json.dumps(
            {
                "request": to_data(request),
                "deadline": to_seconds(deadline),
                "stream": bool(stream),
            }
        )
        with SetWorkflowID(run_id):
            DBOS.start_workflow(self._workflow, text)
        return run_id

    def result(self, run_id: str) -> RunResult:
        """
        Wait for a run's ending.

        Args:
            run_id: The run.

        Raises:
            InvalidArgumentError: DBOS does not know it.
            RunExistsError: The run store had a run of that id from elsewhere; nothing was run.
            DBOSException: The engine itself failed.
        """
        try:
            text: str = DBOS.retrieve_workflow(run_id).get_result()
        except dbos_error.DBOSNonExistentWorkflowError:
            raise InvalidArgumentError("run_id", run_id, "a run that was started") from None
        except dbos_error.DBOSAwaitedWorkflowCancelledError:
            # the engine says so at once; its process saves the run's record a moment later
            record = self._ended(run_id, GRACE)
            if record is None:
                raise
            return RunResult(record)
        return RunResult(record_from_json(text))

    def cancel(
        self, run_id: str, reason: str = "cancelled by an operator", grace: float = GRACE
    ) -> RunRecord | None:
        """
        Cancel a run from any process that shares the engine and the run store.

        The process that executes it ends it as ``CANCELLED`` at its next step, with all that it
        knows. Where none does so in time, the compare-and-set of the run store ends it here, and
        whoever still executes it publishes nothing (section 3.10).

        Args:
            run_id: The run.
            reason: What the record says.
            grace: How long, in seconds, its own process may take.

        Returns:
            The record that stands: cancelled, or of a run that had ended before. ``None`` where
            the run store does not know the run; it will not begin.

        Raises:
            StoreError: The run store cannot be used.
            DBOSException: The engine cannot be used.
        """
        DBOS.cancel_workflow(run_id)
        record = self._ended(run_id, grace)
        if record is None or record.run_state is not RunState.RUNNING:
            return record
        now = self._harness._clock.utc().astimezone(UTC)  # noqa: SLF001
        ending = ended_from_outside(record, now, StopCause.CANCELLED_BY_CALLER, reason)
        stood = self._harness.run_store.finish(ending)
        return ending if stood is None else stood

    def _ended(self, run_id: str, grace: float) -> RunRecord | None:
        """
        Give a run's record once it has ended, or as it is after so many seconds.
        """
        clock = self._harness._clock  # noqa: SLF001
        until = clock.monotonic() + grace
        while True:
            record = self._harness.run_store.load(run_id)
            is_running = record is not None and record.run_state is RunState.RUNNING
            if not is_running or clock.monotonic() >= until:
                return record
            clock.wait(_LOOK, Event())

    def events(self, run_id: str) -> Iterator[StreamEvent]:
        """
        Read the events of a run that was started with ``stream``, as they happen, from any process.

        Args:
            run_id: The run.

        Yields:
            Its events, from the first; it ends with the run.
        """
        for text in DBOS.read_stream(run_id, _EVENTS):
            event: StreamEvent = from_data(json.loads(text), _EVENTS)
            yield event

    # --- inside the workflow

    def _execute(self, text: str) -> str:
        """
        Execute the workflow: the flow over a seam of steps.
        """
        given = json.loads(text)
        engine = _Engine()
        harness = self._harness
        clock, ids = harness._clock, harness._ids  # noqa: SLF001
        setup = harness._setup  # noqa: SLF001
        inner = SyncSeam(clock, clock.monotonic(), ids, harness._classifier)  # noqa: SLF001
        deadlines = [setup.limits.deadline, given["deadline"]]
        life = Lifecycle(min((one for one in deadlines if one is not None), default=None))
        seam = StepSeam(inner, engine, setup, life)
        try:
            began = seam.utc()
            # the time before a crash, and the time since, count for the deadline
            inner.count_from(max(0.0, (inner.utc() - began).total_seconds()))
            limits = setup.limits
            budget = Budget(
                model_attempts=limits.model_attempts,
                tool_calls=limits.tool_calls,
                tokens=limits.tokens,
                evidence_bytes=limits.evidence_bytes,
                cost=limits.cost,
            )
            request: Request = from_data(given["request"], "request")
            client = _StreamClient() if given["stream"] else None
            run_id = str(DBOS.workflow_id)
            run = Run(seam.stepped(setup), seam, request, run_id, life, budget, client)
            record = drive(run_flow(run))
        except _EngineFault as fault:
            raise fault.fault from None
        if seam.cancelled is not None:
            # the run's record is saved; for the engine its workflow was cancelled
            raise seam.cancelled.signal
        return record_to_json(record)


class _EngineFault(SeamBroken):
    """
    Carries the engine's own exception past the flow: it is none of the run's.
    """

    def __init__(self, fault: BaseException) -> None:
        super().__init__(fault)
        self.fault: Final = fault


class _Engine:
    """
    DBOS, as the seam needs it; all of it is called within a workflow.
    """

    def step(self, name: str, body: Callable[[], str]) -> str:
        """
        Take a step.
        """
        try:
            text: str = DBOS.run_step({"name": name}, body)
        except dbos_error.DBOSWorkflowCancelledError as error:
            raise EngineCancelled(error) from error
        except dbos_error.DBOSWorkflowConflictIDError as error:
            # a cancel that comes while a step is under way takes the workflow away as well
            if _is_cancelled(str(DBOS.workflow_id)):
                raise EngineCancelled(error) from error
            raise _EngineFault(error) from error
        except dbos_error.DBOSException as error:
            raise _EngineFault(error) from error
        return text

    def is_first(self, number: int) -> bool:
        """
        Note durably that a call begins.
        """
        if DBOS.get_event(str(DBOS.workflow_id), _UNDER_WAY, 0) == number:
            return False
        DBOS.set_event(_UNDER_WAY, number)
        return True


def _is_cancelled(run_id: str) -> bool:
    """
    Ask the engine from outside of the workflow, whose own questions would be steps.
    """
    status = Context().run(DBOS.get_workflow_status, run_id)
    return status is not None and status.status == "CANCELLED"


class _StreamClient:
    """
    A client that is a stream of the engine: whoever reads it may be in another process.
    """

    def send(self, event: StreamEvent) -> None:
        """
        Write an event to the stream.

        Raises:
            ClientGoneError: The workflow was cancelled: its stream takes no more.
        """
        with suppress(dbos_error.DBOSException, dbos_error.DBOSWorkflowCancelledError):
            DBOS.write_stream(_EVENTS, json.dumps(to_data(event)))
            return
        raise ClientGoneError

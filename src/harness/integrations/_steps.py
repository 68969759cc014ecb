"""
A seam whose every way out is a step of a durable engine's workflow.

1. The engine keeps what a step returned and gives it back when the workflow is executed again, so
   the flow takes the same way up to where its process ended. Reading a clock and making an id are
   steps too: nothing that the flow decides on comes from elsewhere.
2. A step whose process ended while it was under way is executed again by the engine. What it did is
   unknown then, and :class:`harness._journal._lost.AskAgain` answers: a model or a tool is spent.
3. A workflow that was cancelled through the engine takes no further steps. Its run ends
   ``CANCELLED`` and is saved outside of them (section 3.10).
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, Final, Protocol, TypeVar

from attrs import evolve

from harness._journal._answers import (
    answer_from,
    answer_to,
    outcome_from,
    outcome_to,
    raised_from,
    raised_to,
)
from harness._journal._asks import MODEL_SITES, TOOL
from harness._journal._codec import from_data, to_data
from harness._journal._lost import AskAgain
from harness._lifecycle import Lifecycle
from harness._records import RunRecord
from harness._run import Backoff, Run, Setup, ToolSpec
from harness._seam import Aborted, Answer, Attempt, Failed
from harness._states import Component, StopCause
from harness._sync import OneByOne, SyncSeam, drive
from harness._toolstep import ToolOutcome, run_tool
from harness._values import ToolCall

__all__ = ["Engine", "EngineCancelled", "StepSeam"]

T = TypeVar("T")

#: Reading is repeated without harm.
_REPEATABLE: Final = frozenset({"canonical_store.load"})
#: What belongs to a tool call's step.
_WITHIN_A_TOOL: Final = frozenset({TOOL, "PROJECT"})
#: Whose call is not made once the run was cancelled.
_NOT_WHEN_CANCELLED: Final = MODEL_SITES | {TOOL}


class EngineCancelled(BaseException):
    """
    The engine refuses a step since the workflow was cancelled.

    Args:
        signal: The engine's own exception, for the workflow to end with.
    """

    def __init__(self, signal: BaseException) -> None:
        super().__init__(signal)
        self.signal: Final = signal


class Engine(Protocol):
    """
    What is needed of a durable engine.
    """

    def step(self, name: str, body: Callable[[], str]) -> str:
        """
        Execute a step once, or give back what it returned.

        Args:
            name: What it is called in the engine's own views.
            body: Its work; what it returns is text.

        Raises:
            EngineCancelled: The workflow was cancelled.
        """
        ...

    def is_first(self, number: int) -> bool:
        """
        Note durably that a call begins; ``False`` where that was noted before.

        Args:
            number: The call's number within its run.
        """
        ...


class StepSeam:
    """
    Goes outside through a synchronous seam, a step at a time.

    Args:
        inner: The driver's seam.
        engine: The engine.
        setup: The harness's parts.
        life: Where the run's end is claimed once the engine has cancelled the workflow.
    """

    def __init__(self, inner: SyncSeam, engine: Engine, setup: Setup, life: Lifecycle) -> None:
        self._inner: Final = inner
        self._engine: Final = engine
        self._lost: Final = AskAgain(inner, setup)
        self._life: Final = life
        self._known = 0.0
        self._calls = 0
        #: The engine's own signal, for the workflow to end with.
        self.cancelled: EngineCancelled | None = None

    def stepped(self, setup: Setup) -> Setup:
        """
        Read a host's backoff in steps too: it may be drawn by lot.

        Args:
            setup: The harness's parts.
        """
        backoff = setup.backoff
        if backoff is None:
            return setup
        return evolve(setup, backoff=self._stepped_backoff(backoff))

    def _stepped_backoff(self, backoff: Backoff) -> Backoff:
        def seconds(component: Component, number: int) -> float:
            value: float = self._read("backoff", lambda: backoff(component, number))
            return value

        return seconds

    def now(self) -> float:
        """
        Seconds since the run began, for whoever is not the flow.
        """
        return self._inner.now()

    def reading(self) -> float:
        """
        Seconds since the run began, as the flow's active check reads it.
        """
        at: float = self._read("clock", self._inner.now)
        self._known = max(self._known, at)
        return at

    def utc(self) -> datetime:
        """
        Wall-clock time in UTC.
        """
        time: datetime = self._read("utc", self._inner.utc)
        return time

    def new_id(self) -> str:
        """
        A globally unique id.
        """
        made: str = self._read("id", self._inner.new_id)
        return made

    async def call(self, site: str, function: Callable[..., Any], *arguments: Any) -> Answer:
        """
        Call a host object in a step.
        """
        if site in _WITHIN_A_TOOL:
            return await self._inner.call(site, function, *arguments)
        attempt: Attempt | None = arguments[1] if site in MODEL_SITES else None

        def live() -> dict[str, Any]:
            return answer_to(done(self._inner.call(site, function, *arguments)), attempt)

        def lost() -> dict[str, Any]:
            return answer_to(done(self._lost.answer(site, function, arguments)), attempt)

        data = self._called(site, live, None if site in _REPEATABLE else lost)
        answer = self._aborted() if data is None else answer_from(data, site, attempt)
        self._known = max(self._known, answer.ended)
        return answer

    async def run_tool(
        self, run: Run, spec: ToolSpec, call: ToolCall, attempt: Attempt
    ) -> ToolOutcome:
        """
        Make a tool call up to its facts in a step; its raw result is not kept.
        """

        def live() -> dict[str, Any]:
            return outcome_to(done(run_tool(run, spec, call, attempt)))

        data = self._called(TOOL, live, lambda: outcome_to(self._lost.outcome()), spec.name)
        outcome = ToolOutcome(self._aborted()) if data is None else outcome_from(data, TOOL)
        self._known = max(self._known, outcome.answer.ended)
        return outcome

    async def wait(self, seconds: float, life: Lifecycle) -> None:
        """
        Wait in a step.
        """

        def live() -> dict[str, Any]:
            try:
                done(self._inner.wait(seconds, life))
            except Exception as error:  # noqa: BLE001  the flow decides what becomes of it
                return raised_to(error)
            return {}

        raised = raised_from(self._step("wait", live))
        if raised is not None:
            raise raised

    def start(self, steps: Sequence[Callable[[], Awaitable[T]]]) -> OneByOne[T]:
        """
        Run a batch's steps one at a time: the engine numbers its steps in the order they are taken.
        """
        return OneByOne(steps)

    def end(self, _record: RunRecord) -> None:
        """
        Nobody takes note: the workflow returns the record.
        """

    # --- steps

    def _read(self, name: str, live: Callable[[], Any]) -> Any:
        """
        Read a clock or another source in a step.
        """

        def body() -> dict[str, Any]:
            try:
                return {"is": to_data(live())}
            except Exception as error:  # noqa: BLE001  the flow decides what becomes of it
                return raised_to(error)

        data = self._step(name, body)
        raised = raised_from(data)
        if raised is not None:
            raise raised
        return from_data(data["is"], name)

    def _called(
        self,
        site: str,
        live: Callable[[], dict[str, Any]],
        lost: Callable[[], dict[str, Any]] | None,
        detail: str = "",
    ) -> dict[str, Any] | None:
        """
        Make a call in a step; ``None`` where the run was cancelled before.
        """
        self._calls += 1
        number = self._calls

        def body() -> dict[str, Any]:
            if lost is None or self.cancelled is not None or self._engine.is_first(number):
                return live()
            return lost()

        if site in _NOT_WHEN_CANCELLED:
            data: dict[str, Any] | None = self._step(f"{site} {detail}".strip(), body, lambda: None)
        else:
            data = self._step(site, body, lost)
        return data

    def _step(
        self, name: str, live: Callable[[], Any], lost: Callable[[], Any] | None = None
    ) -> Any:
        """
        Take a step, or do without one where the workflow was cancelled.

        Args:
            name: What it is called.
            live: Its work.
            lost: What stands in for it where the engine lost it by the cancel.
        """
        has_run = False

        def body() -> str:
            nonlocal has_run
            has_run = True
            self._catch_up()
            return json.dumps(live())

        if self.cancelled is None:
            try:
                return json.loads(self._engine.step(name, body))
            except EngineCancelled as signal:
                self._note_cancel(signal)
        self._catch_up()
        if lost is not None and (has_run or name.partition(" ")[0] in _NOT_WHEN_CANCELLED):
            return lost()
        return live()

    def _note_cancel(self, signal: EngineCancelled) -> None:
        self.cancelled = signal
        at = max(self._known, self._inner.instant())
        self._life.stop(StopCause.CANCELLED_BY_CALLER, at, "cancelled through the engine")

    def _catch_up(self) -> None:
        """
        Let a clock that started anew with its process go on from what the run knows.
        """
        behind = self._known - self._inner.instant()
        if behind > 0:
            self._inner.count_from(behind)

    def _aborted(self) -> Answer:
        return Failed(max(self._known, self._inner.instant()), interrupt=Aborted())


def done(coroutine: Any) -> Any:
    """
    Give what a coroutine that never suspends comes to.

    Args:
        coroutine: The coroutine.
    """
    return drive(coroutine)

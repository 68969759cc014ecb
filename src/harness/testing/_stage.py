"""Where a scenario is played again and again, each time with other faults."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from harness._records import RunRecord
from harness._seam import Attempt
from harness._sync import Harness
from harness.errors import RejectedError
from harness.testing import _play
from harness.testing._clock import VirtualClock
from harness.testing._scripted import counting_ids
from harness.testing.faults import FaultPlan, Injection
from harness.testing.invariants import Observation
from harness.testing.scenario import Scenario, client_of, parts_of, request_of

__all__ = ["AsyncStage", "Stage", "SyncStage"]

#: What an oversized value exceeds, where the scenario states no limit of its own.
_SIZE: Final = 64 * 1024
#: Milliseconds; a late answer is later.
_DEADLINE: Final = 1_000_000_000

_MODELS: Final = ("router", "responder", "agent", "repair", "semantic_guard")
_FUNCTIONS: Final = {"repair": "repairer"}


class _LastingPlayer(_play.Player):
    """
    A player whose scripts never run dry: their last step repeats.
    """

    def restart(self, clock: VirtualClock, plan: FaultPlan) -> None:
        """
        Begin every script anew.
        """
        self._clock = clock
        self._token = plan.token
        self._made = {}
        #: The interrupts that its script has raised.
        self.interrupts: list[BaseException] = []

    def play(
        self, key: str, steps: Sequence[_play.Step], attempt: Attempt, moment: str
    ) -> _play.Step:
        """
        Make the next call; an interrupt of the script is told from one of the keyboard.
        """
        try:
            return super().play(key, steps, attempt, moment)
        except KeyboardInterrupt as interrupt:
            self.interrupts.append(interrupt)
            raise

    def _next(self, key: str, steps: Sequence[_play.Step]) -> _play.Step:
        place = self._count(key) - 1
        if not steps:
            message = "the scenario has no step for it"
            raise RejectedError(message)
        return steps[min(place, len(steps) - 1)]

    def skip(self, key: str, moment: str) -> None:
        """
        Drop a step whose place a fault takes.
        """
        self._count(key)
        self._count(f"call of {moment}")


class _SkippingTool(_play.PlayedTool):
    """
    A played tool whose projector forgets the step whose place a fault took.
    """

    def skip(self) -> None:
        """
        Drop a step.
        """
        self._step = {}


class Stage(ABC):
    """
    A scenario's harness, built once of host objects that begin anew for each run.

    Args:
        scenario: The scenario.
    """

    def __init__(self, scenario: Scenario) -> None:
        limits = {"deadline_ms": _DEADLINE, "result_bytes": _SIZE, "draft_bytes": _SIZE}
        stated = {k: v for k, v in scenario.data.get("limits", {}).items() if v is not None}
        data = {**scenario.data, "limits": {**limits, **stated}}
        self._data = data
        self.scenario = scenario
        self.plan = FaultPlan(
            size=max(data["limits"]["result_bytes"], data["limits"]["draft_bytes"])
        )
        clock = VirtualClock()
        self._player = _LastingPlayer(data, clock, self.plan.token)
        parts = parts_of(data, self._player, clock)
        self._canonical: Any = parts["canonical_store"]
        self._runs: Any = parts["run_store"]
        self._clock = self.plan.wrap("clock", clock)
        self._deadline = parts["limits"].deadline
        self._request = request_of(data)
        self._build({**parts, **self._wrapped(parts)})

    def _wrapped(self, parts: Mapping[str, Any]) -> dict[str, Any]:
        """
        Wrap every host object.
        """
        wrap, wrapped = self.plan.wrap, {}
        for model in _MODELS:
            name = _FUNCTIONS.get(model, model)
            wrapped[name] = wrap(model, parts[name], skip=_skipping(self._player, model))
        for store in ("canonical_store", "run_store"):
            wrapped[store] = wrap(store, parts[store])
        wrapped["tools"] = [self._tool(tool) for tool in parts["tools"]]
        wrapped["clock"] = self._clock
        wrapped["ids"] = wrap("ids", self._new_id)
        wrapped["classifier"] = wrap("classifier", _unknown)
        wrapped["backoff"] = wrap("backoff", _at_once)
        return wrapped

    def _tool(self, played: _play.PlayedTool) -> Any:
        tool = _SkippingTool(played.name, self._data["tools"][played.name], None, self._player)
        tool.parameters = played.parameters

        def skip() -> None:
            self._player.skip(f"tools.{tool.name}", "tool")
            tool.skip()

        return self.plan.wrap("tool", tool, skip=skip)

    def _new_id(self) -> str:
        return self._ids()

    async def play(self, injections: Iterable[Injection | str]) -> Observation:
        """
        Play the scenario once.

        Args:
            injections: The faults of this run.

        Returns:
            What came of it; the stores are those of this stage, and begin anew with the next run.
        """
        plan = self.plan
        plan.restart(injections)
        clock = VirtualClock()
        self._clock.host = clock
        self._ids: Callable[[], str] = counting_ids()
        self._player.restart(clock, plan)
        self._canonical.clear()
        self._runs.clear()
        client = client_of(self._data)
        record: RunRecord | None = None
        left: BaseException | None = None
        try:
            record, left = await self._execute(plan.wrap("client", client))
        except BaseException as error:  # noqa: BLE001  whatever leaves the run is looked at
            left = error
        return self._observed(record, left)

    def has_raised(self, interrupt: BaseException | None) -> bool:
        """
        Whether the scenario itself raised an interrupt in the last run.
        """
        return interrupt in self._player.interrupts

    def _observed(self, record: RunRecord | None, left: BaseException | None) -> Observation:
        return Observation(
            record=record,
            left=left,
            calls=self.plan.calls,
            stored=self._runs.load(record.run_id) if record is not None else None,
            deadline=self._deadline,
            cancelled=self.plan.token.is_cancelled,
            detached=self._data.get("on_disconnect") == "DETACH",
        )

    @abstractmethod
    def _build(self, parts: Mapping[str, Any]) -> None:
        """
        Build the harness.
        """

    @abstractmethod
    async def _execute(self, client: Any) -> tuple[RunRecord, BaseException | None]:
        """
        Execute a run.
        """


class SyncStage(Stage):
    """
    Plays through the synchronous driver.
    """

    def _build(self, parts: Mapping[str, Any]) -> None:
        self._harness = Harness(**parts)

    async def _execute(self, client: Any) -> tuple[RunRecord, BaseException | None]:
        return self._harness._execute(  # noqa: SLF001  the interrupt beside its record
            self._request, cancel=self.plan.token, client=client
        )


class AsyncStage(Stage):
    """
    Plays through the asynchronous driver, with host objects that suspend at every call.
    """

    def _build(self, parts: Mapping[str, Any]) -> None:
        # only here, so that the synchronous driver does not load asyncio
        from harness.testing._suspending import suspending, suspending_harness  # noqa: PLC0415

        self._harness: Any = suspending_harness(parts)
        self._suspending = suspending

    async def _execute(self, client: Any) -> tuple[RunRecord, BaseException | None]:
        ended: tuple[RunRecord, BaseException | None] = await self._harness._execute(  # noqa: SLF001  as its sync twin
            self._request, cancel=self.plan.token, client=self._suspending(client)
        )
        return ended


def _skipping(player: _LastingPlayer, model: str) -> Callable[[], None]:
    def skip() -> None:
        player.skip(model, model)

    return skip


def _unknown(_error: BaseException) -> None:
    """
    A classifier that leaves every exception to the harness.
    """


def _at_once(_component: object, _number: int) -> float:
    """
    A backoff that does not wait.
    """
    return 0.0

"""A sweep under way: which run is made next, and what was found so far."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from typing import Final

from attrs import frozen

from harness._records import RunRecord
from harness._sync import drive
from harness.errors import InvalidArgumentError
from harness.testing._host_stage import HostStage
from harness.testing._observed import Observation
from harness.testing._stage import Stage
from harness.testing.faults import Fault, Injection
from harness.testing.invariants import BrokenInvariant, check_invariants
from harness.testing.scenario import Scenario

__all__ = ["Finding", "Plan", "SweepReport", "Tick"]

_DEPTHS: Final = (0, 1, 2)

AnyStage = Stage | HostStage

#: Told after each run how many were made.
Tick = Callable[[int], None]


@frozen
class Finding:
    """
    A run that broke an invariant.

    Attributes:
        scenario: The scenario.
        injections: The faults of the run; none where it breaks without any.
        broken: The invariant, and what was found.
        driver: ``sync`` or ``async``.
    """

    scenario: Scenario
    injections: tuple[Injection, ...]
    broken: BrokenInvariant
    driver: str

    @property
    def command(self) -> str:
        """
        The command that repeats this very run, or the call where it was no scenario's.
        """
        if not self.scenario.data:
            written = [str(one) for one in self.injections]
            return f"sweep_harness(..., driver={self.driver!r}, depth=0, inject={written!r})"
        faults = "".join(f" --inject {shlex.quote(str(one))}" for one in self.injections)
        where = shlex.quote(self.scenario.where or f"{self.scenario.name}.json")
        driver = "" if self.driver == "sync" else f" --driver {self.driver}"
        return f"python -m harness sweep {where}{driver} --depth 0{faults}"

    def __str__(self) -> str:
        faults = ", ".join(map(str, self.injections)) or "no fault"
        broken = self.broken
        return f"{self.scenario.name}: {faults}: {broken.invariant}: {broken.detail}"


@frozen
class SweepReport:
    """
    What a sweep found.

    Attributes:
        scenario: The scenario.
        calls: How many calls it makes outside without a fault.
        runs: How often it was run.
        findings: The invariants that broke, each run's in order.
    """

    scenario: Scenario
    calls: int
    runs: int
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """
        Whether no invariant broke.
        """
        return not self.findings


class Plan:
    """
    What a sweep is told.
    """

    def __init__(  # noqa: PLR0913  what a sweep may be told
        self,
        depth: int,
        driver: str,
        faults: tuple[Fault, ...],
        inject: Iterable[Injection | str],
        stride: int,
        tick: Tick | None,
    ) -> None:
        if depth not in _DEPTHS:
            raise InvalidArgumentError("depth", depth, "0, 1 or 2")
        if type(stride) is not int or stride < 1:
            raise InvalidArgumentError("stride", stride, "a whole number from 1")
        self.depth = depth
        self.driver = driver
        self.faults = faults
        self.stride = stride
        self.tick = tick
        self.given = tuple(Injection.parse(o) if isinstance(o, str) else o for o in inject)

    def made(self, stage: AnyStage) -> SweepReport:
        """
        Make the sweep.
        """
        swept = _Sweep(stage, self)
        if self.driver == "async":
            # only here, so that the synchronous driver does not load asyncio
            from harness._aio import run_in_loop  # noqa: PLC0415

            run_in_loop(swept.run)
        else:
            drive(swept.run())
        return SweepReport(stage.scenario, swept.calls, swept.runs, tuple(swept.findings))


class _Sweep:
    """
    One sweep under way. As the flow it never suspends by itself.
    """

    def __init__(self, stage: AnyStage, plan: Plan) -> None:
        self._stage = stage
        self._plan = plan
        self._planned = 0
        self._shapes: set[object] = set()
        self.calls = 0
        self.runs = 0
        self.findings: list[Finding] = []

    async def run(self) -> None:
        """
        Run without a further fault, then with each.
        """
        given, depth = self._plan.given, self._plan.depth
        observation = await self._played(given)
        self.calls = len(observation.calls)
        after = max((c.number for c in observation.calls if c.fault is not None), default=0)
        if depth:
            await self._deeper(given, observation, after, depth)

    async def _deeper(
        self, injections: tuple[Injection, ...], base: Observation, after: int, depth: int
    ) -> None:
        """
        Inject each fault at each call of a run that comes after a certain one.
        """
        places = [call.place for call in base.calls[after:]]
        for number, place in enumerate(places, after + 1):
            known: set[object] = set()
            for fault in self._plan.faults:
                self._planned += 1
                if self._planned % self._plan.stride:
                    continue
                further = (*injections, Injection(place, fault))
                observation = await self._played(further)
                if depth > 1 and (course := _course(observation)) not in known:
                    known.add(course)
                    await self._deeper(further, observation, number, depth - 1)

    async def _played(self, injections: tuple[Injection, ...]) -> Observation:
        observation = await self._stage.play(injections)
        if (stopped := self._stopped(observation)) is not None:
            raise stopped
        self.runs += 1
        if self._plan.tick is not None:
            self._plan.tick(self.runs)
        for broken in check_invariants(observation, skip=self._known(observation)):
            self.findings.append(
                Finding(self._stage.scenario, injections, broken, self._plan.driver)
            )
        return observation

    def _stopped(self, observation: Observation) -> BaseException | None:
        """
        Give the interrupt by which whoever runs the sweep stops it: one that no script raised.
        """
        left = observation.left
        # a loop that is told to stop cancels what runs in it
        if type(left).__name__ not in {"KeyboardInterrupt", "CancelledError"}:
            return None
        injected = [c.error for c in observation.calls if c.fault is Fault.KEYBOARD_INTERRUPT]
        scripted = left in injected or self._stage.has_raised(left)
        return None if scripted else left

    def _known(self, observation: Observation) -> tuple[str, ...]:
        """
        Name what was checked on a run of the same shape, and costs more than the run itself.
        """
        record = observation.record
        handed_over = any(
            call.fault in _VALUES and call.site != "clock.monotonic" for call in observation.calls
        )
        if record is None or handed_over:
            return ()
        shape = _shape(record)
        if shape in self._shapes:
            return ("survives-json",)
        self._shapes.add(shape)
        return ()


def _course(observation: Observation) -> object:
    """
    Give what makes two runs the same: their calls, and what their traces say beside error texts.
    """
    record = observation.record
    calls = tuple(call.site for call in observation.calls)
    stored = observation.stored and observation.stored.run_state
    if record is None:
        return calls, type(observation.left)
    trace = tuple(
        (e.code, e.at, tuple((k, str(v)) for k, v in e.detail.items() if k not in _TEXTS))
        for e in record.trace
    )
    return calls, type(observation.left), stored, record.public, record.used, trace


def _shape(record: RunRecord) -> object:
    """
    Give what two records have in common that differ in texts and numbers only.
    """
    return (
        record.stop_cause,
        record.release_rule,
        record.record_saved,
        record.delivered,
        record.collection_state,
        record.stop_reason,
        record.events,
        record.trace.codes,
        record.attempts.components,
        tuple((row.code, row.evidence_status) for row in record.invocations),
        record.gates.verdict,
        len(record.gates.violations),
        record.public and record.public.kind,
    )


#: The faults that hand over a value of their own: no two records of them have one shape.
_VALUES: Final = frozenset(
    fault for fault in Fault if fault.value.startswith("return:") or fault is Fault.CHANGED_LATER
)
_TEXTS: Final = frozenset({"detail", "error"})

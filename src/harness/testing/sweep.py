"""
The sweep: a scenario is run once, then again with every fault at every call that it makes.

With ``depth=2`` every pair of faults is tried too. On each run every invariant of the contract is
checked; see :mod:`harness.testing.invariants` and :doc:`/how-to/test-your-agent`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from harness._values import Request
from harness.errors import InvalidArgumentError
from harness.testing._host_stage import HostStage, Parts
from harness.testing._stage import AsyncStage, Stage, SyncStage
from harness.testing._sweeping import Finding, Plan, SweepReport, Tick
from harness.testing.faults import Fault, Injection
from harness.testing.scenario import DRIVERS, Scenario, load_scenario

__all__ = ["Finding", "SweepReport", "sweep", "sweep_harness"]


def sweep(  # noqa: PLR0913  what a sweep may be told
    scenario: Scenario | Mapping[str, Any],
    *,
    depth: int = 1,
    driver: str = "sync",
    faults: Iterable[Fault] = tuple(Fault),
    inject: Iterable[Injection | str] = (),
    stride: int = 1,
    tick: Tick | None = None,
) -> SweepReport:
    """
    Run a scenario with every fault at every call, and check every invariant on each run.

    A fault takes the place of the scripted step; a script that runs dry repeats its last step.
    Limits that the scenario leaves open are set, so that a late or oversized answer is one.

    Args:
        scenario: The scenario, or the JSON object of one.
        depth: 0 runs it once, 1 with every single fault, 2 with every pair of faults too: the
            second fault at every call that comes after the first. First faults at one call that
            made the very same run are followed by the second ones once.
        driver: ``sync`` or ``async``.
        faults: The faults.
        inject: Faults that every run has.
        stride: Takes every n-th run only, for a quick look.
        tick: Told after each run how many were made.

    Returns:
        How many runs were made, and every invariant that broke.

    Raises:
        InvalidArgumentError: An argument is something else.
        MalformedScenarioError: The object is no scenario.
    """
    stages: dict[str, Callable[[Scenario], Stage]] = {"sync": SyncStage, "async": AsyncStage}
    _check_driver(driver)
    plan = Plan(depth, driver, tuple(faults), inject, stride, tick)
    checked = scenario if isinstance(scenario, Scenario) else load_scenario(scenario)
    return plan.made(stages[driver](checked))


def sweep_harness(  # noqa: PLR0913  what a sweep may be told
    parts: Parts,
    request: Request | str,
    *,
    name: str = "harness",
    depth: int = 1,
    driver: str = "sync",
    faults: Iterable[Fault] = tuple(Fault),
    inject: Iterable[Injection | str] = (),
    stride: int = 1,
    tick: Tick | None = None,
) -> SweepReport:
    """
    Run a host's own harness with every fault at every call, as :func:`sweep` does a scenario.

    Every host object is wrapped here, so none may be wrapped before. Runs should be reproducible:
    where a call does not come again, its faults do not come either. Leave a journal out: what fails
    there is the end of a process, from which a run is resumed, and not the end of a run.

    Args:
        parts: Makes the arguments of a :class:`harness.Harness` (or, for ``async``, of a
            :class:`harness.AsyncHarness`) anew for each run. What it leaves out is in memory, with
            a virtual clock and counted ids.
        request: What is asked.
        name: What findings call it.
        depth: As for :func:`sweep`, and so are the others.
        driver: ``sync`` or ``async``; tools run one at a time.
        faults: The faults.
        inject: Faults that every run has.
        stride: Takes every n-th run only.
        tick: Told after each run how many were made.

    Returns:
        How many runs were made, and every invariant that broke.

    Raises:
        InvalidArgumentError: An argument is something else, or a part that the harness refuses.
    """
    _check_driver(driver)
    if not callable(parts):
        raise InvalidArgumentError("parts", parts, "a function that makes the arguments")
    asked = request if isinstance(request, Request) else Request(request)
    plan = Plan(depth, driver, tuple(faults), inject, stride, tick)
    return plan.made(HostStage(parts, asked, name, driver))


def _check_driver(driver: str) -> None:
    if driver not in DRIVERS:
        raise InvalidArgumentError("driver", driver, " or ".join(DRIVERS))

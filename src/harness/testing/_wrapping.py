"""What takes the place of a host object: its calls go through a fault plan."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from math import isfinite
from threading import Event
from typing import Any, Protocol

from harness.testing._fault_words import MODELS, PORTS

__all__ = ["WrappedClock", "WrappedHost"]


class Plan(Protocol):
    """
    What a wrapped object needs of its plan.
    """

    #: Seconds by which faults have moved the clock.
    offset: float
    #: The latest that the clock ever said.
    told: float | None

    def call(self, site: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """
        Make a call outside, or let it fail.
        """
        ...

    def function(
        self, site: str, function: Callable[..., Any], skip: Callable[[], None] | None
    ) -> Callable[..., Any]:
        """
        Wrap one function.
        """
        ...


class WrappedHost:
    """
    A host object whose port methods go through a plan; everything else is the object's own.
    """

    def __init__(self, plan: Plan, port: str, host: Any, skip: Callable[[], None] | None) -> None:
        self._plan = plan
        self._port = port
        self._host = host
        self._skip = skip

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._host, name)
        if name not in PORTS[self._port] or not callable(value):
            return value
        alone = name == "execute" or self._port in MODELS
        site = self._port if alone else f"{self._port}.{name}"
        wrapped = self._plan.function(site, value, self._skip)
        # looked up once a harness, called at each step
        setattr(self, name, wrapped)
        return wrapped


class WrappedClock:
    """
    A clock that faults move.
    """

    def __init__(self, plan: Plan, clock: Any) -> None:
        self._plan = plan
        #: The clock that is moved.
        self.host = clock

    def monotonic(self) -> Any:
        """
        What the clock says, and by how much it was moved.
        """
        plan = self._plan
        value = plan.call("clock.monotonic", self._monotonic)
        if isinstance(value, float) and isfinite(value):
            # a run's time never runs backwards, whatever its clock says
            plan.told = value if plan.told is None else max(value, plan.told)
        return value

    def _monotonic(self) -> float:
        seconds: float = self.host.monotonic() + self._plan.offset
        return seconds

    def utc(self) -> Any:
        """
        What the wall clock says, likewise.
        """
        return self._plan.call("clock.utc", self._utc)

    def _utc(self) -> datetime:
        time: datetime = self.host.utc() + timedelta(seconds=self._plan.offset)
        return time

    def wait(self, seconds: float, wake: Event) -> Any:
        """
        Wait as the clock does.
        """
        return self._plan.call("clock.wait", self.host.wait, seconds, wake)

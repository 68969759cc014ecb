"""Where a host's own harness is run again and again, each time with other faults."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from harness._records import RunRecord
from harness._states import OnDisconnect
from harness._sync import Harness
from harness._values import Request
from harness.errors import InvalidArgumentError
from harness.guards import LexicalGuard
from harness.stores.memory import MemoryCanonicalStore, MemoryRunStore
from harness.testing._clock import VirtualClock
from harness.testing._observed import Observation
from harness.testing._scripted import RecordingClient, counting_ids
from harness.testing.faults import FaultPlan, Injection
from harness.testing.scenario import Scenario

__all__ = ["HostStage", "Parts"]

#: Makes the arguments of a harness anew for each run.
Parts = Callable[[], Mapping[str, Any]]

#: The port of each argument of a harness that is one host object.
_PORTS: Final = MappingProxyType(
    {
        "agent": "agent",
        "router": "router",
        "responder": "responder",
        "repairer": "repair",
        "semantic_guard": "semantic_guard",
        "canonical_store": "canonical_store",
        "run_store": "run_store",
        "clock": "clock",
        "ids": "ids",
        "classifier": "classifier",
        "backoff": "backoff",
    }
)


class HostStage:
    """
    Builds a harness of wrapped host objects for each run.

    Args:
        parts: Makes the arguments of the harness.
        request: What is asked.
        name: What findings call it.
        driver: ``sync`` or ``async``.
    """

    def __init__(self, parts: Parts, request: Request, name: str, driver: str) -> None:
        self._parts = parts
        self._request = request
        self._driver = driver
        #: It stands for the harness in findings, and scripts nothing.
        self.scenario = Scenario(name, {})

    async def play(self, injections: Iterable[Injection | str]) -> Observation:
        """
        Run once.

        Args:
            injections: The faults of this run.

        Returns:
            What came of it.
        """
        plan = FaultPlan(injections)
        given: Any = self._parts()
        if not isinstance(given, Mapping):
            raise InvalidArgumentError("parts()", given, "a mapping of a harness's arguments")
        parts = {**_defaults(), **given}
        runs = parts["run_store"]
        harness = self._built({**parts, **_wrapped(plan, parts)})
        client = plan.wrap("client", RecordingClient())
        record: RunRecord | None = None
        left: BaseException | None = None
        try:
            # the interrupt beside its record
            ended = harness._execute(self._request, cancel=plan.token, client=client)  # noqa: SLF001
            record, left = await ended if self._driver == "async" else ended
        except BaseException as error:  # noqa: BLE001  whatever leaves the run is looked at
            left = error
        return Observation(
            record=record,
            left=left,
            calls=plan.calls,
            stored=None if record is None else await _loaded(runs, record.run_id),
            deadline=harness.limits.deadline,
            cancelled=plan.token.is_cancelled,
            detached=parts.get("on_disconnect") in {OnDisconnect.DETACH, "DETACH"},
        )

    def has_raised(self, _interrupt: BaseException | None) -> bool:
        """
        Whether a script raised an interrupt: a host's own harness has none.
        """
        return False

    def _built(self, parts: dict[str, Any]) -> Any:
        if self._driver == "sync":
            return Harness(**parts)
        # only here, so that the synchronous driver does not load asyncio
        from harness._aio import AsyncHarness  # noqa: PLC0415

        # one tool at a time: calls that overlap have no n-th one
        return AsyncHarness(**{**parts, "max_parallel_tools": 1})


def _defaults() -> dict[str, Any]:
    return {
        "tools": (),
        "semantic_guard": LexicalGuard(),
        "canonical_store": MemoryCanonicalStore(),
        "run_store": MemoryRunStore(),
        "clock": VirtualClock(),
        "ids": counting_ids(),
    }


def _wrapped(plan: FaultPlan, parts: Mapping[str, Any]) -> dict[str, Any]:
    wrapped = {name: plan.wrap(port, parts[name]) for name, port in _PORTS.items() if name in parts}
    return {**wrapped, "tools": [plan.wrap("tool", tool) for tool in parts["tools"]]}


async def _loaded(runs: Any, run_id: str) -> RunRecord | None:
    stored = runs.load(run_id)
    found: RunRecord | None = await stored if hasattr(type(stored), "__await__") else stored
    return found

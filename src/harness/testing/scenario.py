"""
Scenario files: everything outside the harness as a script, and what must come of it.

An incident becomes a regression test: a JSON object scripts router, agent, tools, guards, stores,
client and clock, and states the expected ending. See :doc:`/how-to/scenarios`.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from attrs import frozen

from harness._cancel import CancelToken
from harness._limits import Limits
from harness._previous import is_previous_turn
from harness._records import RunRecord
from harness._release import ReleasePolicy
from harness._states import EventKind, PublicKind
from harness._sync import Harness
from harness._values import Request
from harness.errors import InvalidArgumentError
from harness.testing import _play
from harness.testing._clock import VirtualClock
from harness.testing._schema import MalformedScenarioError, check_scenario
from harness.testing._scripted import RecordingClient, counting_ids

__all__ = [
    "DRIVERS",
    "Difference",
    "MalformedScenarioError",
    "Outcome",
    "Scenario",
    "load_scenario",
    "run_scenario",
]

#: The drivers a scenario can run through.
DRIVERS = ("sync", "async")

_REQUEST: Mapping[str, Any] = {"question": "why?", "context": {}}


@frozen
class Scenario:
    """
    A checked scenario.

    Attributes:
        name: Its unique name.
        data: All that it says.
        where: The file it stands in.
    """

    name: str
    data: Mapping[str, Any]
    where: str = ""


@frozen
class Difference:
    """
    An expectation that does not hold.

    Attributes:
        scenario: The scenario's name.
        key: Which key.
        expected: What it states.
        observed: What was observed.
    """

    scenario: str
    key: str
    expected: Any
    observed: Any

    def __str__(self) -> str:
        return (
            f"{self.scenario}: {self.key}: expected {self.expected!r}, observed {self.observed!r}"
        )


@frozen
class Outcome:
    """
    What came of a scenario.

    Attributes:
        scenario: The scenario.
        record: The record that stands.
        observed: Every observed key of the format, but ``explain`` where nobody asked for it.
        differences: The expectations that do not hold.
    """

    scenario: Scenario
    record: RunRecord
    observed: Mapping[str, Any]
    differences: tuple[Difference, ...]

    @property
    def passed(self) -> bool:
        """
        Whether every expectation holds.
        """
        return not self.differences


def load_scenario(data: object, where: str = "") -> Scenario:
    """
    Check a scenario.

    Args:
        data: A decoded JSON value.
        where: The file it stands in, for errors.

    Returns:
        The scenario.

    Raises:
        MalformedScenarioError: It says something that the format does not have; names the key.
    """
    try:
        checked = check_scenario(data)
    except MalformedScenarioError as error:
        raise MalformedScenarioError(error.key, error.reason, where) from None
    return Scenario(checked["name"], checked, where)


def run_scenario(scenario: Scenario, *, full: bool = False, driver: str = "sync") -> Outcome:
    """
    Run a scenario in virtual time.

    Args:
        scenario: The scenario.
        full: Observe every key, ``explain`` too.
        driver: ``sync`` or ``async``.

    Returns:
        What was observed, and where it differs from what is expected.

    Raises:
        MalformedScenarioError: A call came for which it has no step.
        InvalidArgumentError: There is no such driver.
    """
    if driver not in DRIVERS:
        raise InvalidArgumentError("driver", driver, " or ".join(DRIVERS))
    data = scenario.data
    clock, token = VirtualClock(), CancelToken()
    player = _play.Player(data, clock, token)
    client = client_of(data)
    parts = parts_of(data, player, clock)
    request = request_of(data)
    if driver == "async":
        # only here, so that the synchronous driver does not load asyncio
        from harness.testing._suspending import execute  # noqa: PLC0415

        record = execute(parts, request, token, client)
    else:
        record, _ = Harness(**parts)._execute(request, cancel=token, client=client)  # noqa: SLF001
    if player.ran_dry is not None:
        dry = player.ran_dry
        raise MalformedScenarioError(dry.key, dry.reason, scenario.where)
    expect = data.get("expect", {})
    observed = observe(record, client, explained=full or "explain" in expect)
    differences = tuple(
        Difference(scenario.name, key, expected, observed[key])
        for key, expected in expect.items()
        if not _holds(key, expected, observed[key])
    )
    return Outcome(scenario, record, observed, differences)


def request_of(data: Mapping[str, Any]) -> Request:
    """
    Build the request that a scenario makes.
    """
    return Request(**{**_REQUEST, **data.get("request", {})})


def client_of(data: Mapping[str, Any]) -> RecordingClient:
    """
    Build the client that a scenario describes.
    """
    kind = data.get("client", {}).get("disconnects_at")
    return RecordingClient(None if kind is None else EventKind[kind])


def parts_of(data: Mapping[str, Any], player: _play.Player, clock: VirtualClock) -> dict[str, Any]:
    """
    Build the arguments of the harness that a scenario describes.
    """
    parameters = data.get("tool_parameters", {})
    return {
        "agent": player.component("agent", "agent", _play.turn, absent_is_empty=True),
        "tools": [
            _play.PlayedTool(name, steps, parameters.get(name), player)
            for name, steps in data.get("tools", {}).items()
        ],
        "router": player.component("router", "router", _play.route),
        "responder": player.component("responder", "responder", _play.reply),
        "repairer": player.component("repair", "repair", _play.repaired),
        "semantic_guard": player.component(
            "semantic_guard", "semantic_guard", _play.verdict, absent_is_empty=True
        ),
        "canonical_store": _play.PlayedCanonicalStore(data.get("canonical_store", {})),
        "run_store": _play.PlayedRunStore(data.get("run_store", {})),
        "limits": _limits(data.get("limits", {})),
        "progress": data.get("progress", "REPORTED"),
        "required_context": data.get("required_context", ()),
        "policy": ReleasePolicy(distinguish_budget=data.get("distinguish_budget", False)),
        "on_disconnect": data.get("on_disconnect", "CANCEL"),
        "clock": clock,
        "ids": counting_ids(),
    }


def _limits(given: Mapping[str, Any]) -> Limits:
    """
    Build limits: none but what the scenario states.
    """
    stated: dict[str, Any] = dict(given)
    milliseconds = stated.pop("deadline_ms", None)
    if milliseconds is not None:
        stated["deadline"] = milliseconds / 1000
    if stated.get("cost") is not None:
        stated["cost"] = Decimal(stated["cost"])
    return Limits(**{**_UNLIMITED, **stated})


_UNLIMITED: Mapping[str, Any] = {
    "deadline": None,
    "model_attempts": None,
    "tool_calls": None,
    "tokens": None,
    "evidence_bytes": None,
    "cost": None,
    "result_bytes": None,
    "draft_bytes": None,
    "fact_bytes": None,
    "facts_per_result": None,
    "no_gain": 3,
    "violations": 2,
    "release_reserve": 0,
}


def observe(
    record: RunRecord, client: RecordingClient, *, explained: bool = False
) -> dict[str, Any]:
    """
    Observe a run by the keys of the format.

    Args:
        record: The record that stands.
        client: What the client accepted.
        explained: Whether to explain the record too, after a JSON round trip.
    """
    used = record.used
    verdict = record.gates.verdict
    observed: dict[str, Any] = {
        "run_state": record.run_state.name,
        "stop_cause": _name(record.stop_cause),
        "release_outcome": _name(record.release_outcome),
        "fallback_type": _name(record.fallback_type),
        "request_status": record.request_status.name,
        "collection_state": record.collection_state.name,
        "stop_reason": _name(record.stop_reason),
        "intent": _name(record.intent),
        "delivered": record.delivered,
        "record_saved": record.record_saved,
        "next_turn": is_previous_turn(record),
        "public": _public(client),
        "events": [kind.name for kind in client.kinds],
        "attempts": _attempts(record),
        "used": {
            "model_attempts": used.model_attempts,
            "tool_calls": used.tool_calls,
            "tokens": used.tokens,
            "evidence_bytes": used.evidence_bytes,
            "cost": str(used.cost),
            "unknown_usage": used.unknown_usage,
        },
        "invocations": [
            [row.tool, row.status.name, _name(row.evidence_status), _name(row.code)]
            for row in record.invocations
        ],
        "violations": sorted({violation.kind.name for violation in record.gates.violations}),
        "semantic_verdict": _name(verdict),
        "trace": [code.name for code in record.trace.codes],
    }
    if explained:
        # only here, so that scenarios without an explanation do not load the codec
        from harness.codec import record_from_json, record_to_json  # noqa: PLC0415
        from harness.explain import explain  # noqa: PLC0415

        observed["explain"] = str(explain(record_from_json(record_to_json(record))))
    return observed


def _name(member: Any) -> str | None:
    return None if member is None else str(member.name)


def _attempts(record: RunRecord) -> dict[str, int]:
    made: dict[str, int] = {}
    for component in record.attempts.components:
        made[component.name] = made.get(component.name, 0) + 1
    return made


def _public(client: RecordingClient) -> dict[str, Any]:
    """
    Give what became public as the client received it.
    """
    for event in client.events:
        if event.kind is EventKind.CONTENT:
            return {"kind": event.data["kind"], "text": event.data["text"], "code": None}
        if event.kind is EventKind.FAILURE:
            return {"kind": PublicKind.FAILURE.name, "text": "", "code": event.data["code"]}
    return {"kind": PublicKind.NONE.name, "text": "", "code": None}


# --- expectations


def _holds(key: str, expected: Any, observed: Any) -> bool:
    """
    Whether one stated key holds.
    """
    if key == "public":
        return _public_holds(expected, observed)
    if key == "events":
        return _events_hold(expected.split(), observed)
    if key == "trace":
        rest = iter(observed)
        return all(code in rest for code in expected)
    if key == "explain":
        return all(text in observed for text in expected.get("contains", ()))
    if key == "used":
        return all(
            Decimal(observed[name]) == Decimal(value) if name == "cost" else observed[name] == value
            for name, value in expected.items()
        )
    return bool(expected == observed)


def _public_holds(expected: Mapping[str, Any], observed: Mapping[str, Any]) -> bool:
    text = observed["text"]
    return (
        expected.get("kind", observed["kind"]) == observed["kind"]
        and expected.get("code", observed["code"]) == observed["code"]
        and all(part in text for part in expected.get("contains", ()))
        and not any(part in text for part in expected.get("excludes", ()))
    )


def _events_hold(pattern: list[str], events: list[str]) -> bool:
    """
    Match a pattern in which ``STATUS*`` stands for any number of statuses.
    """
    if not pattern:
        return not events
    if pattern[0] != "STATUS*":
        return bool(events) and events[0] == pattern[0] and _events_hold(pattern[1:], events[1:])
    rest = next((i for i, kind in enumerate(events) if kind != "STATUS"), len(events))
    return any(_events_hold(pattern[1:], events[skip:]) for skip in range(rest + 1))

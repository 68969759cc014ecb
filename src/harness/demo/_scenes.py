"""How each ending is reached: a run over the real incident in which something really goes wrong."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from harness import CancelToken, Harness, Limits
from harness.demo._agent import PoolAgent
from harness.demo._log import iso_milliseconds
from harness.demo._mistakes import (
    DraftingAgent,
    StubbornRepairer,
    StuckAgent,
    misquote,
    overreach,
)
from harness.demo._outages import Operator, RemoteGuard, SmallStore, closed_port, silent_port
from harness.demo._tools import config_tool, deploys_tool, live_metrics_tool, metrics_tool
from harness.logs import LogTool

if TYPE_CHECKING:
    from harness import FunctionTool, RunResult
    from harness.demo._incident import Incident
    from harness.ports import EventSink

_QUESTION: Final = "Why do payments fail?"
_SERVICE: Final = "payment-service"
# A service that hangs for longer than the run may take.
_DEADLINE: Final = 1.0
_HANG: Final = 1.2
# Room for one line of the log.
_ROOM: Final = 200


def make_harness(
    incident: Incident, *, metrics: FunctionTool | None = None, **changes: Any
) -> Harness:
    """
    Put the agent and its four tools into a harness.

    Args:
        incident: What the tools read.
        metrics: Takes the place of the tool that reads the sampled metrics.
        **changes: Further arguments of :class:`harness.Harness`, or another agent.

    Returns:
        A harness that needs the service and the time range of whoever asks.
    """
    tools = (
        LogTool([incident.log], name="logs"),
        metrics or metrics_tool(incident.metrics),
        config_tool(incident.config),
        deploys_tool(incident.deploys),
    )
    needed = ("service", "time_range")
    return Harness(**{"agent": PoolAgent(), "required_context": needed, **changes}, tools=tools)


def make_context(incident: Incident, *, back: timedelta = timedelta()) -> dict[str, str]:
    """
    Say what is asked about.

    Args:
        incident: The incident.
        back: How long before the incident to look.

    Returns:
        The service, and the span of time of the incident.
    """
    span = "/".join(
        iso_milliseconds(moment - back) for moment in (incident.started, incident.ended)
    )
    return {"service": _SERVICE, "time_range": span}


def report(incident: Incident, client: EventSink, **changes: Any) -> RunResult:
    """
    Ask, with everything in order, or with one thing changed.
    """
    harness = make_harness(incident, **changes)
    return harness.run(_QUESTION, context=make_context(incident), client=client)


def no_evidence(incident: Incident, client: EventSink) -> RunResult:
    """
    Ask about the hour before: every source answers, and none has anything to say.
    """
    context = make_context(incident, back=timedelta(hours=1))
    return make_harness(incident).run(_QUESTION, context=context, client=client)


def missing_context(incident: Incident, client: EventSink) -> RunResult:
    """
    Ask without saying when.
    """
    return make_harness(incident).run(_QUESTION, context={"service": _SERVICE}, client=client)


def tool_error(incident: Incident, client: EventSink) -> RunResult:
    """
    Ask the service for its metrics, though it is down by now.
    """
    with closed_port() as port:
        return report(incident, client, metrics=live_metrics_tool(port, timeout=_HANG))


def evidence_rejected(incident: Incident, client: EventSink) -> RunResult:
    """
    Let the agent quote what no source says, and the repairer not mend it.
    """
    agent = DraftingAgent(PoolAgent(), misquote)
    return report(incident, client, agent=agent, repairer=StubbornRepairer())


def unsupported(incident: Incident, client: EventSink) -> RunResult:
    """
    Let the agent conclude more than it cites evidence for.
    """
    return report(incident, client, agent=DraftingAgent(PoolAgent(), overreach))


def unavailable(incident: Incident, client: EventSink) -> RunResult:
    """
    Leave the judgement to a provider that is down.
    """
    with closed_port() as port:
        return report(incident, client, semantic_guard=RemoteGuard(port))


def saturated(incident: Incident, client: EventSink) -> RunResult:
    """
    Let the agent ask the same again and again.
    """
    return report(incident, client, agent=StuckAgent(PoolAgent()))


def budget(incident: Incident, client: EventSink) -> RunResult:
    """
    Leave no model attempt for a third turn.
    """
    return report(incident, client, limits=Limits(model_attempts=2, release_reserve=0))


def timeout(incident: Incident, client: EventSink) -> RunResult:
    """
    Ask a service that hangs for longer than the run may take.
    """
    with silent_port() as port:
        metrics = live_metrics_tool(port, timeout=_HANG)
        return report(incident, client, metrics=metrics, limits=Limits(deadline=_DEADLINE))


def cancelled(incident: Incident, client: EventSink) -> RunResult:
    """
    Have the run cancelled from another thread, once it has collected something.
    """
    token = CancelToken()
    return make_harness(incident).run(
        _QUESTION,
        context=make_context(incident),
        client=Operator(client, token),
        cancel=token,
    )


def failed(incident: Incident, client: EventSink) -> RunResult:
    """
    Keep the evidence in a store that has room for some of it only.
    """
    return report(incident, client, canonical_store=SmallStore(_ROOM))

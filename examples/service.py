# noqa: INP001  scripts to be read and run, no package
"""
A run inside a service: events for a browser, a budget, a deadline, a cancel that works.

    python examples/service.py
"""

import sys
from decimal import Decimal

from harness import (
    AgentTurn,
    AgentView,
    Attempt,
    CancelToken,
    Citation,
    DiagnosisDraft,
    Harness,
    Limits,
    RunResult,
    StreamEvent,
    ToolCall,
    Usage,
    encode_sse,
    tool,
)
from harness.errors import TransportError


@tool
def replicas() -> str:
    """State of the replicas."""
    return "2 of 3 replicas restart since 10:00"


@tool
def metrics() -> str:
    """Metrics of the last hour; their database is down today."""
    raise TransportError


class Agent:
    """An agent that says what its model used, and cites what its tools found."""

    def next_turn(self, view: AgentView, attempt: Attempt) -> AgentTurn:
        """Ask both sources in one batch, then draft."""
        attempt.report(Usage(input_tokens=900, output_tokens=60, cost=Decimal("0.002")))
        if not view.records:
            return AgentTurn([ToolCall("replicas"), ToolCall("metrics")])
        ready = [Citation(record.invocation_id) for record in view.records if record.facts]
        return AgentTurn(draft=DiagnosisDraft("2 of 3 replicas restart since 10:00.", ready))


class Browser:
    """The client: each event becomes a frame; raising would mean that it has gone."""

    def send(self, event: StreamEvent) -> None:
        """Write the frame."""
        sys.stdout.write(encode_sse(event).decode())


def ask(token: CancelToken) -> RunResult:
    """Run one request; another thread may cancel the token when the user gives up."""
    limits = Limits(deadline=60.0, tokens=20_000, cost=Decimal("0.05"))
    harness = Harness(Agent(), [replicas, metrics], limits=limits, required_context=["service"])
    context = {"service": "payment"}
    return harness.run("Why?", context=context, cancel=token, deadline=30.0, client=Browser())


if __name__ == "__main__":
    # the report, beside it that the metrics could not be asked; then a user who gave up at once
    ask(CancelToken())
    impatient = CancelToken()
    impatient.cancel("the user closed the page")
    sys.stdout.write(f"{ask(impatient)}\n")

"""
A diagnosis agent of rules, without a model: it suspects the pool, and checks before it says so.

It asks for errors, then for what a shortage of connections leaves in other sources, then whether
anything failed before the deploy that it suspects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attrs import frozen

from harness import AgentTurn, Progress, ProgressStatement, ToolCall, Usage
from harness.demo._rules import EXHAUSTED, draft_report, find_culprit, find_evidence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness import AgentView, Attempt, CanonicalRecord

# No model is asked: that is known, and not unknown usage.
_NOTHING: Final = Usage(0, 0)
# Equal errors tell nothing new: the log tool says how many more there are.
_SHOWN: Final = 5


class PoolAgent:
    """
    Diagnose a service that lost its database connections.

    The agent keeps nothing between turns: what it does next follows from what it is shown, so one
    agent can serve any number of runs.
    """

    def next_turn(self, view: AgentView, attempt: Attempt) -> AgentTurn:
        """
        Ask for what is still to be checked, or draft.

        Args:
            view: What is known so far.
            attempt: Not used.

        Returns:
            The next batch of calls, or the draft.
        """
        del attempt
        calls = () if view.stop else next_calls(view)
        if not calls:
            return AgentTurn(draft=draft_report(view.records), usage=_NOTHING)
        return AgentTurn(calls, progress=state_progress(view), usage=_NOTHING)


def state_progress(view: AgentView) -> ProgressStatement:
    """
    Say truthfully what the last batch brought.

    Args:
        view: What is known so far.

    Returns:
        A gain that names the new facts, or none.
    """
    gained = Progress.GAINED if view.new_facts else Progress.NO_GAIN
    return ProgressStatement(gained, view.new_facts)


def next_calls(view: AgentView) -> tuple[ToolCall, ...]:
    """
    Decide what to ask next.

    Args:
        view: What is known so far. Its context names the ``service`` and the ``time_range``, as
            two times with a slash between them.

    Returns:
        The calls; none when everything was asked.
    """
    if view.turn > len(_TURNS):
        return ()
    window = _Window(view.context["service"], *view.context["time_range"].split("/"))
    return _TURNS[view.turn - 1](view.records, window)


@frozen
class _Window:
    """
    What to ask of each source, for one service and one span of time.
    """

    service: str
    since: str
    until: str

    def errors(self, until: str = "") -> ToolCall:
        return self._call("logs", until, {"limit": _SHOWN}, level="ERROR")

    def anything(self) -> ToolCall:
        return self._call("logs", more={"limit": _SHOWN})

    def metrics(self) -> ToolCall:
        return self._call("metrics", metric="pool_timeouts", at_least=1)

    def deploys(self) -> ToolCall:
        return self._call("deploys")

    def config(self) -> ToolCall:
        settings = ["pool_size", "acquire_timeout_ms", "fraud_check_ms"]
        return ToolCall("config", {"service": self.service}, {"settings": settings})

    def _call(
        self, tool: str, until: str = "", more: Mapping[str, int] | None = None, **sought: object
    ) -> ToolCall:
        asked = {"since": self.since, "until": until or self.until, **sought}
        # The scope says what an empty answer is empty of.
        return ToolCall(tool, {"service": self.service, **asked}, {**asked, **(more or {})})


def _ask_for_errors(_records: Sequence[CanonicalRecord], window: _Window) -> tuple[ToolCall, ...]:
    return (window.errors(),)


def _ask_around(records: Sequence[CanonicalRecord], window: _Window) -> tuple[ToolCall, ...]:
    around = (window.metrics(), window.deploys())
    if find_evidence(records, "logs", EXHAUSTED):
        return (*around, window.config())
    # No such error: whatever the log holds may lead on.
    return (*around, window.anything())


def _ask_before(records: Sequence[CanonicalRecord], window: _Window) -> tuple[ToolCall, ...]:
    culprit = find_culprit(records)
    return (window.errors(until=culprit[1].time),) if culprit else ()


_TURNS: Final = (_ask_for_errors, _ask_around, _ask_before)

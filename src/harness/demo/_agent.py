"""
A diagnosis agent of rules, without a model: it suspects the pool, and checks before it says so.

1. It asks for errors; then for what a shortage of connections leaves in other sources.
2. It blames a deploy only if that set the size which the errors name, came before the first of
   them, and no error is older.
3. What it can't show it leaves out. Without a cause it hands in a draft without a conclusion.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from attrs import frozen

from harness import (
    AgentTurn,
    Citation,
    Claim,
    DiagnosisDraft,
    Progress,
    ProgressStatement,
    ToolCall,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness import AgentView, Attempt, CanonicalRecord

# No model is asked: that is known, and not unknown usage.
_NOTHING: Final = Usage(0, 0)
_EXHAUSTED: Final = re.compile(
    r"connection pool is exhausted: (?P<state>size=(?P<size>\d+) in_use=\d+)"
)
_DEPLOYED: Final = re.compile(
    r"version=(?P<version>[^\s:]+): "
    r"(?P<change>changed .*?pool_size from (?P<old>\d+) to (?P<size>\d+).*)"
)
_SIZE: Final = re.compile(r'"pool_size": (?P<size>\d+)')
_TIMEOUTS: Final = re.compile(
    r'"pool_waiting_peak": (?P<peak>\d+).*(?P<quote>"pool_timeouts": (?P<timeouts>[1-9]\d*))'
)


@frozen
class Evidence:
    """
    A fact in which a rule recognised something.

    Attributes:
        match: What was recognised.
        time: The first word of the fact: in a log, its time.
        invocation_id: The invocation that found it.
        fact_id: Its number there.
    """

    match: re.Match[str]
    time: str
    invocation_id: str
    fact_id: int

    def cite(self, group: int | str = 0) -> Citation:
        """
        Cite what was recognised.

        Args:
            group: Which part of it to quote.

        Returns:
            The citation.
        """
        return Citation(self.invocation_id, self.fact_id, self.match[group])


def find_evidence(
    records: Iterable[CanonicalRecord], tool: str, pattern: re.Pattern[str]
) -> list[Evidence]:
    """
    Find the facts of one tool in which a pattern stands.

    Args:
        records: The run's records.
        tool: Whose facts to look at.
        pattern: What to look for.

    Returns:
        The evidence, in order.
    """
    return [
        Evidence(match, fact.text.partition(" ")[0], record.invocation_id, number)
        for record in records
        if record.invocation.tool == tool
        for number, fact in enumerate(record.facts, 1)
        if (match := pattern.search(fact.text))
    ]


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


def find_culprit(records: Sequence[CanonicalRecord]) -> tuple[Evidence, Evidence] | None:
    """
    Find the deploy that made the pool too small, if the records show one.

    Args:
        records: The run's records.

    Returns:
        The first error that names an exhausted pool, and the last deploy before it, if that set
        the size which the error names.
    """
    errors = find_evidence(records, "logs", _EXHAUSTED)
    if not errors:
        return None
    first = min(errors, key=lambda error: error.time)
    before = [
        deploy
        for deploy in find_evidence(records, "deploys", _DEPLOYED)
        if deploy.time <= first.time
    ]
    latest = max(before, key=lambda deploy: deploy.time, default=None)
    if latest is None or latest.match["size"] != first.match["size"]:
        return None
    return first, latest


def draft_report(records: Sequence[CanonicalRecord]) -> DiagnosisDraft:
    """
    Write the report that the records carry, as near to their words as it reads well.

    Args:
        records: The run's records.

    Returns:
        The draft; without a conclusion where no deploy can be blamed.
    """
    culprit = find_culprit(records)
    if culprit is None:
        return DiagnosisDraft(None)
    error, deploy = culprit
    version, change, old = deploy.match["version"], deploy.match["change"], deploy.match["old"]
    return DiagnosisDraft(
        f"Payments were refused because the connection pool was exhausted: {error.match['state']}. "
        f"The deploy of version {version} at {deploy.time} {change}.",
        (error.cite(), deploy.cite("change")),
        (
            *_calm_claims(records, deploy),
            *_config_claims(records, deploy),
            *_metrics_claims(records),
        ),
        (f"Roll back version {version}, or set pool_size to {old} again.",),
    )


def _calm_claims(records: Sequence[CanonicalRecord], deploy: Evidence) -> list[Claim]:
    """
    Cite the empty scope before the deploy, if it was asked.
    """
    return [
        Claim(
            f"No error was found in the logs until {deploy.time}.",
            (Citation(record.invocation_id),),
        )
        for record in records
        if record.invocation.tool == "logs"
        and record.invocation.is_ready
        and not record.facts
        and record.invocation.call.arguments.get("until") == deploy.time
    ]


def _config_claims(records: Sequence[CanonicalRecord], deploy: Evidence) -> list[Claim]:
    return [
        Claim(f"config.json has pool_size {line.match['size']}.", (line.cite(),))
        for line in find_evidence(records, "config", _SIZE)
        if line.match["size"] == deploy.match["size"]
    ]


def _metrics_claims(records: Sequence[CanonicalRecord]) -> list[Claim]:
    samples = find_evidence(records, "metrics", _TIMEOUTS)
    return [
        Claim(
            f"The metrics show pool_timeouts {sample.match['timeouts']} "
            f"and pool_waiting_peak {sample.match['peak']}.",
            (sample.cite("quote"),),
        )
        for sample in samples[-1:]
    ]


@frozen
class _Window:
    """What to ask of each source, for one service and one span of time."""

    service: str
    since: str
    until: str

    def errors(self, until: str = "") -> ToolCall:
        return self._call("logs", until, level="ERROR")

    def anything(self) -> ToolCall:
        return self._call("logs")

    def metrics(self) -> ToolCall:
        return self._call("metrics", metric="pool_timeouts", at_least=1)

    def deploys(self) -> ToolCall:
        return self._call("deploys")

    def config(self) -> ToolCall:
        settings = ["pool_size", "acquire_timeout_ms", "fraud_check_ms"]
        return ToolCall("config", {"service": self.service}, {"settings": settings})

    def _call(self, tool: str, until: str = "", **arguments: object) -> ToolCall:
        span = {"since": self.since, "until": until or self.until}
        # The scope says what an empty answer is empty of.
        return ToolCall(tool, {"service": self.service, **span, **arguments}, {**span, **arguments})


def _ask_for_errors(_records: Sequence[CanonicalRecord], window: _Window) -> tuple[ToolCall, ...]:
    return (window.errors(),)


def _ask_around(records: Sequence[CanonicalRecord], window: _Window) -> tuple[ToolCall, ...]:
    around = (window.metrics(), window.deploys())
    if find_evidence(records, "logs", _EXHAUSTED):
        return (*around, window.config())
    # No such error: whatever the log holds may lead on.
    return (*around, window.anything())


def _ask_before(records: Sequence[CanonicalRecord], window: _Window) -> tuple[ToolCall, ...]:
    culprit = find_culprit(records)
    return (window.errors(until=culprit[1].time),) if culprit else ()


_TURNS: Final = (_ask_for_errors, _ask_around, _ask_before)

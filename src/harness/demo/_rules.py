"""
What the demo's agent takes for evidence, whom it blames for it, and how it says so.

1. A deploy is blamed only if it set the size that the errors name, before the first of them.
2. That nothing failed before it is said only where exactly that was asked.
3. What no source says is left out; without a culprit there is no conclusion.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from attrs import frozen

from harness import Citation, Claim, DiagnosisDraft

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness import CanonicalRecord

#: An error that names an exhausted pool, and its size.
EXHAUSTED: Final = re.compile(
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


def find_culprit(records: Sequence[CanonicalRecord]) -> tuple[Evidence, Evidence] | None:
    """
    Find the deploy that made the pool too small, if the records show one.

    Args:
        records: The run's records.

    Returns:
        The first error that names an exhausted pool, and the last deploy before it, if that set
        the size which the error names.
    """
    errors = find_evidence(records, "logs", EXHAUSTED)
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

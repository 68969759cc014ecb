"""
What the contract promises of every run, whatever its host objects do.

Each invariant is checked on what is known after a run: its record, what
left it, and every call that it made, as a :class:`harness.testing.faults.FaultPlan` keeps them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from attrs import frozen

from harness.testing import _rules_calls as calls
from harness.testing import _rules_release as release
from harness.testing import _rules_states as states
from harness.testing import _rules_stream as stream
from harness.testing._observed import Observation, Seen

__all__ = ["INVARIANTS", "BrokenInvariant", "Observation", "check_invariants"]

Rule = Callable[[Seen], Iterator[str]]

_RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        rule.__name__.replace("_", "-"): rule
        for rule in (
            states.one_ending,
            states.legal_states,
            release.draft_stays_private,
            release.report_is_proven,
            release.reply_is_given,
            stream.saved_before_public,
            stream.events_in_order,
            stream.delivery_is_known,
            release.fallback_from_snapshot,
            release.findings_kept,
            release.store_is_trusted,
            release.secrets_stay_private,
            states.survives_json,
            calls.calls_accounted,
            calls.limits_kept,
            calls.retries_by_policy,
            calls.unsupported_is_final,
            calls.nothing_after_the_end,
            calls.cancel_wins,
            calls.first_signal_wins,
            calls.interrupt_ends,
            calls.rows_and_records,
            calls.saturated_stays,
        )
    }
)

_LEAVES: Final = "nothing-else-leaves"


def _sentence(rule: Callable[..., Iterator[str]]) -> str:
    return " ".join((rule.__doc__ or "").split())


#: Each invariant: its name, and what it promises.
INVARIANTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        _LEAVES: _sentence(states.nothing_else_leaves),
        **{name: _sentence(rule) for name, rule in _RULES.items()},
    }
)


@frozen
class BrokenInvariant:
    """
    An invariant that does not hold of a run.

    Attributes:
        invariant: Its name, one of :data:`INVARIANTS`.
        detail: What was found.
    """

    invariant: str
    detail: str


def check_invariants(
    observation: Observation, *, skip: Collection[str] = ()
) -> tuple[BrokenInvariant, ...]:
    """
    Check every invariant on one run.

    Args:
        observation: What is known of it.
        skip: Names of invariants that need not be checked again.

    Returns:
        Those that do not hold, with what was found.
    """
    broken = [
        BrokenInvariant(_LEAVES, detail) for detail in states.nothing_else_leaves(observation)
    ]
    if observation.record is not None:
        seen = Seen(observation, observation.record)
        for name, rule in _RULES.items():
            if name not in skip:
                broken += [BrokenInvariant(name, detail) for detail in rule(seen)]
    return tuple(broken)

"""
What becomes public: one table, one deterministic text (section 3.9).

1. The decision is a pure function of cause, safe progress, missing context and trust.
2. A fallback is written from its snapshot alone: same snapshot, same text, byte for byte.
3. Whatever came from outside is quoted as data: it forges no markup, heading, link or frame.
"""

from __future__ import annotations

import re
from typing import Final

from attrs import frozen

from harness._json import FrozenDict
from harness._records import Limitation, ProgressSnapshot, QueriedScope
from harness._states import (
    FallbackType,
    LimitationKind,
    ReleaseOutcome,
    RunState,
    StopCause,
)
from harness._tables import RELEASE_ROWS
from harness._values import DiagnosisDraft
from harness.errors import IllegalCombinationError, InvalidArgumentError

__all__ = [
    "ReleaseDecision",
    "ReleaseFacts",
    "ReleasePolicy",
    "decide_release",
    "limitation_text",
    "neutral",
    "one_line",
    "write_fallback",
    "write_report",
]


@frozen(kw_only=True)
class ReleasePolicy:
    """
    What a host may choose about releases.

    Attributes:
        distinguish_budget: Publish a budget stop as ``BUDGET_EXHAUSTED`` and not as
            ``INSUFFICIENT_EVIDENCE``.

    Raises:
        InvalidArgumentError: It is no bool.
    """

    distinguish_budget: bool = False

    def __attrs_post_init__(self) -> None:
        given: object = self.distinguish_budget
        if not isinstance(given, bool):
            raise InvalidArgumentError("distinguish_budget", given, "True or False")


@frozen(kw_only=True)
class ReleaseFacts:
    """
    What is known when a run stops.

    Attributes:
        cause: Why it stopped.
        safe_progress: At least one ``READY`` record could be read back.
        missing_context: Missing context is named.
        trusted: The canonical store held what it was given.
    """

    cause: StopCause
    safe_progress: bool
    missing_context: bool
    trusted: bool = True


@frozen(kw_only=True)
class ReleaseDecision:
    """
    What becomes public, and which row decided.

    Attributes:
        state: The run state that the cause has with these facts.
        outcome: What becomes public.
        fallback: Why a fallback, else ``None``.
        rule: The id of the row.
    """

    state: RunState
    outcome: ReleaseOutcome
    fallback: FallbackType | None
    rule: str


def decide_release(
    facts: ReleaseFacts,
    policy: ReleasePolicy = ReleasePolicy(),
) -> ReleaseDecision:
    """
    Decide what may be published once a run has stopped.

    Pure: reads nothing but its arguments. See :ref:`release-table` and section 3.9.

    Args:
        facts: What is known when the run stops.
        policy: What the host chose.

    Returns:
        The state, the outcome and the id of the row that chose them.

    Raises:
        IllegalCombinationError: The facts cannot occur together (section 6).
    """
    for row in RELEASE_ROWS:
        if (
            facts.cause in row.causes
            and row.trusted in (None, facts.trusted)
            and row.safe_progress in (None, facts.safe_progress)
            and row.missing_context in (None, facts.missing_context)
        ):
            budget = facts.cause is StopCause.BUDGET_EXHAUSTED and policy.distinguish_budget
            told_apart = budget and row.fallback is FallbackType.INSUFFICIENT_EVIDENCE
            return ReleaseDecision(
                state=row.state,
                outcome=row.outcome,
                fallback=FallbackType.BUDGET_EXHAUSTED if told_apart else row.fallback,
                rule=row.id,
            )
    raise IllegalCombinationError(
        "StopCause x safe progress x missing context",
        (facts.cause, facts.safe_progress, facts.missing_context),
        (),
    )


_HEADLINES: Final = {
    FallbackType.MISSING_REQUIRED_CONTEXT: "No diagnosis: required context is missing.",
    FallbackType.INSUFFICIENT_EVIDENCE: (
        "No diagnosis: what could be checked does not carry a conclusion."
    ),
    FallbackType.EVIDENCE_VALIDATION_FAILED: (
        "No diagnosis: the evidence cited for the drafted report could not be verified."
    ),
    FallbackType.SEMANTIC_UNSUPPORTED: (
        "No diagnosis: the cited evidence does not support the drafted report."
    ),
    FallbackType.SEMANTIC_UNAVAILABLE: (
        "No diagnosis: the drafted report could not be judged against its evidence."
    ),
    FallbackType.BUDGET_EXHAUSTED: "No diagnosis: the budget ran out before a conclusion.",
}

_STEPS: Final = {
    "PROVIDE_CONTEXT": "Provide {}.",
    "RETRY_SOURCE": "Ask {} again when it is available.",
    "ASK_SOURCE": "Ask {}, which was not consulted.",
    "NARROW_SCOPE": "Narrow the question to {}; more was found than could be kept.",
    "WIDEN_SCOPE": "Widen the scope asked of {}; the scope asked was empty.",
}

_LIMITATIONS: Final = {
    LimitationKind.SOURCE_UNAVAILABLE: "{} could not be asked",
    LimitationKind.NEVER_CONSULTED: "{} was not consulted",
    LimitationKind.TRUNCATED: "{} held more than was kept",
    LimitationKind.PROJECTION_FAILED: "{} answered something that could not be used",
    LimitationKind.MISSING_CONTEXT: "{} is missing",
}

# what could end a line, open a tag or an entity, close the code span, turn the text's
# direction, or make a link once the text is copied out of its code span
_UNSEEN: Final = r"\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
_CONTROL: Final = re.compile(f"[{_UNSEEN}]")
_UNSAFE: Final = re.compile(
    rf"[{_UNSEEN}`]"
    r"|<(?=[A-Za-z/!?])"
    r"|&(?=#|[A-Za-z][A-Za-z0-9]*;)"
    r"|(?<=\])[(\[:]"
)


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"


def neutral(text: str) -> str:
    r"""
    Quote text from outside as data: one line, inside a code span that it cannot leave.

    Ordinary characters stay as they are; the dangerous ones become ``\uXXXX``.
    """
    return f"`{_UNSAFE.sub(_escape, text)}`"


def one_line(text: str) -> str:
    """
    Escape what could end a line, turn a text's direction or drive a terminal.
    """
    return _CONTROL.sub(_escape, text)


def _scope_text(queried: QueriedScope) -> str:
    scope = _pairs(queried.scope)
    return f"{neutral(queried.tool)} ({neutral(scope)})" if scope else neutral(queried.tool)


def _pairs(scope: FrozenDict) -> str:
    # sorted, because equal snapshots must give the same text and equality knows no order
    return ", ".join(f"{key}={_plain(scope[key])}" for key in sorted(scope))


def _plain(value: object) -> str:
    if isinstance(value, FrozenDict):
        return "{" + _pairs(value) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(_plain(item) for item in value) + "]"
    return str(value)


def limitation_text(limitation: Limitation) -> str:
    """
    Say a limitation in one line, with its stable code and never an error's text.
    """
    text = _LIMITATIONS[limitation.kind].format(neutral(limitation.name))
    return f"{text} ({limitation.code.name})" if limitation.code is not None else text


def _section(title: str, lines: list[str]) -> list[str]:
    return ["", title, *(f"- {line}" for line in lines)] if lines else []


def write_fallback(fallback: FallbackType, snapshot: ProgressSnapshot) -> str:
    """
    Write a fallback from its snapshot, deterministically (section 3.9).

    Args:
        fallback: Why there is no report.
        snapshot: The safe progress.

    Returns:
        Plain text that reads well as Markdown too.
    """
    facts = [
        f"{neutral(fact.text)} ({neutral(fact.tool)}"
        + (f", {neutral(fact.source)})" if fact.source else ")")
        for fact in snapshot.facts
    ]
    lines = [_HEADLINES[fallback]]
    lines += _section("Missing context:", [neutral(name) for name in snapshot.missing_context])
    lines += _section("Observed facts:", facts)
    lines += _section("Checked:", [_scope_text(scope) for scope in snapshot.scopes])
    lines += _section(
        "Checked and found empty (in this scope only):",
        [_scope_text(scope) for scope in snapshot.empty],
    )
    lines += _section("Limitations:", [limitation_text(one) for one in snapshot.limitations])
    if snapshot.left_out:
        lines += ["", f"{snapshot.left_out} more facts or scopes are not shown."]
    lines += _section("Suggested next steps:", [_step_text(step) for step in snapshot.next_steps])
    return "\n".join(lines) + "\n"


def _step_text(step: str) -> str:
    code, _, name = step.partition(":")
    return _STEPS[code].format(neutral(name))


def write_report(draft: DiagnosisDraft) -> str:
    """
    Lay out an approved report: its own words, not one changed (section 3.9).
    """
    lines = [draft.conclusion or ""]
    if draft.claims:
        lines += ["", *(f"- {claim.text}" for claim in draft.claims)]
    recommendations = [text for text in draft.recommendations if text.strip()]
    if recommendations:
        lines += ["", "Recommendations:", *(f"- {text}" for text in recommendations)]
    return "\n".join(lines) + "\n"

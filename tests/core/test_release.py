"""The release decision over its full product, and the texts that it publishes (section 3.9)."""

from __future__ import annotations

import pickle
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import (
    Claim,
    DiagnosisDraft,
    FallbackType,
    FrozenDict,
    InvocationCode,
    Limitation,
    LimitationKind,
    ProgressSnapshot,
    QueriedScope,
    ReleaseDecision,
    ReleaseFacts,
    ReleasePolicy,
    SnapshotFact,
    StopCause,
    decide_release,
)
from harness._json import freeze
from harness._release import limitation_text, neutral, write_fallback, write_report
from harness.errors import IllegalCombinationError, InvalidArgumentError
from tests.core.doubles import contract

DECISIONS = {
    (row["stop_cause"], row["safe_progress"], row["missing_context"]): row
    for row in contract("release-decisions")
}
PRODUCT = list(product(StopCause.__members__, (True, False), (True, False)))

# Section 4, retyped: what a cause leaves of the run state once the trust is lost.
UNTRUSTED = {
    "CANCELLED_BY_CALLER": ("CANCELLED", "CANCELLED"),
    "CLIENT_DISCONNECTED": ("CANCELLED", "CANCELLED"),
    "INTERRUPTED": ("CANCELLED", "CANCELLED"),
    "DEADLINE_EXCEEDED": ("TIMED_OUT", "FAILED"),
    "BUDGET_EXHAUSTED": ("BUDGET_EXHAUSTED", "FAILED"),
}

INSUFFICIENT = FallbackType.INSUFFICIENT_EVIDENCE


def _decide(
    cause: str, safe: bool, missing: bool, *, trusted: bool = True, policy: Any = None
) -> ReleaseDecision:
    facts = ReleaseFacts(
        cause=StopCause[cause], safe_progress=safe, missing_context=missing, trusted=trusted
    )
    return decide_release(facts, policy or ReleasePolicy())


def _names(decision: ReleaseDecision) -> tuple[str, str, str | None]:
    fallback = decision.fallback.name if decision.fallback else None
    return decision.state.name, decision.outcome.name, fallback


@pytest.mark.parametrize(("cause", "safe", "missing"), DECISIONS)
def test_enumeration_of_release_decisions(cause: str, safe: bool, missing: bool) -> None:
    """Each combination that can occur is decided as the contract says."""
    row = DECISIONS[cause, safe, missing]
    expected = (row["run_state"], row["release_outcome"], row["fallback_type"])
    assert _names(_decide(cause, safe, missing)) == expected


@pytest.mark.parametrize(
    ("cause", "safe", "missing"), [key for key in PRODUCT if key not in DECISIONS]
)
def test_enumeration_of_refused_release_facts(cause: str, safe: bool, missing: bool) -> None:
    """A combination that cannot occur is a programming error that names it (section 6)."""
    with pytest.raises(IllegalCombinationError, match=cause) as caught:
        _decide(cause, safe, missing)
    what = "StopCause x safe progress x missing context"
    assert caught.value.args == (what, (StopCause[cause], safe, missing), ())


@pytest.mark.parametrize(("cause", "safe", "missing"), PRODUCT)
def test_enumeration_of_release_without_trust(cause: str, safe: bool, missing: bool) -> None:
    """Without trust nothing but a failure is published, and the cause keeps its run state."""
    decision = _decide(cause, safe, missing, trusted=False)
    assert _names(decision) == (*UNTRUSTED.get(cause, ("FAILED", "FAILED")), None)


@pytest.mark.parametrize(("cause", "safe", "missing"), DECISIONS)
def test_enumeration_of_release_that_tells_the_budget_apart(
    cause: str, safe: bool, missing: bool
) -> None:
    """The host's policy changes the type of a budget stop that has facts, and nothing else."""
    policy = ReleasePolicy(distinguish_budget=True)
    plain = _names(_decide(cause, safe, missing))
    changed = (*plain[:2], "BUDGET_EXHAUSTED")
    expected = changed if cause == "BUDGET_EXHAUSTED" and safe else plain
    assert _names(_decide(cause, safe, missing, policy=policy)) == expected


def test_a_decision_names_its_row() -> None:
    """A decision says which row made it."""
    assert _decide("NO_CONCLUSION", safe=True, missing=False).rule == "no_conclusion-with-progress"
    assert _decide("STORE_UNTRUSTED", safe=True, missing=False).rule == "trust-broken"


# --- texts


def test_a_name_with_a_colon() -> None:
    """A next step names what the host named, colons included."""
    snapshot = ProgressSnapshot(next_steps=("PROVIDE_CONTEXT:time:range", "ASK_SOURCE:a:b:c"))
    text = write_fallback(INSUFFICIENT, snapshot)
    assert "Provide time:range." in text.replace("`", "")
    assert "Ask a:b:c, which" in text.replace("`", "")


FULL = ProgressSnapshot(
    scopes=(
        QueriedScope("logs", FrozenDict({"service": "pay"})),
        QueriedScope("cfg", FrozenDict()),
    ),
    facts=(SnapshotFact("logs", "pool size 5", "a.log:7"), SnapshotFact("cfg", "max=5", "")),
    empty=(QueriedScope("cfg", FrozenDict()),),
    limitations=(
        Limitation(LimitationKind.SOURCE_UNAVAILABLE, "metrics", InvocationCode.TIMEOUT),
        Limitation(LimitationKind.NEVER_CONSULTED, "docs"),
        Limitation(LimitationKind.TRUNCATED, "logs"),
        Limitation(LimitationKind.PROJECTION_FAILED, "db", InvocationCode.PROJECTION_FAILED),
        Limitation(LimitationKind.MISSING_CONTEXT, "tenant"),
    ),
    missing_context=("tenant",),
    next_steps=(
        "PROVIDE_CONTEXT:tenant",
        "RETRY_SOURCE:metrics",
        "ASK_SOURCE:docs",
        "NARROW_SCOPE:logs",
        "WIDEN_SCOPE:cfg",
    ),
    left_out=3,
)

FULL_TEXT = """\
No diagnosis: what could be checked does not carry a conclusion.

Missing context:
- `tenant`

Observed facts:
- `pool size 5` (`logs`, `a.log:7`)
- `max=5` (`cfg`)

Checked:
- `logs` (`service=pay`)
- `cfg`

Checked and found empty (in this scope only):
- `cfg`

Limitations:
- `metrics` could not be asked (TIMEOUT)
- `docs` was not consulted
- `logs` held more than was kept
- `db` answered something that could not be used (PROJECTION_FAILED)
- `tenant` is missing

3 more facts or scopes are not shown.

Suggested next steps:
- Provide `tenant`.
- Ask `metrics` again when it is available.
- Ask `docs`, which was not consulted.
- Narrow the question to `logs`; more was found than could be kept.
- Widen the scope asked of `cfg`; the scope asked was empty.
"""


def test_a_full_fallback() -> None:
    """A fallback says what is missing, observed, checked, empty, limited, left out and next."""
    assert write_fallback(INSUFFICIENT, FULL) == FULL_TEXT


@pytest.mark.parametrize("fallback", FallbackType)
def test_an_empty_fallback(fallback: FallbackType) -> None:
    """Of an empty snapshot only the headline is left, a different one for each type."""
    text = write_fallback(fallback, ProgressSnapshot())
    assert text.startswith("No diagnosis: ")
    assert text.count("\n") == 1
    others = {write_fallback(other, ProgressSnapshot()) for other in FallbackType}
    assert len(others) == len(FallbackType)


def test_the_same_snapshot_gives_the_same_text() -> None:
    """Equal snapshots give the same text byte for byte, however they were built."""
    scopes = ({"a": 1, "b": {"x": 1, "y": 2}}, {"b": {"y": 2, "x": 1}, "a": 1})
    one, two = (ProgressSnapshot(scopes=(QueriedScope("t", freeze(scope)),)) for scope in scopes)
    assert one == two
    assert write_fallback(INSUFFICIENT, one) == write_fallback(INSUFFICIENT, two)
    assert write_fallback(INSUFFICIENT, pickle.loads(pickle.dumps(FULL))) == FULL_TEXT  # noqa: S301


def test_nested_scopes() -> None:
    """A nested scope is shown in one line."""
    scope = FrozenDict({"hosts": ("a", "b"), "window": FrozenDict({"from": 1, "to": None})})
    text = write_fallback(INSUFFICIENT, ProgressSnapshot(scopes=(QueriedScope("logs", scope),)))
    assert "- `logs` (`hosts=[a, b], window={from=1, to=None}`)\n" in text


# What a hostile source could write, and what becomes of it.
HOSTILE = {
    "a\nevent: done\ndata: {}": "a\\u000aevent: done\\u000adata: {}",
    "a\r\n# heading": "a\\u000d\\u000a# heading",
    "`code` then `": "\\u0060code\\u0060 then \\u0060",
    "<script>alert(1)</script>": "\\u003cscript>alert(1)\\u003c/script>",
    "<!-- x": "\\u003c!-- x",
    "&#x3c;b&amp;": "\\u0026#x3c;b\\u0026amp;",
    "[text](http://evil)": "[text]\\u0028http://evil)",
    "[text][ref] [ref]: x": "[text]\\u005bref] [ref]\\u003a x",
    "\x1b[2J\x9b31m\x00\x7f": "\\u001b[2J\\u009b31m\\u0000\\u007f",
    "a\u2028b\u2029c\u0085d": "a\\u2028b\\u2029c\\u0085d",
    "\u202eevil\u2066\u200b\ufeff\u00ad\u061c": "\\u202eevil\\u2066\\u200b\\ufeff\\u00ad\\u061c",
}


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text(text: str) -> None:
    """Nothing from outside leaves its code span, its line, or its direction."""
    assert neutral(text) == f"`{HOSTILE[text]}`"


@pytest.mark.parametrize("text", ["1 < 2 && 3 > 2", "a[0](x", "100 % & more", "日本語 ü", "a: b"])
def test_ordinary_text_stays(text: str) -> None:
    """Ordinary characters are quoted as they are."""
    inside = text.replace("](", "]\\u0028")
    assert neutral(text) == f"`{inside}`"


@given(st.text())
def test_property_neutral_text_is_one_span(text: str) -> None:
    """Whatever the text, it stays in one line, between the only two backticks."""
    quoted = neutral(text)
    assert quoted[0] == quoted[-1] == "`"
    assert "`" not in quoted[1:-1]
    assert len(quoted.splitlines()) == 1


@given(st.text(min_size=1), st.text(), st.text(min_size=1))
def test_property_facts_add_no_lines(text: str, source: str, name: str) -> None:
    """A fallback has as many lines as its snapshot asks for, whatever stands in it."""
    snapshot = ProgressSnapshot(
        facts=(SnapshotFact("logs", text, source),), missing_context=(name,)
    )
    shown = write_fallback(INSUFFICIENT, snapshot)
    assert len(shown.splitlines()) == 7
    assert shown.splitlines()[2] == "Missing context:"
    assert shown.splitlines()[5] == "Observed facts:"


def test_a_limitation_without_a_code() -> None:
    """A limitation is one line, with its stable code where it has one."""
    plain = Limitation(LimitationKind.NEVER_CONSULTED, "docs")
    coded = Limitation(LimitationKind.SOURCE_UNAVAILABLE, "docs", InvocationCode.RATE_LIMITED)
    assert limitation_text(plain) == "`docs` was not consulted"
    assert limitation_text(coded) == "`docs` could not be asked (RATE_LIMITED)"


def test_a_report() -> None:
    """A report is laid out with not one word changed."""
    draft = DiagnosisDraft(
        "The *pool*\nran out.", (), (Claim("5 of 5 used", ()),), ("raise it", " ", "alert on it")
    )
    assert write_report(draft) == (
        "The *pool*\nran out.\n\n- 5 of 5 used\n\nRecommendations:\n- raise it\n- alert on it\n"
    )


def test_a_bare_report() -> None:
    """A report may be its conclusion alone."""
    assert write_report(DiagnosisDraft("The pool ran out.")) == "The pool ran out.\n"
    assert write_report(DiagnosisDraft(None)) == "\n"


@pytest.mark.parametrize("value", [1, None, "yes"])
def test_a_policy_is_made_of_bools(value: Any) -> None:
    """What is neither True nor False is refused by its name."""
    with pytest.raises(InvalidArgumentError) as caught:
        ReleasePolicy(distinguish_budget=value)
    assert caught.value.args == ("distinguish_budget", value, "True or False")

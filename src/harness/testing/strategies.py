"""
Hypothesis strategies for every public record and for whole scenarios; needs Hypothesis.

Each value is one that the harness itself could have made: it passes the constructors' checks, and
survives JSON. Run records come out of real runs of generated scenarios, so that all of their parts
fit together.
"""

from __future__ import annotations

from typing import Any

try:
    from hypothesis import strategies as st
except ImportError as error:
    message = "harness.testing.strategies needs Hypothesis: pip install hypothesis"
    raise ImportError(message) from error

from harness._canonical import make_record
from harness._records import CanonicalRecord, RunRecord
from harness._seam import Answer
from harness._states import FailureKind, Intent
from harness._toolstep import ToolOutcome
from harness._values import (
    AgentTurn,
    Citation,
    Claim,
    DiagnosisDraft,
    Fact,
    Request,
    Route,
    ToolCall,
    Usage,
)
from harness.testing.scenario import load_scenario, run_scenario

__all__ = [
    "agent_turns",
    "canonical_records",
    "citations",
    "claims",
    "contexts",
    "drafts",
    "facts",
    "json_values",
    "requests",
    "routes",
    "run_records",
    "scenarios",
    "texts",
    "tool_calls",
    "usages",
]


def texts(min_size: int = 0) -> st.SearchStrategy[str]:
    """
    Texts of any characters but surrogates, the controls included.

    Args:
        min_size: The fewest characters.
    """
    return st.text(st.characters(exclude_categories=["Cs"]), min_size=min_size, max_size=40)


def _words() -> st.SearchStrategy[str]:
    return texts(1).filter(lambda text: bool(text.strip()))


def json_values() -> st.SearchStrategy[Any]:
    """
    Strict JSON values, as arguments and scopes carry them.
    """
    numbers = st.integers(-(10**12), 10**12) | st.floats(allow_nan=False, allow_infinity=False)
    return st.recursive(
        st.none() | st.booleans() | numbers | texts(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts(), inner, max_size=3),
        max_leaves=6,
    )


def contexts() -> st.SearchStrategy[dict[str, str]]:
    """
    Contexts of requests: names to texts.
    """
    return st.dictionaries(_words(), texts(), max_size=3)


def requests() -> st.SearchStrategy[Request]:
    """
    Requests without previous turns.
    """
    return st.builds(Request, _words(), contexts(), st.just(()), st.none() | _words())


def facts() -> st.SearchStrategy[Fact]:
    """
    Facts with a source.
    """
    return st.builds(Fact, _words(), _words())


def tool_calls() -> st.SearchStrategy[ToolCall]:
    """
    Calls of tools of any name.
    """
    mappings = st.dictionaries(texts(1), json_values(), max_size=3)
    return st.builds(ToolCall, _words(), mappings, mappings)


def citations() -> st.SearchStrategy[Citation]:
    """
    Citations, of a record as a whole or of a fact, with a quote or without.
    """
    return st.builds(Citation, _words(), st.none() | st.integers(1, 9), st.none() | _words())


def claims() -> st.SearchStrategy[Claim]:
    """
    Claims with citations.
    """
    return st.builds(Claim, _words(), st.lists(citations(), min_size=1, max_size=2))


def drafts() -> st.SearchStrategy[DiagnosisDraft]:
    """
    Drafts with a conclusion, and drafts without.
    """
    return st.builds(
        DiagnosisDraft,
        st.none() | _words(),
        st.lists(citations(), max_size=3),
        st.lists(claims(), max_size=2),
        st.lists(_words(), max_size=2),
        st.lists(_words(), max_size=2, unique=True),
    )


def agent_turns() -> st.SearchStrategy[AgentTurn]:
    """
    Turns that ask for calls, and turns that hand in a draft.
    """
    asking = st.builds(AgentTurn, st.lists(tool_calls(), min_size=1, max_size=3))
    return asking | st.builds(AgentTurn, st.just(()), drafts())


def routes() -> st.SearchStrategy[Route]:
    """
    Answers of a router.
    """
    return st.builds(Route, st.sampled_from(Intent), st.lists(_words(), max_size=2, unique=True))


def usages() -> st.SearchStrategy[Usage]:
    """
    Reports of usage.
    """
    counts = st.integers(0, 10**6)
    return st.builds(Usage, counts, counts, st.none() | st.decimals(0, 10, places=4))


def canonical_records() -> st.SearchStrategy[CanonicalRecord]:
    """
    Canonical records with facts and without, as the harness digests them.
    """

    def make(call: ToolCall, found: list[Fact], run_id: str, number: int) -> CanonicalRecord:
        size = sum(len(fact.text.encode()) for fact in found)
        outcome = ToolOutcome(Answer(None, 0.0), facts=tuple(found), byte_count=size)
        return make_record(f"E-{run_id}-", number, run_id, call, outcome)

    return st.builds(
        make, tool_calls(), st.lists(facts(), max_size=3), _words(), st.integers(1, 99)
    )


_STEP = st.fixed_dictionaries({}, optional={"takes_ms": st.integers(0, 5_000)})
_KINDS = st.sampled_from([kind.name for kind in FailureKind])
#: What each kind of step answers, with the others' keys left out.
_Step = dict[str, Any]
_CALL: _Step = {"calls": [{"tool": "logs", "scope": {"service": "payment"}}]}
_CITED: _Step = {
    "draft": {"conclusion": "pool exhausted", "citations": [{"invocation": "@1", "fact": 1}]}
}
_GIVEN_UP: _Step = {"draft": {"conclusion": None}}
_SOME: _Step = {"facts": ["pool exhausted"]}
_NONE: _Step = {"facts": []}
_YES: _Step = {"verdict": "SUPPORTED"}
_NO: _Step = {"verdict": "UNSUPPORTED"}
_TURNS = st.sampled_from([_CALL, _CITED, _GIVEN_UP])
_FOUND = st.sampled_from([_SOME, _NONE])
_VERDICTS = st.sampled_from([_YES, _NO])


def _steps(answers: st.SearchStrategy[dict[str, Any]], most: int) -> st.SearchStrategy[list[Any]]:
    failing = st.builds(lambda kind: {"fail": kind}, _KINDS)
    step = st.builds(lambda timing, answer: {**timing, **answer}, _STEP, answers | failing)
    last = st.builds(lambda answer: {**answer, "repeat": True}, answers)
    return st.builds(lambda some, end: [*some, end], st.lists(step, max_size=most), last)


def scenarios() -> st.SearchStrategy[dict[str, Any]]:
    """
    Whole scenarios that can be run: an agent, a tool, a guard, limits and faults of any order.
    """
    limits = st.fixed_dictionaries(
        {"tool_calls": st.integers(0, 4), "model_attempts": st.integers(1, 9)},
        optional={"deadline_ms": st.integers(1, 60_000)},
    )
    parts: dict[str, st.SearchStrategy[Any]] = {
        "name": st.just("generated"),
        "limits": limits,
        "agent": _steps(_TURNS, 4),
        "tools": st.fixed_dictionaries({"logs": _steps(_FOUND, 3)}),
        "semantic_guard": _steps(_VERDICTS, 1),
    }
    return st.fixed_dictionaries(parts, optional={"client": st.just({})})


def run_records() -> st.SearchStrategy[RunRecord]:
    """
    Records of runs that have ended, each of a generated scenario.
    """
    return scenarios().map(lambda data: run_scenario(load_scenario(data)).record)

"""What hosts and models hand over: frozen, copied and repaired on arrival."""

from __future__ import annotations

import json
import pickle
from collections import UserDict
from types import MappingProxyType
from typing import Any

import pytest
from attrs.exceptions import FrozenInstanceError
from hypothesis import given
from hypothesis import strategies as st

from harness import (
    AgentTurn,
    Answered,
    Citation,
    Claim,
    DiagnosisDraft,
    Fact,
    FailureKind,
    FrozenDict,
    Intent,
    PreviousTurn,
    Progress,
    ProgressStatement,
    Request,
    Route,
    ToolCall,
    Usage,
)
from harness.errors import InvalidArgumentError, MalformedOutputError

CITE = Citation("E-1", 1, "x")
CLAIM = Claim("37 wait", [CITE])
DRAFT = DiagnosisDraft("the pool ran out", [CITE])
CALL = ToolCall("logs", {"service": "pay"}, {"q": "x"})
TURN = PreviousTurn("run-1", "why?", "the pool ran out")

# --- facts and citations


@pytest.mark.parametrize("value", [5, None, b"x", ["x"]])
def test_a_fact_is_text(value: Any) -> None:
    """A fact's text and source are text."""
    assert Fact("pool size 5").source == ""
    with pytest.raises(MalformedOutputError, match=r"Fact\.text is .*; allowed: text"):
        Fact(value)
    with pytest.raises(MalformedOutputError, match=r"Fact\.source is .*; allowed: text"):
        Fact("x", value)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ((5,), "Citation.invocation_id"),
        ((None,), "Citation.invocation_id"),
        ((["E-1"],), "Citation.invocation_id"),
        (("E-1", "1"), "Citation.fact_id"),
        (("E-1", True), "Citation.fact_id"),
        (("E-1", 1.0), "Citation.fact_id"),
        (("E-1", 10**19), "Citation.fact_id"),
        (("E-1", None, 5), "Citation.quote"),
    ],
)
def test_a_malformed_citation(fields: tuple[Any, ...], named: str) -> None:
    """A citation of another shape is malformed; the error names the field."""
    with pytest.raises(MalformedOutputError, match=named) as caught:
        Citation(*fields)
    assert caught.value.kind is FailureKind.INVALID_OUTPUT


def test_a_citation_is_taken_literally() -> None:
    """An id is kept as it is, repaired where UTF-8 cannot carry it."""
    assert Citation(" E-1 ").invocation_id == " E-1 "
    assert Citation("\ud800", None, "\udc00") == Citation("\ufffd", None, "\ufffd")


# --- claims and drafts


@pytest.mark.parametrize("text", ["", " ", "\n\t\u3000", 5, None])
def test_a_blank_claim_is_malformed(text: Any) -> None:
    """A claim says something."""
    with pytest.raises(MalformedOutputError, match=r"Claim\.text"):
        Claim(text, [CITE])


@pytest.mark.parametrize("conclusion", [None, "", "  ", "\n\u2003"])
def test_no_conclusion(conclusion: str | None) -> None:
    """A blank conclusion counts as none."""
    assert DiagnosisDraft(conclusion).conclusion is None


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"conclusion": 5}, "DiagnosisDraft.conclusion"),
        ({"conclusion": "x", "citations": "E-1"}, "DiagnosisDraft.citations"),
        ({"conclusion": "x", "citations": ["E-1"]}, "DiagnosisDraft.citations"),
        ({"conclusion": "x", "citations": [None]}, "DiagnosisDraft.citations"),
        ({"conclusion": "x", "citations": [[CITE]]}, "DiagnosisDraft.citations"),
        ({"conclusion": "x", "citations": 1}, "DiagnosisDraft.citations"),
        ({"conclusion": "x", "citations": {"E-1": 1}}, "DiagnosisDraft.citations"),
        ({"conclusion": "x", "claims": ["a claim"]}, "DiagnosisDraft.claims"),
        ({"conclusion": "x", "claims": CLAIM}, "DiagnosisDraft.claims"),
        ({"conclusion": "x", "recommendations": "raise it"}, "DiagnosisDraft.recommendations"),
        ({"conclusion": "x", "recommendations": [5]}, "DiagnosisDraft.recommendations"),
        ({"conclusion": "x", "missing_context": "tenant"}, "DiagnosisDraft.missing_context"),
        ({"conclusion": "x", "missing_context": [None]}, "DiagnosisDraft.missing_context"),
    ],
)
def test_a_malformed_draft(fields: dict[str, Any], named: str) -> None:
    """A draft of another shape is malformed; the error names the part."""
    with pytest.raises(MalformedOutputError, match=named):
        DiagnosisDraft(**fields)


def test_a_claims_citations_are_checked() -> None:
    """A claim's citations are citations."""
    with pytest.raises(MalformedOutputError, match=r"Claim\.citations is 'E-1'"):
        Claim("x", ["E-1"])


def test_a_draft_copies_its_parts() -> None:
    """What is changed after it was handed over alters no draft."""
    parts: dict[str, list[Any]] = {"citations": [CITE], "claims": [CLAIM]}
    draft = DiagnosisDraft("x", **parts, recommendations=iter(["a"]))
    for part in parts.values():
        part.clear()
    assert (draft.citations, draft.claims, draft.recommendations) == ((CITE,), (CLAIM,), ("a",))


def test_names_of_missing_context() -> None:
    """Blank names name nothing, repeated ones are kept once, in order."""
    draft = DiagnosisDraft(None, missing_context=["b", " ", "a", "b", ""])
    assert draft.missing_context == ("b", "a")


@given(st.text(st.characters(), max_size=8))
def test_property_text_is_repaired_on_arrival(text: str) -> None:
    """No text of a draft keeps what UTF-8 cannot encode."""
    wild = f"a{text}\ud83d"
    draft = DiagnosisDraft(wild, [Citation(wild, None, wild)], [Claim(wild)], [wild], [wild])
    shown = json.dumps(repr(draft), ensure_ascii=False)
    assert shown.encode()
    assert draft.conclusion == f"a{text}\ufffd".replace("\ud83d", "\ufffd")


# --- turns


def test_a_turn() -> None:
    """A turn holds calls or a draft; with both or neither it can be built, and is judged later."""
    assert AgentTurn([CALL]).calls == (CALL,)
    assert AgentTurn(draft=DRAFT).draft is DRAFT
    assert AgentTurn() == AgentTurn((), None, None)
    assert AgentTurn([CALL], DRAFT, remark="so").remark == "so"


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"calls": CALL}, "AgentTurn.calls"),
        ({"calls": ["logs"]}, "AgentTurn.calls"),
        ({"calls": {"logs": 1}}, "AgentTurn.calls"),
        ({"draft": "the pool"}, "AgentTurn.draft"),
        ({"draft": {}}, "AgentTurn.draft"),
        ({"progress": "GAINED"}, "AgentTurn.progress"),
        ({"progress": True}, "AgentTurn.progress"),
        ({"remark": 5}, "AgentTurn.remark"),
    ],
)
def test_a_malformed_turn(fields: dict[str, Any], named: str) -> None:
    """A turn of another shape is malformed; the error names the part."""
    with pytest.raises(MalformedOutputError, match=named):
        AgentTurn(**fields)


def test_a_bare_progress() -> None:
    """A progress without facts may be stated by its member alone."""
    turn = AgentTurn([CALL], progress=Progress.NO_GAIN)
    assert turn.progress == ProgressStatement(Progress.NO_GAIN)


@pytest.mark.parametrize("state", ["GAINED", None, True])
def test_a_malformed_statement(state: Any) -> None:
    """A statement has a member as its state, and texts as its facts."""
    with pytest.raises(MalformedOutputError, match=r"ProgressStatement\.state"):
        ProgressStatement(state)
    with pytest.raises(MalformedOutputError, match=r"ProgressStatement\.facts"):
        ProgressStatement(Progress.GAINED, "E-1.1")


# --- routes


def test_a_route() -> None:
    """A route has an intent, and the names of what is missing."""
    assert Route(Intent.GENERAL).missing_context == ()
    assert Route(Intent.DIAGNOSIS, ["b", "", "b"]).missing_context == ("b",)


@pytest.mark.parametrize(("intent", "missing"), [("DIAGNOSIS", ()), (None, ()), (1, ())])
def test_a_malformed_route(intent: Any, missing: Any) -> None:
    """Only a member is an intent, whatever a string says."""
    with pytest.raises(MalformedOutputError, match=r"Route\.intent is "):
        Route(intent, missing)
    with pytest.raises(MalformedOutputError, match=r"Route\.missing_context is 'tenant'"):
        Route(Intent.DIAGNOSIS, "tenant")


# --- calls


def test_a_call() -> None:
    """A call holds frozen copies of its scope and arguments."""
    scope, arguments = {"hosts": ["a"]}, {"q": {"x": 1}}
    call = ToolCall("logs", scope, arguments)
    scope["hosts"].append("b")
    arguments["q"]["x"] = 2
    assert (call.scope, call.arguments) == ({"hosts": ("a",)}, {"q": {"x": 1}})
    assert call.refused is None


@pytest.mark.parametrize("given_scope", [None, {}, UserDict(), MappingProxyType({})])
def test_a_call_without_scope(given_scope: Any) -> None:
    """Nothing, and any empty mapping, is an empty scope and empty arguments."""
    call = ToolCall("logs", given_scope, given_scope)
    assert (call.scope, call.arguments, call.refused) == ({}, {}, None)


def test_frozen_arguments_are_taken_as_they_are() -> None:
    """What is frozen already is not copied again."""
    frozen = FrozenDict({"a": 1})
    call = ToolCall("logs", frozen, frozen)
    assert call.scope is frozen
    assert call.arguments is frozen


@pytest.mark.parametrize("tool", ["", None, 5, b"logs"])
def test_a_call_names_a_tool(tool: Any) -> None:
    """A call without a name is malformed."""
    with pytest.raises(MalformedOutputError, match=r"ToolCall\.tool"):
        ToolCall(tool)


@pytest.mark.parametrize("scope", ["pay", 5, ["pay"], {1: 2}, {"x": float("nan")}, {"x": {1}}])
def test_a_malformed_scope(scope: Any) -> None:
    """A scope is a strict JSON object."""
    with pytest.raises(MalformedOutputError, match=r"ToolCall\.scope"):
        ToolCall("logs", scope)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"q": "x"}', {"q": "x"}),
        (' {"q": [1, {"a": null}]} ', {"q": (1, {"a": None})}),
        ("{}", {}),
        ("null", {}),
        (UserDict({"q": 1}), {"q": 1}),
    ],
)
def test_arguments_as_text(arguments: Any, expected: dict[str, Any]) -> None:
    """Arguments may come as a provider's JSON text of an object."""
    call = ToolCall("logs", None, arguments)
    assert (call.arguments, call.refused) == (expected, None)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("{bad", "no JSON text (JSONDecodeError)"),
        ("", "no JSON text (JSONDecodeError)"),
        ('{"a": NaN}', "NaN is no JSON number"),
        ('{"a": -Infinity}', "-Infinity is no JSON number"),
        ("[" * 100_000, "no JSON text (RecursionError)"),
        ('{"a": ' + "9" * 5000 + "}", "no JSON text (ValueError)"),
        ("[]", "list is no JSON object"),
        ('"text"', "str is no JSON object"),
        ("5", "int is no JSON object"),
        ([], "list is no JSON object"),
        (5, "int is no JSON object"),
        ({"a": float("inf")}, "inf is no JSON number"),
        ({"a": {1, 2}}, "set is no JSON value"),
        ({1: 2}, "the key 1 is not text"),
        ({"a": 10**5000}, "a whole number of more than 600 digits cannot be written"),
    ],
)
def test_refused_arguments(arguments: Any, why: str) -> None:
    """Arguments that are no strict JSON object are kept as refused, and as none at all."""
    call = ToolCall("logs", None, arguments)
    assert (call.refused, call.arguments) == (why, {})


# Calls that are all different.
DIFFERENT = [
    CALL,
    ToolCall("cfg", {"service": "pay"}, {"q": "x"}),
    ToolCall("logs", {"service": "x"}, {"q": "x"}),
    ToolCall("logs", {"service": "pay"}, {"q": "y"}),
    ToolCall("logs", {"service": "pay", "q": "x"}, {}),
    ToolCall("logs", {}, {"service": "pay", "q": "x"}),
    ToolCall("logs", {}, {"n": 1}),
    ToolCall("logs", {}, {"n": True}),
    ToolCall("logs", {}, {"n": "1"}),
    ToolCall("logs", {}, {"n": [1]}),
    ToolCall("logs", {}, {"n": None}),
    ToolCall("logs {} {}"),
    ToolCall("logs"),
]


def test_the_key_of_a_call() -> None:
    """Two calls are the same where tool, scope and arguments are, in whatever order."""
    assert len({call.key for call in DIFFERENT}) == len(DIFFERENT)
    one = ToolCall("logs", {"a": 1, "b": {"x": 1, "y": 2}}, '{"q": 1, "r": 2}')
    two = ToolCall("logs", {"b": {"y": 2, "x": 1}, "a": 1}, {"r": 2, "q": 1})
    assert one.key == two.key == one.key
    assert one == two


# --- requests


def test_a_request() -> None:
    """A request holds frozen copies, repaired."""
    context = {"service": "pay\ud800"}
    request = Request("why?\udfff", context, [TURN], "c-1")
    context.clear()
    assert request.question == "why?\ufffd"
    assert request.context == {"service": "pay\ufffd"}
    assert (request.previous, request.conversation_id) == ((TURN,), "c-1")
    assert Request("why?") == Request("why?", {}, (), None)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        (("",), "question"),
        (("  ",), "question"),
        ((5,), "question"),
        ((None,), "question"),
        (("why?", "service"), "context"),
        (("why?", {"service": 5}), "context"),
        (("why?", {5: "pay"}), "context"),
        (("why?", [("service", "pay")]), "context"),
        (("why?", None, "turn"), "previous"),
        (("why?", None, {"x": TURN}), "previous"),
        (("why?", None, ["turn"]), "previous"),
        (("why?", None, 5), "previous"),
        (("why?", None, (), ""), "conversation_id"),
        (("why?", None, (), 5), "conversation_id"),
    ],
)
def test_a_bad_request(fields: tuple[Any, ...], named: str) -> None:
    """A wrong part of a request is refused by name."""
    with pytest.raises(InvalidArgumentError, match=f"^{named} is "):
        Request(*fields)


@pytest.mark.parametrize("place", range(3))
def test_a_previous_turn_is_text(place: int) -> None:
    """A previous turn holds three texts."""
    fields: list[Any] = ["run-1", "why?", "report"]
    fields[place] = 5
    with pytest.raises(InvalidArgumentError, match=r"^PreviousTurn\.\w+ is 5; allowed: text"):
        PreviousTurn(*fields)


# --- all of them

VALUES = [
    Fact("x", "a:1"),
    CITE,
    CLAIM,
    DRAFT,
    CALL,
    AgentTurn([CALL], progress=Progress.NO_GAIN),
    Route(Intent.GENERAL, ("x",)),
    TURN,
    Request("why?", {"a": "b"}, [TURN], "c-1"),
    ProgressStatement(Progress.GAINED, ("E-1.1",)),
    Usage(1, 2, 3),
    Answered(value="x", usage=Usage(1)),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_are_values(value: Any) -> None:
    """Every value is immutable, hashable, and survives pickling."""
    again = pickle.loads(pickle.dumps(value))  # noqa: S301
    assert again == value
    assert hash(again) == hash(value)
    with pytest.raises(FrozenInstanceError):
        setattr(value, value.__attrs_attrs__[0].name, 1)

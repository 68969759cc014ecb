"""
What a host and its models hand over: frozen values, copied and repaired on arrival.

1. Whatever is wrong with a value raises :class:`MalformedOutputError` in its constructor; raised
   inside a host object, that is an ``INVALID_OUTPUT`` of the component (section 3.2).
2. :class:`Usage` is the exception: it is judged on arrival, so that a failed attempt keeps its
   own kind.
3. Arguments that are no JSON are kept as *refused* on the call, so that they end as an
   ``INVALID_ARGUMENTS`` row and not as the end of the run (section 3.5).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from attrs import Attribute, field, frozen

from harness._json import FrozenDict, NotJsonError, clean_text, freeze
from harness._states import Intent, Progress
from harness.errors import InvalidArgumentError, MalformedOutputError

__all__ = [
    "AgentTurn",
    "Answered",
    "Citation",
    "Claim",
    "DiagnosisDraft",
    "Fact",
    "PreviousTurn",
    "ProgressStatement",
    "Request",
    "Route",
    "ToolCall",
    "Usage",
]

_EMPTY = FrozenDict()


def _items(value: object, name: str, allowed: str) -> tuple[Any, ...]:
    """
    Copy an iterable that is no text, no mapping and no single value.
    """
    if type(value) is tuple:
        return value
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise MalformedOutputError(name, value, allowed)
    return tuple(value)


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise MalformedOutputError(name, value, "text")
    return clean_text(value)


def _texts(value: object, name: str) -> tuple[str, ...]:
    return tuple([_text(item, name) for item in _items(value, name, "an iterable of texts")])


def clean_names(value: object, name: str) -> tuple[str, ...]:
    """
    Copy names: blank ones name nothing and are dropped, repeated ones are kept once.
    """
    return tuple(dict.fromkeys(item for item in _texts(value, name) if item.strip()))


@frozen
class Fact:
    """
    One piece of evidence with the place it stands at (section 3.5).

    The harness bounds and repairs the text when it projects the result that holds the fact.

    Attributes:
        text: The evidence, as the source has it.
        source: Where it stands, such as ``payment.log:812``.

    Raises:
        MalformedOutputError: One of them is no text.
    """

    text: str
    source: str = ""

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise MalformedOutputError("Fact.text", self.text, "text")
        if not isinstance(self.source, str):
            raise MalformedOutputError("Fact.source", self.source, "text")


def _is_text(_record: object, attribute: Attribute[Any], value: object) -> None:
    if not isinstance(value, str):
        raise InvalidArgumentError(f"PreviousTurn.{attribute.name}", value, "text")


@frozen
class PreviousTurn:
    """
    A published report of an earlier request of the conversation (section 3.11).

    Made by :func:`harness.previous_turn`, which refuses everything but a published report.

    Attributes:
        run_id: The run that published it.
        question: What was asked.
        report: The published text.

    Raises:
        InvalidArgumentError: One of them is no text.
    """

    run_id: str = field(validator=_is_text)
    question: str = field(validator=_is_text)
    report: str = field(validator=_is_text)


def _question(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidArgumentError("question", value, "text that is not blank")
    return clean_text(value)


def _context(value: object) -> FrozenDict:
    if value is None:
        return _EMPTY
    if not isinstance(value, Mapping):
        raise InvalidArgumentError("context", value, "a mapping of names to texts")
    for key, item in value.items():
        if not isinstance(key, str) or not isinstance(item, str):
            raise InvalidArgumentError("context", {key: item}, "a mapping of names to texts")
    return FrozenDict({clean_text(key): clean_text(item) for key, item in value.items()})


def _previous(value: object) -> tuple[PreviousTurn, ...]:
    allowed = "an iterable of PreviousTurn (make them with previous_turn)"
    if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        raise InvalidArgumentError("previous", value, allowed)
    turns = tuple(value)
    for turn in turns:
        if type(turn) is not PreviousTurn:
            raise InvalidArgumentError("previous", turn, allowed)
    return turns


def _conversation(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        raise InvalidArgumentError("conversation_id", value, "text that is not blank, or None")
    return clean_text(value)


@frozen
class Request:
    """
    What is asked of a run.

    Attributes:
        question: The question; not blank.
        context: What is known of the incident, names to texts.
        previous: Published reports of the same conversation, oldest first.
        conversation_id: Groups the runs of one conversation in the run store.

    Raises:
        InvalidArgumentError: One of them is something else.
    """

    question: str = field(converter=_question)
    context: FrozenDict = field(default=None, converter=_context)
    previous: tuple[PreviousTurn, ...] = field(default=(), converter=_previous)
    conversation_id: str | None = field(default=None, converter=_conversation)


def _intent(value: object) -> Intent:
    if not isinstance(value, Intent):
        raise MalformedOutputError("Route.intent", value, "an Intent member")
    return value


def _route_missing(value: object) -> tuple[str, ...]:
    return clean_names(value, "Route.missing_context")


@frozen
class Route:
    """
    A router's answer (section 3.4).

    Attributes:
        intent: Diagnosis or general.
        missing_context: Names of context that an answer needs and the request lacks.

    Raises:
        MalformedOutputError: The intent is no member, or a name is no text.
    """

    intent: Intent = field(converter=_intent)
    missing_context: tuple[str, ...] = field(default=(), converter=_route_missing)


def _scope(value: object) -> FrozenDict:
    if type(value) is FrozenDict:
        return value
    if value is None:
        return _EMPTY
    if not isinstance(value, Mapping):
        raise MalformedOutputError("ToolCall.scope", value, "a mapping")
    try:
        frozen_scope: FrozenDict = freeze(dict(value))
    except NotJsonError as error:
        raise MalformedOutputError("ToolCall.scope", value, f"strict JSON ({error})") from None
    return frozen_scope


def _tool_name(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise MalformedOutputError("ToolCall.tool", value, "a tool's name")
    return clean_text(value)


def _as_given(value: object) -> FrozenDict:
    """
    Take the arguments as they are; they are frozen once the call knows where to keep a refusal.
    """
    return value  # type: ignore[return-value]


@frozen
class ToolCall:
    """
    An agent's request of one tool call.

    Attributes:
        tool: The tool's name, taken literally.
        scope: What the call looks at (service, window, ...), for records and explanations.
        arguments: What the tool gets: a mapping, or a provider's JSON text of one. What is neither
            is kept in *refused* and ends as an ``INVALID_ARGUMENTS`` row.
        refused: Why the arguments are no strict JSON object, or ``None``.

    Raises:
        MalformedOutputError: The name or the scope is something else.
    """

    tool: str = field(converter=_tool_name)
    scope: FrozenDict = field(default=None, converter=_scope)
    arguments: FrozenDict = field(default=_EMPTY, converter=_as_given)
    refused: str | None = field(default=None, init=False)
    _key: str | None = field(default=None, init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        arguments: object = self.arguments
        if type(arguments) is FrozenDict:
            return
        try:
            frozen_arguments = _arguments(arguments)
        except NotJsonError as error:
            frozen_arguments = _EMPTY
            object.__setattr__(self, "refused", str(error))
        object.__setattr__(self, "arguments", frozen_arguments)

    @property
    def key(self) -> str:
        """
        What makes two calls the same: tool, scope and arguments, in canonical form.
        """
        key = self._key
        if key is None:
            # frozen mappings are sorted, and a repr tells 1 from True and from "1"
            key = f"{self.tool!r} {self.scope!r} {self.arguments!r}"
            object.__setattr__(self, "_key", key)
        return key


def _arguments(value: object) -> FrozenDict:
    """
    Freeze arguments, from a mapping or from JSON text.
    """
    if isinstance(value, str):
        try:
            value = _decode(value)
        except NotJsonError:
            raise
        except (ValueError, RecursionError) as error:
            message = f"no JSON text ({type(error).__name__})"
            raise NotJsonError(message) from None
    if value is None:
        return _EMPTY
    if not isinstance(value, dict) and not isinstance(value, Mapping):
        message = f"{type(value).__name__} is no JSON object"
        raise NotJsonError(message)
    frozen_arguments: FrozenDict = freeze(value if isinstance(value, dict) else dict(value))
    return frozen_arguments


def _no_constant(name: str) -> object:
    message = f"{name} is no JSON number"
    raise NotJsonError(message)


_decode: Final = json.JSONDecoder(parse_constant=_no_constant).decode


#: A number beyond this is no fact's number, whatever the limits.
_MOST_FACTS: Final = 10**18


def _fact_id(value: object) -> int | None:
    if value is None or (type(value) is int and abs(value) <= _MOST_FACTS):
        return value
    raise MalformedOutputError("Citation.fact_id", value, "a fact's number, or None")


def _quote(value: object) -> str | None:
    return None if value is None else _text(value, "Citation.quote")


def _invocation_id(value: object) -> str:
    return _text(value, "Citation.invocation_id")


@frozen
class Citation:
    """
    Points a visible text at the evidence that carries it (section 3.7).

    Attributes:
        invocation_id: The id of an invocation of this run, exactly.
        fact_id: The number of one of its facts, from 1; ``None`` cites the whole record.
        quote: Text that stands verbatim in that fact.

    Raises:
        MalformedOutputError: One of them has another type.
    """

    invocation_id: str = field(converter=_invocation_id)
    fact_id: int | None = field(default=None, converter=_fact_id)
    quote: str | None = field(default=None, converter=_quote)


def _citations(value: object, name: str) -> tuple[Citation, ...]:
    citations = _items(value, name, "an iterable of Citation")
    for citation in citations:
        if type(citation) is not Citation:
            raise MalformedOutputError(name, citation, "a Citation")
    return citations


def _claim_text(value: object) -> str:
    text = _text(value, "Claim.text")
    if not text.strip():
        raise MalformedOutputError("Claim.text", value, "text that is not blank")
    return text


def _claim_citations(value: object) -> tuple[Citation, ...]:
    return _citations(value, "Claim.citations")


@frozen
class Claim:
    """
    One visible statement of a draft, with its citations (section 3.7).

    Attributes:
        text: The statement; a blank one is malformed.
        citations: What carries it; none is a violation, found by the evidence guard.

    Raises:
        MalformedOutputError: The text is blank or no text, or a citation is none.
    """

    text: str = field(converter=_claim_text)
    citations: tuple[Citation, ...] = field(default=(), converter=_claim_citations)


def _conclusion(value: object) -> str | None:
    if value is None:
        return None
    text = _text(value, "DiagnosisDraft.conclusion")
    return text if text.strip() else None


def _claims(value: object) -> tuple[Claim, ...]:
    claims = _items(value, "DiagnosisDraft.claims", "an iterable of Claim")
    for claim in claims:
        if type(claim) is not Claim:
            raise MalformedOutputError("DiagnosisDraft.claims", claim, "a Claim")
    return claims


def _draft_citations(value: object) -> tuple[Citation, ...]:
    return _citations(value, "DiagnosisDraft.citations")


def _recommendations(value: object) -> tuple[str, ...]:
    return _texts(value, "DiagnosisDraft.recommendations")


def _draft_missing(value: object) -> tuple[str, ...]:
    return clean_names(value, "DiagnosisDraft.missing_context")


@frozen
class DiagnosisDraft:
    """
    An agent's report before it was checked (section 3.7).

    Attributes:
        conclusion: The root cause; ``None`` (or blank) says that there is none.
        citations: What carries the conclusion.
        claims: Further visible statements, each with its citations.
        recommendations: What to do; visible, judged by the semantic guard.
        missing_context: Without a conclusion: what is missing to reach one. Beside a conclusion:
            a stated limitation of the report.

    Raises:
        MalformedOutputError: A part has another type, or a claim is blank.
    """

    conclusion: str | None = field(converter=_conclusion)
    citations: tuple[Citation, ...] = field(default=(), converter=_draft_citations)
    claims: tuple[Claim, ...] = field(default=(), converter=_claims)
    recommendations: tuple[str, ...] = field(default=(), converter=_recommendations)
    missing_context: tuple[str, ...] = field(default=(), converter=_draft_missing)


def _progress(value: object) -> Progress:
    if not isinstance(value, Progress):
        raise MalformedOutputError("ProgressStatement.state", value, "a Progress member")
    return value


def _fact_refs(value: object) -> tuple[str, ...]:
    return _texts(value, "ProgressStatement.facts")


@frozen
class ProgressStatement:
    """
    What an agent says of its previous batch (section 3.6).

    Attributes:
        state: Gained or not.
        facts: For a gain: the references of the new facts, as
            :meth:`harness.CanonicalRecord.fact_ref` gives them.

    Raises:
        MalformedOutputError: The state is no member, or a reference is no text.
    """

    state: Progress = field(converter=_progress)
    facts: tuple[str, ...] = field(default=(), converter=_fact_refs)


@frozen
class Usage:
    """
    What one attempt used (section 3.3). Built as it is; judged when it is reported.

    Attributes:
        input_tokens: A non-negative whole number; ``None`` counts as 0.
        output_tokens: Likewise.
        cost: A non-negative ``Decimal``, whole number or float; ``None`` counts as 0.
    """

    input_tokens: Any = None
    output_tokens: Any = None
    cost: Any = None


def _calls(value: object) -> tuple[ToolCall, ...]:
    calls = _items(value, "AgentTurn.calls", "an iterable of ToolCall")
    for call in calls:
        if type(call) is not ToolCall:
            raise MalformedOutputError("AgentTurn.calls", call, "a ToolCall")
    return calls


def _draft(value: object) -> DiagnosisDraft | None:
    if value is None or type(value) is DiagnosisDraft:
        return value
    raise MalformedOutputError("AgentTurn.draft", value, "a DiagnosisDraft, or None")


def _statement(value: object) -> ProgressStatement | None:
    if value is None or type(value) is ProgressStatement:
        return value
    if type(value) is Progress:
        return ProgressStatement(value)
    raise MalformedOutputError("AgentTurn.progress", value, "a ProgressStatement, or None")


def _remark(value: object) -> str:
    return _text(value, "AgentTurn.remark")


@frozen
class AgentTurn:
    """
    One turn of an agent: calls, or a draft (section 3.6).

    A turn with both, or with neither, can be built; the harness judges it ``INVALID_OUTPUT``.

    Attributes:
        calls: The tool calls asked for, in order.
        draft: The report.
        progress: What the agent says of the previous batch.
        usage: What the turn used, where the attempt did not report it.
        remark: Prose beside calls; kept private, never a draft.

    Raises:
        MalformedOutputError: A part has another type.
    """

    calls: tuple[ToolCall, ...] = field(default=(), converter=_calls)
    draft: DiagnosisDraft | None = field(default=None, converter=_draft)
    progress: ProgressStatement | None = field(default=None, converter=_statement)
    usage: Any = field(default=None, kw_only=True)
    remark: str = field(default="", kw_only=True, converter=_remark)


@frozen(kw_only=True)
class Answered:
    """
    A value together with what getting it used: for components that return plain values.

    Attributes:
        value: A route, a reply, a draft or a verdict.
        usage: What the attempt used.
    """

    value: Any
    usage: Any = None

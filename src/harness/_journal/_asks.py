"""What the flow asks at each site, in a few words: a decision that changed shows here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from attrs import evolve

from harness._journal._codec import digest
from harness._limits import Limits
from harness._records import CanonicalRecord, RunRecord, SemanticCase, StreamEvent
from harness._states import Component, EventKind
from harness._values import ToolCall
from harness._view import AgentView, RepairCase

__all__ = ["ENDING_SITES", "MODEL_SITES", "TOOL", "ask_of", "ask_of_tool", "content_of"]

TOOL: Final = Component.TOOL.value
#: The components that are asked through one argument and an attempt.
MODEL_SITES: Final = frozenset(component.value for component in Component) - {TOOL}
#: Where a run is saved and published: what is decided shows in the question alone.
ENDING_SITES: Final = frozenset({"run_store.finish", "run_store.mark_delivered", "client.send"})

Ask = dict[str, Any]


def ask_of(site: str, arguments: tuple[Any, ...]) -> Ask:
    """
    Say what is asked.

    Args:
        site: Where.
        arguments: What the host's function gets.

    Returns:
        Names to scalars, ready for JSON; long content stands as its digest.
    """
    if site in MODEL_SITES:
        argument, attempt = arguments
        return {"attempt": attempt.number, **_MODELS[site](argument)}
    return _OTHERS.get(site, _of_request)(*arguments[:1])


def ask_of_tool(call: ToolCall, number: int) -> Ask:
    """
    Say what is asked of a tool.

    Args:
        call: The call.
        number: The attempt's number.
    """
    return {"attempt": number, "tool": call.tool, "call": digest(call)}


def _of_view(view: AgentView) -> Ask:
    return {
        "turn": view.turn,
        "stop": None if view.stop is None else view.stop.name,
        "violation": view.violation,
        "refused": len(view.refused),
        "records": len(view.records),
        "view": digest(
            (
                tuple(record.invocation.digest for record in view.batch),
                view.new_facts,
                tuple((refused.call, refused.why) for refused in view.refused),
            )
        ),
    }


def _of_repair(case: RepairCase) -> Ask:
    return {"violations": len(case.violations), "case": digest((case.draft, case.violations))}


def _of_case(case: SemanticCase) -> Ask:
    return {"case": digest(case)}


def _of_request(_request: object) -> Ask:
    # the journal begins with it
    return {}


_MODELS: Final[Mapping[str, Callable[[Any], Ask]]] = MappingProxyType(
    {
        Component.INTENT_ROUTER.value: _of_request,
        Component.RESPONDER.value: _of_request,
        Component.DIAGNOSIS_AGENT.value: _of_view,
        Component.EVIDENCE_REPAIR.value: _of_repair,
        Component.SEMANTIC_GUARD.value: _of_case,
    }
)


def _of_canonical(record: CanonicalRecord) -> Ask:
    return {"invocation": record.invocation_id, "digest": record.invocation.digest}


def _of_invocation(invocation_id: str) -> Ask:
    return {"invocation": invocation_id}


def _of_opening(record: RunRecord) -> Ask:
    return {"run": record.run_id, "started_at": record.started_at.isoformat()}


def _of_ending(record: RunRecord) -> Ask:
    public = record.public
    return {
        "run_state": record.run_state.name,
        "stop_cause": _name(record.stop_cause),
        "release_outcome": _name(record.release_outcome),
        "fallback_type": _name(record.fallback_type),
        "release_rule": record.release_rule,
        "public": None if public is None else digest(public),
        "record": content_of(record),
    }


def content_of(record: RunRecord) -> str:
    """
    Digest a record but for the limits: other limits that change no decision are no divergence.

    Args:
        record: The record.
    """
    return digest(evolve(record, limits=_LIMITS))


_LIMITS: Final = Limits()


def _of_event(event: StreamEvent) -> Ask:
    if event.kind is EventKind.CONTENT:
        kept = ("kind", "fallback_type")
        data = {name: event.data.get(name) for name in kept}
        return {"event": event.kind.name, **data, "content": digest(event.data)}
    return {"event": event.kind.name, **event.data}


def _name(member: Any) -> str | None:
    return None if member is None else str(member.name)


_OTHERS: Final[Mapping[str, Callable[[Any], Ask]]] = MappingProxyType(
    {
        "canonical_store.save": _of_canonical,
        "canonical_store.load": _of_invocation,
        "run_store.begin": _of_opening,
        "run_store.finish": _of_ending,
        "run_store.mark_delivered": lambda run_id: {"run": run_id},
        "client.send": _of_event,
    }
)

"""
What must hold of what the client gets, and when: save, then publish (section 3.10).

The contract's tables are written out once more here, by name, and never imported: a table that is
wrong in the harness would be wrong in its own check too.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from harness._records import StreamEvent
from harness._states import EventKind
from harness.testing._observed import Seen

__all__ = ["delivery_is_known", "events_in_order", "saved_before_public"]

#: Section 3.10.
_ORDERS: Final = MappingProxyType(
    {
        None: frozenset({"METADATA"}),
        "METADATA": frozenset({"STATUS", "DONE"}),
        "STATUS": frozenset({"STATUS", "CONTENT", "FAILURE", "DONE"}),
        "CONTENT": frozenset({"DONE"}),
        "FAILURE": frozenset({"DONE"}),
        "DONE": frozenset(),
    }
)
_STATUS_KEYS: Final = frozenset({"stage", "turn", "invocations"})
_PUBLIC: Final = frozenset({EventKind.CONTENT, EventKind.FAILURE})


def saved_before_public(seen: Seen) -> Iterator[str]:
    """
    No content before its record was saved, and without a saved record only a failure (3.10).
    """
    taken = next((c for c in seen.finishes if c.returned and c.value is None), None)
    if seen.record.record_saved and taken is None and not seen.is_elsewhere:
        yield "the record says that it was saved, and the store never took it"
    for call in seen.calls("client.send"):
        event = call.arguments[0]
        if event.kind in _PUBLIC and (taken is None or taken.number > call.number):
            if event.kind is EventKind.CONTENT or event.data["code"] != "RECORD_NOT_SAVED":
                yield f"{event.kind.name} was sent before its record was saved"
        elif event.kind is EventKind.CONTENT and taken is not None:
            public = taken.arguments[0].public
            if (public.kind.name, public.text) != (event.data["kind"], event.data["text"]):
                yield "other content was sent than the record that was saved says"
        if event.kind in _PUBLIC and seen.is_elsewhere:
            yield f"{event.kind.name} was sent of a run that another process had ended"


def events_in_order(seen: Seen) -> Iterator[str]:
    """
    The stream has its order, DONE carries the outcome, STATUS carries counts only (3.10).
    """
    last: str | None = None
    for event in seen.sent:
        kind = event.kind.name
        if kind not in _ORDERS[last]:
            yield f"{kind} after {last}"
        last = kind
        yield from _carries(event, seen)
    sends, begins = seen.calls("client.send"), seen.calls("run_store.begin")
    if sends and (not begins or begins[0].number > sends[0].number):
        yield "an event was sent before the run was opened"
    gone = [call.number for call in sends if not call.returned]
    if gone and gone[0] != sends[-1].number:
        yield "an event was sent to a client that had gone"
    closed = gone or seen.is_elsewhere or seen.clock_interrupted(sends[-1:])
    if sends and not closed and last != "DONE":
        yield "the client is still there and got no DONE"


def _carries(event: StreamEvent, seen: Seen) -> Iterator[str]:
    if event.kind is EventKind.STATUS and set(event.data) != _STATUS_KEYS:
        yield f"STATUS carries {', '.join(event.data)}"
    outcome = seen.record.release_outcome
    if event.kind is EventKind.DONE and event.data.get("outcome") != (outcome and outcome.name):
        yield f"DONE carries {event.data.get('outcome')}"


def delivery_is_known(seen: Seen) -> Iterator[str]:
    """
    The record says what the client accepted, and whether that was all it was to get (3.10).
    """
    if seen.is_elsewhere:
        return
    record = seen.record
    accepted = seen.accepted
    if record.events != accepted:
        yield "the record has other events than were accepted"
    delivered = bool(_PUBLIC & set(accepted))
    if record.delivered is not delivered:
        yield f"the record says delivered = {record.delivered}"
    stored = seen.all.stored
    if stored is not None and stored.delivered and not delivered:
        yield "the run store says that something was delivered"

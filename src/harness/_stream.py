"""
The order of the events, as a state machine of its own, and an encoder for server-sent events.

1. ``METADATA -> STATUS* -> (CONTENT | FAILURE) -> DONE``; what the table lacks is refused.
2. After ``DONE`` or a disconnect every event is refused.
3. ``DONE`` alone, without content or failure, is for a cancelled run whose client is still there.

See section 3.10.
"""

from __future__ import annotations

import json

from harness._records import StreamEvent
from harness._states import EventKind, ReleaseOutcome
from harness._tables import STREAM_TRANSITIONS
from harness.errors import StreamOrderError

__all__ = ["EventStream", "encode_sse"]

_PUBLISHED = frozenset({EventKind.CONTENT, EventKind.FAILURE})


class EventStream:
    """
    The stream contract of one run, for a transport to use directly (section 3.10).

    Sends nothing itself: :meth:`check` before an event is sent, :meth:`accept` after it was.
    """

    __slots__ = ("_closed", "_last", "accepted")

    def __init__(self) -> None:
        self._last: EventKind | None = None
        self._closed = False
        #: The kinds that were accepted, in order.
        self.accepted: list[EventKind] = []

    @property
    def is_open(self) -> bool:
        """
        Whether any event may still be sent.
        """
        return not self._closed

    @property
    def allowed(self) -> tuple[EventKind, ...]:
        """
        The kinds that are accepted now.
        """
        if self._closed:
            return ()
        return tuple(kind for kind in EventKind if (self._last, kind) in STREAM_TRANSITIONS)

    def check(self, event: StreamEvent) -> None:
        """
        Refuse an event that is out of order.

        Args:
            event: The event that is about to be sent.

        Raises:
            StreamOrderError: It is out of order, or the stream is closed; nothing changed.
        """
        legal = not self._closed and (self._last, event.kind) in STREAM_TRANSITIONS
        if legal and event.kind is EventKind.DONE and self._last not in _PUBLISHED:
            legal = event.data.get("outcome") == ReleaseOutcome.CANCELLED.value
        if not legal:
            raise StreamOrderError(event.kind, self.allowed)

    def accept(self, event: StreamEvent) -> None:
        """
        Note that the client accepted an event.

        Args:
            event: The event.

        Raises:
            StreamOrderError: It is out of order, or the stream is closed; nothing changed.
        """
        self.check(event)
        self._last = event.kind
        self.accepted.append(event.kind)
        if event.kind is EventKind.DONE:
            self._closed = True

    def disconnect(self) -> None:
        """
        Note that the client is gone: every later event is refused. May be said twice.
        """
        self._closed = True


def encode_sse(event: StreamEvent, *, event_id: str | None = None) -> bytes:
    """
    Encode an event as one frame of server-sent events.

    The data is one line of ASCII JSON, so that no character of it can end a line or a frame,
    whichever line ends the client's parser knows.

    Args:
        event: The event.
        event_id: An id for the frame.

    Returns:
        The frame, with its closing blank line.

    Raises:
        ValueError: The id holds a line break or NUL.
    """
    lines = [f"event: {event.kind.value}"]
    if event_id is not None:
        if not event_id.isprintable():
            message = f"event_id is {event_id!r}; allowed: printable text without line breaks"
            raise ValueError(message)
        lines.append(f"id: {event_id}")
    data = json.dumps(event.data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    lines.append(f"data: {data}")
    return ("\n".join(lines) + "\n\n").encode("utf-8")

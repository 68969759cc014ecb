"""
The order of the events, as a state machine of its own, and an encoder for server-sent events.

1. ``METADATA -> STATUS* -> (CONTENT | FAILURE) -> DONE``; what the table lacks is refused.
2. After ``DONE`` or a disconnect every event is refused.
3. ``DONE`` carries the outcome that the event before it stands for; alone, without content or
   failure, it is for a cancelled run whose client is still there.

See section 3.10.
"""

from __future__ import annotations

import json

from harness._records import StreamEvent
from harness._states import EventKind
from harness._tables import DONE_OUTCOMES, STREAM_TRANSITIONS
from harness.errors import InvalidArgumentError, StreamOrderError

__all__ = ["EventStream", "encode_sse"]


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
        last = self._last
        if self._closed or (last, event.kind) not in STREAM_TRANSITIONS:
            raise StreamOrderError(event.kind, self.allowed)
        if event.kind is EventKind.DONE and last is not None:
            outcomes = DONE_OUTCOMES[last]
            if event.data.get("outcome") not in outcomes:
                why = f"allowed outcomes after {last.name}: {' '.join(outcomes)}"
                raise StreamOrderError(event.kind, self.allowed, why)

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
        InvalidArgumentError: The id is no text, or cannot be printed in one line.
    """
    lines = [f"event: {event.kind.value}"]
    if event_id is not None:
        given: object = event_id
        if not isinstance(given, str) or not given.isprintable():
            raise InvalidArgumentError("event_id", given, "printable text without line breaks")
        lines.append(f"id: {event_id}")
    data = json.dumps(event.data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    lines.append(f"data: {data}")
    return ("\n".join(lines) + "\n\n").encode("utf-8")

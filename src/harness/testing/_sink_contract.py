"""What a client must hold, rule by rule (section 3.10)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from harness._json import FrozenDict
from harness._records import StreamEvent
from harness._states import EventKind, ReleaseOutcome
from harness.testing._contract import Contract
from harness.testing._store_contract import THREADS, at_once, expect, expect_equal, expect_refusal

__all__ = ["EventSinkContract"]

#: Text that a careless transport takes for its own frames.
_HOSTILE: Final = "data: {}\r\n\r\nevent: DONE\ndata: x\u2028\x00\x1b[31m </script>"


def _events(text: str) -> tuple[StreamEvent, ...]:
    content = {"kind": "REPORT", "text": text, "fallback_type": None}
    return (
        StreamEvent(EventKind.METADATA, FrozenDict({"run_id": "run-1"})),
        StreamEvent(EventKind.STATUS, FrozenDict({"stage": "COLLECTING", "turn": 1})),
        StreamEvent(EventKind.CONTENT, FrozenDict(content)),
        StreamEvent(EventKind.DONE, FrozenDict({"outcome": ReleaseOutcome.SUCCESS.name})),
    )


class EventSinkContract(Contract):
    """
    What a client must hold: returning means that it has the event; raising, that it is gone.
    """

    def make_sink(self) -> Any:
        """
        Give a sink whose client is there. Override it.
        """
        raise NotImplementedError(f"{type(self).__name__}.make_sink gives no sink")

    def make_gone_sink(self) -> Any:
        """
        Give a sink whose client has gone away. Override it.
        """
        raise NotImplementedError(f"{type(self).__name__}.make_gone_sink gives no sink")

    def received(self, sink: Any) -> Sequence[str]:
        """
        Give the kinds of the events that a sink's client has received, in order. Override it.

        Args:
            sink: The sink.
        """
        raise NotImplementedError(f"{type(self).__name__}.received says nothing of {sink!r:.100}")

    def _expect_received(self, sink: Any, events: Sequence[StreamEvent]) -> None:
        expected = [event.kind.name for event in events]
        expect_equal(list(self.received(sink)), expected, "what the client received")

    def test_events_arrive_in_order(self) -> None:
        """
        Each is there once ``send`` has returned.
        """
        sink, events = self.make_sink(), _events("text")
        for number, event in enumerate(events, 1):
            sink.send(event)
            self._expect_received(sink, events[:number])

    def test_no_text_breaks_a_frame(self) -> None:
        """
        Line ends, frames and markup in a text arrive as the text of one event.
        """
        sink, events = self.make_sink(), _events(_HOSTILE)
        for event in events:
            sink.send(event)
        self._expect_received(sink, events)

    def test_a_client_that_is_gone_is_told(self) -> None:
        """
        ``send`` raises: nothing is counted as delivered that nobody received.
        """
        sink = self.make_gone_sink()
        expect_refusal(lambda: sink.send(_events("text")[0]), "an event for a client that is gone")

    def test_clients_do_not_mix(self) -> None:
        """
        Sinks that are used at once keep their own events.
        """
        events = _events("text")
        sinks = [self.make_sink() for _ in range(THREADS)]

        def send_all(sink: Any) -> None:
            for event in events:
                sink.send(event)

        for found in at_once([partial(send_all, sink) for sink in sinks]):
            expect(not isinstance(found, Exception), f"a sink on a thread raised {found!r}")
        for sink in sinks:
            self._expect_received(sink, events)

"""The order of the events, and server-sent events that no data can break (section 3.10)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import EventKind, EventStream, ReleaseOutcome, StreamEvent, encode_sse
from harness._json import NotJsonError, freeze
from harness.errors import InvalidArgumentError, StreamOrderError

KINDS = list(EventKind)
OUTCOMES = list(ReleaseOutcome.__members__)

# Section 3.10, retyped: which event may follow which; None is the unopened stream.
NEXT = {
    None: {"METADATA"},
    "METADATA": {"STATUS", "CONTENT", "FAILURE", "DONE"},
    "STATUS": {"STATUS", "CONTENT", "FAILURE", "DONE"},
    "CONTENT": {"DONE"},
    "FAILURE": {"DONE"},
    "DONE": set(),
}

# Which outcomes DONE may carry behind which event.
CARRIED = {
    "METADATA": {"CANCELLED"},
    "STATUS": {"CANCELLED"},
    "CONTENT": {"SUCCESS", "FALLBACK"},
    "FAILURE": {"FAILED"},
}

# A stream that stands behind each event.
BEFORE: dict[str | None, list[str]] = {
    None: [],
    "METADATA": ["METADATA"],
    "STATUS": ["METADATA", "STATUS"],
    "CONTENT": ["METADATA", "STATUS", "CONTENT"],
    "FAILURE": ["METADATA", "FAILURE"],
    "DONE": ["METADATA", "CONTENT", "DONE"],
}


def _event(kind: str, last: str | None) -> StreamEvent:
    """An event; DONE with an outcome that may stand behind *last*."""
    outcome = min(CARRIED.get(last or "", {"SUCCESS"}))
    data = {"outcome": outcome} if kind == "DONE" else {}
    return StreamEvent(EventKind[kind], freeze(data))


def _stream(kinds: list[str]) -> EventStream:
    stream, last = EventStream(), None
    for kind in kinds:
        stream.accept(_event(kind, last))
        last = kind
    return stream


@pytest.mark.parametrize(("last", "kind"), list(product(NEXT, EventKind.__members__)))
def test_enumeration_of_stream_transitions(last: str | None, kind: str) -> None:
    """Each event is accepted exactly where the contract has it, and refused without a change."""
    stream, event = _stream(BEFORE[last]), _event(kind, last)
    assert {one.name for one in stream.allowed} == NEXT[last]
    if kind in NEXT[last]:
        stream.accept(event)
        assert stream.accepted[-1] is event.kind
        return
    with pytest.raises(StreamOrderError, match=f"^{kind} is refused here") as caught:
        stream.accept(event)
    assert {one.name for one in caught.value.allowed} == NEXT[last]
    assert [one.name for one in stream.accepted] == BEFORE[last]


@pytest.mark.parametrize(("last", "outcome"), list(product(CARRIED, OUTCOMES)))
def test_enumeration_of_done_outcomes(last: str, outcome: str) -> None:
    """DONE says what the event before it stands for: content, failure, or a cancel without any."""
    stream = _stream(BEFORE[last])
    done = StreamEvent(EventKind.DONE, freeze({"outcome": outcome}))
    if outcome in CARRIED[last]:
        stream.accept(done)
        assert not stream.is_open
        return
    with pytest.raises(StreamOrderError, match=f"allowed outcomes after {last}: "):
        stream.accept(done)
    assert stream.is_open


@pytest.mark.parametrize("data", [{}, {"outcome": None}, {"outcome": "success"}, {"outcome": 1}])
def test_done_without_an_outcome(data: dict[str, Any]) -> None:
    """DONE without an outcome, or with none of the contract's, is refused."""
    stream = _stream(BEFORE["CONTENT"])
    with pytest.raises(StreamOrderError) as caught:
        stream.check(StreamEvent(EventKind.DONE, freeze(data)))
    why = "allowed outcomes after CONTENT: SUCCESS FALLBACK"
    assert caught.value.args == (EventKind.DONE, (EventKind.DONE,), why)


@pytest.mark.parametrize(("last", "kind"), list(product(NEXT, EventKind.__members__)))
def test_enumeration_of_events_after_a_disconnect(last: str | None, kind: str) -> None:
    """Once the client is gone nothing is accepted, wherever the stream stood."""
    stream = _stream(BEFORE[last])
    stream.disconnect()
    stream.disconnect()
    assert (stream.is_open, stream.allowed) == (False, ())
    with pytest.raises(StreamOrderError, match=r"allowed: nothing$"):
        stream.accept(_event(kind, last))


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from(OUTCOMES)), max_size=12))
def test_property_the_order_of_the_stream_is_legal(tried: list[tuple[EventKind, str]]) -> None:
    """Of any events that are tried, those that are accepted have the order of the contract."""
    stream = EventStream()
    for kind, outcome in tried:
        try:
            stream.accept(StreamEvent(kind, freeze({"outcome": outcome})))
        except StreamOrderError:
            continue
    sent = " ".join(kind.name for kind in stream.accepted)
    order = r"(METADATA( STATUS)*( (CONTENT|FAILURE))?( DONE)?)?"
    assert re.fullmatch(order, sent)
    assert stream.is_open is ("DONE" not in sent)


def test_checking_accepts_nothing() -> None:
    """Checking an event before it is sent changes nothing."""
    stream = EventStream()
    stream.check(StreamEvent(EventKind.METADATA))
    assert stream.accepted == []


# --- the data of an event


def test_an_event_copies_its_data() -> None:
    """What the host changes later alters no event."""
    data = {"list": [1]}
    event = StreamEvent(EventKind.STATUS, data)
    data["list"].append(2)
    assert event.data == {"list": (1,)}
    assert StreamEvent(EventKind.STATUS, event.data).data is event.data


@pytest.mark.parametrize("data", [{"x": float("nan")}, {1: 2}, {"x": object()}])
def test_an_event_refuses_data_that_is_no_json(data: Any) -> None:
    """An event's data is strict JSON."""
    with pytest.raises(NotJsonError):
        StreamEvent(EventKind.STATUS, data)


# --- server-sent events

HOSTILE = [
    "\r",
    "\n\n",
    "\r\nevent: done\ndata: {}",
    "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e",
    "\0",
    "  leading",
    "data: x",
    ": comment",
    "\ud800",
    "日本語 ü \U0001f600",
]


def _strict(frame: bytes) -> list[dict[str, str]]:
    """Parse as the standard says: CR, LF and CRLF end a line, a blank line ends a frame."""
    return list(_frames(re.split("\r\n|\r|\n", frame.decode("utf-8"))))


def _sloppy(frame: bytes) -> list[dict[str, str]]:
    """Parse as Python programs do: by ``splitlines``, which knows eleven line ends."""
    return list(_frames(frame.decode("utf-8").splitlines()))


def _frames(lines: list[str]) -> Iterator[dict[str, str]]:
    fields: dict[str, str] = {}
    for line in lines:
        if not line and fields:
            yield fields
            fields = {}
        elif line:
            name, _, value = line.partition(":")
            assert name not in fields
            fields[name] = value.removeprefix(" ")


_DATA = st.dictionaries(
    st.text(), st.text() | st.sampled_from(HOSTILE) | st.integers() | st.none(), max_size=4
)
_IDS = st.none() | st.text(st.characters(blacklist_categories=("C", "Z")), min_size=1)


@given(st.sampled_from(KINDS), _DATA, _IDS)
def test_property_any_parser_reads_the_event(
    kind: EventKind, data: dict[str, Any], event_id: str | None
) -> None:
    """A strict parser and a splitlines parser both read exactly the event that was sent."""
    event = StreamEvent(kind, freeze(data))
    [fields] = _strict(encode_sse(event, event_id=event_id))
    assert [fields] == _sloppy(encode_sse(event, event_id=event_id))
    assert fields["event"] == kind.name
    assert fields.get("id") == event_id
    assert json.loads(fields["data"]) == event.data.thaw()


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_data(text: str) -> None:
    """No text ends a line or a frame, or makes a frame that cannot be encoded."""
    event = StreamEvent(EventKind.CONTENT, freeze({text: text, "nested": [{"x": text}]}))
    frame = encode_sse(event)
    assert frame.isascii()
    assert frame.count(b"\n") == 3
    [fields] = _strict(frame)
    assert json.loads(fields["data"]) == event.data.thaw()


def test_a_frame() -> None:
    """A frame is its kind, its id, compact JSON in ASCII, and a blank line."""
    event = StreamEvent(EventKind.STATUS, freeze({"stage": "\xfc", "turn": [1, 2]}))
    frame = b'event: STATUS\nid: 7\ndata: {"stage":"\\u00fc","turn":[1,2]}\n\n'
    assert encode_sse(event, event_id="7") == frame


def test_many_frames_in_a_row() -> None:
    """Frames that follow one another stay apart."""
    events = [StreamEvent(EventKind.STATUS, freeze({"n": n, "x": HOSTILE[2]})) for n in range(3)]
    wire = b"".join(encode_sse(event) for event in events)
    assert [json.loads(fields["data"])["n"] for fields in _strict(wire)] == [0, 1, 2]
    assert _strict(wire) == _sloppy(wire)


@pytest.mark.parametrize("event_id", ["a\nb", "\r", "\0", "a\u2028", "\x85", "\ud800", "\t", 5])
def test_an_id_that_could_break_a_frame_is_refused(event_id: Any) -> None:
    """An id is printable text in one line; anything else is refused by name."""
    with pytest.raises(InvalidArgumentError) as caught:
        encode_sse(StreamEvent(EventKind.STATUS), event_id=event_id)
    assert caught.value.args == ("event_id", event_id, "printable text without line breaks")

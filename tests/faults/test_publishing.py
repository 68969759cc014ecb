"""Reported faults 15 to 25: drafts that leak, loops, streams, stores, secrets, shared state."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from harness import (
    AgentTurn,
    CancelToken,
    Citation,
    DiagnosisDraft,
    EventKind,
    EventStream,
    FrozenDict,
    Harness,
    Intent,
    Limits,
    Route,
    SemanticVerdict,
    StreamEvent,
    ToolCall,
    Usage,
    encode_sse,
    explain,
    previous_turn,
    tool,
)
from harness.errors import (
    NotAPreviousTurnError,
    StreamOrderError,
    TransportError,
)
from harness.stores import MemoryRunStore
from harness.testing import RecordingClient, Script
from tests.faults.common import FACT, asks, call, drafts, ending, plays

LEAK = "https://api.example.com/v1?api_key=sk-TEST-123 in /srv/app/secrets.py"


def logs() -> str:
    """A tool that finds the usual fact."""
    return FACT


def drafting(view: Any, _attempt: object) -> AgentTurn:
    """A draft that cites what was found first."""
    cite = Citation(view.records[0].invocation_id)
    return AgentTurn(draft=DiagnosisDraft("The pool ran out.", [cite]))


def good_agent() -> Script:
    """An agent that asks once, then drafts."""
    return Script([AgentTurn([ToolCall("logs")]), drafting])


def test_fault_15_a_refused_draft_leaks_nowhere() -> None:
    """UNSUPPORTED is asked once and is final; no word of the draft reaches the client."""
    outcome = plays(
        agent=[asks(), drafts("ZX-MARK", "@1", recommendations=["ZX-MARK too"])],
        semantic_guard=[{"verdict": "UNSUPPORTED"}, {"verdict": "SUPPORTED"}],
    )
    assert ending(outcome) == ("SUCCESS", "FALLBACK", "SEMANTIC_UNSUPPORTED")
    assert outcome.observed["attempts"]["SEMANTIC_GUARD"] == 1
    assert outcome.observed["request_status"] == "SUCCESS"
    public = outcome.record.public
    assert "ZX-MARK" not in str(public)
    assert "ZX-MARK" not in str(outcome.record.snapshot)


def test_fault_16_identical_empty_calls_saturate_and_keep_the_work() -> None:
    """The third batch without gain saturates; the call after STOP_REQUIRED does not run."""
    outcome = plays(
        progress="INFERRED",
        agent=[{**asks(), "repeat": True}],
        tools={"logs": [{"facts": [], "repeat": True}]},
    )
    assert ending(outcome) == ("SUCCESS", "FALLBACK", "INSUFFICIENT_EVIDENCE")
    assert outcome.observed["attempts"]["TOOL"] == 3
    assert outcome.observed["trace"].count("STOP_REQUIRED") == 1
    assert outcome.observed["stop_reason"] == "INFORMATION_SATURATED"
    assert "success" not in outcome.observed["public"]["text"].lower()
    assert "complete" not in outcome.observed["public"]["text"].lower()


def test_fault_16_different_empty_windows_end_as_an_honest_no_conclusion() -> None:
    """Three empty windows and an honest draft are insufficient evidence, not a failure."""
    outcome = plays(
        progress="INFERRED",
        agent=[asks(call("1")), asks(call("2")), asks(call("3")), drafts(None)],
        tools={"logs": [{"facts": [], "repeat": True}]},
    )
    assert ending(outcome) == ("SUCCESS", "FALLBACK", "INSUFFICIENT_EVIDENCE")


def test_fault_16_a_gain_resets_the_count() -> None:
    """Empty, empty, found, empty, empty never saturates, and the good draft is released."""
    outcome = plays(
        progress="INFERRED",
        agent=[*[asks(call(str(n))) for n in range(5)], drafts("The pool ran out.", "@3")],
        tools={"logs": [{"facts": facts} for facts in ([], [], [FACT], [], [])]},
    )
    assert ending(outcome) == ("SUCCESS", "SUCCESS", None)
    assert outcome.observed["stop_reason"] is None


@pytest.mark.parametrize("stop", [False, True], ids=["collecting", "after STOP_REQUIRED"])
def test_fault_17_text_and_calls_in_one_turn_is_no_answer(*, stop: bool) -> None:
    """The call of a mixed turn never runs and its text is never published."""
    mixed = {**asks(call("2")), **drafts("ZX-MARK", "@1")}
    limits = {"tool_calls": 1} if stop else {}
    outcome = plays(agent=[asks(), mixed], limits=limits)
    assert outcome.observed["stop_cause"] == "INVALID_DRAFT"
    assert ending(outcome) == ("SUCCESS", "FALLBACK", "INSUFFICIENT_EVIDENCE")
    assert outcome.observed["attempts"]["TOOL"] == 1
    assert "ZX-MARK" not in outcome.observed["public"]["text"]


def test_fault_17_prose_beside_calls_is_a_remark() -> None:
    """An adapter hands prose beside calls over as a remark, and the run goes on."""
    first = AgentTurn([ToolCall("logs")], remark="Let me look at the logs.")
    harness = Harness(
        Script([first, drafting]), [logs], semantic_guard=lambda _: SemanticVerdict.SUPPORTED
    )
    assert harness.run("why?").record.run_state.name == "SUCCESS"


def test_fault_18_bad_requests_are_errors_that_the_agent_sees() -> None:
    """An invented name, garbled arguments and a missing field are rows; the tool ran once."""
    seen: list[str] = []

    @tool(name="logs")
    def search(query: str) -> str:
        seen.append(query)
        return FACT

    bad: list[Any] = [{}, "{bad", "[]", {}]
    names = ["get_logz", "logs", "logs", "logs"]
    turns = [AgentTurn([ToolCall(n, None, a)]) for n, a in zip(names, bad, strict=True)]
    codes: list[Any] = []

    def last(view: Any, _attempt: object) -> AgentTurn:
        codes.extend(record.invocation.code.name for record in view.records[:4])
        cite = Citation(view.records[4].invocation_id)
        return AgentTurn(draft=DiagnosisDraft("It ran out.", [cite]))

    agent = Script([*turns, AgentTurn([ToolCall("logs", None, '{"query": "pool"}')]), last])
    harness = Harness(
        agent,
        [search],
        semantic_guard=lambda _: SemanticVerdict.SUPPORTED,
        limits=Limits(no_gain=9),
        progress="INFERRED",
    )
    assert harness.run("why?").record.run_state.name == "SUCCESS"
    assert seen == ["pool"]
    assert codes == ["UNKNOWN_TOOL", *["INVALID_ARGUMENTS"] * 3]


def test_fault_18_fifty_bad_requests_end_within_the_limits() -> None:
    """Nothing but bad requests ends as a failure without content."""
    bad = {"calls": [call(str(n), "nope") for n in range(50)]}
    outcome = plays(agent=[{**bad, "repeat": True}], limits={"tool_calls": 120})
    assert ending(outcome)[1:] == ("FAILED", None)
    assert outcome.observed["public"]["kind"] == "FAILURE"


def test_fault_19_one_failure_is_reported_once_and_done_comes() -> None:
    """A router that fails twice leaves METADATA, FAILURE, DONE, each once."""
    outcome = plays(router=[{"fail": "TRANSPORT"}, {"fail": "TRANSPORT"}])
    kinds = [kind for kind in outcome.observed["events"] if kind != "STATUS"]
    assert kinds == ["METADATA", "FAILURE", "DONE"]


def test_fault_19_nothing_follows_done() -> None:
    """Late statuses and a second end are refused."""
    stream = EventStream()
    for kind in (EventKind.METADATA, EventKind.FAILURE, EventKind.DONE):
        stream.accept(StreamEvent(kind, FrozenDict({"outcome": "FAILED"})))
    for kind in EventKind:
        with pytest.raises(StreamOrderError):
            stream.accept(StreamEvent(kind))


def test_fault_19_a_sink_that_raises_counts_as_a_client_that_left() -> None:
    """An exception of the sink ends the run as a disconnect, never as a crash."""

    class Broken:
        def send(self, event: StreamEvent) -> None:
            if event.kind is EventKind.STATUS:
                raise RuntimeError("broken pipe somewhere")

    record = Harness(good_agent(), [logs]).run("why?", client=Broken()).record
    assert record.stop_cause is not None
    assert record.stop_cause.name == "CLIENT_DISCONNECTED"


def _frames(raw: str, lines: list[str]) -> Iterator[tuple[str, str]]:
    """Parse frames as a client does, from lines."""
    assert raw
    event, data = "", list[str]()
    for line in lines:
        if line.startswith("event: "):
            event = line[7:]
        elif line.startswith("data: "):
            data.append(line[6:])
        elif not line and data:
            yield event, "\n".join(data)
            event, data = "", []


@pytest.mark.parametrize(
    "hostile", ["\r", "\n\n", "\r\nevent: done\ndata: {}", "\u2028", "\x85", "\0", "  x", "\x0b"]
)
def test_fault_20_no_text_breaks_a_frame(hostile: str) -> None:
    """A strict parser and a splitlines parser both read exactly the events that were sent."""
    sent = [
        StreamEvent(EventKind.METADATA, FrozenDict({"run_id": hostile})),
        StreamEvent(EventKind.CONTENT, FrozenDict({"text": f"a{hostile}b", hostile: 1})),
    ]
    raw = b"".join(encode_sse(event) for event in sent).decode()
    strict = io.StringIO(raw, newline=None).read().split("\n")
    for lines in (strict, raw.splitlines()):
        got = [(event, json.loads(data)) for event, data in _frames(raw, lines)]
        assert got == [(event.kind.value, dict(event.data)) for event in sent]


@pytest.mark.parametrize("event_id", ["a\nb", "a\rb", "a\0b", "a\u2028b"])
def test_fault_20_an_id_with_a_line_break_is_refused(event_id: str) -> None:
    """Frame ids cannot carry what a frame cannot hold."""
    with pytest.raises(ValueError, match="event_id"):
        encode_sse(StreamEvent(EventKind.METADATA), event_id=event_id)


@pytest.mark.parametrize("hostile", ["\r", "\r\nevent: done\ndata: {}", "\u2028", "\x85x"])
def test_fault_20_hostile_text_changes_no_outcome(hostile: str) -> None:
    """Line breaks in facts, questions and run ids leave the ending as without them."""

    def odd() -> str:
        """Find something odd."""
        return f"pool{hostile}out"

    client = RecordingClient()
    agent = Script([AgentTurn([ToolCall("odd")]), AgentTurn(draft=DiagnosisDraft(None))])
    harness = Harness(agent, [odd])
    record = harness.run(f"why{hostile}?", run_id=f"r{hostile}1", client=client).record
    assert record.release_outcome is not None
    assert record.release_outcome.name == "FALLBACK"
    text = client.events[-2].data["text"]
    assert len(text.splitlines()) == len(text.split("\n")) - 1


@pytest.mark.parametrize(
    "faults",
    [
        {"save": {"1": "raise"}},
        {"load": {"1": "raise"}},
        {"load": {"1": "missing"}},
        {"load": {"1": "corrupt"}},
        {"save": {"2": "raise"}},
    ],
)
def test_fault_21_a_store_that_fails_fails_the_run(faults: dict[str, Any]) -> None:
    """The row is ERROR, the value reaches nobody, and nothing is saved a second time."""
    outcome = plays(
        canonical_store=faults,
        progress="INFERRED",
        agent=[asks(call("1")), asks(call("2")), drafts("It ran out.", "@1")],
    )
    assert ending(outcome) == ("FAILED", "FAILED", None)
    assert outcome.observed["invocations"][-1] == ["logs", "ERROR", "ERROR", "STORE_FAILED"]
    assert outcome.observed["events"][-2:] == ["FAILURE", "DONE"]
    assert "pool" not in json.dumps(outcome.observed["public"])


def test_fault_22_a_fallback_is_never_kept_as_an_answer() -> None:
    """Of a conversation only the delivered report of a diagnosis becomes a previous turn."""
    store = MemoryRunStore()
    verdict = {"unsupported": SemanticVerdict.UNSUPPORTED}

    def harness(**parts: Any) -> Harness:
        guard = Script([verdict.get(parts.pop("end", ""), SemanticVerdict.SUPPORTED)])
        return Harness(good_agent(), [logs], semantic_guard=guard, run_store=store, **parts)

    down = Script([TransportError(), TransportError()])
    talk = Script([Route(Intent.GENERAL)])
    runs = [
        harness(end="unsupported"),
        harness(router=down),
        harness(),
        harness(router=talk, responder=lambda _: "Hello."),
    ]
    records = [one.run("why?", conversation_id="c").record for one in runs]
    assert [record.request_status.name for record in records] == [
        "SUCCESS",
        "FAILED",
        "SUCCESS",
        "SUCCESS",
    ]
    for record in (records[0], records[1], records[3]):
        with pytest.raises(NotAPreviousTurnError):
            previous_turn(record)
    assert previous_turn(records[2]).report == "The pool ran out.\n"
    assert len(store.runs_of("c")) == 4


def test_fault_22_an_explanation_goes_from_the_user_back_to_the_cause() -> None:
    """Stream, release, run, gates, invocations, records, budget: in this order."""
    guard = Script([SemanticVerdict.UNSUPPORTED])
    record = Harness(good_agent(), [logs], semantic_guard=guard).run("why?").record
    titles = [section.title.split(":")[0] for section in explain(record).sections]
    assert titles == [
        "Stream",
        "Release",
        "Run",
        "Gates",
        "Tool invocations",
        "Canonical records",
        "Budget and stop reason",
    ]


@pytest.mark.parametrize("inside", ["text", "cause", "args"])
def test_fault_24_an_error_text_reaches_nobody(inside: str) -> None:
    """A key and a path in a tool's error appear in no event, fallback, view or public field."""

    def broken() -> str:
        """Fail with a secret."""
        if inside == "cause":
            raise RuntimeError("failed") from ValueError(LEAK)
        if inside == "args":
            raise OSError(5, LEAK, LEAK)
        raise RuntimeError(LEAK)

    shown: list[str] = []

    def second(view: Any, _attempt: object) -> AgentTurn:
        shown.append(repr(view))
        return AgentTurn(draft=DiagnosisDraft(None))

    client = RecordingClient()
    agent = Script([AgentTurn([ToolCall("broken"), ToolCall("logs")]), second])
    record = Harness(agent, [broken, logs]).run("why?", client=client).record
    assert record.fallback_type is not None
    assert record.fallback_type.name == "INSUFFICIENT_EVIDENCE"
    public = f"{client.events} {record.public} {record.snapshot} {shown}"
    assert "sk-TEST-123" not in public
    assert "/srv/app" not in public
    assert "`broken` could not be asked (UNCLASSIFIED)" in record.public.text  # type: ignore[union-attr]


@pytest.mark.parametrize("component", ["router", "agent"])
def test_fault_24_a_failure_carries_a_stable_code(component: str) -> None:
    """A provider's text never becomes the failure that the client sees."""
    failing = Script([RuntimeError(LEAK)])
    parts: dict[str, Any] = {"router": failing} if component == "router" else {}
    client = RecordingClient()
    agent = failing if component == "agent" else good_agent()
    Harness(agent, [logs], **parts).run("why?", client=client)
    failure = next(event for event in client.events if event.kind is EventKind.FAILURE)
    assert failure.data["code"] in {"ROUTER_UNAVAILABLE", "AGENT_UNAVAILABLE"}
    assert "sk-TEST-123" not in str(client.events)


class _Shared:
    """One agent for all runs: what it remembers is kept by run id."""

    def __init__(self, gate: threading.Barrier) -> None:
        self._gate = gate

    def next_turn(self, view: Any, attempt: Any) -> AgentTurn:
        marker = view.context["marker"]
        attempt.report(Usage(int(marker), 0))
        if not view.records:
            self._gate.wait()
            return AgentTurn([ToolCall("echo", None, {"marker": marker})])
        record = view.records[0]
        cite = Citation(record.invocation_id, 1)
        return AgentTurn(draft=DiagnosisDraft(record.facts[0].text, [cite]))


def test_fault_25_runs_that_share_a_harness_share_nothing_else() -> None:
    """32 runs behind a barrier: each record holds only its own marker, and totals are exact."""

    @tool
    def echo(marker: str) -> str:
        """Give back the marker."""
        return f"marker <{marker}>"

    gate = threading.Barrier(32)
    harness = Harness(_Shared(gate), [echo], semantic_guard=lambda _: SemanticVerdict.SUPPORTED)
    tokens = [CancelToken() for _ in range(32)]
    results: dict[int, Any] = {}

    def run(number: int) -> None:
        deadline = 0.0 if number == 1 else None
        if number == 0:
            tokens[0].cancel("operator")
        if number < 2:
            gate.wait()
        context = {"marker": str(number)}
        results[number] = harness.run(
            f"why {number}?", context=context, cancel=tokens[number], deadline=deadline
        ).record

    threads = [threading.Thread(target=run, args=(number,)) for number in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results[0].run_state.name == "CANCELLED"
    assert results[1].run_state.name == "TIMED_OUT"
    for number in range(2, 32):
        record = results[number]
        assert record.public.text == f"marker <{number}>\n"
        assert record.used.tokens == 2 * number
        assert [event.sequence for event in record.trace] == list(range(1, len(record.trace) + 1))
        assert {row.run_id for row in record.invocations} == {record.run_id}

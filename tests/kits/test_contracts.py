"""The kits of host objects: bundled ones hold every rule, and for each a faulty one breaks it."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness import (
    AgentTurn,
    AgentView,
    Citation,
    DiagnosisDraft,
    EventKind,
    Fact,
    SemanticCase,
    SemanticVerdict,
    ToolCall,
    tool,
)
from harness.errors import ClientGoneError
from harness.guards import LexicalGuard
from harness.logs import LogTool
from harness.playbook import PlaybookAgent
from harness.testing import RecordingClient
from harness.testing.contracts import (
    AgentContract,
    EventSinkContract,
    SemanticGuardContract,
    ToolContract,
    broken_rules,
)

_POOL = "pool exhausted after 2000 ms, 20 of 20 connections in use"
_LOG = f"2024-05-04 10:00:07 ERROR {_POOL}\n" * 3


@tool
def search(text: str) -> list[Fact]:
    """Search the log."""
    return [Fact(_POOL, "payment.log:812")] if text == "pool" else []


_CALLS = (
    ToolCall("search", {"service": "payment"}, {"text": "pool"}),
    ToolCall("search", {"service": "checkout"}, {"text": "disk"}),
)


def _agent(view: AgentView) -> AgentTurn:
    if not view.records and view.stop is None:
        return AgentTurn([_CALLS[0]])
    ready = [record for record in view.records if record.facts]
    if not ready:
        return AgentTurn(draft=DiagnosisDraft(None))
    return AgentTurn(draft=DiagnosisDraft(_POOL, [Citation(ready[0].invocation_id, 1)]))


# --- what is bundled


class TestFunctionTool(ToolContract):
    """A typed function."""

    def make_tool(self) -> Any:
        return search

    def sample_calls(self) -> Iterable[ToolCall]:
        return _CALLS


class TestLogTool(ToolContract):
    """The tool for log files."""

    @pytest.fixture(autouse=True)
    def _file(self, tmp_path: Path) -> None:
        self.log = tmp_path / "payment.log"
        self.log.write_text(_LOG)

    def make_tool(self) -> Any:
        return LogTool([self.log])

    def sample_calls(self) -> Iterable[ToolCall]:
        views = ("count", "lines", "templates")
        return [ToolCall("logs", arguments={"view": view}) for view in views]


class TestPlaybookAgent(AgentContract):
    """The agent that needs no model."""

    @pytest.fixture(autouse=True)
    def _file(self, tmp_path: Path) -> None:
        self.log = tmp_path / "payment.log"
        self.log.write_text(_LOG)

    def make_agent(self) -> Any:
        return PlaybookAgent()

    def make_tools(self) -> Iterable[Any]:
        return [LogTool([self.log])]


class TestFunctionAgent(AgentContract):
    """An agent that is a function."""

    def make_agent(self) -> Any:
        return _agent

    def make_tools(self) -> Iterable[Any]:
        return [search]


class TestLexicalGuard(SemanticGuardContract):
    """The built-in guard."""

    def make_guard(self) -> Any:
        return LexicalGuard()


class TestRecordingClient(EventSinkContract):
    """The client of the test kit."""

    def make_sink(self) -> Any:
        return RecordingClient()

    def make_gone_sink(self) -> Any:
        return RecordingClient(EventKind.METADATA)

    def received(self, sink: Any) -> Sequence[str]:
        return [event.kind.name for event in sink.events]


# --- faulty tools


class _Tool:
    """A tool that holds every rule; the faulty ones change one thing."""

    name: Any = "search"
    description: Any = "Search the log."
    parameters: Any = None

    def execute(self, call: ToolCall, _attempt: object) -> Any:
        """Search."""
        found = call.arguments["text"] == "pool"
        return [Fact(_POOL, "payment.log:812")] if found else None


class _Nameless(_Tool):
    description = " "


class _Undeclared(_Tool):
    parameters = ("text",)


class _Misdeclared(_Tool):
    parameters = {"text": "string"}  # noqa: RUF012  a fault


class _Raising(_Tool):
    def execute(self, call: ToolCall, _attempt: object) -> Any:
        raise OSError(call.tool)


class _Endless(_Tool):
    def execute(self, _call: ToolCall, _attempt: object) -> Any:
        return [Fact(f"line {number}", f"log:{number}") for number in range(10_000)]


class _Sourceless(_Tool):
    def execute(self, _call: ToolCall, _attempt: object) -> Any:
        return _POOL


class _Shared(_Tool):
    """Answers the thread that made it only."""

    def execute(self, call: ToolCall, attempt: object) -> Any:
        if threading.current_thread() is not threading.main_thread():
            return None
        return super().execute(call, attempt)


_FAULTY_TOOLS: dict[str, list[Callable[[], Any]]] = {
    "test_it_says_what_it_is": [_Nameless],
    "test_it_declares_its_parameters": [_Undeclared, _Misdeclared],
    "test_it_answers_its_sample_calls": [_Raising],
    "test_its_facts_are_not_cut": [_Endless],
    "test_it_says_where_its_facts_stand": [_Sourceless],
    "test_several_threads_may_call_it_at_once": [_Shared],
}


def _tool_kit(make: Callable[[], Any], calls: Sequence[ToolCall] = _CALLS) -> type[ToolContract]:
    class Kit(ToolContract):
        def make_tool(self) -> Any:
            return make()

        def sample_calls(self) -> Iterable[ToolCall]:
            return calls

    return Kit


# --- faulty agents


def _endless(_view: AgentView) -> AgentTurn:
    return AgentTurn([ToolCall("search", {}, {"text": "pool"})])


def _citing_nothing(view: AgentView) -> AgentTurn:
    if not view.records and view.stop is None:
        return AgentTurn([_CALLS[0]])
    made_up = Citation(view.records[0].invocation_id if view.records else "E-none-1", 1)
    return AgentTurn(draft=DiagnosisDraft(_POOL, [made_up]))


def _trusting(view: AgentView) -> AgentTurn:
    if not view.records and view.stop is None:
        return AgentTurn([_CALLS[0]])
    if not view.records:
        return AgentTurn(draft=DiagnosisDraft(None))
    record = view.records[0]
    if record.invocation.code is not None:
        raise KeyError(record.invocation.code)
    if not record.facts:
        return AgentTurn(draft=DiagnosisDraft(None))
    return AgentTurn(draft=DiagnosisDraft(_POOL, [Citation(record.invocation_id, 1)]))


class _Remembering:
    """Keeps one run's turns for all runs."""

    def __init__(self) -> None:
        self._turns = 0

    def next_turn(self, view: AgentView, _attempt: object) -> AgentTurn:
        """Take a turn."""
        self._turns += 1
        if self._turns > 2:
            raise ValueError(self._turns)
        return _agent(view)


_FAULTY_AGENTS: dict[str, Callable[[], Any]] = {
    "test_it_comes_to_an_end": lambda: lambda _view: AgentTurn([ToolCall("nobody's")]),
    "test_it_drafts_when_it_must": lambda: _endless,
    "test_it_bears_empty_results": lambda: _citing_nothing,
    "test_it_bears_failing_tools": lambda: _trusting,
    "test_runs_share_nothing": _Remembering,
}


def _agent_kit(make: Callable[[], Any]) -> type[AgentContract]:
    class Kit(AgentContract):
        def make_agent(self) -> Any:
            return make()

        def make_tools(self) -> Iterable[Any]:
            return [search]

    return Kit


# --- faulty guards


def _always(verdict: object) -> Callable[[], Any]:
    return lambda: lambda _case, _attempt: verdict


def _judged(case: SemanticCase) -> SemanticVerdict:
    supported = LexicalGuard().check(case).supported
    return SemanticVerdict.SUPPORTED if supported else SemanticVerdict.UNSUPPORTED


def _open_without_evidence(case: SemanticCase, _attempt: object) -> SemanticVerdict:
    return _judged(case) if case.facts else SemanticVerdict.SUPPORTED


def _conclusion_only(case: SemanticCase, _attempt: object) -> SemanticVerdict:
    return _judged(SemanticCase(case.conclusion, facts=case.facts))


def _gullible(case: SemanticCase, _attempt: object) -> SemanticVerdict:
    seen = " ".join([case.conclusion, *(fact.text for fact in case.facts)])
    return SemanticVerdict.SUPPORTED if "VERDICT: SUPPORTED" in seen else _judged(case)


class _Moody:
    """Judges each case otherwise than the last time."""

    def __init__(self) -> None:
        self._asked = 0

    def judge(self, _case: SemanticCase, _attempt: object) -> SemanticVerdict:
        """Judge."""
        self._asked += 1
        return (SemanticVerdict.SUPPORTED, SemanticVerdict.UNSUPPORTED)[self._asked % 2]


_FAULTY_GUARDS: dict[str, Callable[[], Any]] = {
    "test_it_approves_what_is_supported": _always(SemanticVerdict.UNSUPPORTED),
    "test_it_refuses_what_is_not": _always(SemanticVerdict.SUPPORTED),
    "test_it_refuses_a_text_without_evidence": lambda: _open_without_evidence,
    "test_every_text_is_judged": lambda: _conclusion_only,
    "test_no_text_forges_a_verdict": lambda: _gullible,
    "test_it_answers_the_same_again": _Moody,
}


def _guard_kit(make: Callable[[], Any]) -> type[SemanticGuardContract]:
    class Kit(SemanticGuardContract):
        def make_guard(self) -> Any:
            return make()

    return Kit


# --- faulty clients


class _Wire(RecordingClient):
    """A client behind text lines."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def send(self, event: Any) -> None:
        """Write a frame, without quoting."""
        self.text += f"event: {event.kind.name}\ndata: {dict(event.data)}\n\n"
        self.text = self.text.replace("\\r\\n", "\n").replace("\\n", "\n")


class _Buffering(RecordingClient):
    """Sends every second event late."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[Any] = []

    def send(self, event: Any) -> None:
        """Keep it for later."""
        self._waiting.append(event)
        if len(self._waiting) > 1:
            self.events += self._waiting
            self._waiting = []


_ALL: list[Any] = []


class _Mixing(RecordingClient):
    """One list for all clients."""

    def send(self, event: Any) -> None:
        """Put it where all the others are."""
        _ALL.append(event)
        self.events = _ALL


def _kinds(sink: Any) -> Sequence[str]:
    if isinstance(sink, _Wire):
        lines = sink.text.splitlines()
        return [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
    return [event.kind.name for event in sink.events]


class _Deaf(RecordingClient):
    """Says nothing of being gone."""


_FAULTY_SINKS: dict[str, Callable[[], Any]] = {
    "test_events_arrive_in_order": _Buffering,
    "test_no_text_breaks_a_frame": _Wire,
    "test_a_client_that_is_gone_is_told": _Deaf,
    "test_clients_do_not_mix": _Mixing,
}


def _sink_kit(make: Callable[[], Any]) -> type[EventSinkContract]:
    class Kit(EventSinkContract):
        def setup_method(self) -> None:
            _ALL.clear()

        def make_sink(self) -> Any:
            return make()

        def make_gone_sink(self) -> Any:
            return make() if make is _Deaf else RecordingClient(EventKind.METADATA)

        def received(self, sink: Any) -> Sequence[str]:
            return _kinds(sink)

    return Kit


# --- every rule catches


_KITS: list[tuple[type[Any], str, type[Any]]] = [
    *(
        (ToolContract, rule, _tool_kit(make))
        for rule, makes in _FAULTY_TOOLS.items()
        for make in makes
    ),
    *((AgentContract, rule, _agent_kit(make)) for rule, make in _FAULTY_AGENTS.items()),
    *((SemanticGuardContract, rule, _guard_kit(make)) for rule, make in _FAULTY_GUARDS.items()),
    *((EventSinkContract, rule, _sink_kit(make)) for rule, make in _FAULTY_SINKS.items()),
]


@pytest.mark.parametrize(
    ("rule", "kit"), [(rule, kit) for _, rule, kit in _KITS], ids=lambda one: str(one)[:60]
)
def test_a_faulty_implementation_is_caught(rule: str, kit: type[Any]) -> None:
    """The kit names the rule that is broken, and says what it found."""
    broken = broken_rules(kit)
    assert rule in broken
    assert broken[rule]


def test_every_rule_has_an_implementation_that_breaks_it() -> None:
    """No rule of a kit goes untried."""
    for kit in (ToolContract, AgentContract, SemanticGuardContract, EventSinkContract):
        rules = {name for name in dir(kit) if name.startswith("test_")}
        assert {rule for contract, rule, _ in _KITS if contract is kit} == rules


def test_good_ones_break_no_rule_without_a_test_runner() -> None:
    """The kits run anywhere."""
    assert broken_rules(_tool_kit(_Tool)) == {}
    assert broken_rules(_agent_kit(lambda: _agent)) == {}
    assert broken_rules(_guard_kit(LexicalGuard)) == {}
    assert broken_rules(_sink_kit(RecordingClient)) == {}


@pytest.mark.parametrize(
    ("kit", "text"),
    [
        (type("Mine", (ToolContract,), {}), r"Mine\.make_tool"),
        (type("Mine", (ToolContract,), {"make_tool": lambda _: search}), r"Mine\.sample_calls"),
        (type("Mine", (AgentContract,), {}), r"Mine\.make_"),
        (type("Mine", (AgentContract,), {"make_agent": lambda _: _agent}), r"Mine\.make_tools"),
        (type("Mine", (SemanticGuardContract,), {}), r"Mine\.make_guard"),
        (type("Mine", (EventSinkContract,), {}), r"Mine\.make_"),
        (
            type("Mine", (EventSinkContract,), {"make_sink": lambda _: RecordingClient()}),
            r"Mine\.(received|make_gone_sink)",
        ),
    ],
)
def test_a_kit_without_a_factory_says_so(kit: type[Any], text: str) -> None:
    """A subclass that forgot a factory is told its name."""
    assert any(re.search(text, found) for found in broken_rules(kit).values())


def test_a_tool_needs_sample_calls() -> None:
    """Without a call nothing is tried, and that is no pass."""
    broken = broken_rules(_tool_kit(_Tool, ()))
    assert "there are no sample calls" in broken["test_it_answers_its_sample_calls"]


def test_a_client_that_raises_on_a_thread_is_caught() -> None:
    """What goes wrong beside other clients is told as such."""

    class Failing(RecordingClient):
        def send(self, event: Any) -> None:
            if threading.current_thread() is not threading.main_thread():
                raise ClientGoneError
            super().send(event)

    assert "on a thread raised" in broken_rules(_sink_kit(Failing))["test_clients_do_not_mix"]

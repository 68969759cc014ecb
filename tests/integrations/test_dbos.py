"""A run as a durable workflow: on SQLite here; skipped by name where the extra is not installed."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextvars import Context
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import pytest

from harness import (
    AgentTurn,
    AgentView,
    Citation,
    DiagnosisDraft,
    Fact,
    Harness,
    Intent,
    ReleaseOutcome,
    Request,
    Route,
    RunState,
    StopCause,
    ToolCall,
)
from harness._seam import SeamBroken
from harness.errors import InvalidArgumentError, RunExistsError
from harness.stores.journal import MemoryJournal
from harness.stores.memory import MemoryRunStore
from harness.testing import VirtualClock

pytest.importorskip("dbos", reason="needs the extra 'dbos': pip install -e '.[dbos]'")

from dbos import DBOS

from harness.integrations.dbos import DurableHarness, _Engine
from tests.integrations import kill_table

if TYPE_CHECKING:
    from dbos import DBOSConfig

Build = Callable[..., DurableHarness]

# The engine's own libraries warn; nothing of this project is hidden by it.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning:dbos"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

_LINE = "pool exhausted after 2000 ms, 20 of 20 connections in use"
_CONCLUSION = "The connection pool was exhausted, with 20 of 20 connections in use."


def _search(call: ToolCall, _attempt: object = None) -> list[Fact]:
    return [Fact(_LINE, f"payment.log:{len(call.tool)}")]


class _Tool:
    name, description, parameters = "search_log", "Search the log.", None
    execute = staticmethod(_search)


_TOOLS = (_Tool(),)


def _agent(view: AgentView) -> AgentTurn:
    if not view.records:
        return AgentTurn([ToolCall("search_log", {"service": "payment"})])
    cited = [Citation(view.records[0].invocation_id, fact_id=1)]
    return AgentTurn(draft=DiagnosisDraft(_CONCLUSION, cited))


def _config(file: Path) -> DBOSConfig:
    return {
        "name": "harness-tests",
        "system_database_url": f"sqlite:///{file}",
        "application_version": "1",
        "log_level": "CRITICAL",
    }


@pytest.fixture(scope="module")
def empty_engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The engine's database, made once: its hundred migrations take longer than a run."""
    file = tmp_path_factory.mktemp("engine") / "engine.db"
    DBOS(config=_config(file))
    DBOS.launch()
    DBOS.destroy(destroy_registry=True)
    return file


@pytest.fixture
def build(tmp_path: Path, empty_engine: Path) -> Iterator[Build]:
    """Builds a durable harness and launches the engine, on a database of its own."""
    file = tmp_path / "engine.db"
    shutil.copy(empty_engine, file)
    DBOS(config=_config(file))

    def made(agent: Any = _agent, tools: Any = _TOOLS, **named: Any) -> DurableHarness:
        durable = DurableHarness(Harness(agent, tools, **named))
        DBOS.launch()
        return durable

    yield made
    DBOS.destroy(destroy_registry=True)


def test_a_run_is_a_workflow_and_each_outward_call_a_step(build: Build) -> None:
    """The record is the one that the harness itself makes; the engine lists every call."""
    result = build().run("Why do payments fail?", run_id="run-1", deadline=60)
    plain = Harness(_agent, [_Tool()]).run("Why do payments fail?")
    assert result.record.release_outcome is ReleaseOutcome.SUCCESS
    assert result.record.attempts.components == plain.record.attempts.components
    assert result.record.trace.codes == plain.record.trace.codes
    assert result.text == plain.text
    steps = [step["function_name"] for step in DBOS.list_workflow_steps("run-1")]
    assert [step for step in steps if step not in {"clock", "utc", "id"}] == [
        "run_store.begin",
        "DIAGNOSIS_AGENT",
        "TOOL search_log",
        "canonical_store.save",
        "canonical_store.load",
        "DIAGNOSIS_AGENT",
        "canonical_store.load",
        "SEMANTIC_GUARD",
        "run_store.finish",
        "run_store.mark_delivered",
    ]


def test_an_id_that_the_engine_knows_is_not_run_again(build: Build) -> None:
    """Asking again gives the ending of the run that there was."""
    calls: list[int] = []

    def agent(view: AgentView) -> AgentTurn:
        calls.append(view.turn)
        return AgentTurn(draft=DiagnosisDraft(None))

    durable = build(agent)
    first = durable.run("q", run_id="run-1")
    assert durable.run("q", run_id="run-1").record == first.record
    assert durable.result("run-1").record == first.record
    assert calls == [1]


def test_the_client_is_a_stream_of_the_engine(build: Build) -> None:
    """Whoever reads the events gets them in the contract's order, the content once."""
    durable = build()
    run_id = durable.start("q", stream=True)
    kinds = [event.kind.name for event in durable.events(run_id)]
    assert kinds[0] == "METADATA"
    assert kinds[-2:] == ["CONTENT", "DONE"]
    assert durable.result(run_id).record.delivered


def test_a_retry_waits_and_draws_its_backoff_in_steps(build: Build) -> None:
    """A failed attempt, its backoff and the wait are steps, and the attempt is counted."""
    failures = [TimeoutError("overloaded")]
    drawn: list[int] = []

    def router(_request: Request) -> Route:
        if failures:
            raise failures.pop()
        return Route(Intent.DIAGNOSIS)

    def backoff(_component: object, number: int) -> float:
        drawn.append(number)
        return 1.5

    clock = VirtualClock()
    result = build(router=router, backoff=backoff, clock=clock).run("q", run_id="run-1")
    assert result.record.run_state is RunState.SUCCESS
    assert drawn == [1]
    assert clock.monotonic() == 1.5
    names = [step["function_name"] for step in DBOS.list_workflow_steps("run-1")]
    assert names.count("INTENT_ROUTER") == 2
    assert "backoff" in names
    assert "wait" in names


@pytest.mark.parametrize("broken", ["ids", "backoff", "wait"])
def test_a_source_that_raises_ends_the_run_as_ever(build: Build, broken: str) -> None:
    """What an id source, a backoff or a wait raises goes through its step to the flow."""

    def fail(*_arguments: object) -> Any:
        raise OSError(broken)

    class Clock(VirtualClock):
        def wait(self, seconds: float, wake: Event) -> None:
            fail()

    def router(_request: Request) -> Route:
        message = "overloaded"
        raise TimeoutError(message)

    parts: dict[str, dict[str, Any]] = {
        "ids": {"ids": fail},
        "backoff": {"router": router, "backoff": fail},
        "wait": {"router": router, "backoff": lambda *_: 1.0, "clock": Clock()},
    }
    record = build(**parts[broken]).run("q", run_id="run-1").record
    assert record.stop_cause is StopCause.INTERNAL_ERROR
    assert record.public is not None
    assert record.public.code == "INTERNAL_ERROR"


def test_a_host_interrupt_is_an_ending(build: Build) -> None:
    """A KeyboardInterrupt out of a tool ends the run; the process of the caller is not meant."""

    class Tool(_Tool):
        @staticmethod
        def execute(_call: ToolCall, _attempt: object = None) -> list[Fact]:
            raise KeyboardInterrupt

    record = build(tools=[Tool()]).run("q").record
    assert (record.run_state, record.stop_cause) == (RunState.CANCELLED, StopCause.INTERRUPTED)


def test_a_run_of_that_id_from_elsewhere_is_refused(build: Build) -> None:
    """The run store has the id: nothing is run, and the caller gets the store's answer."""
    store = MemoryRunStore()
    Harness(_agent, [_Tool()], run_store=store).run("q", run_id="run-1")
    durable = build(run_store=store)
    with pytest.raises(RunExistsError, match="run-1"):
        durable.run("q", run_id="run-1")


# --- cancel


class _CancellingTool:
    """Cancels its own run, as another process would, while it is called."""

    name, description, parameters = "search_log", "Search the log.", None

    def __init__(self) -> None:
        self.durable: DurableHarness | None = None
        self.calls = 0
        self.thread: Thread | None = None
        self.records: list[Any] = []

    def execute(self, call: ToolCall, _attempt: object = None) -> list[Fact]:
        """Answer, once the engine has cancelled the run."""
        self.calls += 1
        durable = self.durable
        assert durable is not None
        run_id = str(DBOS.workflow_id)
        thread = Thread(target=lambda: DBOS.cancel_workflow(run_id))
        thread.start()
        thread.join()
        self.thread = Thread(target=lambda: self.records.append(durable.cancel(run_id)))
        self.thread.start()
        return _search(call)


def test_a_cancel_ends_the_run_where_it_is_executed(build: Build) -> None:
    """The next step is refused: the run ends CANCELLED with what it knows, publishing nothing."""
    tool = _CancellingTool()
    durable = tool.durable = build(tools=[tool])
    result = durable.run("q", run_id="run-1")
    assert tool.thread is not None
    tool.thread.join()
    record = result.record
    assert record.run_state is RunState.CANCELLED
    assert record.stop_cause is StopCause.CANCELLED_BY_CALLER
    assert record.cancel_reason == "cancelled through the engine"
    assert record.used.tool_calls == 1
    assert tool.calls == 1
    assert result.text == ""
    assert tool.records == [record]


def test_a_cancel_ends_a_run_that_nobody_executes(build: Build) -> None:
    """Its process is gone: the compare-and-set of the run store ends it, and says who did."""
    store = _Abandoned()
    durable = build(run_store=store, clock=VirtualClock())
    record = durable.cancel("run-9", "no longer needed", grace=0.1)
    assert record is not None
    assert record.run_state is RunState.CANCELLED
    assert record.cancel_reason == "no longer needed"
    assert store.load("run-9") == record
    assert durable.cancel("run-9") == record
    assert durable.cancel("unheard-of") is None


class _Abandoned(MemoryRunStore):
    """A run store in which a crash has left a run RUNNING."""

    def __init__(self) -> None:
        super().__init__()
        opened: list[Any] = []

        class Opened(MemoryRunStore):
            def begin(self, record: Any) -> None:
                opened.append(record)
                super().begin(record)

        Harness(_agent, [_Tool()], run_store=Opened()).run("q", run_id="run-9")
        self.begin(opened[0])


def test_a_cancelled_run_that_never_began_has_no_ending(build: Build) -> None:
    """Where the store does not know the run either, the engine's own error is the answer."""
    tool = _CancellingTool()
    store = MemoryRunStore()
    durable = tool.durable = build(tools=[tool], run_store=store)
    durable.run("q", run_id="run-1")
    store.clear()
    with pytest.raises(Exception, match="cancelled"):
        durable.result("run-1")


# --- what is refused


def test_wrong_arguments_are_named(build: Build) -> None:
    """Each names the argument, the value and what is allowed."""
    durable = build()
    with pytest.raises(InvalidArgumentError, match=r"harness.*a Harness"):
        DurableHarness(object())  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="without a journal"):
        DurableHarness(Harness(_agent, journal=MemoryJournal()))
    with pytest.raises(InvalidArgumentError, match="name"):
        DurableHarness(Harness(_agent), " ")
    with pytest.raises(InvalidArgumentError, match=r"run_id.*a run that was started"):
        durable.result("nobody")
    with pytest.raises(InvalidArgumentError, match="deadline"):
        durable.start("q", deadline=-1)


def test_the_engine_s_own_fault_is_the_engine_s(build: Build, monkeypatch: Any) -> None:
    """A step that the engine cannot take leaves the workflow as it is; no ending is invented."""
    from dbos import error  # noqa: PLC0415

    store = MemoryRunStore()
    durable = build(run_store=store)
    _raising(monkeypatch, "DIAGNOSIS_AGENT", error.DBOSException("its database is gone"))
    with pytest.raises(error.DBOSException, match="its database is gone"):
        durable.run("q", run_id="run-1")
    record = store.load("run-1")
    assert record is not None
    assert record.run_state is RunState.RUNNING


def _raising(monkeypatch: Any, name: str, error: BaseException) -> None:
    """Let the engine refuse the first step of a name."""
    real, errors = DBOS.run_step, [error]

    def run_step(options: Any, body: Any) -> Any:
        if options["name"] == name and errors:
            raise errors.pop()
        return real(options, body)

    monkeypatch.setattr(DBOS, "run_step", run_step)


def test_a_cancel_between_two_steps_makes_no_further_call(build: Build, monkeypatch: Any) -> None:
    """The engine refuses the step of the tool: it is not called, and the client gets no content."""
    real = DBOS.run_step

    def run_step(options: Any, body: Any) -> Any:
        if options["name"] == "TOOL search_log":
            # as another process does it: outside of the workflow
            Context().run(DBOS.cancel_workflow, "run-1")
        return real(options, body)

    tool = _CancellingTool()
    durable = build(tools=[tool])
    monkeypatch.setattr(DBOS, "run_step", run_step)
    durable.start("q", run_id="run-1", stream=True)
    record = durable.result("run-1").record
    assert tool.calls == 0
    assert record.run_state is RunState.CANCELLED
    assert not record.delivered


def test_a_workflow_that_another_process_took_over_is_left_to_it(
    build: Build, monkeypatch: Any
) -> None:
    """The engine's own signal goes on to the engine: no ending is made of it here."""
    from dbos import error  # noqa: PLC0415

    build()
    _raising(monkeypatch, "clock", error.DBOSWorkflowConflictIDError("run-1"))
    with pytest.raises(SeamBroken, match="run-1"):
        _Engine().step("clock", str)


def test_the_code_of_the_page_runs(tmp_path: Path, monkeypatch: Any) -> None:
    """What the how-to page tells the reader to type works as it stands there."""
    page = Path(__file__).parents[2] / "docs" / "how-to" / "durable.md"
    monkeypatch.chdir(tmp_path)
    printed: list[Any] = []
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
        exec(block, {"print": printed.append, "__name__": "page"})  # noqa: S102  our own page
    assert printed[0].record.release_outcome is ReleaseOutcome.SUCCESS
    DBOS.destroy(destroy_registry=True)


# --- crashes


_PLAIN = {
    "run": "SUCCESS",
    "cause": "REPORT_APPROVED",
    "outcome": "SUCCESS",
    "text": f"{_CONCLUSION}\n",
    "attempts": [*(["DIAGNOSIS_AGENT", "TOOL"] * 2), "DIAGNOSIS_AGENT", "SEMANTIC_GUARD"],
    "budget": [4, 2],
}
_CALLS = Counter({"DIAGNOSIS_AGENT": 3, "TOOL": 2})


@pytest.mark.parametrize(
    ("position", "step"),
    [("9+", "clock"), ("10-", "DIAGNOSIS_AGENT"), ("18-", "TOOL search_log"), ("31+", "utc")],
)
def test_a_killed_process_is_recovered(tmp_path: Path, position: str, step: str) -> None:
    """A short form of the kill table: killed there and started again, no call is made twice."""
    plain = kill_table.Row("", "", killed=False, ending=_PLAIN, calls=_CALLS)
    row = kill_table.killed_at(tmp_path, position, step)
    assert kill_table.fault_of(row, plain) is None


def test_the_kill_table_names_what_is_wrong() -> None:
    """A process that survived, a repeated call and another ending are each told."""
    plain = kill_table.Row("", "", killed=False, ending=_PLAIN, calls=_CALLS)
    assert kill_table.fault_of(plain, plain) == "the process was not killed"
    twice = Counter({"DIAGNOSIS_AGENT": 4, "TOOL": 2})
    row = kill_table.Row("9+", "clock", killed=True, ending=_PLAIN, calls=twice)
    assert kill_table.fault_of(row, plain) == "a call was made that is not counted"
    other = {**_PLAIN, "outcome": "FALLBACK"}
    row = kill_table.Row("9+", "clock", killed=True, ending=other, calls=_CALLS)
    assert kill_table.fault_of(row, plain) == "differs: outcome"

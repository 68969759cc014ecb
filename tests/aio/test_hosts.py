"""Host objects of the asynchronous driver: asynchronous or plain, awaited where that is needed."""

import asyncio
import functools
import sys
from collections.abc import Coroutine
from functools import partial
from types import ModuleType
from typing import Any

import pytest

import harness
from harness import (
    AgentTurn,
    AsyncHarness,
    Citation,
    DiagnosisDraft,
    Harness,
    Intent,
    Limits,
    RepairCase,
    Request,
    Route,
    RunResult,
    Usage,
)
from harness.errors import AwaitableResultError, InvalidArgumentError, ProviderTimeoutError
from harness.ports import Attempt
from harness.stores.memory import MemoryCanonicalStore, MemoryRunStore
from harness.testing import RecordingClient
from tests.aio.worlds import (
    Slow,
    approve,
    asking,
    ending,
    leaping,
    sleeping,
    tool,
    world,
)

_STORES = {
    "canonical_store": ("save", "load"),
    "run_store": ("begin", "finish", "mark_delivered"),
}


def _later(function: Any) -> Any:
    """The function as a coroutine function that takes a turn of the loop."""

    @functools.wraps(function)
    async def call(*arguments: Any) -> Any:
        await asyncio.sleep(0)
        return function(*arguments)

    return call


def _all_asynchronous() -> AsyncHarness:
    """A harness in which everything suspends, whose first draft needs a repair."""

    def agent(view: harness.AgentView) -> AgentTurn:
        turn = asking(["logs"])(view)
        return turn if turn.draft is None else AgentTurn(draft=DiagnosisDraft("a", [Citation("E")]))

    def repair(case: RepairCase, _attempt: Attempt) -> DiagnosisDraft:
        record = case.records[0]
        return DiagnosisDraft(record.facts[0].text, [Citation(record.invocation_id, 1)])

    return world(
        _later(agent),
        sleeping("logs", 1),
        router=_later(lambda _request: Route(Intent.DIAGNOSIS)),
        repairer=_later(repair),
        semantic_guard=_later(approve),
        canonical_store=Slow(MemoryCanonicalStore(), save=0, load=0),
        run_store=Slow(MemoryRunStore(), begin=0, finish=0, mark_delivered=0),
    )


def test_every_host_object_may_be_asynchronous() -> None:
    """Router, agent, tool, repairer, guard, stores and client are awaited, one after the other."""
    client = RecordingClient()

    async def main() -> RunResult:
        return await _all_asynchronous().run("why?", client=Slow(client, send=0))

    record = leaping(main).record
    assert ending(record) == ("SUCCESS", "REPORT_APPROVED", "SUCCESS")
    assert record.gates.repaired
    assert record.delivered
    assert [kind.name for kind in client.kinds][-2:] == ["CONTENT", "DONE"]


def test_an_asynchronous_responder_replies() -> None:
    """A general request is answered by an asynchronous responder."""
    general = world(
        asking(),
        router=_later(lambda _request: Route(Intent.GENERAL)),
        responder=_later(lambda _request: "Hello."),
    )
    assert leaping(lambda: general.run("hello")).text == "Hello."


def _steps(coroutine: Coroutine[Any, Any, Any]) -> int:
    """How often a coroutine suspends."""
    count = 0
    while True:
        try:
            coroutine.send(None)
        except StopIteration:
            return count
        count += 1


def test_plain_host_objects_never_suspend() -> None:
    """A run of plain functions takes no turn of the loop, starts no task and needs no timer."""
    plain = world(asking(["logs"]), tool("logs", lambda: "a"), limits=Limits(deadline=9))

    async def main() -> int:
        return _steps(plain.run("why?"))

    assert leaping(main) == 0


def test_no_task_is_started_for_a_call() -> None:
    """A run of asynchronous calls with plain stores stays in the task of its caller."""
    tasks: list[str] = []

    def noting(loop: Any, work: Any, **named: Any) -> Any:
        tasks.append(str(work))
        return asyncio.Task(work, loop=loop, **named)

    async def main() -> None:
        asyncio.get_running_loop().set_task_factory(noting)
        await world(asking(["a"], ["b"]), sleeping("a", 1), sleeping("b", 1)).run("why?")
        asyncio.get_running_loop().set_task_factory(None)

    leaping(main)
    assert tasks == []


def test_what_is_awaited_need_not_be_a_coroutine() -> None:
    """A tool may give back a future, or anything else that can be awaited."""

    def body() -> object:
        return asyncio.get_running_loop().create_task(asyncio.sleep(1, "a"))

    record = leaping(lambda: world(asking(["logs"]), tool("logs", body)).run("why?")).record
    assert record.invocations[0].is_ready


def test_a_failure_of_an_awaited_call_is_classified() -> None:
    """What an asynchronous agent raises is classified as what a plain one raises."""

    async def agent(_view: object) -> AgentTurn:
        raise ProviderTimeoutError("gone", usage=Usage(3, 4))

    record = leaping(lambda: world(agent).run("why?")).record
    assert ending(record) == ("FAILED", "AGENT_UNAVAILABLE", "FAILED")
    assert record.attempts[0].failure is harness.FailureKind.TIMEOUT
    assert record.used.tokens == 7


def test_a_plain_interrupt_goes_on_after_the_record_was_saved() -> None:
    """What a plain function raises that is no ``Exception`` is raised again, and recorded."""

    def body() -> None:
        raise SystemExit(3)

    interrupted = world(asking(["logs"]), tool("logs", body))
    with pytest.raises(SystemExit):
        leaping(lambda: interrupted.run("why?"))
    (record,) = interrupted.run_store._records.values()  # type: ignore[attr-defined]
    assert ending(record) == ("CANCELLED", "INTERRUPTED", "CANCELLED")


def test_a_request_beside_a_context_is_refused() -> None:
    """Wrong arguments of a run are refused before anything runs."""
    refused = world(asking())
    with pytest.raises(InvalidArgumentError, match="nothing beside a whole Request"):
        leaping(lambda: refused.run(Request("why?"), context={"a": "b"}))
    with pytest.raises(InvalidArgumentError, match="cancel is 3; allowed"):
        leaping(lambda: refused.run("why?", cancel=3))  # type: ignore[arg-type]


@pytest.mark.parametrize("most", [0, -1, True, 1.0, "8"])
def test_parallel_tools_are_a_number_from_one(most: object) -> None:
    """How many tools run together is a whole number from 1."""
    with pytest.raises(InvalidArgumentError, match="max_parallel_tools"):
        AsyncHarness(asking(), max_parallel_tools=most)  # type: ignore[arg-type]


def test_the_synchronous_harness_refuses_what_it_cannot_do() -> None:
    """Tools together, and asynchronous functions and generators, need the asynchronous one."""

    async def items() -> Any:
        yield "a"

    with pytest.raises(InvalidArgumentError, match="1; an AsyncHarness runs tools together"):
        Harness(asking(), max_parallel_tools=2)
    with pytest.raises(AwaitableResultError, match="use AsyncHarness"):
        Harness(asking(), [tool("logs", items)])


def test_without_a_loop_there_is_no_run() -> None:
    """Outside asyncio, under another library say, the error says what to use instead."""
    with pytest.raises(RuntimeError, match="elsewhere, run a Harness in a thread"):
        _steps(world(asking()).run("why?"))


@pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks came with Python 3.12")
def test_eager_tasks_change_nothing() -> None:
    """A loop whose tasks begin at once gives the same record, streams and batches alike."""
    host = world(asking("ab", "a"), sleeping("a", 1), tool("b", lambda: "b"))

    async def main(factory: Any) -> RunResult | None:
        asyncio.get_running_loop().set_task_factory(factory)
        events = host.stream("why?", run_id=str(factory))
        assert [event.kind.name async for event in events][-2:] == ["CONTENT", "DONE"]
        asyncio.get_running_loop().set_task_factory(None)
        return events.result

    eager = getattr(asyncio, "eager_task_factory", None)
    plain, other = leaping(partial(main, None)), leaping(partial(main, eager))
    assert plain is not None
    assert other is not None
    assert plain.record.trace.codes == other.record.trace.codes
    assert plain.text == other.text


def test_the_names_are_loaded_when_somebody_asks() -> None:
    """The package lists its asynchronous names, and has no others."""
    assert {"AsyncHarness", "run_many", "run_many_async", "in_threads"} <= set(dir(harness))
    with pytest.raises(AttributeError, match="has no attribute 'Asynchronous'"):
        _ = harness.Asynchronous


@pytest.mark.parametrize("module", [None, ModuleType("trio.lowlevel")])
def test_trio_is_looked_for_where_it_is(
    module: ModuleType | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without trio, or with one that is just being imported, asyncio runs as ever."""
    monkeypatch.setitem(sys.modules, "trio.lowlevel", module)
    host = world(asking(["logs"]), tool("logs", lambda: "a"))
    assert ending(leaping(lambda: host.run("why?")).record) == (
        "SUCCESS",
        "REPORT_APPROVED",
        "SUCCESS",
    )

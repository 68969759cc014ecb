"""The caller's own cancel: the record is saved first, then it goes on (section 3.1)."""

import asyncio
import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness import AgentTurn, AsyncHarness, CancelToken, DiagnosisDraft, RunRecord
from harness.errors import ClientGoneError, RateLimitedError, RunExistsError
from harness.stores.memory import MemoryCanonicalStore, MemoryRunStore
from harness.testing import RecordingClient
from tests.aio.worlds import (
    LeapingLoop,
    Slow,
    asking,
    ending,
    leaping,
    only,
    sleeping,
    tool,
    turns,
    until,
    world,
)

_INTERRUPTED = ("CANCELLED", "INTERRUPTED", "CANCELLED")
_APPROVED = ("SUCCESS", "REPORT_APPROVED", "SUCCESS")


def _cancelled_at(host: AsyncHarness, *instants: float, **given: Any) -> None:
    """Run in a task that is cancelled at some instants; the cancel has to come out of it."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        task = loop.create_task(host.run("why?", **given))
        for instant in instants:
            loop.call_at(instant, task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    leaping(main)


@pytest.mark.parametrize("times", [1, 2])
def test_a_cancelled_call_interrupts_the_run(times: int) -> None:
    """The task's cancel reaches the call under way, and goes on once the record is saved."""
    host = world(asking(["logs"]), sleeping("logs", 99), run_store=MemoryRunStore())
    _cancelled_at(host, *([2] * times))
    record = only(host)
    assert ending(record) == _INTERRUPTED
    assert record.attempts[-1].outcome.name == "INTERRUPTED"
    assert record.record_saved


def test_a_second_cancel_does_not_cut_the_saving_short() -> None:
    """The ending is shielded: the record is saved although the task is cancelled again."""
    store = Slow(MemoryRunStore(), finish=5)
    host = world(asking(["logs"]), sleeping("logs", 99), run_store=store)
    _cancelled_at(host, 2, 3, 4)
    assert store.cut == []
    (record,) = store._host._records.values()
    assert ending(record) == _INTERRUPTED


@pytest.mark.parametrize("method", ["finish", "mark_delivered"])
def test_a_cancel_during_the_ending_changes_no_ending(method: str) -> None:
    """A cancel while a decided record is saved or marked comes out afterwards."""
    store = Slow(MemoryRunStore(), **{method: 5})
    host = world(asking(["logs"]), tool("logs", lambda: "a"), run_store=store)
    _cancelled_at(host, 2, client=RecordingClient())
    (record,) = store._host._records.values()
    assert ending(record) == _APPROVED
    assert store._host.load(record.run_id).delivered


def test_a_cancel_while_the_run_is_opened() -> None:
    """The opening is not cut short either: the run is ended in the store, nobody was asked."""
    store = Slow(MemoryRunStore(), begin=5)
    _cancelled_at(world(asking(), run_store=store), 2)
    (record,) = store._host._records.values()
    assert ending(record) == _INTERRUPTED
    assert len(record.attempts) == 0


def test_a_cancel_while_evidence_is_read_back() -> None:
    """A fallback is written from what the store has, though the task is cancelled meanwhile."""
    canonical = MemoryCanonicalStore()
    loads: list[str] = []

    async def load(invocation_id: str) -> Any:
        loads.append(invocation_id)
        await asyncio.sleep(5 if len(loads) == 2 else 0)
        return canonical.load(invocation_id)

    store = Slow(canonical)
    store.load = load  # type: ignore[attr-defined]
    found = asking(["logs"])

    def agent(view: Any) -> AgentTurn:
        turn = found(view)
        return turn if turn.draft is None else AgentTurn(draft=DiagnosisDraft(None))

    host = world(agent, tool("logs", lambda: "a"), canonical_store=store)
    _cancelled_at(host, 2)
    assert ending(only(host)) == ("SUCCESS", "NO_CONCLUSION", "FALLBACK")


def test_a_cancel_while_the_content_is_sent() -> None:
    """A transport is not shielded: the record stays as it was decided, undelivered."""
    client = RecordingClient()
    host = world(asking(["logs"]), tool("logs", lambda: "a"))

    class Stuck:
        async def send(self, event: Any) -> None:
            if event.kind.name == "CONTENT":
                await asyncio.Future()
            client.send(event)

    _cancelled_at(host, 2, client=Stuck())
    assert ending(only(host)) == _APPROVED
    assert not only(host).delivered
    assert [kind.name for kind in client.kinds][-1] == "STATUS"


def test_a_cancelled_run_still_tells_its_client() -> None:
    """A client that is still there gets the end of an interrupted run."""
    client = RecordingClient()
    host = world(asking(["logs"]), sleeping("logs", 99))
    _cancelled_at(host, 2, client=Slow(client, send=0))
    assert [kind.name for kind in client.kinds][-1] == "DONE"


def test_a_cancel_during_a_wait() -> None:
    """A wait between two attempts is interrupted like a call."""

    def route(_request: object) -> Any:
        raise RateLimitedError(retry_after=30)

    host = world(asking(), router=route)
    _cancelled_at(host, 2)
    assert ending(only(host)) == _INTERRUPTED
    assert only(host).trace[-1].at == 2


def test_a_cancel_that_the_host_keeps_to_itself() -> None:
    """A host that swallows its caller's cancel cannot swallow it for the harness."""

    async def body() -> object:
        try:
            return await asyncio.Future()
        except asyncio.CancelledError:
            return "found"

    host = world(asking(["logs"]), tool("logs", body))
    _cancelled_at(host, 2)
    assert ending(only(host)) == _INTERRUPTED
    assert only(host).invocations == ()


def test_a_cancel_together_with_an_abort() -> None:
    """Where the deadline and the caller fall together, the run timed out and the cancel goes on."""
    host = world(asking(["logs"]), sleeping("logs", 99))
    _cancelled_at(host, 10, deadline=10)
    assert only(host).stop_cause is not None
    assert only(host).attempts[-1].late


def test_a_time_out_of_the_caller_stays_a_time_out() -> None:
    """``asyncio.timeout`` around a run sees its own cancel, and the record is saved."""
    host = world(asking(["logs"]), sleeping("logs", 99))

    async def main() -> None:
        async with asyncio.timeout(3):
            await host.run("why?")

    with pytest.raises(TimeoutError):
        leaping(main)
    assert ending(only(host)) == _INTERRUPTED


def test_a_failing_sibling_cancels_the_run() -> None:
    """In a task group the run is cancelled with its siblings."""
    host = world(asking(["logs"]), sleeping("logs", 99))

    async def fail() -> None:
        await asyncio.sleep(1)
        raise LookupError

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(host.run("why?"))
            group.create_task(fail())

    with pytest.raises(ExceptionGroup):
        leaping(main)
    assert ending(only(host)) == _INTERRUPTED


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupt_of_an_asynchronous_host(interrupt: type[BaseException]) -> None:
    """What a coroutine raises that is no ``Exception`` is recorded, then raised again."""

    async def body() -> None:
        await asyncio.sleep(1)
        raise interrupt

    store = Slow(MemoryRunStore(), begin=0, finish=1)
    host = world(asking(["logs"]), tool("logs", body), run_store=store)

    async def main() -> None:
        with pytest.raises(interrupt):
            await host.run("why?")

    leaping(main)
    (record,) = store._host._records.values()
    assert ending(record) == _INTERRUPTED


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_of_an_asynchronous_run_store(interrupt: type[BaseException]) -> None:
    """An interrupt inside the shield comes out of the run, not out of the loop."""

    class Interrupted(MemoryRunStore):
        async def finish(self, record: RunRecord) -> None:  # type: ignore[override]
            await asyncio.sleep(1)
            raise interrupt

    host = world(asking(["logs"]), tool("logs", lambda: "a"), run_store=Interrupted())

    async def main() -> None:
        with pytest.raises(interrupt):
            await host.run("why?")

    leaping(main)


def test_a_refused_run_passes_the_cancel_on() -> None:
    """A run whose id exists was not run; a cancel that came meanwhile is not lost for that."""
    store = MemoryRunStore()
    leaping(lambda: world(asking(), run_store=store).run("why?", run_id="r"))
    slow = world(asking(), run_store=Slow(store, begin=5))
    with pytest.raises(RunExistsError):
        leaping(lambda: slow.run("why?", run_id="r"))
    _cancelled_at(slow, 2, run_id="r")
    assert len(store) == 1


def test_a_stranger_cancels_every_task() -> None:
    """Cancelling all tasks, as ``asyncio.run`` does at its end, interrupts the run too."""
    token = CancelToken()
    host = world(asking(["a", "b"]), sleeping("a", 99), sleeping("b", 99))

    async def main() -> None:
        task = asyncio.create_task(host.run("why?", cancel=token))
        await until(lambda: len(asyncio.all_tasks()) > 3)
        for other in asyncio.all_tasks() - {asyncio.current_task()}:
            other.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    leaping(main)
    assert ending(only(host)) == _INTERRUPTED


def test_a_stranger_cancels_the_saving_before_it_began() -> None:
    """A cancelled task of the shield that never ran leaves no coroutine that nobody awaited."""
    store = Slow(MemoryRunStore(), finish=5)
    host = world(asking(["logs"]), tool("logs", lambda: "a"), run_store=store)

    async def main() -> None:
        task = asyncio.create_task(host.run("why?"))
        await until(lambda: len(asyncio.all_tasks()) > 2)
        for other in asyncio.all_tasks() - {asyncio.current_task(), task}:
            other.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    leaping(main)


def _abandoned(host: AsyncHarness, reached: Callable[[], bool], *, closed: bool = True) -> None:
    """Run until something holds, then close the loop, and the coroutine that still waits."""
    complaints: list[str] = []
    loop = LeapingLoop()
    loop.set_exception_handler(lambda _loop, what: complaints.append(what["message"]))
    coroutine = host.run("why?")
    task = loop.create_task(coroutine)
    loop.run_until_complete(until(reached))
    loop.close()
    if closed:
        coroutine.close()
    del task, coroutine
    gc.collect()
    # asyncio's own words for what was done to it, for each task; nothing of the harness's
    assert set(complaints) == {"Task was destroyed but it is pending!"}


@pytest.mark.parametrize("batch", [["a"], ["a", "b"]])
def test_a_run_whose_loop_is_gone_still_saves_its_record(batch: list[str]) -> None:
    """A coroutine that is closed amid a call ends the run without awaiting anything."""
    began = []

    async def body() -> None:
        began.append(1)
        await asyncio.Future()

    host = world(asking(batch), tool("a", body), tool("b", body))
    _abandoned(host, lambda: len(began) == len(batch))
    assert ending(only(host)) == _INTERRUPTED


def test_a_run_whose_loop_is_gone_awaits_no_store() -> None:
    """An asynchronous store cannot save the record any more; nothing is raised."""
    began = []

    async def body() -> None:
        began.append(1)
        await asyncio.Future()

    store = Slow(MemoryRunStore(), finish=0)
    _abandoned(world(asking(["a"]), tool("a", body), run_store=store), lambda: bool(began))
    (record,) = store._host._records.values()
    assert record.run_state.name == "RUNNING"


class _Later:
    """An awaitable that is no coroutine."""

    def __await__(self) -> Iterator[None]:
        yield


def test_a_run_whose_loop_is_gone_leaves_an_awaitable_alone() -> None:
    """What a store gives back then may be any awaitable."""
    began = []

    async def body() -> None:
        began.append(1)
        await asyncio.Future()

    class Lazy(MemoryRunStore):
        def finish(self, record: RunRecord) -> Any:
            return _Later()

    host = world(asking(["a"]), tool("a", body), run_store=Lazy())
    _abandoned(host, lambda: bool(began))
    assert only(host).run_state.name == "RUNNING"


def test_a_run_that_is_collected_with_its_loop() -> None:
    """A task that nobody keeps is lost like a crash is, without a word of the harness's."""
    began = []

    async def body() -> None:
        began.append(1)
        await asyncio.Future()

    store = Slow(MemoryRunStore(), finish=0)
    host = world(asking(["a", "b"]), tool("a", body), tool("b", body), run_store=store)
    _abandoned(host, lambda: len(began) == 2, closed=False)


def test_a_run_whose_loop_is_gone_while_it_saves() -> None:
    """A shield that is closed leaves the call inside alone."""
    began = []

    class Saving(MemoryRunStore):
        async def finish(self, record: RunRecord) -> None:  # type: ignore[override]
            began.append(1)
            await asyncio.Future()

    _abandoned(world(asking(), run_store=Saving()), lambda: bool(began))


def test_a_client_that_leaves_ends_an_asynchronous_run() -> None:
    """An asynchronous transport says that its client is gone as a plain one does."""

    class Gone:
        async def send(self, event: Any) -> None:
            await turns(1)
            raise ClientGoneError

    record = leaping(lambda: world(asking()).run("why?", client=Gone())).record
    assert ending(record) == ("CANCELLED", "CLIENT_DISCONNECTED", "CANCELLED")

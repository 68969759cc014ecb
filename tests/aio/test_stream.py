"""The events of a run as an asynchronous iterator whose consumer may leave at any time (3.10)."""

import asyncio
import gc
from typing import Any

import pytest

from harness import AgentTurn, CancelToken, DiagnosisDraft, RunEvents, StreamEvent
from harness.errors import InvalidArgumentError, RunExistsError
from harness.stores.memory import MemoryRunStore
from tests.aio.worlds import (
    LeapingLoop,
    Slow,
    asking,
    ending,
    has_ended,
    leaping,
    only,
    sleeping,
    tool,
    turns,
    until,
    world,
)

_GONE = ("CANCELLED", "CLIENT_DISCONNECTED", "CANCELLED")
_APPROVED = ("SUCCESS", "REPORT_APPROVED", "SUCCESS")
_INTERRUPTED = ("CANCELLED", "INTERRUPTED", "CANCELLED")
_ALL = ["METADATA", "STATUS", "STATUS", "STATUS", "STATUS", "STATUS", "CONTENT", "DONE"]


def _kinds(events: list[StreamEvent]) -> list[str]:
    return [event.kind.name for event in events]


async def _read(events: RunEvents, seen: list[str]) -> None:
    """Read the kinds, one by one, so that those before an error are seen."""
    async for event in events:
        seen.append(event.kind.name)  # noqa: PERF401


def _alone() -> bool:
    return asyncio.all_tasks() == {asyncio.current_task()}


def test_a_stream_gives_every_event_and_the_result() -> None:
    """From ``METADATA`` to ``DONE``, and when the iteration ends the run has ended."""
    host = world(asking(["logs"]), sleeping("logs", 1))

    async def main() -> RunEvents:
        events = host.stream("why?")
        assert events.result is None
        assert _kinds([event async for event in events]) == _ALL
        assert _alone()
        return events

    events = leaping(main)
    assert events.result is not None
    assert events.result.record.delivered
    assert ending(events.result.record) == _APPROVED


def test_content_is_delivered_when_it_is_taken() -> None:
    """A consumer that does not come back for the content has not received it."""
    host = world(asking(["logs"]), tool("logs", lambda: "a"))

    async def main() -> None:
        events = host.stream("why?")
        await until(lambda: has_ended(host))
        assert not host.run_store._delivered  # type: ignore[attr-defined]
        await events.aclose()
        assert _alone()

    leaping(main)
    assert ending(only(host)) == _APPROVED


def test_the_run_does_not_wait_for_a_reader_of_its_status() -> None:
    """A consumer that reads nothing holds no run up, and still gets every event."""
    host = world(asking(["logs"]), sleeping("logs", 5))

    async def main() -> list[StreamEvent]:
        events = host.stream("why?", deadline=10)
        await asyncio.sleep(60)
        return [event async for event in events]

    assert _kinds(leaping(main)) == _ALL


def _stuck() -> tuple[Any, list[str]]:
    """A harness whose first tool never answers, and what happened to its calls."""
    calls: list[str] = []

    async def provider() -> Any:
        calls.append("opened")
        try:
            await asyncio.Future()
            yield "never"
        finally:
            calls.append("closed")

    async def swallowing() -> object:
        try:
            return await asyncio.Future()
        except asyncio.CancelledError:
            return None

    def never() -> str:
        calls.append("never")
        return "never"

    tools = (tool("t1", provider), tool("t2", swallowing), tool("t3", never))
    return world(asking(["t1", "t2"], ["t3"]), *tools), calls


async def _break(host: Any, calls: list[str]) -> None:
    async for _ in host.stream("why?"):
        await until(lambda: calls)
        break


async def _collected(host: Any, calls: list[str]) -> None:
    events = host.stream("why?")
    await anext(events)
    await until(lambda: calls)
    del events
    gc.collect()


async def _closed(host: Any, calls: list[str]) -> None:
    async with host.stream("why?") as events:
        assert (await anext(events)).kind.name == "METADATA"
        await until(lambda: calls)
    assert _alone()


async def _raised(host: Any, calls: list[str]) -> None:
    async def consume() -> None:
        async with host.stream("why?"):
            await until(lambda: calls)
            raise LookupError

    with pytest.raises(LookupError):
        await consume()
    assert _alone()


async def _unread(host: Any, calls: list[str]) -> None:
    host.stream("why?")
    await until(lambda: has_ended(host))


async def _closed_unread(host: Any, calls: list[str]) -> None:
    await host.stream("why?").aclose()
    assert _alone()


@pytest.mark.parametrize(
    "leave",
    [_break, _collected, _closed, _raised, _unread, _closed_unread],
    ids=lambda f: f.__name__,
)
def test_a_consumer_that_leaves_cancels_the_run(leave: Any) -> None:
    """However it leaves, nothing raises, no task is left, and nothing more is called or saved."""
    host, calls = _stuck()

    async def main() -> None:
        await leave(host, calls)
        await until(_alone)

    leaping(main)
    record = only(host)
    assert ending(record) == _GONE
    assert record.invocations == ()
    assert not record.delivered
    assert calls in ([], ["opened", "closed"])
    models = [attempt.component.name for attempt in record.attempts]
    assert models.count("DIAGNOSIS_AGENT") <= 1


@pytest.mark.parametrize("leave", [_collected, _closed], ids=lambda f: f.__name__)
def test_a_detached_run_goes_on(leave: Any) -> None:
    """With ``DETACH`` the run ends as it would have, undelivered."""
    calls: list[str] = []

    async def body() -> str:
        calls.append("a")
        await asyncio.sleep(9)
        return "a"

    host = world(asking(["logs"]), tool("logs", body), on_disconnect="DETACH")

    async def main() -> None:
        events = host.stream("why?")
        await anext(events)
        await until(lambda: calls)
        if leave is _closed:
            await events.aclose()
        del events
        gc.collect()
        assert not _alone()
        await asyncio.sleep(60)
        assert _alone()

    leaping(main)
    assert ending(only(host)) == _APPROVED
    assert not only(host).delivered


def test_leaving_between_content_and_done() -> None:
    """A consumer that has its content and goes has received it; it leaves twice without harm."""
    host = world(asking(["logs"]), tool("logs", lambda: "a"))

    async def main() -> RunEvents:
        events = host.stream("why?")
        async for event in events:
            if event.kind.name == "CONTENT":
                break
        await events.aclose()
        await events.aclose()
        assert [event async for event in events] == []
        return events

    result = leaping(main).result
    assert result is not None
    assert result.record.delivered
    assert [kind.name for kind in result.record.events] == _ALL[:-1]


def test_leaving_after_the_end_changes_nothing() -> None:
    """A stream that was read to its end is closed already."""
    host = world(asking(["logs"]), tool("logs", lambda: "a"))

    async def main() -> None:
        async with host.stream("why?") as events:
            assert _kinds([event async for event in events]) == _ALL

    leaping(main)
    assert ending(only(host)) == _APPROVED


def test_a_reader_that_waits_is_woken_by_the_closing() -> None:
    """Closing ends an iteration that waits for the next event in another task."""
    host, _calls = _stuck()

    async def main() -> list[StreamEvent]:
        events = host.stream("why?")

        async def read() -> list[StreamEvent]:
            return [event async for event in events]

        reader = asyncio.create_task(read())
        await turns(20)
        with pytest.raises(RuntimeError, match="one reader at a time"):
            await anext(events)
        await events.aclose()
        return await reader

    assert _kinds(leaping(main))[0] == "METADATA"


def test_one_event_may_be_waited_for_with_a_time_out() -> None:
    """Giving up one ``anext`` is no leaving: a heartbeat can be sent in between."""
    host = world(asking(["logs"]), sleeping("logs", 40))

    async def main() -> list[str]:
        seen: list[str] = []
        events = host.stream("why?")
        while True:
            try:
                seen.append((await asyncio.wait_for(anext(events), 15)).kind.name)
            except TimeoutError:
                seen.append("-")
            except StopAsyncIteration:
                return seen

    assert leaping(main) == [*_ALL[:3], "-", "-", *_ALL[3:]]


def test_a_cancelled_run_says_so() -> None:
    """A token cancels a streamed run, whose consumer is still there: ``DONE`` alone."""
    token = CancelToken()
    host = world(asking(["logs"]), sleeping("logs", 99))

    async def main() -> list[StreamEvent]:
        asyncio.get_running_loop().call_later(2, token.cancel)
        return [event async for event in host.stream("why?", cancel=token)]

    assert _kinds(leaping(main))[-2:] == ["STATUS", "DONE"]


def test_a_refused_run_raises_at_the_first_event() -> None:
    """A run whose id exists was not run; a wrong argument is refused at once."""
    store = MemoryRunStore()
    host = world(asking(["logs"]), tool("logs", lambda: "a"), run_store=store)

    async def main() -> None:
        await host.run("why?", run_id="r")
        with pytest.raises(RunExistsError):
            await anext(host.stream("why?", run_id="r"))
        with pytest.raises(InvalidArgumentError, match="deadline"):
            host.stream("why?", deadline=-1)
        with pytest.raises(InvalidArgumentError, match="cancel"):
            host.stream("why?", cancel=3)  # type: ignore[arg-type]

    leaping(main)


def test_an_interrupt_reaches_the_consumer() -> None:
    """What a host raises that is no ``Exception`` comes out of the iteration, not of the loop."""

    def body() -> None:
        raise KeyboardInterrupt

    host = world(asking(["logs"]), tool("logs", body))
    seen: list[str] = []

    async def main() -> None:
        with pytest.raises(KeyboardInterrupt):
            await _read(host.stream("why?"), seen)

    leaping(main)
    assert seen[-1] == "DONE"


def test_an_interrupt_without_a_consumer_goes_to_the_loop() -> None:
    """Where nobody iterates any more, an interrupt ends the task that carries the run."""

    async def body() -> None:
        await asyncio.sleep(5)
        raise SystemExit

    host = world(asking(["logs"]), tool("logs", body), on_disconnect="DETACH")

    async def main() -> None:
        await host.stream("why?").aclose()
        await asyncio.sleep(60)

    with pytest.raises(SystemExit):
        leaping(main)
    assert ending(only(host)) == ("CANCELLED", "INTERRUPTED", "CANCELLED")


def _cancel_others() -> None:
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()


def test_a_stranger_cancels_the_run_of_a_stream() -> None:
    """A cancel of the run's own task reaches the consumer after the record was saved."""
    host = world(asking(["logs"]), sleeping("logs", 99))

    async def main() -> None:
        events = host.stream("why?")
        for _ in range(3):
            await anext(events)
        await turns()
        _cancel_others()
        assert (await anext(events)).kind.name == "DONE"
        with pytest.raises(asyncio.CancelledError):
            await anext(events)

    leaping(main)
    assert ending(only(host)) == ("CANCELLED", "INTERRUPTED", "CANCELLED")


def test_a_stranger_cancels_the_run_before_it_began() -> None:
    """A stream whose task never ran says so, and leaves nothing that nobody awaited."""
    host = world(asking(["logs"]))

    async def main() -> None:
        events = host.stream("why?")
        _cancel_others()
        with pytest.raises(asyncio.CancelledError):
            await anext(events)
        await events.aclose()

    leaping(main)


def test_content_that_the_run_gave_up_is_not_given() -> None:
    """A run that is interrupted while it offers its content has not delivered it."""
    host = world(asking(["logs"]), tool("logs", lambda: "a"))

    async def main() -> list[str]:
        events = host.stream("why?")
        await until(lambda: has_ended(host))
        await turns()
        _cancel_others()
        seen: list[str] = []
        with pytest.raises(asyncio.CancelledError):
            await _read(events, seen)
        return seen

    assert leaping(main) == _ALL[:-2]
    assert not host.run_store._delivered  # type: ignore[attr-defined]


def test_leaving_while_a_given_up_content_waits() -> None:
    """What the run gave up is dropped with the rest when the consumer leaves."""
    store = Slow(MemoryRunStore(), finish=0)
    agent = lambda _view: AgentTurn(draft=DiagnosisDraft(None, missing_context=["a"]))  # noqa: E731
    host = world(agent, run_store=store)

    async def main() -> None:
        events = host.stream("why?")
        await until(lambda: len(events._channel._events) == 4)
        _cancel_others()
        events._channel.leave()
        await until(_alone)

    leaping(main)


def test_a_stream_that_is_dropped_with_its_loop() -> None:
    """A stream that outlives its loop is dropped without a word."""
    loop = LeapingLoop()
    host = world(asking(["logs"]), sleeping("logs", 1))

    async def main() -> RunEvents:
        return host.stream("why?")

    events = loop.run_until_complete(main())
    loop.set_exception_handler(lambda _loop, _what: None)
    loop.close()
    del events
    host._background.clear()
    gc.collect()
    assert len(host._background) == 0


def test_a_consumer_that_is_cancelled_twice_leaves_nothing_behind() -> None:
    """A second cancel while the block is left waits for the run's end too, and goes on then."""

    async def body() -> None:
        try:
            await asyncio.Future()
        finally:
            await asyncio.sleep(3)

    host = world(asking(["logs"]), tool("logs", body))

    async def consume() -> None:
        async with host.stream("why?") as events:
            async for _ in events:
                pass

    async def main() -> None:
        task = asyncio.create_task(consume())
        for instant in (1, 2):
            asyncio.get_running_loop().call_at(instant, task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert has_ended(host)

    leaping(main)
    assert ending(only(host)) == _GONE


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "awaited"])
def test_a_run_that_has_ended_is_freed_at_once(streamed: bool) -> None:
    """No circle of a run's parts waits for the garbage collection."""
    host = world(asking(["a", "b"]), sleeping("a", 1), sleeping("b", 1))

    async def once() -> None:
        if streamed:
            async with host.stream("why?") as events:
                assert _kinds([event async for event in events]) == _ALL
        else:
            await host.run("why?")

    async def main() -> int:
        await once()
        gc.collect()
        gc.disable()
        try:
            await once()
            await asyncio.sleep(1)
            return gc.collect()
        finally:
            gc.enable()

    assert leaping(main) == 0


@pytest.mark.parametrize("seconds", [0, 9])
def test_an_interrupt_meets_the_consumer_that_leaves(seconds: int) -> None:
    """What a host raises while its run is left, or before that, comes out of the block."""

    async def body() -> None:
        try:
            await asyncio.sleep(seconds)
        finally:
            raise KeyboardInterrupt

    host = world(asking(["logs"]), tool("logs", body))

    async def consume() -> None:
        async with host.stream("why?") as events:
            await anext(events)
            await asyncio.sleep(1)

    async def main() -> None:
        with pytest.raises(KeyboardInterrupt):
            await consume()

    leaping(main)
    assert ending(only(host)) == (_GONE if seconds else _INTERRUPTED)

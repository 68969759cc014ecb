"""The asynchronous driver under trio."""

import contextlib
import gc
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest

from harness import (
    AsyncHarness,
    Budget,
    CancelToken,
    Intent,
    Limits,
    ManyResult,
    Route,
    RunEvents,
    RunRecord,
    in_threads,
    run_many_async,
)
from harness.errors import ClientGoneError, RunExistsError
from harness.stores.memory import MemoryCanonicalStore, MemoryRunStore
from harness.testing import _suspending
from harness.testing.scenario import load_scenario, run_scenario
from tests.aio.drivers import differing_seeds
from tests.aio.test_random import World
from tests.aio.worlds import approve, asking, collecting, ending, has_ended, only, tool

trio = pytest.importorskip("trio", reason="trio is not installed: see the extra of that name")
pytest.importorskip("trio.testing")

T = TypeVar("T")

_CASES = sorted((Path(__file__).parents[1] / "conformance/cases").glob("*.json"))
_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
_APPROVED = ("SUCCESS", "REPORT_APPROVED", "SUCCESS")
_INTERRUPTED = ("CANCELLED", "INTERRUPTED", "CANCELLED")
_BY_CALLER = ("CANCELLED", "CANCELLED_BY_CALLER", "CANCELLED")
_GONE = ("CANCELLED", "CLIENT_DISCONNECTED", "CANCELLED")
_ALL = ["METADATA", "STATUS", "STATUS", "STATUS", "STATUS", "STATUS", "CONTENT", "DONE"]


class _Clock:
    """A harness clock that shows trio's time, or that share of it."""

    def __init__(self, share: float = 1.0) -> None:
        self._share = share

    def monotonic(self) -> float:
        return float(trio.current_time()) * self._share

    def utc(self) -> datetime:
        return _EPOCH + timedelta(seconds=self.monotonic())

    async def wait(self, seconds: float, wake: object) -> None:
        await trio.sleep(seconds)


def _world(agent: Any, *tools: Any, **options: Any) -> AsyncHarness:
    given: dict[str, Any] = {
        "semantic_guard": approve,
        "clock": _Clock(),
        "limits": Limits.none(),
        "progress": "INFERRED",
        **options,
    }
    return AsyncHarness(agent, tools, **given)


def _run(main: Callable[[], Awaitable[T]]) -> T:
    """Run in time that leaps; no task may be left behind."""

    async def checked() -> T:
        before = _tasks()
        try:
            return await main()
        finally:
            with trio.CancelScope(shield=True):
                await trio.testing.wait_all_tasks_blocked()
            assert _tasks() == before

    with collecting():
        value: T = trio.run(checked, clock=trio.testing.MockClock(autojump_threshold=0))
    return value


def _tasks() -> int:
    return int(trio.lowlevel.current_statistics().tasks_living)


async def _until(condition: Callable[[], object]) -> None:
    for _ in range(1000):
        if condition():
            return
        await trio.lowlevel.checkpoint()
    raise AssertionError("it never came to hold")


def _sleeping(name: str, seconds: float, log: list[str] | None = None) -> Any:
    """A tool that takes its time, and notes how it ended."""

    async def body() -> str:
        try:
            await trio.sleep(seconds)
        except BaseException:
            if log is not None:
                log.append(f"{name} was cut")
            raise
        if log is not None:
            log.append(name)
        return f"{name} found something"

    return tool(name, body)


class _Slow:
    """A store every call of which takes a second."""

    def __init__(self, host: Any) -> None:
        self._host = host

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._host, name)

        async def call(*arguments: Any) -> Any:
            await trio.sleep(1)
            return value(*arguments)

        return call


# --- the same scenarios


@pytest.fixture
def through_trio(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the scenarios' asynchronous driver run under trio, every call suspending."""
    monkeypatch.setattr(_suspending, "run_in_loop", trio.run)
    turn = trio.lowlevel.cancel_shielded_checkpoint
    monkeypatch.setattr(_suspending._Turn, "__await__", lambda _self: turn().__await__())


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.stem)
@pytest.mark.usefixtures("through_trio")
def test_a_conformance_case_through_trio(case: Path) -> None:
    """Every expectation of a case holds there too."""
    scenario = load_scenario(json.loads(case.read_text(encoding="utf-8")))
    assert run_scenario(scenario, driver="async").differences == ()


@pytest.mark.usefixtures("through_trio")
def test_generated_scenarios_give_identical_records() -> None:
    """Generated scenarios end as they do through the synchronous driver."""
    assert list(differing_seeds(range(2000, 2100))) == []


# --- one run


def test_hosts_may_be_asynchronous_or_plain() -> None:
    """What suspends and what does not are mixed as a host likes."""

    async def route(_request: object) -> Route:
        await trio.sleep(1)
        return Route(Intent.DIAGNOSIS)

    async def found() -> AsyncIterator[str]:
        yield "a"
        await trio.sleep(1)
        yield "b"

    host = _world(
        asking(["logs"], ["plain"]),
        tool("logs", found),
        tool("plain", lambda: "c"),
        router=route,
        run_store=_Slow(MemoryRunStore()),
        canonical_store=_Slow(MemoryCanonicalStore()),
    )
    record = _run(lambda: host.run("why?")).record
    assert ending(record) == _APPROVED
    assert [row.byte_count for row in record.invocations] == [2, 1]


def test_a_batch_runs_together_in_the_order_of_its_calls() -> None:
    """No more of a batch are under way than allowed, and the records stand in its order."""
    log: list[str] = []
    names = {"a": 3, "b": 1, "c": 1, "d": 1}
    tools = [_sleeping(name, seconds, log) for name, seconds in names.items()]
    host = _world(asking(names), *tools, max_parallel_tools=2)
    record = _run(lambda: host.run("why?")).record
    assert log in (["b", "c", "a", "d"], ["b", "c", "d", "a"])
    assert [row.tool for row in record.invocations] == list("abcd")
    assert record.ended_at - record.started_at == timedelta(seconds=3)  # type: ignore[operator]


def test_one_at_a_time_is_one_at_a_time() -> None:
    """With one parallel tool the batch is a sequence."""
    log: list[str] = []
    host = _world(
        asking("ab"), _sleeping("a", 2, log), _sleeping("b", 1, log), max_parallel_tools=1
    )
    _run(lambda: host.run("why?"))
    assert log == ["a", "b"]


@pytest.mark.parametrize("batch", [["a"], ["a", "b", "c"]])
def test_the_deadline_aborts_what_is_under_way(batch: list[str]) -> None:
    """At the deadline the calls under way are cut short, and nothing more is started."""
    log: list[str] = []
    tools = [_sleeping("a", 99, log), _sleeping("b", 1, log), _sleeping("c", 99, log)]
    host = _world(asking(batch), *tools, max_parallel_tools=2)
    record = _run(lambda: host.run("why?", deadline=5)).record
    assert ending(record)[:2] == ("TIMED_OUT", "DEADLINE_EXCEEDED")
    assert sorted(log) == sorted({"a was cut", *(["b", "c was cut"] if len(batch) > 1 else [])})
    assert record.ended_at - record.started_at == timedelta(seconds=5)  # type: ignore[operator]


def test_a_clock_behind_trio_is_waited_for() -> None:
    """The deadline is that of the host's clock, not of trio's."""
    host = _world(asking(["a"]), _sleeping("a", 99), clock=_Clock(0.5))

    async def main() -> float:
        record = (await host.run("why?", deadline=5)).record
        assert record.run_state.name == "TIMED_OUT"
        return float(trio.current_time())

    assert 10 <= _run(main) < 10.1


def test_a_token_aborts_what_is_under_way() -> None:
    """A cancel from another thread cuts the call short at once."""
    token, log = CancelToken(), ["began"]

    async def body() -> None:
        threading.Thread(target=token.cancel, args=("enough",)).start()
        try:
            await trio.sleep_forever()
        finally:
            log.append("cut")

    host = _world(asking(["a"]), tool("a", body))
    record = _run(lambda: host.run("why?", cancel=token)).record
    assert ending(record) == _BY_CALLER
    assert record.cancel_reason == "enough"
    assert log == ["began", "cut"]


@pytest.mark.parametrize("batch", [["a"], ["a", "b"]])
def test_the_caller_is_cancelled_behind_the_saved_record(batch: list[str]) -> None:
    """A cancelled caller gets trio's cancel, after a slow store has saved the record."""
    log: list[str] = []
    store = MemoryRunStore()
    tools = [_sleeping("a", 99, log), _sleeping("b", 99, log)]
    host = _world(asking(batch), *tools, run_store=_Slow(store))

    async def main() -> None:
        with trio.move_on_after(5) as scope:
            await host.run("why?", run_id="r")
        assert scope.cancelled_caught
        assert trio.current_time() == 6

    _run(main)
    record = store.load("r")
    assert record is not None
    assert ending(record) == _INTERRUPTED
    assert record.invocations == ()
    assert sorted(log) == [f"{name} was cut" for name in batch]


def test_a_cancel_that_comes_when_all_is_done_is_the_callers() -> None:
    """A run that ended before its caller waited again gives its result."""
    host = _world(asking(["a"]), tool("a", lambda: "found"))

    async def main() -> RunRecord:
        with trio.CancelScope() as scope:
            scope.cancel()
            record = (await host.run("why?")).record
            await trio.sleep(1)
        assert scope.cancelled_caught
        return record

    assert ending(_run(main)) == _APPROVED


class _Client:
    """A client that takes its time for the last event."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.taken: list[str] = []

    async def send(self, event: Any) -> None:
        await trio.sleep(self._seconds if event.kind.name == "DONE" else 0)
        self.taken.append(event.kind.name)


@pytest.mark.parametrize(("seconds", "last"), [(0.5, "DONE"), (9, "STATUS")])
def test_a_cancelled_run_tells_its_client_for_a_second(seconds: float, last: str) -> None:
    """A client gets ``DONE``; one that does not take it holds no cancelled caller up."""
    client = _Client(seconds)
    host = _world(asking(["a"]), _sleeping("a", 99))

    async def main() -> None:
        with trio.move_on_after(5):
            await host.run("why?", client=client)
        assert trio.current_time() == 5 + min(seconds, 1)

    _run(main)
    assert client.taken[-1] == last
    assert ending(only(host)) == _INTERRUPTED


def test_a_slow_client_is_waited_for() -> None:
    """Where nobody was cancelled a client may take its time."""
    client = _Client(99)
    _run(lambda: _world(asking(["a"]), _sleeping("a", 1)).run("why?", client=client))
    assert client.taken == _ALL


def test_a_client_that_leaves_cancels_the_run() -> None:
    """An asynchronous transport says that its client is gone as a plain one does."""

    class Gone:
        async def send(self, event: object) -> None:
            await trio.lowlevel.checkpoint()
            raise ClientGoneError

    assert ending(_run(lambda: _world(asking()).run("why?", client=Gone())).record) == _GONE


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("batch", [["a"], ["a", "b"]])
def test_an_interrupt_of_a_host_goes_on(interrupt: type[BaseException], batch: list[str]) -> None:
    """What a host raises that is no ``Exception`` is recorded, then raised as it was."""

    async def body() -> None:
        await trio.sleep(1)
        raise interrupt

    host = _world(asking(batch), tool("a", body), _sleeping("b", 99))

    async def main() -> None:
        with pytest.raises(interrupt):
            await host.run("why?")

    _run(main)
    assert ending(only(host)) == _INTERRUPTED


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupt_between_two_calls_goes_on(interrupt: type[BaseException]) -> None:
    """What the id source raises is recorded and raised as well."""
    given = iter(["run"])

    def ids() -> str:
        for one in given:
            return one
        raise interrupt

    host = _world(asking(["a"]), tool("a", lambda: "found"), ids=ids)

    async def main() -> None:
        with pytest.raises(interrupt):
            await host.run("why?")

    _run(main)
    assert ending(only(host)) == _INTERRUPTED


@pytest.mark.parametrize("classifier", [None, lambda _error: None])
def test_a_time_out_of_a_host_is_a_time_out(classifier: Any) -> None:
    """A host's ``trio.fail_after`` fails its call, and is not the run's deadline."""

    async def body() -> None:
        with trio.fail_after(1):
            await trio.sleep_forever()

    host = _world(asking(["a"], ["b"]), tool("a", body), tool("b", lambda: "found"))
    host = _world(
        asking(["a"], ["b"]), tool("a", body), tool("b", lambda: "found"), classifier=classifier
    )
    record = _run(lambda: host.run("why?", deadline=60)).record
    assert ending(record) == _APPROVED
    assert [row.code and row.code.name for row in record.invocations] == ["TIMEOUT", None]


def test_a_retry_waits() -> None:
    """A backoff is slept under trio, with the machine's clock or the host's."""
    answers: list[Any] = []

    async def route(_request: object) -> Route:
        answers.append(1)
        if len(answers) % 2:
            raise TimeoutError
        return Route(Intent.DIAGNOSIS)

    for clock in (None, _Clock()):
        host = _world(asking(), router=route, backoff=lambda *_: 3.0, clock=clock)
        assert _run(lambda host=host: host.run("why?")).record.intent is not None  # type: ignore[misc]
    assert len(answers) == 4


def test_a_refused_run_is_raised_alone() -> None:
    """An id that exists already is refused with the library's own error, in no group."""
    host = _world(asking())

    async def main() -> None:
        await host.run("why?", run_id="r")
        with pytest.raises(RunExistsError):
            await host.run("why?", run_id="r")

    _run(main)


def test_a_run_that_is_over_hears_nothing() -> None:
    """A late abort after trio has ended reaches nobody, and is no error."""
    host = _world(asking())

    async def main() -> Any:
        return host._seam()

    _run(main).abort_soon()


def test_plain_hosts_may_run_in_threads() -> None:
    """``in_threads`` pushes to trio's threads, and an abort leaves the thread alone."""
    leave, where = threading.Event(), []

    def quick() -> str:
        where.append(threading.current_thread())
        return "found"

    def stuck() -> str:
        leave.wait(30)
        return "late"

    host = _world(asking(["a"], ["b"]), in_threads(tool("a", quick)), in_threads(tool("b", stuck)))

    async def main() -> RunRecord:
        token = CancelToken()
        async with trio.open_nursery() as nursery:

            async def cancel() -> None:
                await _until_time(lambda: len(where))
                token.cancel()

            nursery.start_soon(cancel)
            record = (await host.run("why?", cancel=token)).record
        leave.set()
        return record

    record: RunRecord = trio.run(main)
    assert ending(record) == _BY_CALLER
    assert where[0] is not threading.main_thread()


async def _until_time(condition: Callable[[], object]) -> None:
    while not condition():
        await trio.sleep(0.001)


class _Random(World):
    """A random world of trio's."""

    sleep = staticmethod(trio.sleep)
    cancelled = trio.Cancelled

    def _slow(self, host: Any, *methods: str) -> Any:
        return host if self.dice.random() < 0.5 else _Slow(host)

    async def resist(self, seconds: float) -> None:
        with trio.CancelScope(shield=True):
            await trio.sleep(seconds)

    async def once(self) -> None:
        """Run once; a token and the caller are cancelled meanwhile as the dice fall."""
        token, given = self.given()
        async with trio.open_nursery() as nursery:

            async def cancel(at: float) -> None:
                await trio.sleep(at)
                token.cancel()

            if self.dice.random() < 0.4:
                nursery.start_soon(cancel, self.dice.randint(0, 12))
            at = self.dice.choice([99, 99, *range(13)])
            with trio.move_on_after(at), contextlib.suppress(SystemExit):
                await self.run(given)
            nursery.cancel_scope.cancel()


@pytest.mark.parametrize("first", range(0, 160, 40))
def test_a_run_ends_once_and_accounts_for_everything(first: int) -> None:
    """Whatever falls together under trio, the record says it all and nothing is left."""
    causes = set()
    for seed in range(first, first + 40):
        made = _Random(seed, clock=_Clock())
        _run(made.once)
        causes.add(made.check().stop_cause)
    assert len(causes) > 3


# --- the stream


async def _kinds(events: RunEvents) -> list[str]:
    return [event.kind.name async for event in events]


def test_a_stream_gives_every_event_and_the_result() -> None:
    """From ``METADATA`` to ``DONE``; then there is the result."""
    host = _world(asking(["a"]), _sleeping("a", 5))

    async def main() -> RunEvents:
        events = host.stream("why?")
        assert events.result is None
        assert await _kinds(events) == _ALL
        return events

    result = _run(main).result
    assert result is not None
    assert result.record.delivered
    assert ending(result.record) == _APPROVED


async def _break(host: AsyncHarness) -> None:
    async with host.stream("why?") as events:
        async for _ in events:
            break


async def _before_the_first(host: AsyncHarness) -> None:
    async with host.stream("why?"):
        pass


async def _collected(host: AsyncHarness) -> None:
    events = host.stream("why?")
    await anext(events)
    await trio.sleep(1)
    del events
    gc.collect()
    await _until(lambda: has_ended(host))


async def _cancelled(host: AsyncHarness) -> None:
    with trio.move_on_after(1):
        async with host.stream("why?") as events:
            async for _ in events:
                pass
    assert has_ended(host)


@pytest.mark.parametrize(
    "leave", [_break, _before_the_first, _collected, _cancelled], ids=lambda f: f.__name__
)
def test_a_consumer_may_leave_at_any_time(leave: Callable[..., Any]) -> None:
    """However the consumer leaves, the call under way is cut and the record is saved."""
    log: list[str] = []
    host = _world(asking(["a"]), _sleeping("a", 99, log))
    _run(lambda: leave(host))
    assert ending(only(host)) == _GONE
    assert log in ([], ["a was cut"])


def test_content_that_nobody_takes_is_not_delivered() -> None:
    """A consumer that leaves before it takes the content has not received it."""
    host = _world(asking(["a"]), tool("a", lambda: "found"))

    async def main() -> None:
        events = host.stream("why?")
        await _until(lambda: has_ended(host))
        await events.aclose()
        assert events.result is not None
        assert not events.result.record.delivered

    _run(main)
    assert ending(only(host)) == _APPROVED


def test_an_interrupt_meets_the_consumer_that_leaves() -> None:
    """What a host raises while its run is left comes out of the block, and trio goes on."""

    async def body() -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise KeyboardInterrupt

    host = _world(asking(["a"]), tool("a", body))

    async def consume() -> None:
        async with host.stream("why?"):
            await trio.sleep(1)

    async def main() -> None:
        with pytest.raises(KeyboardInterrupt):
            await consume()

    _run(main)
    assert ending(only(host)) == _GONE


def test_a_reader_that_is_cancelled_may_come_back() -> None:
    """Cancelling one ``anext`` is no leaving."""
    host = _world(asking(["a"]), _sleeping("a", 5))

    async def main() -> list[str]:
        events = host.stream("why?")
        seen = []
        for _ in range(20):
            with trio.move_on_after(1), contextlib.suppress(StopAsyncIteration):
                seen.append((await anext(events)).kind.name)
        return seen

    assert _run(main) == _ALL


def test_what_a_stream_is_refused_for_comes_out() -> None:
    """The consumer gets the error of a run that was refused."""
    host = _world(asking())

    async def main() -> None:
        await host.run("why?", run_id="r")
        with pytest.raises(RunExistsError):
            await anext(host.stream("why?", run_id="r"))

    _run(main)


def test_a_stream_that_outlives_trio_is_cancelled() -> None:
    """A program that ends does not wait for a run that nobody reads; its record is saved."""
    host = _world(asking(["a"]), _sleeping("a", 99))
    kept = []

    async def main() -> None:
        kept.append(host.stream("why?"))
        await anext(kept[0])
        await trio.sleep(1)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert ending(only(host)) == _INTERRUPTED
    kept.clear()
    gc.collect()


def test_a_stream_that_is_dropped_behind_trio() -> None:
    """Where trio has ended there is nobody to tell that the consumer left."""
    host = _world(asking(["a"]), _sleeping("a", 99))

    async def main() -> RunEvents:
        return host.stream("why?")

    events: RunEvents = trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert ending(only(host)) == _INTERRUPTED
    # as if trio had been torn down before the run's task could end
    events._channel.is_over = False
    del events
    gc.collect()


# --- many runs


def test_many_runs_share_what_is_allowed() -> None:
    """Runs are bounded in number, given as they finish, and draw from one budget."""
    host = _world(asking(["a"]), _sleeping("a", 1))
    budget = Budget(tool_calls=5)

    async def main() -> list[ManyResult]:
        questions = [f"why {n}?" for n in range(6)]
        results = run_many_async(host, questions, workers=2, budget=budget)
        found = [many async for many in results]
        assert trio.current_time() == 3
        return found

    results = _run(main)
    assert sorted(many.place for many in results) == list(range(6))
    assert budget.used.tool_calls == 5


def test_leaving_many_runs_cancels_them() -> None:
    """A consumer that leaves early, cancelled or not, leaves no run behind."""
    log: list[str] = []
    host = _world(asking(["a"]), _sleeping("a", 1, log))

    async def main() -> None:
        async with contextlib.aclosing(run_many_async(host, ["why?"] * 9, workers=2)) as results:
            await anext(results)
        with trio.move_on_after(0.5):
            async with contextlib.aclosing(run_many_async(host, ["why?"] * 9)) as results:
                await anext(results)

    _run(main)
    assert log.count("a") <= 2
    assert "a was cut" in log


def test_a_switch_stops_many_runs() -> None:
    """A stop switch ends what is under way."""
    host, stop = _world(asking(["a"]), _sleeping("a", 99)), CancelToken()

    async def main() -> list[ManyResult]:
        async with trio.open_nursery() as nursery:

            async def switch() -> None:
                await trio.sleep(5)
                stop.cancel("enough")

            nursery.start_soon(switch)
            results = run_many_async(host, ["why?"] * 9, workers=3, stop=stop)
            return [many async for many in results]

    results = _run(main)
    assert [many.result and many.result.record.cancel_reason for many in results] == ["enough"] * 3

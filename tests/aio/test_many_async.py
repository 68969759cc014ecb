"""Many runs in tasks: the asynchronous twin."""

import asyncio
import gc
from collections.abc import Callable
from typing import Any

import pytest

from harness import Budget, CancelToken, ManyResult, run_many_async
from harness.errors import InvalidArgumentError
from tests.aio.worlds import asking, leaping, sleeping, tool, turns, until, world


def _questions(count: int) -> list[str]:
    return [f"why {place}?" for place in range(count)]


def _all(host: Any, requests: list[Any], **given: Any) -> list[ManyResult]:
    async def main() -> list[ManyResult]:
        return [many async for many in run_many_async(host, requests, **given)]

    return leaping(main)


class _Under:
    """A tool that counts how many of its calls are under way."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.now = self.most = self.calls = 0

    async def body(self) -> str:
        self.now += 1
        self.calls += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(self._seconds)
        finally:
            self.now -= 1
        return "a"


def _counting(seconds: float) -> tuple[Any, _Under]:
    under = _Under(seconds)
    return world(asking(["logs"]), tool("logs", under.body)), under


def test_every_request_gets_its_result() -> None:
    """All are run, no more of them together than allowed."""
    host, under = _counting(1)
    results = _all(host, _questions(20), workers=5)
    assert sorted(many.place for many in results) == list(range(20))
    assert all(many.result for many in results)
    assert (under.most, under.now) == (5, 0)


def test_results_come_as_they_finish() -> None:
    """A quick run is given before a slow one that was started earlier."""

    async def agent(view: Any) -> Any:
        await asyncio.sleep(len(view.question))
        return asking(["logs"])(view)

    host = world(agent, tool("logs", lambda: "a"))
    assert [many.request for many in _all(host, ["slower", "slow"])] == ["slow", "slower"]


def test_requests_are_taken_as_workers_are_free() -> None:
    """An iterable may be endless: nothing is taken before there is room for it."""
    host, under = _counting(1)
    taken: list[int] = []

    def endless() -> Any:
        while True:
            taken.append(1)
            yield "why?"

    async def main() -> None:
        results = run_many_async(host, endless(), workers=3)
        await anext(results)
        assert len(taken) == 3
        await turns()
        assert len(taken) == 3
        await results.aclose()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    leaping(main)
    assert under.now == 0


def test_all_draw_from_one_budget() -> None:
    """Runs that find the parent budget empty end as such."""
    host, under = _counting(1)
    budget = Budget(model_attempts=6)
    results = _all(host, _questions(4), workers=1, budget=budget)
    causes = [many.result.record.stop_cause for many in results if many.result]
    assert [cause.name for cause in causes if cause][2:] == ["BUDGET_EXHAUSTED"] * 2
    assert under.calls == 2


def test_the_switch_stops_everything() -> None:
    """What is under way is aborted, and nothing more is started."""
    host, under = _counting(99)
    stop = CancelToken()

    async def main() -> list[ManyResult]:
        asyncio.get_running_loop().call_later(5, stop.cancel, "enough")
        return [many async for many in run_many_async(host, _questions(9), workers=3, stop=stop)]

    results = leaping(main)
    reasons = [many.result.record.cancel_reason for many in results if many.result]
    assert reasons == ["enough"] * 3
    assert (under.calls, under.now) == (3, 0)


async def _break(results: Any, _under: _Under) -> None:
    async for _ in results:
        break


async def _closed(results: Any, _under: _Under) -> None:
    await anext(results)
    await results.aclose()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def _timed_out(results: Any, under: _Under) -> None:
    async def consume() -> None:
        async with asyncio.timeout(1.5):
            async for _ in results:
                pass

    with pytest.raises(TimeoutError):
        await consume()
    await results.aclose()
    assert under.now == 0


@pytest.mark.parametrize("leave", [_break, _closed, _timed_out], ids=lambda f: f.__name__)
def test_leaving_early_cancels_the_others(leave: Callable[..., Any]) -> None:
    """However the consumer leaves, what is under way is aborted and no task is left."""
    host, under = _counting(1)

    async def main() -> None:
        results = run_many_async(host, _questions(9), workers=2)
        await leave(results, under)
        del results
        gc.collect()
        await until(lambda: asyncio.all_tasks() == {asyncio.current_task()})

    leaping(main)
    assert under.now == 0
    assert under.calls < 9


def test_a_cancel_while_the_batch_ends_comes_out() -> None:
    """A second cancel of the consumer does not leave runs behind."""
    ended = []

    async def body() -> None:
        try:
            await asyncio.Future()
        finally:
            await asyncio.sleep(3)
            ended.append(1)

    host = world(asking(["logs"]), tool("logs", body))

    async def main() -> None:
        async def consume() -> None:
            async for _ in run_many_async(host, _questions(2)):
                pass

        task = asyncio.create_task(consume())
        for instant in (1, 2):
            asyncio.get_running_loop().call_at(instant, task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == [1, 1]

    leaping(main)


def test_a_refused_request_does_not_stop_the_others() -> None:
    """A request that cannot be run is given back with its error."""
    host, _ = _counting(1)
    results = sorted(_all(host, ["why?", 3, "why not?"]), key=lambda many: many.place)
    assert [many.error is None for many in results] == [True, False, True]


def test_an_interrupt_comes_out() -> None:
    """What a host raises that is no ``Exception`` ends the batch, not the loop."""

    async def body() -> None:
        await asyncio.sleep(1)
        raise KeyboardInterrupt

    host = world(asking(["logs"]), tool("logs", body))

    async def consume() -> None:
        async for _ in run_many_async(host, _questions(3), workers=2):
            pass

    async def main() -> None:
        with pytest.raises(KeyboardInterrupt):
            await consume()

    leaping(main)


def test_a_stranger_cancels_a_run_before_it_began() -> None:
    """A run whose task never ran is not lost without a word."""
    host = world(asking(["logs"]), sleeping("logs", 1))

    async def main() -> None:
        results = run_many_async(host, _questions(2))

        async def read() -> ManyResult:
            return await anext(results)

        reader = asyncio.create_task(read())
        await until(lambda: len(asyncio.all_tasks()) > 3)
        for task in asyncio.all_tasks() - {asyncio.current_task(), reader}:
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader

    leaping(main)


def test_wrong_arguments_are_refused_at_once() -> None:
    """A wrong argument is named when the batch is asked for."""
    with pytest.raises(InvalidArgumentError, match="harness is 3; allowed: an instance of Async"):
        run_many_async(3, [])  # type: ignore[arg-type]

"""The end of a run cuts short the call that is under way, and nothing else (section 3.1)."""

import asyncio
import threading
from contextlib import suppress
from threading import Event
from typing import Any

import pytest

from harness import (
    AgentTurn,
    AsyncHarness,
    Attempt,
    CancelToken,
    Fact,
    FailureKind,
    RunRecord,
    SystemClock,
    TraceCode,
    Usage,
)
from harness.errors import RateLimitedError
from harness.stores.memory import MemoryCanonicalStore, MemoryRunStore
from harness.testing import RecordingClient, VirtualClock
from tests.aio.worlds import (
    LoopClock,
    Slow,
    asking,
    ending,
    leaping,
    sleeping,
    tool,
    world,
)

_TIMED_OUT = ("TIMED_OUT", "DEADLINE_EXCEEDED", "FAILED")
_WITH_FACTS = ("TIMED_OUT", "DEADLINE_EXCEEDED", "FALLBACK")
_CANCELLED = ("CANCELLED", "CANCELLED_BY_CALLER", "CANCELLED")


def _run(host: AsyncHarness, **given: Any) -> RunRecord:
    """The record of a run in leaping time."""
    return leaping(lambda: host.run("why?", **given)).record


def _details(record: RunRecord, code: TraceCode) -> list[Any]:
    """The details of the trace events of a code."""
    return [event.detail for event in record.trace if event.code is code]


def test_the_deadline_aborts_an_agent() -> None:
    """A model that does not answer is cut short at the deadline; its attempt counts, late."""
    closed = []

    async def agent(_view: object, attempt: Attempt) -> AgentTurn:
        attempt.report(Usage(1, 2))
        try:
            return await asyncio.Future()
        finally:
            closed.append(asyncio.get_running_loop().time())

    record = _run(world(agent), deadline=10)
    assert ending(record) == _TIMED_OUT
    assert closed == [10]
    (attempt,) = record.attempts
    assert (attempt.outcome.name, attempt.late, attempt.seconds) == ("INTERRUPTED", True, 10)
    assert record.used.tokens == 3
    (failed,) = _details(record, TraceCode.ATTEMPT_FAILED)
    assert failed["error"] == "Aborted"
    assert len(_details(record, TraceCode.LATE_RESULT_DISCARDED)) == 1


def test_the_deadline_aborts_a_tool_and_keeps_what_was_found() -> None:
    """A cut call has an attempt but no row; what an earlier one found is released."""
    slow = world(asking(["logs"], ["metrics"]), sleeping("logs", 1), sleeping("metrics", 99))
    record = _run(slow, deadline=10)
    assert ending(record) == _WITH_FACTS
    assert [row.tool for row in record.invocations] == ["logs"]
    assert [attempt.late for attempt in record.attempts] == [False, False, False, True]
    assert record.used.tool_calls == 2


def test_a_time_out_of_a_component_is_its_own() -> None:
    """A component that times out by itself has failed; the run's deadline has not passed."""

    async def agent(_view: object) -> AgentTurn:
        async with asyncio.timeout(3):
            return await asyncio.Future()

    record = _run(world(agent), deadline=10)
    assert ending(record) == ("FAILED", "AGENT_UNAVAILABLE", "FAILED")
    assert record.attempts[0].failure is FailureKind.TIMEOUT


def test_the_deadline_wins_over_a_time_out_at_the_same_instant() -> None:
    """Where both fall together the run is over: the component's failure comes late."""

    async def agent(_view: object) -> AgentTurn:
        async with asyncio.timeout(10):
            return await asyncio.Future()

    record = _run(world(agent), deadline=10)
    assert ending(record) == _TIMED_OUT
    assert record.attempts[0].late


def test_an_answer_at_the_deadline_is_late() -> None:
    """What returns exactly at the deadline is used for nothing."""
    record = _run(world(asking(["logs"]), sleeping("logs", 10)), deadline=10)
    assert ending(record) == _TIMED_OUT
    assert record.invocations == ()


def test_a_cancel_aborts_the_call_under_way() -> None:
    """A token that is cancelled in the loop cuts the call short, with its reason."""
    token = CancelToken()

    async def main() -> RunRecord:
        asyncio.get_running_loop().call_later(2, token.cancel, "enough")
        result = await world(asking(["logs"]), sleeping("logs", 99)).run("why?", cancel=token)
        assert asyncio.get_running_loop().time() == 2
        return result.record

    record = leaping(main)
    assert ending(record) == _CANCELLED
    assert record.cancel_reason == "enough"


def test_a_cancel_from_another_thread_wakes_the_loop() -> None:
    """A loop that waits for nothing else notices a cancel of another thread."""
    token = CancelToken()

    async def body() -> object:
        threading.Thread(target=token.cancel).start()
        return await asyncio.Future()

    record = _run(world(asking(["logs"]), tool("logs", body)), cancel=token)
    assert ending(record) == _CANCELLED


def test_a_token_cancelled_before_lets_nothing_start() -> None:
    """A run with a cancelled token asks nobody."""
    token = CancelToken()
    token.cancel()
    record = _run(world(asking(["logs"]), sleeping("logs", 1)), cancel=token)
    assert ending(record) == _CANCELLED
    assert len(record.attempts) == 0


def test_a_cancel_after_the_loop_was_closed_is_none() -> None:
    """A token reaches no run any more whose loop is gone."""
    token, left = CancelToken(), asyncio.new_event_loop()

    async def body() -> None:
        left.stop()
        await asyncio.Future()

    async def main() -> None:
        await world(asking(["logs"]), tool("logs", body)).run("why?", cancel=token)

    left.set_exception_handler(lambda _loop, _what: None)
    task = left.create_task(main())
    left.run_forever()
    left.close()
    assert token.cancel()
    assert not task.done()


@pytest.mark.parametrize("value", ["found after all", None])
def test_an_abort_that_the_host_keeps_to_itself(value: object) -> None:
    """A host that swallows the abort and returns something gave it late: it is used for nothing."""
    token = CancelToken()

    async def body() -> object:
        token.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.Future()
        return value

    async def main() -> RunRecord:
        result = await world(asking(["logs"]), tool("logs", body)).run("why?", cancel=token)
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        return result.record

    record = leaping(main)
    assert ending(record) == _CANCELLED
    assert record.invocations == ()
    assert record.attempts[-1].late


def test_an_abort_waits_until_the_host_has_cleaned_up() -> None:
    """What a cut call still does before it ends belongs to it."""

    async def body() -> None:
        try:
            await asyncio.Future()
        finally:
            await asyncio.sleep(3)

    record = _run(world(asking(["logs"]), tool("logs", body)), deadline=10)
    assert record.attempts[-1].seconds == 13


def test_a_cancel_during_the_clean_up_aborts_no_second_time() -> None:
    """A call that is being cut short is left alone by the signals after the first."""
    token = CancelToken()

    async def body() -> None:
        try:
            await asyncio.Future()
        finally:
            token.cancel()
            await asyncio.sleep(3)

    record = _run(world(asking(["logs"]), tool("logs", body)), deadline=10, cancel=token)
    assert record.attempts[-1].seconds == 13
    assert record.stop_cause is not None
    assert record.stop_cause.name == "DEADLINE_EXCEEDED"


def test_a_deadline_reaches_into_a_nested_run() -> None:
    """A run inside a tool is cancelled with it, and saves its own record."""
    inner = world(asking(["logs"]), sleeping("logs", 99))

    async def body() -> str:
        return (await inner.run("why?")).text

    record = _run(world(asking(["ask"]), tool("ask", body)), deadline=5)
    assert ending(record) == _TIMED_OUT
    assert isinstance(inner.run_store, MemoryRunStore)
    (nested,) = inner.run_store._records.values()
    assert ending(nested) == ("CANCELLED", "INTERRUPTED", "CANCELLED")


def test_a_save_that_is_cut_short_breaks_no_trust() -> None:
    """A slow store is aborted with the run; what it kept before is released."""
    store = MemoryCanonicalStore()

    async def save(record: Any) -> None:
        await asyncio.sleep(1 if record.invocation.number == 1 else 99)
        store.save(record)

    slow = Slow(store)
    slow.save = save  # type: ignore[attr-defined]
    tools = (tool("logs", lambda: "a"), tool("metrics", lambda: "b"))
    record = _run(world(asking(["logs"], ["metrics"]), *tools, canonical_store=slow), deadline=5)
    assert ending(record) == _WITH_FACTS
    assert [row.tool for row in record.invocations] == ["logs"]


def test_the_client_is_not_aborted() -> None:
    """A transport is not left in the middle of an event: a slow client gets the ending too."""
    client = RecordingClient()
    slow = world(asking(["logs"]), tool("logs", lambda: "a"))
    record = _run(slow, deadline=5, client=Slow(client, send=3))
    assert ending(record) == _TIMED_OUT
    assert [kind.name for kind in client.kinds] == ["METADATA", "STATUS", "FAILURE", "DONE"]


def test_the_run_store_is_not_aborted() -> None:
    """A run whose opening took longer than it may take ends as a saved time-out."""
    store = MemoryRunStore()
    slow = world(asking(), run_store=Slow(store, begin=9, finish=9))
    record = _run(slow, deadline=5)
    assert ending(record) == _TIMED_OUT
    assert record.record_saved


def _unwilling(*waits: float) -> Any:
    """A router that is rate limited, and asks to wait."""

    async def route(_request: object) -> Any:
        raise RateLimitedError(retry_after=waits[0])

    return route


def test_a_wait_between_attempts_takes_its_time() -> None:
    """A retry comes after the wait, in the loop's time."""
    record = _run(world(asking(), router=_unwilling(30)))
    assert [attempt.began for attempt in record.attempts] == [0, 30]


def test_a_wait_is_cut_short_by_a_cancel() -> None:
    """A wait ends at once when the run is cancelled, and no retry is made."""
    token = CancelToken()

    async def main() -> RunRecord:
        asyncio.get_running_loop().call_later(2, token.cancel)
        return (await world(asking(), router=_unwilling(30)).run("why?", cancel=token)).record

    record = leaping(main)
    assert ending(record) == _CANCELLED
    assert len(record.attempts) == 1
    assert record.trace[-1].at == 2


def test_the_machines_clock_waits_in_the_loop() -> None:
    """With the default clock a wait blocks no other task."""
    patient = world(asking(), router=_unwilling(30), clock=SystemClock())

    async def main() -> float:
        await patient.run("why?")
        return asyncio.get_running_loop().time()

    assert leaping(main) == 30


def test_a_clock_that_cannot_wait_is_a_fault() -> None:
    """What a clock raises while it waits fails the run closed."""

    class Broken(LoopClock):
        async def wait(self, seconds: float, wake: Event) -> None:
            raise OSError

    record = _run(world(asking(), router=_unwilling(30), clock=Broken()))
    assert ending(record) == ("FAILED", "INTERNAL_ERROR", "FAILED")


def test_a_clock_behind_the_loop_keeps_its_own_time() -> None:
    """Where the loop's timer comes before the host's clock is there, no deadline has passed."""
    clock = VirtualClock()

    async def body() -> Fact:
        await asyncio.sleep(25)
        clock.advance(9_000)
        await asyncio.sleep(25)
        return Fact("a")

    record = _run(world(asking(["logs"]), tool("logs", body), clock=clock), deadline=10)
    assert ending(record) == ("SUCCESS", "REPORT_APPROVED", "SUCCESS")


def test_a_timer_that_finds_no_call_is_set_again_by_the_next() -> None:
    """A clock behind the loop's misses no deadline that passes in a later call."""
    clock, client = VirtualClock(), Slow(RecordingClient(), send=25)

    async def body() -> None:
        clock.advance(10_000)
        await asyncio.Future()

    quick = world(asking(["a"], ["b"]), sleeping("a", 1), tool("b", body), clock=clock)
    record = _run(quick, deadline=10, client=client)
    assert ending(record) == ("TIMED_OUT", "DEADLINE_EXCEEDED", "FALLBACK")
    assert record.attempts[-1].outcome.name == "INTERRUPTED"


def test_a_clock_that_breaks_loses_no_answer() -> None:
    """A clock that raises while a call is under way ends the run behind it, not inside it."""

    class Breaking(LoopClock):
        def monotonic(self) -> float:
            now = super().monotonic()
            if now > 0:
                raise OSError
            return now

    record = _run(world(asking(["logs"]), sleeping("logs", 9), clock=Breaking()), deadline=5)
    assert ending(record) == ("FAILED", "INTERNAL_ERROR", "FAILED")
    assert record.attempts[-1].outcome.name == "SUCCEEDED"

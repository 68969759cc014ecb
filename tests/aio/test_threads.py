"""Plain host objects that block, pushed to threads (``in_threads``)."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from harness import AsyncHarness, CancelToken, Fact, RunRecord, in_threads
from harness.errors import InvalidArgumentError
from harness.stores.memory import MemoryCanonicalStore, MemoryRunStore
from tests.aio.worlds import approve, asking, ending, leaping, tool, world

_APPROVED = ("SUCCESS", "REPORT_APPROVED", "SUCCESS")


def _run(host: AsyncHarness, **given: Any) -> RunRecord:
    return leaping(lambda: host.run("why?", **given)).record


class _Where:
    """Notes the threads in which it was called."""

    def __init__(self) -> None:
        self.threads: set[threading.Thread] = set()

    def note(self) -> str:
        self.threads.add(threading.current_thread())
        return "noted"


def test_host_objects_are_called_in_threads() -> None:
    """Functions, tools and stores are called beside the loop, and their attributes stay."""
    where = _Where()

    class Store(MemoryCanonicalStore):
        def save(self, record: Any) -> None:
            where.note()
            super().save(record)

    @in_threads
    def guard(case: object) -> Any:
        where.note()
        return approve(case)

    logs = in_threads(tool("logs", where.note))
    kept = Store()
    store = in_threads(kept)
    host = world(
        asking(["logs"]),
        logs,
        semantic_guard=guard,
        canonical_store=store,
        run_store=in_threads(MemoryRunStore()),
    )
    assert logs.name == "logs"
    assert ending(_run(host)) == _APPROVED
    assert threading.main_thread() not in where.threads
    assert len(kept) == 1


def test_tools_in_threads_run_together() -> None:
    """A batch of blocking tools is under way at the same time."""
    gate = threading.Barrier(2, timeout=30)

    def body() -> str:
        return f"{gate.wait()}"

    tools = [in_threads(tool(name, body)) for name in "ab"]
    assert ending(_run(world(asking("ab"), *tools))) == _APPROVED


def test_a_generator_is_pulled_in_a_thread() -> None:
    """The body of a tool's generator runs where it may block."""
    where = _Where()

    def body() -> Iterator[str]:
        for item in "ab":
            where.note()
            yield item

    (row,) = _run(world(asking(["logs"]), in_threads(tool("logs", body)))).invocations
    assert row.byte_count == 2
    assert threading.main_thread() not in where.threads


@pytest.mark.parametrize(
    ("error", "code"), [(StopIteration, "UNCLASSIFIED"), (TimeoutError, "TIMEOUT")]
)
def test_what_a_thread_raises_is_raised(error: type[Exception], code: str) -> None:
    """An exception of a thread is classified like any other, ``StopIteration`` included."""

    def body() -> None:
        raise error

    (row,) = _run(world(asking(["logs"]), in_threads(tool("logs", body)))).invocations
    assert row.code is not None
    assert row.code.name == code


def test_an_interrupt_of_a_thread_comes_out() -> None:
    """What a thread raises that is no ``Exception`` ends the run, and goes on."""

    def body() -> None:
        raise KeyboardInterrupt

    host = world(asking(["logs"]), in_threads(tool("logs", body)))

    async def main() -> None:
        with pytest.raises(KeyboardInterrupt):
            await host.run("why?")

    leaping(main)


def test_the_run_does_not_wait_for_a_thread() -> None:
    """A run that is cancelled ends at once; the thread finishes by itself, for nothing."""
    token, leave, seen = CancelToken(), threading.Event(), []

    def body() -> str:
        token.cancel()
        leave.wait(30)
        seen.append("finished")
        return "late"

    async def main() -> RunRecord:
        host = world(asking(["logs"]), in_threads(tool("logs", body)))
        record = (await host.run("why?", cancel=token)).record
        assert seen == []
        leave.set()
        return record

    record = leaping(main)
    assert ending(record) == ("CANCELLED", "CANCELLED_BY_CALLER", "CANCELLED")
    assert seen == ["finished"]
    assert record.attempts[-1].outcome.name == "INTERRUPTED"


class _Callable:
    """A callable object of one argument, with a projector beside it."""

    def __call__(self, view: Any) -> Any:
        return asking(["logs"])(view)


class _Mixed:
    """A tool whose projector is asynchronous already."""

    name, description, parameters = "logs", "", None

    def execute(self, _call: object, _attempt: object) -> object:
        return {"found": threading.current_thread() is threading.main_thread()}

    async def project(self, raw: Any) -> Fact:
        await asyncio.sleep(0)
        return Fact(f"in the main thread: {raw['found']}")


def test_objects_of_every_shape() -> None:
    """A callable object keeps its signature; what is asynchronous already stays in the loop."""
    agent = in_threads(_Callable())
    record = _run(world(agent, in_threads(_Mixed())))
    assert ending(record) == _APPROVED
    assert record.public is not None
    assert record.public.text.startswith("in the main thread: False")
    assert repr(agent).startswith("in_threads(<tests.aio.test_threads._Callable")


async def _asynchronous(_view: object) -> None:
    """What needs no thread."""


@pytest.mark.parametrize("host", [3, _Callable, _asynchronous, asyncio])
def test_what_cannot_be_called_is_refused(host: object) -> None:
    """Classes, coroutine functions and objects without a port's method are refused."""
    with pytest.raises(InvalidArgumentError, match="host"):
        in_threads(host)

"""Asynchronous generators of tools and projectors, bounded and closed (section 3.5)."""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import pytest

from harness import Fact, Harness, Limits, RunRecord
from harness import _toolstep as toolstep
from harness.testing import Script
from tests.aio.worlds import asking, ending, leaping, tool, world

_SMALL = Limits(deadline=None, result_bytes=50, release_reserve=0)


class _Source:
    """A tool whose generator notes how far it got, and how often it was closed."""

    name, description, parameters = "logs", "", None

    def __init__(self, *items: Any) -> None:
        self._items = items
        self.given = self.closed = 0

    async def execute(self, _call: object, _attempt: object) -> AsyncIterator[Any]:
        try:
            for item in self._items:
                await asyncio.sleep(1)
                self.given += 1
                if isinstance(item, Exception):
                    raise item
                yield item
        finally:
            self.closed += 1


def _run(source: object, **options: Any) -> RunRecord:
    return leaping(lambda: world(asking(["logs"]), source, **options).run("why?")).record


def test_a_generator_is_taken_item_by_item() -> None:
    """Texts and facts of an asynchronous generator are the facts of the call."""
    source = _Source("a", Fact("b", "here"))
    record = _run(source)
    assert ending(record) == ("SUCCESS", "REPORT_APPROVED", "SUCCESS")
    assert record.invocations[0].byte_count == 2
    assert (source.given, source.closed) == (2, 1)


def test_a_generator_is_stopped_at_the_hard_limit() -> None:
    """A stream that grows over the hard limit is left, closed once, and ends the run."""
    source = _Source(*["x" * 20] * 9)
    record = _run(source, limits=_SMALL)
    assert ending(record) == ("FAILED", "RESULT_TOO_LARGE", "FAILED")
    assert (source.given, source.closed) == (3, 1)


def test_a_generator_that_raises_is_a_tool_error() -> None:
    """What a generator raises in the middle is classified like what its tool raises."""
    record = _run(_Source("a", ConnectionError()))
    assert record.invocations[0].code is not None
    assert record.invocations[0].code.name == "TRANSPORT"


def test_a_generator_is_aborted_with_its_run() -> None:
    """The deadline cuts a stream short, whose generator is closed before the run returns."""
    source = _Source(*["a"] * 99)
    slow = world(asking(["logs"]), source)
    record = leaping(lambda: slow.run("why?", deadline=4.5)).record
    assert ending(record) == ("TIMED_OUT", "DEADLINE_EXCEEDED", "FAILED")
    assert (source.given, source.closed) == (4, 1)


def test_a_coroutine_may_give_a_generator() -> None:
    """A tool that has to await something first may hand over its stream then."""
    source = _Source("a")

    async def body() -> object:
        await asyncio.sleep(1)
        return source.execute(None, None)

    assert _run(tool("logs", body)).invocations[0].is_ready


class _Numbers:
    """An asynchronous iterator that is no generator and never ends."""

    def __aiter__(self) -> "_Numbers":
        return self

    async def __anext__(self) -> str:
        return "a"


def test_no_iterator_is_taken_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a byte limit there is still a bound on the number of items."""
    monkeypatch.setattr(toolstep, "_MOST_ITEMS", 3)
    record = _run(tool("logs", _Numbers))
    assert ending(record) == ("FAILED", "RESULT_TOO_LARGE", "FAILED")


class _Projecting:
    """A tool with an asynchronous projector."""

    name, description, parameters = "logs", "", None

    def __init__(self, project: Callable[[Any], Any]) -> None:
        self.project = project

    def execute(self, _call: object, _attempt: object) -> object:
        return {"found": ["a", "b"]}


async def _projected(raw: Any) -> list[str]:
    await asyncio.sleep(0)
    return list(raw["found"])


async def _streamed(raw: Any) -> AsyncIterator[str]:
    for item in raw["found"]:
        await asyncio.sleep(0)
        yield item


def _called(project: Callable[[Any], Any], raw: object) -> Any:
    """A plain function that does not show what it gives back."""
    return project(raw)


async def _broken(raw: Any) -> AsyncIterator[str]:
    yield "a"
    raise LookupError(raw)


def _numbers(_raw: object) -> object:
    return _Numbers()


@pytest.mark.parametrize(
    ("project", "size", "code"),
    [
        (_projected, 2, None),
        (_streamed, 2, None),
        (_numbers, 3, None),
        (_broken, 0, "PROJECTION_FAILED"),
        (Script([5]), 0, "PROJECTION_FAILED"),
    ],
)
def test_a_projector_may_be_asynchronous(
    monkeypatch: pytest.MonkeyPatch, project: Any, size: int, code: str | None
) -> None:
    """Coroutines and asynchronous generators project as plain functions and generators do."""
    monkeypatch.setattr(toolstep, "_MOST_ITEMS", 3)
    (row,) = _run(_Projecting(project)).invocations
    assert row.byte_count == size
    assert (row.code.name if row.code else None) == code


def test_an_interrupted_projector_interrupts_the_run() -> None:
    """The caller's cancel reaches an asynchronous projector too."""

    async def project(_raw: object) -> list[str]:
        return await asyncio.Future()

    host = world(asking(["logs"]), _Projecting(project))

    async def main() -> None:
        async with asyncio.timeout(3):
            await host.run("why?")

    with pytest.raises(TimeoutError):
        leaping(main)


@pytest.mark.parametrize("project", [_projected, _streamed])
def test_a_plain_harness_refuses_an_asynchronous_projector(project: Any) -> None:
    """Under the synchronous driver the projection fails, and leaves nothing that nobody awaited."""
    plain = Harness(asking(["logs"]), [_Projecting(partial(_called, project))])
    (row,) = plain.run("why?").record.invocations
    assert row.code is not None
    assert row.code.name == "PROJECTION_FAILED"


def test_a_plain_harness_refuses_an_asynchronous_stream() -> None:
    """A plain tool that hands over an asynchronous generator is refused when it does."""
    source = _Source("a")
    stream = tool("logs", lambda: source.execute(None, None))
    (row,) = Harness(asking(["logs"]), [stream]).run("why?").record.invocations
    assert row.code is not None
    assert row.code.name == "INVALID_OUTPUT"

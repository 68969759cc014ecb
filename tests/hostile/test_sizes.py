"""Values without end: they end by the limits, and what the harness holds beside them is bounded."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness import (
    AgentTurn,
    AgentView,
    Citation,
    DiagnosisDraft,
    Fact,
    Harness,
    Limits,
    RunRecord,
    StopCause,
    ToolCall,
)

_MIB = 2**20


class _Tool:
    name, description, parameters = "search", "Search.", None

    def __init__(self, give: Callable[[], Any]) -> None:
        self._give = give

    def execute(self, _call: ToolCall, _attempt: object) -> Any:
        """Give whatever it is."""
        return self._give()


def _asking(view: AgentView) -> AgentTurn:
    if view.records:
        return AgentTurn(draft=DiagnosisDraft(None))
    return AgentTurn([ToolCall("search")])


def _peak(run: Callable[[], RunRecord]) -> tuple[RunRecord, float]:
    """A run's record, and how many MiB it took at most."""
    gc.collect()
    tracemalloc.start()
    try:
        record = run()
        return record, tracemalloc.get_traced_memory()[1] / _MIB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("count", "too_large"), [(100_000, False), (1_000_000, True)])
def test_a_million_facts_end_by_the_limits(count: int, *, too_large: bool) -> None:
    """Beside the host's own list next to nothing is held: at most two hundred facts of it."""
    facts = [Fact("pool exhausted", "log:1")] * count
    harness = Harness(_asking, [_Tool(lambda: facts)])
    record, peak = _peak(lambda: harness.run("q").record)
    (row,) = record.invocations
    assert (record.stop_cause is StopCause.RESULT_TOO_LARGE) is too_large
    if not too_large:
        assert row.cut is not None
        assert (row.cut.original_facts, row.cut.kept_facts) == (count, 200)
    assert peak < 4


def test_a_source_without_end_is_left() -> None:
    """A generator that never stops ends the run by the limit of a result, and is closed."""
    closed: list[bool] = []

    def endless() -> Iterator[str]:
        try:
            while True:
                yield "x" * 10_000
        finally:
            closed.append(True)

    record = Harness(_asking, [_Tool(endless)]).run("q").record
    assert record.stop_cause is StopCause.RESULT_TOO_LARGE
    gc.collect()
    assert closed == [True]


def test_a_large_text_ends_the_run_without_a_copy() -> None:
    """64 MiB of text beside 8 MiB of limit: measured as a stream, not by encoding it all."""
    text = "x" * (64 * _MIB)
    harness = Harness(_asking, [_Tool(lambda: text)])
    record, peak = _peak(lambda: harness.run("q").record)
    assert record.stop_cause is StopCause.RESULT_TOO_LARGE
    assert peak < 24


def test_a_nested_value_is_measured_as_a_stream() -> None:
    """A list of large parts is left at the part that no longer fits."""
    part = "y" * _MIB
    harness = Harness(_asking, [_Tool(lambda: [part] * 1000)], limits=Limits(result_bytes=2 * _MIB))
    record, peak = _peak(lambda: harness.run("q").record)
    assert record.stop_cause is StopCause.RESULT_TOO_LARGE
    assert peak < 24


@pytest.mark.parametrize("count", [100_000])
def test_a_hundred_thousand_citations_end_by_the_limit(count: int) -> None:
    """A draft is measured before it is checked."""

    def agent(view: AgentView) -> AgentTurn:
        if not view.records:
            return AgentTurn([ToolCall("search")])
        cited = [Citation(view.records[0].invocation_id, 1)] * count
        return AgentTurn(draft=DiagnosisDraft("pool exhausted", cited))

    harness = Harness(agent, [_Tool(lambda: [Fact("pool exhausted", "log:1")])])
    record = harness.run("q").record
    assert record.stop_cause is StopCause.RESULT_TOO_LARGE
    assert record.public is not None
    assert "pool exhausted" in record.public.text

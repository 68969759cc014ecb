"""The stores in memory: unique ids, compare-and-set, retention."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from threading import Barrier, Thread
from typing import Any

import pytest

from harness import ReleaseOutcome, Request, RunRecord, RunState, StopCause
from harness.errors import (
    IllegalTransitionError,
    InvalidArgumentError,
    RunExistsError,
    StoreError,
)
from harness.stores.memory import MemoryCanonicalStore, MemoryRunStore
from tests.core.doubles import NOON, begun, ended, evidence

HOUR = timedelta(hours=1)

# An ending in each terminal state.
ENDINGS = {
    "SUCCESS": (StopCause.REPORT_APPROVED, ReleaseOutcome.SUCCESS),
    "FAILED": (StopCause.AGENT_UNAVAILABLE, ReleaseOutcome.FAILED),
    "CANCELLED": (StopCause.CANCELLED_BY_CALLER, ReleaseOutcome.CANCELLED),
    "TIMED_OUT": (StopCause.DEADLINE_EXCEEDED, ReleaseOutcome.FAILED),
    "BUDGET_EXHAUSTED": (StopCause.BUDGET_EXHAUSTED, ReleaseOutcome.FAILED),
}


def _ending(state: str, **fields: Any) -> RunRecord:
    cause, outcome = ENDINGS[state]
    return ended(RunState[state], cause, outcome, **fields)


# --- canonical records


def test_a_canonical_record() -> None:
    """What was saved is read back; an id that was never saved gives nothing."""
    store, record = MemoryCanonicalStore(), evidence("a")
    store.save(record)
    assert store.load("E-run-1") is record
    assert store.load(" E-run-1") is store.load("e-run-1") is None
    assert len(store) == 1


@pytest.mark.parametrize("second", [evidence("a"), evidence("b")])
def test_an_id_is_saved_once(second: Any) -> None:
    """A second record of the same id is refused, and the first stays."""
    store, record = MemoryCanonicalStore(), evidence("a")
    store.save(record)
    with pytest.raises(StoreError, match="record 'E-run-1' exists already"):
        store.save(second)
    assert store.load("E-run-1") is record


def test_deleting_a_run() -> None:
    """The records of a run are deleted together, those of others stay."""
    store = MemoryCanonicalStore()
    for record in (evidence("a"), evidence("b", number=2), evidence("c", run_id="other")):
        store.save(record)
    assert store.delete_run("run") == 2
    assert store.delete_run("run") == 0
    assert store.load("E-other-1") is not None


# --- run records


def test_a_run_begins_once() -> None:
    """A run id that exists is refused with the stored state, even for the very same record."""
    store, record = MemoryRunStore(), begun()
    store.begin(record)
    for again in (record, begun()):
        with pytest.raises(RunExistsError, match="run 'run' exists already; it is RUNNING"):
            store.begin(again)
    store.finish(_ending("FAILED"))
    with pytest.raises(RunExistsError, match="it is FAILED"):
        store.begin(record)
    assert len(store) == 1


@pytest.mark.parametrize("state", ENDINGS)
@pytest.mark.parametrize("second", ENDINGS)
def test_the_first_ending_stands(state: str, second: str) -> None:
    """From RUNNING every ending is stored; what stands then is given back and stays."""
    store, first = MemoryRunStore(), _ending(state)
    store.begin(begun())
    assert store.finish(first) is None
    assert store.finish(_ending(second, cancel_reason="late")) == first
    assert store.load("run") == first


def test_a_run_that_has_not_ended_is_not_finished() -> None:
    """RUNNING is no ending: finishing with it is refused and changes nothing."""
    store, record = MemoryRunStore(), begun()
    store.begin(record)
    with pytest.raises(IllegalTransitionError, match="RunState: RUNNING -> RUNNING cannot occur"):
        store.finish(begun())
    assert store.load("run") is record


def test_a_run_that_was_never_begun() -> None:
    """What was never begun can be neither finished nor delivered nor read."""
    store = MemoryRunStore()
    with pytest.raises(StoreError, match="run 'run' was never begun"):
        store.finish(_ending("SUCCESS"))
    with pytest.raises(StoreError, match="run 'run' has not ended here"):
        store.mark_delivered("run")
    assert store.load("run") is None


def test_delivery() -> None:
    """An ended run is marked as delivered; a running one cannot be."""
    store = MemoryRunStore()
    store.begin(begun())
    with pytest.raises(StoreError, match="has not ended here"):
        store.mark_delivered("run")
    store.finish(_ending("SUCCESS"))
    store.mark_delivered("run")
    store.mark_delivered("run")
    expected = _ending("SUCCESS", delivered=True)
    assert store.load("run") == expected
    assert store.finish(_ending("FAILED")) == expected


def test_one_of_many_endings_is_stored() -> None:
    """Of many threads that finish a run at once, one is told that its ending is stored."""
    store, barrier = MemoryRunStore(), Barrier(16)
    store.begin(begun())
    told: list[RunRecord | None] = []

    def finish(number: int) -> None:
        barrier.wait()
        told.append(store.finish(_ending("FAILED", cancel_reason=str(number))))

    threads = [Thread(target=finish, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told.count(None) == 1
    assert {one for one in told if one is not None} == {store.load("run")}


def test_conversations() -> None:
    """The runs of a conversation are given oldest first, with their deliveries."""
    store = MemoryRunStore()
    for number, conversation in enumerate(("a", "b", "a")):
        request = Request("why?", conversation_id=conversation)
        store.begin(begun(str(number), request=request, started_at=NOON - number * HOUR))
    store.finish(_ending("FAILED", run_id="0", request=Request("why?", conversation_id="a")))
    store.mark_delivered("0")
    assert [record.run_id for record in store.runs_of("a")] == ["2", "0"]
    assert [record.delivered for record in store.runs_of("a")] == [False, True]
    assert store.runs_of("c") == ()


def test_unfinished_runs() -> None:
    """Runs that were begun long ago and never ended are found, and no others."""
    store = MemoryRunStore()
    for number in range(3):
        store.begin(begun(str(number), started_at=NOON - number * HOUR))
    store.finish(_ending("FAILED", run_id="2"))
    assert [record.run_id for record in store.unfinished(HOUR, NOON)] == ["1"]
    assert len(store.unfinished(timedelta(0), NOON)) == 2


def test_retention() -> None:
    """Runs that ended before a time are deleted with their deliveries; running ones stay."""
    store = MemoryRunStore()
    for number in range(3):
        store.begin(begun(str(number)))
    for number in range(2):
        store.finish(_ending("FAILED", run_id=str(number), ended_at=NOON + number * HOUR))
        store.mark_delivered(str(number))
    assert store.delete_before(NOON + HOUR) == 1
    assert store.load("0") is None
    store.begin(begun("0"))
    store.finish(_ending("FAILED", run_id="0"))
    again = store.load("0")
    assert again is not None
    assert not again.delivered
    assert len(store) == 3


@pytest.mark.parametrize("time", [datetime(2026, 1, 1), "2026-01-01", None])  # noqa: DTZ001
def test_a_time_has_a_zone(time: Any) -> None:
    """A naive time is refused, by name."""
    store = MemoryRunStore()
    with pytest.raises(InvalidArgumentError, match=r"^time is .*; allowed: a timezone-aware"):
        store.delete_before(time)
    with pytest.raises(InvalidArgumentError, match=r"^now is "):
        store.unfinished(HOUR, time)


def test_a_time_in_another_zone() -> None:
    """Times of different zones are compared as instants."""
    store = MemoryRunStore()
    store.begin(begun())
    store.finish(_ending("FAILED", ended_at=NOON))
    tokyo = timezone(9 * HOUR)
    assert store.delete_before(NOON.astimezone(tokyo)) == 0
    assert store.delete_before((NOON + HOUR).astimezone(tokyo)) == 1


def test_forgetting_everything() -> None:
    """A store in memory can be emptied: records, runs and deliveries."""
    canonical, runs = MemoryCanonicalStore(), MemoryRunStore()
    canonical.save(evidence("a"))
    runs.begin(begun())
    runs.finish(_ending("FAILED"))
    runs.mark_delivered("run")
    canonical.clear()
    runs.clear()
    assert (len(canonical), len(runs)) == (0, 0)
    runs.begin(begun())
    runs.finish(_ending("FAILED"))
    assert runs.load("run") == _ending("FAILED")

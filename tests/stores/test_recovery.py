"""What becomes of runs that a crash left open."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from harness import ReleaseOutcome, RunState, StopCause
from harness.errors import InvalidArgumentError, StoreError
from harness.explain import explain
from harness.stores import MemoryRunStore, SqliteRunStore, recover_abandoned
from harness.stores._recovery import ended_from_outside
from harness.testing._samples import BEGAN, sample_endings, sample_opening

_NOW = BEGAN + timedelta(hours=5)


@pytest.fixture(params=["memory", "file"])
def runs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """Each bundled run store."""
    if request.param == "memory":
        yield MemoryRunStore()
        return
    with SqliteRunStore(tmp_path / "runs.db", durable=False) as opened:
        yield opened


def test_an_abandoned_run_gets_an_honest_ending(runs: Any) -> None:
    """It ends CANCELLED / INTERRUPTED, releases nothing, and says who ended it."""
    runs.begin(sample_opening("run-1"))
    (record,) = recover_abandoned(runs, timedelta(hours=1), _NOW)
    assert runs.load("run-1") == record
    assert (record.run_state, record.stop_cause) == (RunState.CANCELLED, StopCause.INTERRUPTED)
    assert record.release_outcome is ReleaseOutcome.CANCELLED
    assert record.cancel_reason == "abandoned: its process ended before the run did"
    assert record.ended_at == _NOW
    assert record.public is not None
    assert record.public.text == ""
    assert not record.delivered
    assert record.trace[-1].detail == {"cause": "INTERRUPTED", "recovered": True}
    assert "abandoned" in str(explain(record))


def test_only_what_is_old_and_open_is_ended(runs: Any) -> None:
    """Younger runs may be alive, and ended ones have their ending; a second recovery finds none."""
    runs.begin(sample_opening("old"))
    runs.begin(evolve(sample_opening("young"), started_at=_NOW - timedelta(minutes=5)))
    runs.begin(sample_opening("ended"))
    runs.finish(sample_endings("ended")["report"])
    found = recover_abandoned(runs, timedelta(hours=1), _NOW)
    assert [record.run_id for record in found] == ["old"]
    assert runs.load("young").run_state is RunState.RUNNING
    assert runs.load("ended").stop_cause is StopCause.REPORT_APPROVED
    assert recover_abandoned(runs, timedelta(hours=1), _NOW) == ()


def test_a_run_that_ends_meanwhile_keeps_its_own_ending() -> None:
    """The compare-and-set decides: what its own process stored is not replaced."""

    class Alive(MemoryRunStore):
        def unfinished(self, older_than: timedelta, now: datetime) -> Any:
            found = super().unfinished(older_than, now)
            self.finish(sample_endings("run-1")["report"])
            return found

    runs = Alive()
    runs.begin(sample_opening("run-1"))
    assert recover_abandoned(runs, timedelta(0), _NOW) == ()
    standing = runs.load("run-1")
    assert standing is not None
    assert standing.stop_cause is StopCause.REPORT_APPROVED


def test_the_machine_s_clock_is_the_default() -> None:
    """Without a time the present is meant; a run that begins in the future is left alone."""
    runs = MemoryRunStore()
    runs.begin(evolve(sample_opening("past"), started_at=datetime(2020, 1, 1, tzinfo=UTC)))
    runs.begin(evolve(sample_opening("future"), started_at=datetime(2999, 1, 1, tzinfo=UTC)))
    assert [one.run_id for one in recover_abandoned(runs, timedelta(0))] == ["past"]


@pytest.mark.parametrize("age", [timedelta(seconds=-1), 3600, None])
def test_an_age_that_is_none_is_refused(age: Any) -> None:
    """The age is a timedelta of 0 or more."""
    with pytest.raises(InvalidArgumentError, match="older_than"):
        recover_abandoned(MemoryRunStore(), age, _NOW)


def test_a_naive_present_is_refused() -> None:
    """The present is timezone-aware."""
    with pytest.raises(InvalidArgumentError, match="now"):
        recover_abandoned(MemoryRunStore(), timedelta(0), datetime(2026, 1, 1))  # noqa: DTZ001


def test_a_store_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    """Nothing is hidden: whoever recovers learns that the file is closed."""
    runs = SqliteRunStore(tmp_path / "runs.db")
    runs.close()
    with pytest.raises(StoreError, match="is closed"):
        recover_abandoned(runs, timedelta(0), _NOW)


def test_an_operator_s_cancel_is_an_ending_from_outside() -> None:
    """The same makes the record of a run that somebody else cancels."""
    record = ended_from_outside(
        sample_opening("run-1"), _NOW, StopCause.CANCELLED_BY_CALLER, "no longer needed"
    )
    assert record.stop_cause is StopCause.CANCELLED_BY_CALLER
    assert record.cancel_reason == "no longer needed"

"""What becomes of runs that a crash left ``RUNNING`` (section 3.10)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol

from attrs import evolve

from harness._json import FrozenDict
from harness._records import PublicContent, RunRecord, Trace
from harness._release import ReleaseFacts, decide_release
from harness._states import PublicKind, StopCause, TraceCode
from harness.errors import InvalidArgumentError
from harness.stores.memory import check_utc

__all__ = ["recover_abandoned"]

_REASON: Final = "abandoned: its process ended before the run did"


class _RunStore(Protocol):
    def unfinished(self, older_than: timedelta, now: datetime) -> tuple[RunRecord, ...]: ...

    def finish(self, record: RunRecord) -> RunRecord | None: ...


def recover_abandoned(
    store: _RunStore, older_than: timedelta, now: datetime | None = None
) -> tuple[RunRecord, ...]:
    """
    End the runs that were begun long ago and never ended: their process is gone.

    They end as ``CANCELLED / INTERRUPTED``, the contract's ending for a run that something outside
    of it cut short: whatever it had collected, nothing was published and nothing is (section 3.9).
    ``FAILED / INTERNAL_ERROR`` would claim a fault of the harness, and a failure that no client
    ever received. Attempts and use of such a run are unknown; its trace says that it was recovered.

    Safe beside living runs and beside another recovery: each run is ended by compare-and-set. A run
    that was still alive publishes nothing any more, so *older_than* should exceed the longest
    deadline of the service.

    Args:
        store: A bundled run store, or one with the same ``unfinished`` and ``finish``.
        older_than: How long ago a run must have been begun, at least.
        now: The present, timezone-aware; default: the machine's clock.

    Returns:
        The records of the runs that were ended here, oldest first. Running it again gives none.

    Raises:
        InvalidArgumentError: The age is negative or no ``timedelta``, or the time is naive.
        StoreError: The store cannot be used; the runs that were ended until then stay ended.
    """
    age = _to_age(older_than)
    now = datetime.now(UTC) if now is None else check_utc(now, "now").astimezone(UTC)
    ended = (
        ended_from_outside(record, now, StopCause.INTERRUPTED, _REASON)
        for record in store.unfinished(age, now)
    )
    return tuple(record for record in ended if store.finish(record) is None)


def _to_age(value: Any) -> timedelta:
    if not isinstance(value, timedelta) or value < timedelta(0):
        raise InvalidArgumentError("older_than", value, "a timedelta of 0 or more")
    return value


def ended_from_outside(
    record: RunRecord, now: datetime, cause: StopCause, reason: str
) -> RunRecord:
    """
    Give the honest ending of a run that its own process does not end.

    Args:
        record: Its opening record.
        now: When it ends, in UTC.
        cause: Why; a cause of which nothing is released.
        reason: The same in words.
    """
    decision = decide_release(
        ReleaseFacts(cause=cause, safe_progress=False, missing_context=False, trusted=True)
    )
    return evolve(
        record,
        ended_at=now,
        run_state=decision.state,
        stop_cause=cause,
        cancel_reason=reason,
        release_outcome=decision.outcome,
        release_rule=decision.rule,
        public=PublicContent(kind=PublicKind.NONE),
        record_saved=True,
        trace=_traced(record, cause, max(0.0, (now - record.started_at).total_seconds())),
    )


def _traced(record: RunRecord, cause: StopCause, at: float) -> Trace:
    """
    Add the ending to whatever the record had noted.
    """
    noted: list[tuple[Any, ...]] = [(event.code, event.at, event.detail) for event in record.trace]
    detail = FrozenDict({"cause": cause.name, "recovered": True})
    return Trace([*noted, (TraceCode.RUN_ENDED, at, detail)])

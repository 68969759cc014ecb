"""Only a published report of a diagnosis becomes a previous turn (section 3.11)."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from harness import (
    FallbackType,
    Intent,
    PreviousTurn,
    PublicContent,
    PublicKind,
    ReleaseOutcome,
    RunRecord,
    RunState,
    StopCause,
    previous_turn,
)
from harness._previous import is_previous_turn
from harness.errors import InvalidArgumentError, NotAPreviousTurnError
from tests.core.doubles import begun, ended

REPORT = PublicContent(kind=PublicKind.REPORT, text="the pool ran out\n")
PUBLISHED = ended(intent=Intent.DIAGNOSIS, public=REPORT, record_saved=True, delivered=True)
FAILED = (RunState.FAILED, StopCause.AGENT_UNAVAILABLE, ReleaseOutcome.FAILED)
CANCELLED = (RunState.CANCELLED, StopCause.INTERRUPTED, ReleaseOutcome.CANCELLED)

# What becomes no previous turn, and why.
REFUSED: list[tuple[RunRecord, str]] = [
    (begun(), "it is no diagnosis"),
    (evolve(PUBLISHED, intent=None), "it is no diagnosis"),
    (evolve(PUBLISHED, intent=Intent.GENERAL), "it is no diagnosis"),
    (begun(intent=Intent.DIAGNOSIS), "its release is not decided, not SUCCESS"),
    (ended(*FAILED, intent=Intent.DIAGNOSIS), "its release is FAILED, not SUCCESS"),
    (ended(*CANCELLED, intent=Intent.DIAGNOSIS), "its release is CANCELLED, not SUCCESS"),
    (
        ended(
            RunState.SUCCESS,
            StopCause.SEMANTIC_UNSUPPORTED,
            ReleaseOutcome.FALLBACK,
            fallback_type=FallbackType.SEMANTIC_UNSUPPORTED,
            intent=Intent.DIAGNOSIS,
        ),
        "its release is FALLBACK, not SUCCESS",
    ),
    (evolve(PUBLISHED, public=None), "it published no report"),
    (
        evolve(PUBLISHED, public=PublicContent(kind=PublicKind.REPLY, text="hello")),
        "it published no report",
    ),
    (evolve(PUBLISHED, delivered=False), "its report was not delivered"),
]


def test_a_published_report() -> None:
    """A published report becomes the previous turn of its question."""
    assert is_previous_turn(PUBLISHED)
    assert previous_turn(PUBLISHED) == PreviousTurn("run", "why?", "the pool ran out\n")


@pytest.mark.parametrize(("record", "why"), REFUSED)
def test_everything_else_is_refused(record: RunRecord, why: str) -> None:
    """A fallback, a reply, a failure or an undelivered report never does; the error says why."""
    assert not is_previous_turn(record)
    with pytest.raises(NotAPreviousTurnError, match=why) as caught:
        previous_turn(record)
    assert (caught.value.run_id, caught.value.why) == ("run", why)


@pytest.mark.parametrize("record", [None, "run", {}])
def test_what_is_no_record(record: Any) -> None:
    """Only a record can be asked."""
    with pytest.raises(InvalidArgumentError, match=r"^record is .*; allowed: a RunRecord"):
        previous_turn(record)

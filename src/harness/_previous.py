"""Which runs become a previous turn of their conversation (section 3.11)."""

from __future__ import annotations

from harness._records import RunRecord
from harness._states import Intent, PublicKind, ReleaseOutcome
from harness._values import PreviousTurn
from harness.errors import InvalidArgumentError, NotAPreviousTurnError

__all__ = ["is_previous_turn", "previous_turn"]


def _why_not(record: RunRecord) -> str | None:
    """
    Name the first condition that does not hold.
    """
    if record.intent is not Intent.DIAGNOSIS:
        return "it is no diagnosis"
    if record.release_outcome is not ReleaseOutcome.SUCCESS:
        outcome = record.release_outcome
        return f"its release is {outcome.name if outcome else 'not decided'}, not SUCCESS"
    if record.public is None or record.public.kind is not PublicKind.REPORT:
        return "it published no report"
    if not record.delivered:
        return "its report was not delivered"
    return None


def is_previous_turn(record: RunRecord) -> bool:
    """
    Whether a run would become a previous turn.
    """
    return _why_not(record) is None


def previous_turn(record: RunRecord) -> PreviousTurn:
    """
    Make a previous turn of a run's record.

    Args:
        record: The record of a diagnosis whose report was published.

    Returns:
        The turn, for the next request of the conversation.

    Raises:
        NotAPreviousTurnError: The run published no report of a diagnosis.
        InvalidArgumentError: It is no record.
    """
    if not isinstance(record, RunRecord):
        raise InvalidArgumentError("record", record, "a RunRecord")
    why = _why_not(record)
    if why is not None or record.public is None:
        raise NotAPreviousTurnError(record.run_id, why or "it published no report")
    return PreviousTurn(record.run_id, record.request.question, record.public.text)

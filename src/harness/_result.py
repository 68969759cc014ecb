"""What a run gives back to its caller."""

from __future__ import annotations

from attrs import frozen

from harness._records import PublicContent, RunRecord
from harness._release import one_line
from harness._states import PublicKind, ReleaseOutcome
from harness.explain import Explanation, events_text, explain

__all__ = ["RunResult"]

_WIDTH = 100


@frozen
class RunResult:
    """
    The ending of a run, in five lines when printed, in full as :attr:`record`.

    Attributes:
        record: The run record, as it stands in the run store.
    """

    record: RunRecord

    @property
    def public(self) -> PublicContent:
        """
        What was decided to become public.
        """
        return self.record.public or PublicContent(kind=PublicKind.NONE)

    @property
    def text(self) -> str:
        """
        The public text; empty for a failure and for nothing.
        """
        return self.public.text

    def explain(self) -> Explanation:
        """
        Say why the user saw what they saw (section 3.12).
        """
        return explain(self.record)

    def __str__(self) -> str:
        record = self.record
        used = record.used
        outcome = record.release_outcome or ReleaseOutcome.CANCELLED
        fallback = f" ({record.fallback_type.name})" if record.fallback_type else ""
        code = f" ({record.failure_code})" if record.failure_code else ""
        cause = record.stop_cause.name if record.stop_cause else "-"
        ready = sum(row.is_ready for row in record.invocations)
        events = events_text(record.events)
        calls = f"{used.model_attempts} model attempts, {used.tool_calls} tool calls"
        delivered = "delivered" if record.delivered else "not delivered"
        return "\n".join(
            (
                f"run      {record.run_state.name} ({cause})",
                f"release  {outcome.name}{fallback}{code}",
                f"request  {record.request_status.name}, stream {events}, {delivered}",
                f"evidence {ready} of {len(record.invocations)} invocations ready, {calls}",
                f"text     {_first_line(self.text) or '-'}",
            )
        )


def _first_line(text: str) -> str:
    line = one_line(text.strip().partition("\n")[0])
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 3]}..."

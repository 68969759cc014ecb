"""What is known of one run after it: its record, what its client got, and every call it made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Final

from attrs import frozen

from harness._records import AttemptRecord, CanonicalRecord, RunRecord, StreamEvent
from harness._states import EventKind, TraceCode
from harness._values import AgentTurn, Answered, DiagnosisDraft
from harness.testing.faults import Call

__all__ = ["MODELS", "WORK", "Observation", "Seen"]

#: The component of each port that is a model.
MODELS: Final = MappingProxyType(
    {
        "router": "INTENT_ROUTER",
        "responder": "RESPONDER",
        "agent": "DIAGNOSIS_AGENT",
        "repair": "EVIDENCE_REPAIR",
        "semantic_guard": "SEMANTIC_GUARD",
    }
)
#: Where only a run that is still active goes.
WORK: Final = frozenset({*MODELS, "tool", "tool.project", "canonical_store.save"})


@frozen(kw_only=True)
class Observation:
    """
    What came of one run.

    Attributes:
        record: The record that the run gave back; ``None`` where it gave none.
        left: What left the run as an exception, or ``None``.
        calls: Every call that it made, as a :class:`FaultPlan` keeps them.
        stored: The record that the run store has now, or ``None``.
        deadline: Seconds that the run was given, or ``None``.
        cancelled: Whether its caller has cancelled it.
        detached: Whether it goes on when its client leaves.
    """

    record: RunRecord | None
    left: BaseException | None
    calls: Sequence[Call]
    stored: RunRecord | None
    deadline: float | None
    cancelled: bool
    detached: bool = False


class Seen:
    """
    An observation of a run that gave a record, with what several invariants ask of it.

    Args:
        observation: The observation.
        record: Its record.
    """

    def __init__(self, observation: Observation, record: RunRecord) -> None:
        self.all = observation
        self.record = record
        #: The calls by where they went.
        self.at: dict[str, list[Call]] = {}
        for call in observation.calls:
            self.at.setdefault(call.site, []).append(call)

    def calls(self, site: str) -> list[Call]:
        """
        Give the calls that went somewhere.
        """
        return self.at.get(site, [])

    @cached_property
    def attempts(self) -> tuple[AttemptRecord, ...]:
        """
        The attempts, made once.
        """
        return tuple(self.record.attempts)

    @cached_property
    def codes(self) -> tuple[TraceCode, ...]:
        """
        The trace's codes.
        """
        return self.record.trace.codes

    @cached_property
    def is_elsewhere(self) -> bool:
        """
        Whether the run was told that another process had ended it: that record stands.
        """
        return any(
            call.returned and type(call.value) is RunRecord for call in self.finishes
        ) and not self.clock_interrupted(self.finishes)

    @cached_property
    def finishes(self) -> list[Call]:
        """
        The calls that were to save the ending.
        """
        return self.calls("run_store.finish")

    @cached_property
    def saved(self) -> dict[str, CanonicalRecord]:
        """
        The canonical records that the store took.
        """
        records = [
            call.arguments[0] for call in self.calls("canonical_store.save") if call.returned
        ]
        return {record.invocation_id: record for record in records}

    @cached_property
    def started(self) -> float | None:
        """
        What the clock said when the run began.
        """
        first = next((call for call in self.calls("clock.monotonic") if call.returned), None)
        return None if first is None else first.value

    def is_expired(self, call: Call) -> bool:
        """
        Whether a call was made although the clock had said that the deadline has passed.
        """
        deadline, started = self.all.deadline, self.started
        if deadline is None or started is None or call.began is None:
            return False
        return call.began - started >= deadline

    @cached_property
    def drafts(self) -> tuple[DiagnosisDraft, ...]:
        """
        The drafts that were handed in.
        """
        return tuple(self._drafts())

    def _drafts(self) -> Iterator[DiagnosisDraft]:
        for site in ("agent", "repair"):
            for call in self.calls(site):
                value = call.value.value if type(call.value) is Answered else call.value
                draft = value.draft if type(value) is AgentTurn else value
                if type(draft) is DiagnosisDraft:
                    yield draft

    @cached_property
    def sent(self) -> tuple[StreamEvent, ...]:
        """
        Every event that was sent, whether or not its client accepted it.
        """
        return tuple(call.arguments[0] for call in self.calls("client.send"))

    @cached_property
    def accepted(self) -> tuple[EventKind, ...]:
        """
        The kinds of the events whose sending returned, and was not interrupted right then.
        """
        return tuple(
            call.arguments[0].kind
            for call in self.calls("client.send")
            if call.returned and not self.clock_interrupted([call])
        )

    def clock_interrupted(self, calls: Sequence[Call]) -> bool:
        """
        Whether an interrupt came right after one of these calls, of clock or classifier.

        The clock is asked how long a call took, the classifier what its error means.
        """
        return any(map(self._interrupted_after, calls))

    def _interrupted_after(self, call: Call) -> bool:
        after = self.all.calls[call.last : self.looked_at(call.last)]
        return any(map(_is_interrupted, after))

    def looked_at(self, number: int) -> int:
        """
        Give the last call of those by which the harness looks at what another call came to.

        Args:
            number: The last call before that one returned.
        """
        for site in ("clock.monotonic", "classifier"):
            after = self.all.calls[number : number + 1]
            if after and after[0].site == site:
                number = after[0].last
        return number

    def interrupts(self) -> Iterator[Call]:
        """
        Give the calls that raised what goes on to the caller.
        """
        return filter(_is_interrupted, self.all.calls)


def _is_interrupted(call: Call) -> bool:
    return call.error is not None and not isinstance(call.error, Exception)

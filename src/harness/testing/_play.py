"""The host objects of a scenario: each call plays the next scripted step."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import Any

from attrs import evolve

from harness._cancel import CancelToken
from harness._records import CanonicalRecord, PublicContent, RunRecord
from harness._seam import Attempt
from harness._states import (
    FailureKind,
    Intent,
    Progress,
    PublicKind,
    ReleaseOutcome,
    RunState,
    SemanticVerdict,
    StopCause,
)
from harness._tools import Parameter
from harness._values import (
    AgentTurn,
    Citation,
    Claim,
    DiagnosisDraft,
    Fact,
    ProgressStatement,
    Route,
    ToolCall,
    Usage,
)
from harness._view import AgentView, RepairCase
from harness.errors import ProviderError
from harness.stores.memory import MemoryCanonicalStore, MemoryRunStore
from harness.testing._clock import VirtualClock
from harness.testing._schema import MalformedScenarioError

__all__ = ["PlayedCanonicalStore", "PlayedRunStore", "PlayedTool", "Player"]

Step = Mapping[str, Any]

#: More digits than a run has invocations.
_MOST_DIGITS = 9


class OutOfSteps(BaseException):
    """
    A call came for which no step is left: not to be taken for a failure of the component.
    """


class Player:
    """
    Plays the steps of a scenario's components against its virtual clock.

    Args:
        scenario: The checked scenario.
        clock: The virtual clock.
        token: What the caller cancels by.
    """

    def __init__(self, scenario: Step, clock: VirtualClock, token: CancelToken) -> None:
        self._scenario = scenario
        self._clock = clock
        self._token = token
        self._cancel = scenario.get("cancel", {}).get("during")
        self._interrupt = scenario.get("interrupt", {}).get("during")
        self._made: dict[str, int] = {}
        #: The call for which no step was left, or ``None``.
        self.ran_dry: MalformedScenarioError | None = None

    def play(self, key: str, steps: Sequence[Step], attempt: Attempt, moment: str) -> Step:
        """
        Make the next call of a component: time passes, usage is reported, failures are raised.

        Args:
            key: Where the steps stand.
            steps: The steps.
            attempt: Where usage is reported.
            moment: The component's name for cancels and interrupts.
        """
        step = self._next(key, steps)
        number = self._count(f"call of {moment}")
        if self._cancel == f"{moment}:{number}":
            self._token.cancel("the scenario's caller")
        if self._interrupt == f"{moment}:{number}":
            raise KeyboardInterrupt
        self._clock.advance(step.get("takes_ms", 0))
        if "usage" in step:
            attempt.report(_usage(step["usage"]))
        if "fail" in step:
            raise ProviderError("scripted", kind=FailureKind[step["fail"]])
        if "raise" in step:
            raise getattr(builtins, step["raise"])(step.get("message", ""))
        return step

    def _count(self, what: str) -> int:
        self._made[what] = self._made.get(what, 0) + 1
        return self._made[what]

    def _next(self, key: str, steps: Sequence[Step]) -> Step:
        place = self._count(key) - 1
        if place < len(steps):
            return steps[place]
        if steps and steps[-1].get("repeat"):
            return steps[-1]
        self.ran_dry = MalformedScenarioError(key, f"no step is left for call {place + 1}")
        raise OutOfSteps

    def component(
        self,
        key: str,
        moment: str,
        answer: Callable[[Step, Any], Any],
        *,
        absent_is_empty: bool = False,
    ) -> Any:
        """
        Make the function of a model component; ``None`` where the scenario has none.
        """
        steps = self._scenario.get(key, [] if absent_is_empty else None)
        if steps is None:
            return None

        def call(argument: Any, attempt: Attempt) -> Any:
            step = self.play(key, steps, attempt, moment)
            return step["malformed"] if "malformed" in step else answer(step, argument)

        return call


def _usage(given: Any) -> Any:
    """
    Give what a provider reports; a cost may be written as a decimal string.
    """
    if not isinstance(given, Mapping):
        return given
    cost = given.get("cost")
    if isinstance(cost, str):
        # what is no number stays text, for the harness to judge
        with suppress(InvalidOperation):
            cost = Decimal(cost)
    return Usage(given.get("input_tokens"), given.get("output_tokens"), cost)


# --- what each component answers


def route(step: Step, _request: Any) -> Route:
    """
    Answer as the router.
    """
    return Route(Intent[step["intent"]], step.get("missing_context", ()))


def reply(step: Step, _request: Any) -> Any:
    """
    Answer as the responder.
    """
    return step["reply"]


def verdict(step: Step, _case: Any) -> SemanticVerdict:
    """
    Answer as the semantic guard.
    """
    return SemanticVerdict[step["verdict"]]


def turn(step: Step, view: AgentView) -> AgentTurn:
    """
    Answer as the agent.
    """
    records = view.records
    draft = step.get("draft")
    return AgentTurn(
        [
            ToolCall(c["tool"], c.get("scope"), c.get("arguments", {}))
            for c in step.get("calls", ())
        ],
        None if draft is None else _draft(draft, records),
        _statement(step.get("progress"), records),
    )


def repaired(step: Step, case: RepairCase) -> DiagnosisDraft:
    """
    Answer as the repairer.
    """
    return _draft(step["draft"], case.records)


def _statement(
    progress: Step | None, records: Sequence[CanonicalRecord]
) -> ProgressStatement | None:
    if progress is None:
        return None
    facts = [_fact_ref(fact, records) for fact in progress.get("facts", ())]
    return ProgressStatement(Progress[progress["state"]], facts)


def _draft(draft: Step, records: Sequence[CanonicalRecord]) -> DiagnosisDraft:
    return DiagnosisDraft(
        draft["conclusion"],
        _citations(draft, records),
        [Claim(claim["text"], _citations(claim, records)) for claim in draft.get("claims", ())],
        draft.get("recommendations", ()),
        draft.get("missing_context", ()),
    )


def _citations(holder: Step, records: Sequence[CanonicalRecord]) -> list[Citation]:
    return [
        Citation(_invocation(one["invocation"], records), one.get("fact"), one.get("quote"))
        for one in holder.get("citations", ())
    ]


def _place(number: str, count: int) -> int | None:
    """
    Read the number of an ``@n``; ``None`` where it names nothing yet.
    """
    if number.isascii() and number.isdigit() and number[0] != "0" and len(number) <= _MOST_DIGITS:
        place = int(number)
        return place if 1 <= place <= count else None
    return None


def _invocation(text: str, records: Sequence[CanonicalRecord]) -> str:
    place = _place(text[1:], len(records)) if text[:1] == "@" and len(text) > 1 else None
    return text if place is None else records[place - 1].invocation_id


def _fact_ref(text: str, records: Sequence[CanonicalRecord]) -> str:
    number, dot, fact = text[1:].partition(".")
    if text[:1] != "@" or not dot or not number or not fact:
        return text
    place = _place(number, len(records))
    if place is None:
        return text
    record = records[place - 1]
    which = _place(fact, len(record.facts))
    return text if which is None else record.fact_ref(which)


# --- tools and stores


class PlayedTool:
    """
    A tool of a scenario.
    """

    description = "scripted"

    def __init__(
        self, name: str, steps: Sequence[Step], parameters: Mapping[str, str] | None, player: Player
    ) -> None:
        self.name = name
        self.parameters = (
            None
            if parameters is None
            else {key: Parameter((kind,)) for key, kind in parameters.items()}
        )
        self._steps = steps
        self._player = player
        self._step: Step = {}

    def execute(self, _call: ToolCall, attempt: Attempt) -> object:
        """
        Play the next step.
        """
        self._step = step = self._player.play(f"tools.{self.name}", self._steps, attempt, "tool")
        if "raw_size" in step:
            return "x" * step["raw_size"]
        if "raw" in step:
            return step["raw"]
        if "malformed" in step:
            return step["malformed"]
        return [_fact(fact) for fact in step.get("facts", ())]

    def project(self, raw: Any) -> Any:
        """
        Project as the step says; what needs no projector is left to the harness.

        Raises:
            ValueError: The step says that its projection fails.
        """
        step = self._step
        if "projection_fails" in step:
            message = "scripted"
            raise ValueError(message)
        if "raw_size" in step or ("raw" in step and "facts" in step):
            return [_fact(fact) for fact in step.get("facts", ())]
        return raw


def _fact(fact: Any) -> Fact | str:
    return fact if isinstance(fact, str) else Fact(fact["text"], fact.get("source", ""))


class PlayedCanonicalStore(MemoryCanonicalStore):
    """
    A canonical store with the scenario's faults, by invocation number.
    """

    def __init__(self, faults: Step) -> None:
        super().__init__()
        self._save_faults = faults.get("save", {})
        self._load_faults = faults.get("load", {})

    def save(self, record: CanonicalRecord) -> None:
        """
        Save a record, or raise.
        """
        if str(record.invocation.number) in self._save_faults:
            message = "scripted"
            raise OSError(message)
        super().save(record)

    def load(self, invocation_id: str) -> CanonicalRecord | None:
        """
        Read a record, or what the scenario says of it.
        """
        record = super().load(invocation_id)
        fault = None if record is None else self._load_faults.get(str(record.invocation.number))
        if fault == "raise":
            message = "scripted"
            raise OSError(message)
        if fault == "missing" or record is None:
            return None
        return _corrupted(record) if fault == "corrupt" else record


def _corrupted(record: CanonicalRecord) -> CanonicalRecord:
    return evolve(record, facts=(*record.facts, Fact("something that nobody found")))


class PlayedRunStore(MemoryRunStore):
    """
    A run store with the scenario's faults.
    """

    def __init__(self, faults: Step) -> None:
        super().__init__()
        self._begin = faults.get("begin")
        self._finish = faults.get("finish")

    def begin(self, record: RunRecord) -> None:
        """
        Open a run, or raise.
        """
        if self._begin is not None:
            message = "scripted"
            raise OSError(message)
        super().begin(record)

    def finish(self, record: RunRecord) -> RunRecord | None:
        """
        End a run, raise, or find that another process has cancelled it.
        """
        if self._finish == "raise":
            message = "scripted"
            raise OSError(message)
        opening = self.load(record.run_id)
        if self._finish == "lost" and opening is not None:
            super().finish(_cancelled_elsewhere(opening))
        return super().finish(record)


def _cancelled_elsewhere(opening: RunRecord) -> RunRecord:
    return evolve(
        opening,
        run_state=RunState.CANCELLED,
        stop_cause=StopCause.CANCELLED_BY_CALLER,
        release_outcome=ReleaseOutcome.CANCELLED,
        release_rule="cancelled",
        public=PublicContent(kind=PublicKind.NONE),
        ended_at=opening.started_at,
        record_saved=True,
    )

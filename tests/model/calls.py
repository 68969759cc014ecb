"""Lifecycle, attempts and budget: every call outward of a run (sections 3.1 to 3.3)."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from tests.model.ambiguities import AMBIGUITIES
from tests.model.basics import (
    ATTEMPTS,
    NAMES,
    RETRIED,
    EndedError,
    cost_of,
    is_number,
    raised_kind,
    texts_of,
)
from tests.model.checks import MalformedScenario
from tests.model.vocabulary import Json


class Calls:
    """What one run has spent, and the one way in which it calls outward."""

    def __init__(self, scenario: Json, alternatives: frozenset[str]) -> None:
        self.scenario = scenario
        self.alternatives = alternatives
        self.touched: set[str] = set()
        self.limits: Json = {"no_gain": 3, "violations": 2, **scenario.get("limits", {})}
        self.now = 0
        self.cancelled = False
        self.trace: list[str] = []
        self.attempts: dict[str, int] = {}
        self.taken: dict[str, int] = {}
        self.model_attempts = 0
        self.tool_calls = 0
        self.tokens = 0
        self.evidence_bytes = 0
        self.cost = Decimal(0)
        self.unknown_usage = 0
        # What was said, and must not become public by itself.
        self.drafts: list[Json] = []
        self.secrets: list[str] = []

    def alt(self, name: str) -> bool:
        """Note that an open reading is touched; say whether the other one is asked for."""
        assert name in AMBIGUITIES, name
        self.touched.add(name)
        return name in self.alternatives

    def expired(self) -> bool:
        """Whether the deadline has passed."""
        deadline = self.limits.get("deadline_ms")
        return deadline is not None and self.now >= deadline

    def active(self) -> None:
        """Make the active check."""
        if self.cancelled:
            raise EndedError("CANCELLED_BY_CALLER")
        if self.expired():
            raise EndedError("DEADLINE_EXCEEDED")

    def next_step(self, steps: list[Json], name: str) -> Json:
        """Take the next scripted step."""
        position = self.taken.get(name, 0)
        self.taken[name] = position + 1
        if position < len(steps):
            return steps[position]
        if steps and steps[-1].get("repeat"):
            return steps[-1]
        raise MalformedScenario(f"{name}: no step is left for call {position + 1}")

    def attempt(self, component: str, name: str, steps: list[Json], number: int) -> Json:
        """Make one call outward; return its step if it was not late and not interrupted."""
        self.trace.append("ATTEMPT_STARTED")
        self.start_of_call(component, f"{component}:{number}")
        step = self.next_step(steps, name)
        self.now += step.get("takes_ms", 0)
        self.remember(step)
        if component != "tool":
            self.settle(step)
        interrupts = "raise" in step and raised_kind(step["raise"]) is None
        is_late = self.cancelled or self.expired()
        if is_late and not {"fail", "raise"} & set(step):
            self.trace.append("LATE_RESULT_DISCARDED")
        if not (interrupts and is_late and self.alt("INTERRUPT_WHEN_ALREADY_OVER")):
            self.active()
        if interrupts:
            raise EndedError("INTERRUPTED")
        return step

    def start_of_call(self, component: str, here: str) -> None:
        """Let the caller cancel, or the call be interrupted, where the scenario says so."""
        if self.scenario.get("cancel", {}).get("during") == here:
            self.cancelled = True
        if self.scenario.get("interrupt", {}).get("during") == here:
            if component != "tool":
                self.unknown_usage += 1
            if self.cancelled and not self.alt("CANCEL_AND_INTERRUPT"):
                raise EndedError("CANCELLED_BY_CALLER")
            raise EndedError("INTERRUPTED")

    def remember(self, step: Json) -> None:
        """Remember what was said and must not become public by itself."""
        if "message" in step:
            self.secrets.append(step["message"])
        if "draft" in step:
            self.drafts.append(step["draft"])
        self.secrets += texts_of(step.get("facts", []))

    def settle(self, step: Json) -> None:
        """Section 3.3: count what the attempt used, as far as it is known."""
        usage = step.get("usage")
        if usage is None and "usage" in step:
            self.alt("USAGE_NULL")
        if usage is None or not self.is_usage(usage) or self.is_void(usage):
            self.unknown_usage += 1
            return
        self.tokens += (usage.get("input_tokens") or 0) + (usage.get("output_tokens") or 0)
        cost = cost_of(usage.get("cost"))
        assert cost is not None
        self.cost += cost

    def is_void(self, usage: Json) -> bool:
        """Whether a usage without a field counts as no usage."""
        return usage == {} and self.alt("USAGE_EMPTY")

    def is_usage(self, usage: object) -> bool:
        """Whether a reported usage is a usable one."""
        if not isinstance(usage, dict):
            self.alt("USAGE_NO_OBJECT")
            return False
        if isinstance(usage.get("cost"), int | float) and not isinstance(usage["cost"], bool):
            self.alt("USAGE_COST_NUMBER")
        for key in ("input_tokens", "output_tokens"):
            count = usage.get(key)
            if isinstance(count, float) and not self.alt("USAGE_FRACTION"):
                return False
            if count is not None and not is_number(count):
                return False
        if str(usage.get("cost")) in {"Infinity", "inf"}:
            self.alt("USAGE_INFINITE")
        return cost_of(usage.get("cost")) is not None

    def kind(self, step: Json, *, is_legal: bool) -> str | None:
        """Classify what came back; nothing where it is a proper result."""
        if "fail" in step:
            return str(step["fail"])
        if "raise" in step:
            return raised_kind(step["raise"])
        usage = step.get("usage")
        if "malformed" in step or not is_legal or (usage is not None and not self.is_usage(usage)):
            return "INVALID_OUTPUT"
        return None

    def has_room(self) -> bool:
        """Whether one more model attempt may be spent."""
        spent = (
            ("model_attempts", self.model_attempts),
            ("tokens", self.tokens),
            ("cost", self.cost),
        )
        return all(
            self.limits.get(name) is None or used < Decimal(self.limits[name])
            for name, used in spent
        )

    def ask(self, component: str, is_legal: Callable[[Json], bool]) -> tuple[Json, str | None]:
        """Ask a model within its attempts; a budget without room ends the run."""
        step: Json = {}
        kind: str | None = None
        for number in range(1, ATTEMPTS.get(component, 1) + 1):
            self.active()
            if not self.has_room():
                if number > 1:
                    self.trace.append("RETRY_SKIPPED")
                raise EndedError("BUDGET_EXHAUSTED")
            self.model_attempts += 1
            self.count(component)
            made = self.attempts[NAMES[component]]
            step = self.attempt(component, component, self.scenario.get(component, []), made)
            kind = self.kind(step, is_legal=is_legal(step))
            self.trace.append("ATTEMPT_FAILED" if kind else "ATTEMPT_FINISHED")
            if kind is None or kind not in RETRIED:
                break
        return step, kind

    def count(self, component: str) -> None:
        """Count an attempt of a component."""
        name = NAMES[component]
        self.attempts[name] = self.attempts.get(name, 0) + 1

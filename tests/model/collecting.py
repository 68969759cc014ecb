"""Collecting evidence: turns, progress, saturation, batches (section 3.6)."""

from __future__ import annotations

from collections.abc import Callable

from tests.model.basics import EndedError
from tests.model.drafts import Drafts
from tests.model.vocabulary import Json


class Collecting(Drafts):
    """Turn after turn until a draft comes, or collecting ends the run."""

    def __init__(self, scenario: Json, alternatives: frozenset[str]) -> None:
        super().__init__(scenario, alternatives)
        self.collection = "COLLECTING"
        self.stop_reason: str | None = None
        self.requested: set[str] = set()
        self.last_batch: range | None = None
        self.counted = False
        self.no_gain = 0
        self.violated = 0

    def collect(self) -> Json:
        """Turn after turn, until a draft comes."""
        while True:
            self.active()
            self.saturate_by_budget()
            turn = self.turn()
            if "draft" in turn:
                return self.take_draft(turn["draft"])
            if self.collection == "DRAFTING":
                self.trace.append("CALL_REFUSED")
                self.collection = "TERMINATED"
                spent = self.stop_reason == "BUDGET_LIMIT_REACHED"
                raise EndedError("BUDGET_EXHAUSTED" if spent else "STOP_IGNORED")
            self.judge(turn.get("progress"))
            if self.collection == "SATURATED":
                self.trace.append("CALL_REFUSED")
                continue
            self.batch(turn["calls"])

    def take_draft(self, draft: Json) -> Json:
        """Accept the agent's draft: the end of collecting."""
        if self.is_oversized(draft):
            if not self.alt("COLLECTION_STATE_OF_A_LARGE_DRAFT"):
                self.collection = "RELEASE"
            raise EndedError("RESULT_TOO_LARGE")
        self.collection = "RELEASE"
        return draft

    def saturate(self, reason: str) -> None:
        """Stop collecting, for a reason."""
        self.collection = "SATURATED"
        self.stop_reason = reason
        if reason != "BUDGET_LIMIT_REACHED":
            self.trace.append("COLLECTION_SATURATED")

    def reached(self, name: str, used: int) -> bool:
        """Whether a count has reached its limit."""
        limit = self.limits.get(name)
        return limit is not None and used >= limit

    def saturate_by_budget(self) -> None:
        """Before each turn: what is left of the evidence budgets and above the reserve?"""
        if self.collection != "COLLECTING":
            return
        reserve = self.limits.get("release_reserve") or 0
        limit = self.limits.get("model_attempts")
        is_reserved = bool(reserve) and limit is not None and limit - self.model_attempts <= reserve
        is_out = self.reached("tool_calls", self.tool_calls)
        is_out = is_out or self.reached("evidence_bytes", self.evidence_bytes)
        if not (is_out or is_reserved):
            return
        is_clear = is_out and self.last_batch is not None
        if not is_clear and not self.has_room() and self.alt("SATURATE_WITHOUT_ROOM"):
            return
        self.saturate("BUDGET_LIMIT_REACHED")

    def turn(self) -> Json:
        """One agent turn; the one after saturation carries STOP_REQUIRED."""
        if self.collection == "SATURATED" and self.has_room():
            self.collection = "DRAFTING"
            self.trace.append("STOP_REQUIRED")
            step, kind = self.unordered(lambda: self.ask("agent", self.is_turn))
        else:
            step, kind = self.ask("agent", self.is_turn)
        if kind == "INVALID_OUTPUT":
            raise EndedError("INVALID_DRAFT")
        if kind:
            raise EndedError("AGENT_UNAVAILABLE")
        return step

    def unordered(self, ask: Callable[[], tuple[Json, str | None]]) -> tuple[Json, str | None]:
        """Ask, without stating whether ATTEMPT_STARTED comes before or after STOP_REQUIRED."""
        position = len(self.trace)
        try:
            return ask()
        finally:
            if self.trace[position:][:1] == ["ATTEMPT_STARTED"]:
                del self.trace[position]

    def is_turn(self, step: Json) -> bool:
        """Whether a turn asks for calls or gives a draft, and not both."""
        if {"fail", "raise", "malformed"} & set(step):
            return True
        if "draft" in step:
            if step.get("calls") == []:
                return not self.alt("EMPTY_CALLS_BESIDE_DRAFT") and self.is_draft(step["draft"])
            return "calls" not in step and self.is_draft(step["draft"])
        return bool(step.get("calls"))

    def judge(self, progress: Json | None) -> None:
        """Check what a turn that asks for a batch says of the batch before it."""
        if self.last_batch is None or self.scenario.get("progress", "REPORTED") == "INFERRED":
            return
        state = progress and progress["state"]
        if state == "GAINED" and progress and self.names_new_evidence(progress.get("facts", [])):
            self.trace.append("PROGRESS_JUDGED")
            self.no_gain = 0
            return
        if state != "NO_GAIN":
            self.trace.append("PROTOCOL_VIOLATION")
            self.violated += 1
        if not self.counted:
            self.no_gain += 1
            self.counted = True
        if state != "NO_GAIN" and self.reached("violations", self.violated):
            self.saturate("PROGRESS_PROTOCOL_VIOLATED")
        elif self.reached("no_gain", self.no_gain):
            self.saturate("INFORMATION_SATURATED")

    def zero_threshold(self) -> None:
        """A threshold of 0, read as reached before anything was counted."""
        for name, reason in (
            ("violations", "PROGRESS_PROTOCOL_VIOLATED"),
            ("no_gain", "INFORMATION_SATURATED"),
        ):
            if self.limits.get(name) == 0 and self.alt("THRESHOLD_OF_ZERO"):
                self.saturate(reason)
                return

    def names_new_evidence(self, names: list[str]) -> bool:
        """Whether a claim names a fact of the last batch that is new evidence."""
        assert self.last_batch is not None
        return any(
            fact.is_new and f"@{number}.{k}" in names
            for number in self.last_batch
            for k, fact in enumerate(self.rows[number - 1].facts, 1)
        )

    def batch(self, calls: list[Json]) -> None:
        """Run a batch as far as it fits."""
        self.requested |= {call["tool"] for call in calls}
        limit = self.limits.get("tool_calls")
        room = len(calls) if limit is None else min(len(calls), limit - self.tool_calls)
        first = len(self.rows) + 1
        reserved = self.tool_calls + room
        try:
            for call in calls[:room]:
                self.active()
                self.call(call)
        except EndedError:
            is_spent = self.reached("tool_calls", reserved) or room < len(calls)
            is_spent = is_spent or self.reached("evidence_bytes", self.evidence_bytes)
            if is_spent and self.alt("SATURATED_WITHIN_BATCH"):
                self.saturate("BUDGET_LIMIT_REACHED")
            raise
        self.last_batch = range(first, len(self.rows) + 1)
        has_new = any(fact.is_new for n in self.last_batch for fact in self.rows[n - 1].facts)
        self.counted = not has_new
        if not has_new:
            self.no_gain += 1
            if self.reached("no_gain", self.no_gain):
                is_spent = self.reached("tool_calls", self.tool_calls) or room < len(calls)
                is_spent = is_spent or self.reached("evidence_bytes", self.evidence_bytes)
                if not (is_spent and self.alt("SPENT_AND_WITHOUT_GAIN")):
                    self.saturate("INFORMATION_SATURATED")
        elif self.scenario.get("progress") == "INFERRED":
            self.no_gain = 0
        if room < len(calls) and self.collection == "COLLECTING":
            self.saturate("BUDGET_LIMIT_REACHED")

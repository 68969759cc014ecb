"""
What must come of a scenario, worked out a second time, straight from the rules.

A plain sequential simulation of failure-graph.md that shares no line with the library. Where the
text allows two readings the simulation takes one, notes that it did, and can be asked for the
other: see :mod:`tests.model.ambiguities`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from tests.model.ambiguities import AMBIGUITIES, Ambiguity
from tests.model.basics import EndedError, Row, is_blank
from tests.model.checks import MalformedScenario, check
from tests.model.gates import Gates
from tests.model.vocabulary import KINDS, Json

__all__ = ["AMBIGUITIES", "Ambiguity", "MalformedScenario", "Prediction", "predict", "simulate"]

#: Section 4: cause -> (run state, fallback type where facts exist).
CAUSES: Final[dict[str, tuple[str, str | None]]] = {
    "REPORT_APPROVED": ("SUCCESS", None),
    "REPLY_GIVEN": ("SUCCESS", None),
    "MISSING_REQUIRED_CONTEXT": ("SUCCESS", "MISSING_REQUIRED_CONTEXT"),
    "NO_CONCLUSION": ("SUCCESS", "INSUFFICIENT_EVIDENCE"),
    "STOP_IGNORED": ("SUCCESS", "INSUFFICIENT_EVIDENCE"),
    "INVALID_DRAFT": ("SUCCESS", "INSUFFICIENT_EVIDENCE"),
    "EVIDENCE_REJECTED": ("SUCCESS", "EVIDENCE_VALIDATION_FAILED"),
    "SEMANTIC_UNSUPPORTED": ("SUCCESS", "SEMANTIC_UNSUPPORTED"),
    "SEMANTIC_UNAVAILABLE": ("SUCCESS", "SEMANTIC_UNAVAILABLE"),
    "ROUTER_UNAVAILABLE": ("FAILED", "INSUFFICIENT_EVIDENCE"),
    "RESPONDER_UNAVAILABLE": ("FAILED", "INSUFFICIENT_EVIDENCE"),
    "AGENT_UNAVAILABLE": ("FAILED", "INSUFFICIENT_EVIDENCE"),
    "RESULT_TOO_LARGE": ("FAILED", "INSUFFICIENT_EVIDENCE"),
    "STORE_UNTRUSTED": ("FAILED", None),
    "RECORD_NOT_SAVED": ("FAILED", None),
    "INTERNAL_ERROR": ("FAILED", None),
    "DEADLINE_EXCEEDED": ("TIMED_OUT", "INSUFFICIENT_EVIDENCE"),
    "BUDGET_EXHAUSTED": ("BUDGET_EXHAUSTED", "INSUFFICIENT_EVIDENCE"),
    "CANCELLED_BY_CALLER": ("CANCELLED", None),
    "CLIENT_DISCONNECTED": ("CANCELLED", None),
    "INTERRUPTED": ("CANCELLED", None),
}
BROKEN: Final = frozenset({"STORE_UNTRUSTED", "RECORD_NOT_SAVED", "INTERNAL_ERROR"})
REQUEST: Final = {
    "SUCCESS": "SUCCESS",
    "FALLBACK": "SUCCESS",
    "FAILED": "FAILED",
    "CANCELLED": "CANCELLED",
}

#: What no rendering can have a reason to change, within evidence and in a released text.
_QUOTABLE: Final = re.compile(r"[A-Za-z0-9 :_.,-]+")
_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 :_-]{1,40}[A-Za-z0-9]")
_PROSE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 :_.,-]*")


class Prediction(NamedTuple):
    """What must be observed, and which open readings the run touched on the way."""

    observed: Json
    touched: frozenset[str]


class _Run(Gates):
    """One run, from the request to what the client received (sections 3.4, 3.9, 3.10)."""

    def __init__(self, scenario: Json, alternatives: frozenset[str]) -> None:
        super().__init__(scenario, alternatives)
        self.events: list[str] = []
        self.gone = False
        self.intent = None if "router" in scenario else "DIAGNOSIS"
        self.reply: str | None = None

    def is_route(self, step: Json) -> bool:
        return step.get("intent") == "DIAGNOSIS" or "responder" in self.scenario

    def route(self) -> None:
        """Route the request, check its context, and answer what is no diagnosis."""
        if "router" in self.scenario:
            step, kind = self.ask("router", self.is_route)
            if kind:
                raise EndedError("ROUTER_UNAVAILABLE")
            self.intent = step["intent"]
            self.missing = list(step.get("missing_context", []))
        if self.intent == "GENERAL":
            if self.missing and self.alt("GENERAL_WITH_MISSING_CONTEXT"):
                self.missing = []
            if not self.missing:
                self.respond()
        else:
            context = self.scenario.get("request", {}).get("context", {})
            needed = self.scenario.get("required_context", [])
            self.missing += [name for name in needed if is_blank(context.get(name, ""))]
        if self.missing:
            raise EndedError("MISSING_REQUIRED_CONTEXT")

    def respond(self) -> None:
        step, kind = self.ask("responder", self.is_reply)
        if kind:
            raise EndedError("RESPONDER_UNAVAILABLE")
        self.reply = step["reply"]
        raise EndedError("REPLY_GIVEN")

    def is_reply(self, step: Json) -> bool:
        if is_blank(step.get("reply", "?")):
            return not self.alt("BLANK_REPLY")
        return True

    def send(self, event: str) -> bool:
        if self.gone:
            return False
        if self.scenario.get("client", {}).get("disconnects_at") == event:
            self.gone = True
            self.trace.append("CLIENT_GONE")
            return False
        self.events.append(event)
        return True

    def greet(self) -> None:
        """Open the run and greet the client; a client that is gone cancels or detaches."""
        if self.scenario.get("run_store", {}).get("begin") == "raise":
            if self.scenario.get("client", {}).get("disconnects_at") == "STATUS":
                self.alt("STREAM_OF_AN_UNOPENED_RUN")
            self.send("METADATA")
            self.send("STATUS")
            raise EndedError("RECORD_NOT_SAVED")
        self.trace.append("RUN_STARTED")
        self.send("METADATA")
        self.send("STATUS")
        if self.gone and self.scenario.get("on_disconnect", "CANCEL") == "CANCEL":
            if self.expired() and not self.alt("CLIENT_GONE_AT_A_DEADLINE_OF_ZERO"):
                raise EndedError("DEADLINE_EXCEEDED")
            raise EndedError("CLIENT_DISCONNECTED")

    def run(self) -> Json:
        try:
            self.greet()
            self.active()
            self.route()
            self.zero_threshold()
            self.gate(self.collect())
        except EndedError as ended:
            return self.release(ended.cause)
        raise AssertionError("a run ends")  # pragma: no cover

    def snapshot(self) -> bool:
        """Read the READY records back; whether the store still can be trusted."""
        if self.rows and self.has_later_load_fault():
            self.alt("LOADS_AFTER_THE_READ_BACKS")
        return all(self.load() for row in self.rows if row.status == "READY")

    def decide(self, cause: str) -> tuple[str, str, str | None]:
        """Return run state, outcome and fallback type: the rules of section 3.9 in order."""
        state, fallback = CAUSES[cause]
        if state == "CANCELLED":
            return state, "CANCELLED", None
        if cause in BROKEN or not self.snapshot():
            return ("FAILED" if state == "SUCCESS" else state), "FAILED", None
        if cause in {"REPORT_APPROVED", "REPLY_GIVEN"}:
            return state, "SUCCESS", None
        if any(row.status == "READY" for row in self.rows):
            if cause == "BUDGET_EXHAUSTED" and self.scenario.get("distinguish_budget"):
                fallback = "BUDGET_EXHAUSTED"
            return state, "FALLBACK", fallback
        if self.missing:
            return state, "FALLBACK", "MISSING_REQUIRED_CONTEXT"
        return ("FAILED" if state == "SUCCESS" else state), "FAILED", None

    def release(self, cause: str) -> Json:
        self.trace += ["RUN_ENDED", "RELEASE_DECIDED"]
        state, outcome, fallback = self.decide(cause)
        if cause != "RECORD_NOT_SAVED" and self.rows and self.has_later_load_fault():
            self.alt("LOADS_AFTER_THE_READ_BACKS")
        finish = self.scenario.get("run_store", {}).get("finish")
        if cause == "RECORD_NOT_SAVED":
            if finish:
                self.alt("FINISH_OF_AN_UNOPENED_RUN")
            is_saved = False
        elif finish == "lost":
            return self.lost()
        else:
            is_saved = finish != "raise"
        code = cause
        if is_saved:
            self.trace.append("RUN_SAVED")
        elif outcome != "CANCELLED":
            outcome, fallback, code = "FAILED", None, "RECORD_NOT_SAVED"
        is_delivered = self.publish(outcome, is_saved=is_saved)
        return {
            "run_state": state,
            "stop_cause": cause,
            "release_outcome": outcome,
            "fallback_type": fallback,
            "request_status": REQUEST[outcome],
            "collection_state": self.collection,
            "stop_reason": self.stop_reason,
            "intent": self.intent,
            "delivered": is_delivered,
            "record_saved": is_saved,
            "next_turn": self.intent == "DIAGNOSIS" and outcome == "SUCCESS" and is_delivered,
            "public": self.public(outcome, code),
            "events": self.pattern(),
            "attempts": self.attempts,
            "used": self.used(),
            "invocations": [self.row(row) for row in self.rows],
            "violations": self.violations,
            "semantic_verdict": self.verdict,
            "trace": self.trace,
        }

    def lost(self) -> Json:
        """Another process ended the run: its record stands, this one publishes nothing."""
        return {
            "run_state": "CANCELLED",
            "stop_cause": "CANCELLED_BY_CALLER",
            "release_outcome": "CANCELLED",
            "fallback_type": None,
            "request_status": "CANCELLED",
            "delivered": False,
            "record_saved": not self.alt("RECORD_SAVED_WHEN_LOST"),
            "next_turn": False,
            "public": {"kind": "NONE"},
            "events": self.pattern(),
        }

    def publish(self, outcome: str, *, is_saved: bool) -> bool:
        """Send what is public; whether the client accepted it."""
        accepted = False
        if outcome != "CANCELLED":
            accepted = self.send("FAILURE" if outcome == "FAILED" else "CONTENT")
        if accepted and is_saved:
            self.trace.append("DELIVERED")
        is_unsaved = outcome == "CANCELLED" and not is_saved and not self.gone
        if not (is_unsaved and self.alt("CANCELLED_WITHOUT_A_RECORD")):
            self.send("DONE")
        if accepted and not is_saved:
            return not self.alt("DELIVERED_WITHOUT_A_RECORD")
        return accepted

    def pattern(self) -> str:
        shown = ["STATUS*" if event == "STATUS" else event for event in self.events]
        return " ".join(shown)

    def used(self) -> Json:
        if self.cost and str(self.cost).endswith("0"):
            self.alt("DECIMALS_OF_COST")
        return {
            "model_attempts": self.model_attempts,
            "tool_calls": self.tool_calls,
            "tokens": self.tokens,
            "evidence_bytes": self.evidence_bytes,
            "cost": str(self.cost),
            "unknown_usage": self.unknown_usage,
        }

    def row(self, row: Row) -> list[str | None]:
        evidence = "EVIDENCE_FOUND" if row.facts else "NO_EVIDENCE"
        return [row.tool, row.status, evidence if row.status == "READY" else "ERROR", row.code]

    def public(self, outcome: str, code: str) -> Json:
        kinds = {"SUCCESS": "REPORT", "FALLBACK": "FALLBACK", "FAILED": "FAILURE"}
        kind = kinds.get(outcome, "NONE")
        if outcome == "SUCCESS" and self.report is None:
            kind = "REPLY"
        if not {"CONTENT", "FAILURE"} & set(self.events):
            return {"kind": "NONE"}
        shown = self.shown(kind)
        if kind == "FALLBACK":
            plain = [text for text in shown if _QUOTABLE.fullmatch(text)]
            parts = [part for text in plain for part in _PLAIN.findall(text)]
        else:
            parts = [text for text in shown if _PROSE.fullmatch(text)]
        kept = [] if kind == "FAILURE" else [fact.text for row in self.rows for fact in row.facts]
        excludes = [
            text
            for text in dict.fromkeys(self.hidden(kind))
            if len(text) > 3 and not any(text in other for other in (*shown, *kept))
        ]
        contains = list(dict.fromkeys(parts))
        public: Json = {"kind": kind, "contains": contains, "excludes": excludes}
        if kind == "FAILURE":
            public["code"] = code
        return public

    def visible(self, draft: Json) -> list[str]:
        claims = [claim["text"] for claim in draft.get("claims", [])]
        return [draft["conclusion"] or "", *claims, *draft.get("recommendations", [])]

    def shown(self, kind: str) -> list[str]:
        """Return texts that the public text must hold."""
        if kind == "REPLY":
            return [self.reply or ""]
        if kind == "REPORT":
            assert self.report is not None
            return self.visible(self.report)
        if kind != "FALLBACK":
            return []
        ready = [row for row in self.rows if row.status == "READY"]
        scopes = [str(value) for row in ready for value in row.scope.values()]
        facts = [fact.text for row in ready for fact in row.facts]
        tools = self.scenario.get("tools", {})
        down = KINDS | {"PROJECTION_FAILED"}
        failed = [row.tool for row in self.rows if row.code in down]
        idle = [tool for tool in tools if tool not in self.requested] if self.rows else []
        return [*self.missing, *scopes, *facts, *failed, *idle]

    def hidden(self, kind: str) -> list[str]:
        """Return texts that the public text must not hold."""
        kept = self.report if kind == "REPORT" else None
        drafts = [draft for draft in self.drafts if draft is not kept]
        return self.secrets + [text for draft in drafts for text in self.visible(draft)]


def simulate(scenario: Json, alternatives: Iterable[str] = ()) -> Prediction:
    """
    Predict a scenario and say which open readings it touched.

    Args:
        scenario: One scenario of the format.
        alternatives: Ids of :data:`AMBIGUITIES` to read the other way.

    Raises:
        MalformedScenario: When the format refuses it, or a call finds no step.
    """
    run = _Run(check(scenario), frozenset(alternatives))
    observed = run.run()
    return Prediction(observed, frozenset(run.touched))


def predict(scenario: Json) -> Json:
    """Predict every observed key of the format that the contract determines."""
    return simulate(scenario).observed

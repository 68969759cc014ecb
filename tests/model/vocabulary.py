"""The words of the scenario format."""

from collections.abc import Mapping
from typing import Any, Final

Json = dict[str, Any]

KINDS: Final = frozenset(
    [
        "TIMEOUT",
        "TRANSPORT",
        "RATE_LIMITED",
        "INVALID_OUTPUT",
        "CAPACITY",
        "REJECTED",
        "UNCLASSIFIED",
    ]
)
COMPONENTS: Final = ("router", "responder", "agent", "tool", "repair", "semantic_guard")
COUNTS: Final = frozenset(
    [
        "deadline_ms",
        "model_attempts",
        "tool_calls",
        "tokens",
        "evidence_bytes",
        "result_bytes",
        "draft_bytes",
        "fact_bytes",
        "facts_per_result",
        "no_gain",
        "violations",
        "release_reserve",
    ]
)
OBSERVED: Final = frozenset(
    [
        "run_state",
        "stop_cause",
        "release_outcome",
        "fallback_type",
        "request_status",
        "collection_state",
        "stop_reason",
        "intent",
        "delivered",
        "record_saved",
        "next_turn",
        "public",
        "events",
        "attempts",
        "used",
        "invocations",
        "violations",
        "semantic_verdict",
        "trace",
        "explain",
    ]
)
EVENTS: Final = ("METADATA", "STATUS", "CONTENT", "FAILURE", "DONE")
KEYS: Final = frozenset(
    [
        "name",
        "request",
        "required_context",
        "limits",
        "progress",
        "distinguish_budget",
        "router",
        "responder",
        "agent",
        "repair",
        "semantic_guard",
        "tools",
        "tool_parameters",
        "canonical_store",
        "run_store",
        "on_disconnect",
        "client",
        "cancel",
        "interrupt",
        "expect",
    ]
)
FORMS: Final[Mapping[str, frozenset[str]]] = {
    "router": frozenset({"intent", "missing_context"}),
    "responder": frozenset({"reply"}),
    "agent": frozenset({"calls", "progress", "draft"}),
    "repair": frozenset({"draft"}),
    "semantic_guard": frozenset({"verdict"}),
    "tool": frozenset({"facts", "raw_size", "raw", "projection_fails"}),
}

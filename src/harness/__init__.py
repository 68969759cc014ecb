"""
Run an LLM agent's diagnosis so that nothing is published that was not proven.

See :class:`Harness` to start, :mod:`harness.ports` for what a host implements, and
:mod:`harness.errors` for what is raised.
"""

import importlib
import typing

from harness._budget import Budget
from harness._cancel import CancelToken
from harness._json import FrozenDict
from harness._limits import Limits
from harness._previous import previous_turn
from harness._records import (
    AttemptRecord,
    BudgetLeft,
    BudgetUse,
    CanonicalRecord,
    CitedSource,
    Cut,
    Gates,
    Invocation,
    Limitation,
    ProgressSnapshot,
    PublicContent,
    QueriedScope,
    RunRecord,
    SemanticCase,
    SnapshotFact,
    StreamEvent,
    Trace,
    TraceEvent,
    Violation,
)
from harness._release import ReleaseDecision, ReleaseFacts, ReleasePolicy, decide_release
from harness._result import RunResult
from harness._seam import Attempt
from harness._states import (
    AttemptOutcome,
    CollectionState,
    Component,
    Dimension,
    EventKind,
    EvidenceStatus,
    FailureKind,
    FallbackType,
    Intent,
    InvocationCode,
    InvocationStatus,
    LimitationKind,
    OnDisconnect,
    Progress,
    ProgressMode,
    PublicKind,
    ReleaseOutcome,
    RequestStatus,
    RunState,
    SemanticVerdict,
    StopCause,
    StopReason,
    TraceCode,
    UsageKind,
    ViolationKind,
)
from harness._stream import EventStream, encode_sse
from harness._sync import Harness, SystemClock
from harness._tools import FunctionTool, Parameter, tool
from harness._values import (
    AgentTurn,
    Answered,
    Citation,
    Claim,
    DiagnosisDraft,
    Fact,
    PreviousTurn,
    ProgressStatement,
    Request,
    Route,
    ToolCall,
    Usage,
)
from harness._view import AgentView, RefusedCall, RepairCase, ToolInfo
from harness.explain import Explanation, explain

if typing.TYPE_CHECKING:  # pragma: no cover  only type checkers execute it
    from harness._aio import AsyncHarness, RunEvents, in_threads, run_many_async
    from harness._many import ManyResult, run_many

__all__ = [
    "AgentTurn",
    "AgentView",
    "Answered",
    "AsyncHarness",
    "Attempt",
    "AttemptOutcome",
    "AttemptRecord",
    "Budget",
    "BudgetLeft",
    "BudgetUse",
    "CancelToken",
    "CanonicalRecord",
    "Citation",
    "CitedSource",
    "Claim",
    "CollectionState",
    "Component",
    "Cut",
    "DiagnosisDraft",
    "Dimension",
    "EventKind",
    "EventStream",
    "EvidenceStatus",
    "Explanation",
    "Fact",
    "FailureKind",
    "FallbackType",
    "FrozenDict",
    "FunctionTool",
    "Gates",
    "Harness",
    "Intent",
    "Invocation",
    "InvocationCode",
    "InvocationStatus",
    "Limitation",
    "LimitationKind",
    "Limits",
    "ManyResult",
    "OnDisconnect",
    "Parameter",
    "PreviousTurn",
    "Progress",
    "ProgressMode",
    "ProgressSnapshot",
    "ProgressStatement",
    "PublicContent",
    "PublicKind",
    "QueriedScope",
    "RefusedCall",
    "ReleaseDecision",
    "ReleaseFacts",
    "ReleaseOutcome",
    "ReleasePolicy",
    "RepairCase",
    "Request",
    "RequestStatus",
    "Route",
    "RunEvents",
    "RunRecord",
    "RunResult",
    "RunState",
    "SemanticCase",
    "SemanticVerdict",
    "SnapshotFact",
    "StopCause",
    "StopReason",
    "StreamEvent",
    "SystemClock",
    "ToolCall",
    "ToolInfo",
    "Trace",
    "TraceCode",
    "TraceEvent",
    "Usage",
    "UsageKind",
    "Violation",
    "ViolationKind",
    "decide_release",
    "encode_sse",
    "explain",
    "in_threads",
    "previous_turn",
    "run_many",
    "run_many_async",
    "tool",
]

#: What is imported when somebody asks for it: asyncio and threads cost more than all the rest.
_LAZY = {
    "AsyncHarness": "harness._aio",
    "RunEvents": "harness._aio",
    "in_threads": "harness._aio",
    "run_many_async": "harness._aio",
    "ManyResult": "harness._many",
    "run_many": "harness._many",
}


def __getattr__(name: str) -> typing.Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})

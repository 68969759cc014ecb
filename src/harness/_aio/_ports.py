"""
What a host implements for the asynchronous driver: the ports, with methods plain or ``async``.

See :mod:`harness.ports` for what each of them promises.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol, TypeAlias, TypeVar

from harness._records import CanonicalRecord, RunRecord, SemanticCase, StreamEvent
from harness._seam import Attempt
from harness._states import SemanticVerdict
from harness._values import AgentTurn, DiagnosisDraft, Request, Route
from harness._view import AgentView, RepairCase

__all__ = [
    "AnyAgent",
    "AnyCanonicalStore",
    "AnyEventSink",
    "AnyRepairer",
    "AnyResponder",
    "AnyRouter",
    "AnyRunStore",
    "AnySemanticGuard",
]

T = TypeVar("T")

#: A value, or what gives it when it is awaited.
Given: TypeAlias = T | Awaitable[T]


class AnyRouter(Protocol):
    """
    A :class:`harness.ports.Router`, plain or asynchronous.
    """

    def route(self, request: Request, attempt: Attempt) -> Given[Route]: ...


class AnyResponder(Protocol):
    """
    A :class:`harness.ports.Responder`, plain or asynchronous.
    """

    def reply(self, request: Request, attempt: Attempt) -> Given[str]: ...


class AnyAgent(Protocol):
    """
    A :class:`harness.ports.DiagnosisAgent`, plain or asynchronous.
    """

    def next_turn(self, view: AgentView, attempt: Attempt) -> Given[AgentTurn]: ...


class AnyRepairer(Protocol):
    """
    A :class:`harness.ports.EvidenceRepairer`, plain or asynchronous.
    """

    def repair(self, case: RepairCase, attempt: Attempt) -> Given[DiagnosisDraft]: ...


class AnySemanticGuard(Protocol):
    """
    A :class:`harness.ports.SemanticGuard`, plain or asynchronous.
    """

    def judge(self, case: SemanticCase, attempt: Attempt) -> Given[SemanticVerdict]: ...


class AnyCanonicalStore(Protocol):
    """
    A :class:`harness.ports.CanonicalStore`, plain or asynchronous.
    """

    def save(self, record: CanonicalRecord) -> Given[None]: ...

    def load(self, invocation_id: str) -> Given[CanonicalRecord | None]: ...


class AnyRunStore(Protocol):
    """
    A :class:`harness.ports.RunStore`, plain or asynchronous.
    """

    def begin(self, record: RunRecord) -> Given[None]: ...

    def finish(self, record: RunRecord) -> Given[RunRecord | None]: ...

    def mark_delivered(self, run_id: str) -> Given[None]: ...

    def load(self, run_id: str) -> Given[RunRecord | None]: ...


class AnyEventSink(Protocol):
    """
    A :class:`harness.ports.EventSink`, plain or asynchronous.
    """

    def send(self, event: StreamEvent) -> Given[None]: ...

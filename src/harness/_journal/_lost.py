"""
What becomes of a call whose answer the journal lost: its process ended while it was under way.

1. A model or a tool may have been asked: it counts as spent, failed as ``TRANSPORT``, and is not
   asked again.
2. A store is asked what it has. Saving what is not there, and a compare-and-set that is made
   again, store the same content once.
3. An event that may have brought the client its content is not sent again; the client counts as
   gone, and the record as undelivered (section 3.10).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Protocol

from attrs import evolve

from harness._journal._asks import MODEL_SITES
from harness._records import CanonicalRecord, RunRecord, StreamEvent
from harness._run import Setup
from harness._seam import Answer, Failed, Failure, Seam
from harness._states import EventKind, FailureKind, InvocationCode
from harness._toolstep import ToolOutcome
from harness.errors import RunExistsError

__all__ = ["AskAgain", "Lost"]

_ONCE: Final = frozenset({EventKind.CONTENT, EventKind.FAILURE})

Function = Callable[..., Any]


class Lost(Protocol):
    """
    Answers for calls whose answer is lost.
    """

    async def answer(self, site: str, function: Function, arguments: tuple[Any, ...], /) -> Answer:
        """
        Answer for a call of a model, a store or the client.
        """
        ...

    def outcome(self) -> ToolOutcome:
        """
        Answer for a tool call.
        """
        ...


class AskAgain:
    """
    Answers as a resumed run must.

    Args:
        inner: The driver's seam.
        setup: The harness's parts: where its stores are.
    """

    def __init__(self, inner: Seam, setup: Setup) -> None:
        self._inner: Final = inner
        self._setup: Final = setup

    async def answer(self, site: str, function: Function, arguments: tuple[Any, ...], /) -> Answer:
        """
        Answer for a call of a model, a store or the client.

        Args:
            site: Where.
            function: The host's function.
            arguments: What it got.
        """
        if site in MODEL_SITES:
            return self._spent()
        handler = _HANDLERS.get(site)
        if handler is None:
            return await self._inner.call(site, function, *arguments)
        answer: Answer = await handler(self, function, arguments[0])
        return answer

    def outcome(self) -> ToolOutcome:
        """
        Answer for a tool call: counted, and not made again.
        """
        return ToolOutcome(self._spent(), code=InvocationCode.TRANSPORT)

    def _spent(self) -> Answer:
        detail = "the process ended while the call was under way"
        failure = Failure(FailureKind.TRANSPORT, "AnswerLost", detail)
        return Failed(self._inner.now(), failure)

    async def _saved(self, save: Function, record: CanonicalRecord) -> Answer:
        load = self._setup.canonical_store.load
        loaded = await self._inner.call("canonical_store.load", load, record.invocation_id)
        if not loaded.is_ok or loaded.value is not None:
            # whatever is there, the flow reads it back and compares
            return loaded
        return await self._inner.call("canonical_store.save", save, record)

    async def _begun(self, begin: Function, opening: RunRecord) -> Answer:
        load = self._setup.run_store.load
        loaded = await self._inner.call("run_store.load", load, opening.run_id)
        stored = loaded.value
        if type(stored) is not RunRecord:
            if loaded.is_ok:
                return await self._inner.call("run_store.begin", begin, opening)
            return loaded
        if stored.started_at == opening.started_at and stored.request == opening.request:
            return Answer(None, loaded.ended)
        exists = RunExistsError(opening.run_id, stored.run_state)
        failure = Failure(FailureKind.UNCLASSIFIED, type(exists).__name__, str(exists))
        return Failed(loaded.ended, failure, error=exists)

    async def _finished(self, finish: Function, record: RunRecord) -> Answer:
        answer = await self._inner.call("run_store.finish", finish, record)
        stored = answer.value
        if type(stored) is RunRecord and evolve(stored, delivered=record.delivered) == record:
            return Answer(None, answer.ended)
        return answer

    async def _sent(self, send: Function, event: StreamEvent) -> Answer:
        if event.kind in _ONCE:
            return self._spent()
        return await self._inner.call("client.send", send, event)


_HANDLERS: Final[Mapping[str, Callable[[AskAgain, Function, Any], Any]]] = MappingProxyType(
    {
        "canonical_store.save": AskAgain._saved,  # noqa: SLF001  its own
        "run_store.begin": AskAgain._begun,  # noqa: SLF001
        "run_store.finish": AskAgain._finished,  # noqa: SLF001
        "client.send": AskAgain._sent,  # noqa: SLF001
    }
)

"""
How the flow goes outside where calls can be awaited.

1. What a host returns is awaited where it can be awaited, and taken as it is otherwise.
2. The end of a run cuts the call under way short.
3. The run store is never cut short: its calls are shielded from the caller's cancel too.

See sections 3.1 and 3.10. Under asyncio it is a ``LoopSeam``, under trio a ``TrioSeam``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

from harness._lifecycle import Lifecycle
from harness._records import RunRecord
from harness._run import Run
from harness._seam import Answer, Batch, Classifier, Failed
from harness._sync import PLAIN, SeamClock, SystemClock, began
from harness.ports import Clock, IdSource

__all__ = ["AsyncSeam"]

T = TypeVar("T")

_LOAD: Final = "canonical_store.load"
_SEND: Final = "client.send"
_WAIT: Final = "clock.wait"
_RUN_STORE: Final = "run_store."


class AsyncSeam(SeamClock):
    """
    Awaits a host's coroutines, calls its plain functions, and aborts what the run outlives.

    Args:
        clock: The host's clock.
        ids: Gives globally unique ids.
        classifier: The host's mapping of exceptions.
    """

    __slots__ = ("_classifier", "_ids", "run")

    #: The run, once it is prepared.
    run: Run

    def __init__(self, clock: Clock, ids: IdSource, classifier: Classifier | None) -> None:
        super().__init__(clock, began(clock))
        self._ids = ids
        self._classifier = classifier

    def new_id(self) -> str:
        """
        A globally unique id.
        """
        return self._ids()

    async def call(self, site: str, function: Callable[..., Any], *arguments: Any) -> Answer:
        """
        Call a host object, and await what it returns where that is awaitable.
        """
        try:
            value = function(*arguments)
        except BaseException as error:  # noqa: BLE001  classified, or carried to the caller
            return self.failed(error)
        # asked of the type, as the language does: a proxy's own __getattr__ may raise
        if type(value) in PLAIN or not hasattr(type(value), "__await__"):
            # instant(), without the call: this line runs four times a step
            try:
                at = self._monotonic() - self._start
                if at > self._last:  # noqa: PLR1730  a call more, on the line that runs most often
                    self._last = at
            except Exception:  # noqa: BLE001, S110  as in instant
                pass
            except BaseException as interrupt:  # noqa: BLE001  the clock's, carried like the host's
                return Failed(self._last, interrupt=interrupt)
            return Answer(value, self._last)
        ending = self.run.life.stopped is not None
        if site.startswith(_RUN_STORE) or (ending and site == _LOAD):
            return await self._shielded(value)
        # a transport that is left in the middle of an event can send nothing after it
        return await self._awaited(value, abortable=site != _SEND)

    async def wait(self, seconds: float, life: Lifecycle) -> None:
        """
        Wait; ends at once when the run ends.
        """
        if type(self._clock) is SystemClock:
            self._waited(await self.call(_WAIT, self._sleep, seconds))
        else:
            self._waited(await self.call(_WAIT, self._clock.wait, seconds, life.wake()))

    def _waited(self, answer: Answer) -> None:
        if answer.interrupt is not None:
            self.run.interrupted(answer.interrupt)
        elif answer.error is not None:
            raise answer.error

    async def _settled(self, value: Any) -> Answer:
        """
        Await a host's awaitable that nothing cuts short, whatever comes of it.
        """
        try:
            return Answer(await value, self.instant())
        except BaseException as error:  # noqa: BLE001  classified, or carried to the caller
            return self.failed(error)

    def within(self, flow: Awaitable[RunRecord]) -> Awaitable[RunRecord]:
        """
        Put around the flow what the library needs around it.
        """
        return flow

    def close(self) -> None:
        """
        Leave nothing behind once the run has ended.

        The circle of run and seam is opened too: both are freed without a garbage collection.
        """
        del self.run

    # --- what each library does its own way

    @abstractmethod
    def start(self, steps: Sequence[Callable[[], Awaitable[T]]]) -> Batch[T]:
        """
        Start a batch's steps, as many at once as the harness allows.
        """

    @abstractmethod
    def abort_soon(self) -> None:
        """
        Cut short the calls under way; from any thread.
        """

    @abstractmethod
    async def _sleep(self, seconds: float) -> None:
        """
        Wait.
        """

    @abstractmethod
    async def _awaited(self, value: Any, *, abortable: bool) -> Answer:
        """
        Await a call in the task that makes it; the run's end cuts it short where *abortable*.
        """

    @abstractmethod
    async def _shielded(self, value: Any) -> Answer:
        """
        Await a call so that no cancel of the caller's cuts it short.
        """

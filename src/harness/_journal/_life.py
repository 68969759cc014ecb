"""
A lifecycle whose signals from outside the flow become visible at the steps of its journal only.

1. Whoever ends a run from outside (a cancel from another thread, a timer) claims it at once: the
   first signal wins, whatever the flow does next.
2. The flow sees the claim where it next goes through its seam; the journal notes the place, so
   that a replay sees it there too.
"""

from __future__ import annotations

from threading import RLock, get_ident
from typing import TYPE_CHECKING, Final, Protocol

from harness._lifecycle import Lifecycle, Stop
from harness._states import StopCause

if TYPE_CHECKING:
    from threading import Event

__all__ = ["JournaledLifecycle"]


class _Port(Protocol):
    def stopping(self, cause: StopCause) -> None: ...

    def note_signal(self, signal: Stop) -> None: ...


class JournaledLifecycle(Lifecycle):
    """
    The one place where a journaled run's end is claimed.

    Attributes:
        flowing: Whether the flow itself is executing, and not something that it called.

    Args:
        deadline: The instant on the run's monotonic clock, or ``None``.
        port: Notes what is claimed.
    """

    __slots__ = ("_claimed", "_port", "_thread", "_unseen", "flowing")

    def __init__(self, deadline: float | None, port: _Port) -> None:
        super().__init__(deadline)
        # the flow settles signals while it claims the end itself
        self._lock = RLock()  # type: ignore[assignment]
        self._port: Final = port
        self._thread: Final = get_ident()
        #: The signal from outside that has won, seen by the flow or not.
        self._claimed: Stop | None = None
        self._unseen: list[Stop] = []
        self.flowing = True

    def stop(self, cause: StopCause, at: float, reason: str | None = None) -> bool:
        """
        Claim the run's end, from the flow or from outside of it.

        Args:
            cause: Why.
            at: The instant.
            reason: What the caller said.

        Returns:
            Whether this very signal won.
        """
        if self._is_outside(cause):
            return self._signalled(Stop(cause, at, reason))
        with self._lock:
            self._port.stopping(cause)
            return super().stop(cause, at, reason)

    def _is_outside(self, cause: StopCause) -> bool:
        # a signal handler runs in the flow's thread, in the middle of the flow
        by_caller = cause is StopCause.CANCELLED_BY_CALLER
        return by_caller or not self.flowing or get_ident() != self._thread

    def _signalled(self, signal: Stop) -> bool:
        expired = self.is_expired(signal.at) and signal.cause is not StopCause.DEADLINE_EXCEEDED
        with self._lock:
            is_first = self.stopped is None and self._claimed is None
            self._unseen.append(signal)
            if is_first:
                self._claimed = signal
                if self._wake is not None:
                    self._wake.set()
            return is_first and not expired

    def settle(self) -> None:
        """
        Let the flow see what came from outside, and note it.
        """
        if self._unseen:
            with self._lock:
                signals, self._unseen = self._unseen, []
                for signal in signals:
                    self._port.note_signal(signal)
                    super().stop(signal.cause, signal.at, signal.reason)

    def apply(self, signal: Stop) -> None:
        """
        Let the flow see a signal of its journal.

        Args:
            signal: The signal.
        """
        with self._lock:
            self._claimed = self._claimed or signal
            super().stop(signal.cause, signal.at, signal.reason)

    def check(self, now: float) -> Stop | None:
        """
        Make the active check at an instant; outside the flow, claims count that it has not seen.

        Args:
            now: The instant.
        """
        outside = self._is_outside(StopCause.DEADLINE_EXCEEDED)
        claimed = self._claimed if outside else None
        if self.stopped is None and claimed is None and now >= self.expires:
            self.stop(StopCause.DEADLINE_EXCEEDED, now)
        return self.stopped or (self._claimed if outside else None)

    def wake(self) -> Event:
        """
        Give an event that is set once the run has ended; for a wait to end at once.
        """
        with self._lock:
            event = super().wake()
            if self._claimed is not None:
                event.set()
            return event

"""A token by which a caller cancels its runs from any thread (section 3.1)."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from harness._json import clean_text
from harness.errors import InvalidArgumentError

__all__ = ["CancelToken"]

_MOST_CHARACTERS = 500


class CancelToken:
    """
    Cancels the runs it was given to. Usable from any thread, by several runs.

    Cancelling is cooperative: a synchronous call that is under way may finish; its result is
    late and used for nothing.
    """

    __slots__ = ("_cancelled", "_listeners", "_lock", "_reason", "_used")

    def __init__(self) -> None:
        self._lock = Lock()
        self._listeners: dict[int, Callable[[str], bool]] = {}
        self._cancelled = False
        self._used = False
        self._reason = ""

    @property
    def is_cancelled(self) -> bool:
        """
        Whether :meth:`cancel` was called.
        """
        return self._cancelled

    @property
    def reason(self) -> str:
        """
        What the first :meth:`cancel` said.
        """
        return self._reason

    def cancel(self, reason: str = "") -> bool:
        """
        Cancel every run that has this token, now and later.

        Args:
            reason: Kept in the records; bounded to 500 characters.

        Returns:
            Whether it took effect: ``False`` where every run with this token has already ended,
            or where it was cancelled before.

        Raises:
            InvalidArgumentError: The reason is no text.
        """
        if not isinstance(reason, str):
            raise InvalidArgumentError("reason", reason, "text")
        with self._lock:
            if self._cancelled:
                return False
            self._cancelled = True
            self._reason = clean_text(reason[:_MOST_CHARACTERS])
            listeners = tuple(self._listeners.values())
            unused = not self._used
        # every run is told, so no short circuit
        accepted = [listener(self._reason) for listener in listeners]
        return unused or any(accepted)

    def _join(self, key: int, listener: Callable[[str], bool]) -> None:
        """
        Let a run listen; told at once where the token was cancelled before.
        """
        with self._lock:
            self._used = True
            self._listeners[key] = listener
            cancelled = self._cancelled
        if cancelled:
            listener(self._reason)

    def _leave(self, key: int) -> None:
        with self._lock:
            self._listeners.pop(key, None)

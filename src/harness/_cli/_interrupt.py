"""
Ctrl-C during a run: the run ends as cancelled, and its record is saved.

1. Inside a call of the agent or a tool it raises, so that a call that waits ends at once; the
   harness takes that as the interrupt of a host object (section 3.1).
2. Anywhere else it cancels the run's token, so that it tears nothing that the harness has begun.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from functools import wraps
from types import FrameType
from typing import Any, Final, ParamSpec, Self, TypeVar

from harness._cancel import CancelToken

__all__ = ["Interrupt"]

P = ParamSpec("P")
T = TypeVar("T")

_REASON: Final = "interrupted from the keyboard"


class Interrupt:
    """
    Listens to Ctrl-C while it is entered; outside the main thread it does nothing.

    Attributes:
        token: To be given to the run.
    """

    def __init__(self) -> None:
        self.token: Final = CancelToken()
        self._inside = False
        self._before: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._take)
        return self

    def __exit__(self, *_error: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def around(self, function: Callable[P, T]) -> Callable[P, T]:
        """
        Let Ctrl-C raise inside a function.

        Args:
            function: A host's function.
        """

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            self._inside = True
            try:
                return function(*args, **kwargs)
            finally:
                self._inside = False

        return call

    def _take(self, _number: int, _frame: FrameType | None) -> None:
        if self._inside:
            raise KeyboardInterrupt
        # on a thread of its own: this one may hold the lock that cancelling needs
        threading.Thread(target=self.token.cancel, args=(_REASON,), daemon=True).start()

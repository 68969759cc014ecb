"""Progress of a batch on standard error: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import Any, Final

from harness._cli._terminal import SafeStream
from harness._states import ReleaseOutcome

__all__ = ["Bar"]

_LENGTH: Final = 20

#: What the bar calls one and several endings; ``None``: the run was refused.
_NAMES: Final[dict[ReleaseOutcome | None, tuple[str, str]]] = {
    ReleaseOutcome.SUCCESS: ("report", "reports"),
    ReleaseOutcome.FALLBACK: ("fallback", "fallbacks"),
    ReleaseOutcome.FAILED: ("failure", "failures"),
    ReleaseOutcome.CANCELLED: ("cancelled", "cancelled"),
    None: ("refused", "refused"),
}


class Bar:
    """
    Tells how far a batch is; usable from any thread.

    Args:
        stream: Standard error.
        command: What the lines begin with.
        total: How many runs there are.
    """

    def __init__(self, stream: SafeStream, command: str, total: int) -> None:
        self._stream = stream
        self._command = command
        self._total = total
        self._is_live = bool(stream.isatty())
        self._is_drawn = False
        self._lock = Lock()
        self._started = 0
        self._ended: Counter[ReleaseOutcome | None] = Counter()

    @property
    def ended(self) -> int:
        """
        How many runs have ended.
        """
        return self._ended.total()

    def start(self) -> None:
        """
        Take note that a run starts.
        """
        with self._lock:
            self._started += 1
            self._draw()

    def end(self, outcome: ReleaseOutcome | None, text: str) -> None:
        """
        Take note that a run has ended.

        Args:
            outcome: What it released; ``None``: it was refused.
            text: How it ended; told in a plain line of its own where there is no bar.
        """
        with self._lock:
            self._ended[outcome] += 1
            if not self._is_live:
                self._say(f"{self.ended}/{self._total} {text}")
            self._draw()

    def say(self, text: str) -> None:
        """
        Write a line that stays.

        Args:
            text: The line.
        """
        with self._lock:
            self._say(text)
            self._draw()

    def around(self, write: Callable[[], None]) -> None:
        """
        Take the bar away while something is written to the same terminal.

        Args:
            write: Writes it.
        """
        with self._lock:
            self._clear()
            write()
            self._draw()

    def close(self) -> None:
        """
        Take the bar away, and say what came of it all.
        """
        with self._lock:
            self._say(f"{self.ended} of {self._total} done: {self._counts() or 'nothing'}")

    def _counts(self) -> str:
        counted = ((self._ended[outcome], names) for outcome, names in _NAMES.items())
        return ", ".join(f"{count} {names[count != 1]}" for count, names in counted if count)

    def _say(self, text: str) -> None:
        self._clear()
        self._write(print, f"{self._command}: {text}".replace("\n", " "), file=self._stream)

    def _draw(self) -> None:
        if not self._is_live:
            return
        self._is_drawn = True
        filled = "#" * (_LENGTH * self.ended // self._total)
        under_way = f"{self._started - self.ended} under way"
        parts = ", ".join(filter(None, (self._counts(), under_way)))
        line = f"{self._command}: [{filled:.<{_LENGTH}}] {self.ended}/{self._total} {parts}"
        self._write(self._stream.rewrite, line)

    def _clear(self) -> None:
        if self._is_drawn:
            self._is_drawn = False
            self._write(self._stream.rewrite, "")

    def _write(self, write: Callable[..., None], *arguments: Any, **options: Any) -> None:
        # nobody reads it any more; the batch goes on
        with suppress(OSError):
            write(*arguments, **options)
            self._stream.flush()

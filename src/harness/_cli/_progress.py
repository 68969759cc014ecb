"""Progress of a run on standard error: stages and counts, while it works."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any, Final

from harness._cli._terminal import SafeStream
from harness._records import StreamEvent
from harness._states import EventKind
from harness._values import ToolCall

__all__ = ["Progress"]

#: Seconds between two redraws of the live line.
_PACE: Final = 0.2


class Progress:
    """
    Tells what a run does: a plain line each, or one live line on a terminal.

    It is the run's client too; it never goes away, since a terminal that nobody reads is no reason
    to cancel a diagnosis.

    Args:
        stream: Standard error.
        command: What the lines begin with.
        clock: Seconds, for the live line.
    """

    def __init__(
        self, stream: SafeStream, command: str, *, clock: Callable[[], float] = monotonic
    ) -> None:
        self._stream = stream
        self._command = command
        self._clock = clock
        self._is_live = bool(stream.isatty())
        self._began = clock()
        self._stage = ""
        self._drawn = self._began

    def send(self, event: StreamEvent) -> None:
        """
        Tell an event of the run's stream.

        Args:
            event: The event.
        """
        data = event.data
        if event.kind is EventKind.METADATA:
            self.say(f"run {data['run_id']}")
        elif event.kind is EventKind.STATUS:
            stage = data["stage"].lower().replace("_", " ")
            self._tell(f"{stage}, turn {data['turn']}, {data['invocations']} invocations")
        else:
            self.clear()

    def asking(self, call: ToolCall) -> None:
        """
        Tell which call is made.

        Args:
            call: The call.
        """
        arguments = ", ".join(f"{key}={value}" for key, value in call.arguments.items())
        self._tell(f"asking {call.tool}: {arguments or 'everything'}")

    def tick(self) -> None:
        """
        Show on a terminal that a call is still under way.
        """
        if self._is_live and self._clock() - self._drawn >= _PACE:
            self._draw()

    def say(self, text: str) -> None:
        """
        Write a line that stays.

        Args:
            text: The line.
        """
        self.clear()
        self._write(print, f"{self._command}: {text}".replace("\n", " "), file=self._stream)

    def clear(self) -> None:
        """
        Take the live line away.
        """
        if self._is_live and self._stage:
            self._stage = ""
            self._write(self._stream.rewrite, "")

    def _tell(self, text: str) -> None:
        if not self._is_live:
            self.say(text)
            return
        self._stage = text
        self._draw()

    def _draw(self) -> None:
        self._drawn = self._clock()
        # the seconds first: a long line is cut at its end
        line = f"{self._command}: {self._drawn - self._began:.1f} s, {self._stage}"
        self._write(self._stream.rewrite, line)

    def _write(self, write: Callable[..., None], *arguments: Any, **options: Any) -> None:
        # nobody reads it any more; the run goes on
        with suppress(OSError):
            write(*arguments, **options)
            self._stream.flush()

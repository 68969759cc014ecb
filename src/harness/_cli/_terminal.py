r"""
Streams that no text can abuse: what a log says never steers the terminal that shows it.

1. Every control character but line feed and tab, every mark that turns the direction of text and
   every lone surrogate is written as ``\uXXXX``. Inside JSON that is the same text still.
2. Only :meth:`SafeStream.rewrite` moves the cursor, by its own characters.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from io import StringIO, TextIOWrapper
from typing import Any, Final, TextIO, cast

__all__ = ["SafeStream", "escape", "one_line", "safe_streams", "silence"]

_UNSAFE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
_WIDTH: Final = 80


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"


def escape(text: str) -> str:
    r"""
    Write what could steer a terminal as ``\uXXXX``; line feeds and tabs stay.

    Args:
        text: Any text.
    """
    return _UNSAFE.sub(_escaped, text)


def one_line(text: str) -> str:
    """
    Write a text so that it stays in its line.

    Args:
        text: Any text.
    """
    return escape(text).replace("\n", "\\u000a")


class SafeStream:
    """
    A text stream that escapes what is written to it.

    Args:
        stream: Where the escaped text goes.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @classmethod
    def of(cls, stream: TextIO | SafeStream) -> SafeStream:
        """
        Make a stream safe that may be so already.

        Args:
            stream: Any text stream.
        """
        return stream if isinstance(stream, SafeStream) else cls(stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """
        Write a text, escaped.

        Args:
            text: The text.

        Returns:
            The length of the text as it was given.
        """
        self._stream.write(escape(text))
        return len(text)

    def rewrite(self, text: str) -> None:
        """
        Put a text in the place of the line that the cursor stands in; empty: clear the line.

        Args:
            text: One line; what does not fit into the terminal's width is cut off.
        """
        self._stream.write(f"\r{one_line(text)[: self._columns() - 1]}\x1b[K")
        self._stream.flush()

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or _WIDTH
        except (OSError, ValueError):
            return _WIDTH


@contextmanager
def safe_streams() -> Iterator[SafeStream]:
    """
    Put safe streams in the place of standard output and standard error.

    Yields:
        Standard error.
    """
    out, err = (_safe(stream) for stream in (sys.stdout, sys.stderr))
    with ExitStack() as stack:
        stack.enter_context(redirect_stdout(cast("TextIO", out)))
        stack.enter_context(redirect_stderr(cast("TextIO", err)))
        yield err


def _safe(stream: TextIO | None) -> SafeStream:
    if isinstance(stream, TextIOWrapper):
        # a character that the terminal's encoding lacks is no reason to fail
        stream.reconfigure(errors="backslashreplace")
    # Python has no stream where the shell closed it
    return SafeStream(StringIO() if stream is None else stream)


def silence(stream: TextIO) -> None:
    """
    Let what is still buffered for a closed pipe go nowhere, so that nothing complains at exit.

    Args:
        stream: Standard output or standard error.
    """
    try:
        number = stream.fileno()
    except (OSError, ValueError):
        # no stream of the system's: nothing is flushed at exit
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)

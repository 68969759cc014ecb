"""The payment service's log file: one timestamped line per event, from any thread."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType


def utc_now() -> datetime:
    """
    Read the wall clock.

    Returns:
        The current time, in UTC.
    """
    return datetime.now(UTC)


def iso_milliseconds(moment: datetime) -> str:
    """
    Write a moment the way every file of the incident does.

    Args:
        moment: A time that knows its zone.

    Returns:
        ISO 8601 in UTC with milliseconds, such as ``2026-01-31T09:05:07.042Z``.
    """
    utc = moment.astimezone(UTC)
    return utc.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


class LogWriter:
    """
    Append lines to a log file, each complete on disk before the next begins.

    Args:
        path: The file to append to; created where absent.
        now: The wall clock.
    """

    def __init__(self, path: Path, now: Callable[[], datetime] = utc_now) -> None:
        self._now = now
        self._lock = threading.Lock()
        # Line buffered: who reads the file while the service runs sees whole lines only.
        self._file = path.open("a", encoding="utf-8", newline="\n", buffering=1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def write(self, level: str, message: str, **details: object) -> None:
        """
        Append one line: time, level, message, then ``name=value`` for each detail.

        Args:
            level: ``INFO``, ``WARN`` or ``ERROR``.
            message: What happened, in fixed words, so that equal events look alike.
            **details: The values of this event.
        """
        words = [f"{level:<5}", message, *(f"{name}={value}" for name, value in details.items())]
        # The time is read under the lock: lines stand in the order of their timestamps.
        with self._lock:
            self._file.write(f"{iso_milliseconds(self._now())} {' '.join(words)}\n")

    def close(self) -> None:
        """
        Close the file.
        """
        with self._lock:
            self._file.close()

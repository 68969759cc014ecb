"""
Why a log file cannot be read (to its end), one class per reason.

The tree::

    LogFileError                 a log file cannot be read; says which, and why
    +-- LogNotFoundError         no such file
    +-- NotALogFileError         a directory, a pipe, a device
    +-- LogUnreadableError       the system refuses, or fails while reading
    +-- BinaryLogError           what stands in it is no text
    +-- CorruptLogError          compressed, and damaged or cut off
    +-- EmptyLogError            nothing stands in it
    ScanStoppedError             the run ended meanwhile
"""

from __future__ import annotations

from harness.errors import HarnessError

__all__ = [
    "BinaryLogError",
    "CorruptLogError",
    "EmptyLogError",
    "LogFileError",
    "LogNotFoundError",
    "LogUnreadableError",
    "NotALogFileError",
    "ScanStoppedError",
]


class LogFileError(HarnessError):
    """
    A log file cannot be read; nothing was changed, and other files may be read on.

    Attributes:
        path: The file, as it was named.
        why: What is wrong with it.
    """

    def __init__(self, path: str, why: str) -> None:
        super().__init__(path, why)
        self.path = path
        self.why = why

    def __str__(self) -> str:
        return f"{self.path}: {self.why}"


class LogNotFoundError(LogFileError):
    """
    There is no such file.
    """


class NotALogFileError(LogFileError):
    """
    It is a directory, or something else that cannot be read twice.
    """


class LogUnreadableError(LogFileError):
    """
    The system refuses to open it, or fails while it is read.
    """


class BinaryLogError(LogFileError):
    """
    What stands in it is no text.
    """


class CorruptLogError(LogFileError):
    """
    It is compressed, and the compressed data is damaged or ends too early.
    """


class EmptyLogError(LogFileError):
    """
    Nothing stands in it.
    """


class ScanStoppedError(HarnessError):
    """
    The run ended while a file was being read; what was found would be used for nothing.

    Attributes:
        lines: How many lines had been read.
    """

    def __init__(self, lines: int) -> None:
        super().__init__(lines)
        self.lines = lines

    def __str__(self) -> str:
        return f"stopped after {self.lines} lines: the run has ended"

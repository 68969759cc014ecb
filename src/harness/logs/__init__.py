"""
Log files as evidence: a tool that reads them, and the parts that it is made of.

:class:`LogTool` answers an agent's calls about real files: any of the usual encodings and line
ends, plain or gzip, lines of any length, with or without timestamps and levels, in memory that does
not grow with the file. :func:`check_log` tells before a run whether a file can be read, and
:func:`read_lines` reads one.
"""

from harness.logs._errors import (
    BinaryLogError,
    CorruptLogError,
    EmptyLogError,
    LogFileError,
    LogNotFoundError,
    LogUnreadableError,
    NotALogFileError,
    ScanStoppedError,
)
from harness.logs._levels import Level, level_of
from harness.logs._lines import LogLine, check_log, read_lines
from harness.logs._tool import LogTool, describe_scope

__all__ = [
    "BinaryLogError",
    "CorruptLogError",
    "EmptyLogError",
    "Level",
    "LogFileError",
    "LogLine",
    "LogNotFoundError",
    "LogTool",
    "LogUnreadableError",
    "NotALogFileError",
    "ScanStoppedError",
    "check_log",
    "describe_scope",
    "level_of",
    "read_lines",
]

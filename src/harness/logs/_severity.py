"""
How much a line matters: its level decides, and where that says nothing, its words.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from harness.logs._levels import Level

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FAILURE", "severity_of"]

#: From here on something is wrong.
FAILURE: Final = 4

_BY_LEVEL: Final[Mapping[Level, int]] = MappingProxyType(
    {Level.TRACE: 1, Level.DEBUG: 1, Level.WARN: 4, Level.ERROR: 5, Level.FATAL: 6}
)

_FAILS: Final = re.compile(
    r"fail|error|exception|refus|den(?:y|ied)|time[ds]?[ -]?out|unreachable|invalid|illegal|abort"
    r"|crash|kill|exhaust|exceed|lost|losing|broken|unable|cannot|can't|could not|not found|unknown"
    r"|reject|drop|overflow|break-?in|attack|corrupt|leak|expir|bad |missing|unavailable|violation",
    re.IGNORECASE,
)
_COLLAPSES: Final = re.compile(
    r"panic|fatal|out of memory|oom-?kill|segfault|segmentation fault|deadlock|no space left",
    re.IGNORECASE,
)


def severity_of(level: Level | None, text: str) -> int:
    """
    Tell how much a line matters, from 1 to 6.

    Args:
        level: Its level.
        text: Its text.

    Returns:
        By level: 6 fatal, 5 error, 4 warning, 1 debugging. At any other level by words: of a
        collapse 5 without a level and 4 with one, of a failure 4 and 3; else 2.
    """
    if level is not None and level in _BY_LEVEL:
        return _BY_LEVEL[level]
    stated = level is not None
    if _COLLAPSES.search(text):
        return FAILURE + 1 - stated
    if _FAILS.search(text):
        return FAILURE - stated
    return 2

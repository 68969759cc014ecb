"""
The level of a log line, in whatever spelling its program writes it.

1. The word right after the timestamp counts in any case: ``Info``, ``- WARN``, ``[error]``.
2. Else the first level that stands in its own right: a capitalised word, ``error:`` at the start
   of a message, a word in brackets, a ``level=`` field (of words or of numbers), the single letter
   of klog and Android. Only the line's beginning is looked at.
3. A line that states none has none. Nothing is guessed from its words.
"""

from __future__ import annotations

import re
from enum import IntEnum, unique
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LEVEL_NAMES", "Level", "level_of", "to_level"]


@unique
class Level(IntEnum):
    """
    How severe a line says it is; higher is more severe.
    """

    #: Finer than debugging.
    TRACE = 1
    #: For developers.
    DEBUG = 2
    #: Normal operation.
    INFO = 3
    #: Normal, but worth a note.
    NOTICE = 4
    #: Something is not as it should be.
    WARN = 5
    #: Something failed.
    ERROR = 6
    #: Nothing goes on.
    FATAL = 7


_SPELLINGS: Final[Mapping[Level, str]] = MappingProxyType(
    {
        Level.TRACE: "TRACE TRC FINEST FINER VERBOSE",
        Level.DEBUG: "DEBUG DBG FINE",
        Level.INFO: "INFO INF INFORMATION INFORMATIONAL",
        Level.NOTICE: "NOTICE",
        Level.WARN: "WARN WARNING WRN",
        Level.ERROR: "ERROR ERR EROR SEVERE",
        Level.FATAL: "FATAL FTL CRITICAL CRIT ALERT EMERG EMERGENCY PANIC",
    }
)

_BY_NAME: Final[Mapping[str, Level]] = MappingProxyType(
    {name: level for level, names in _SPELLINGS.items() for name in names.split()}
)

_BY_LETTER: Final[Mapping[str, Level]] = MappingProxyType(
    {
        "V": Level.TRACE,
        "D": Level.DEBUG,
        "I": Level.INFO,
        "W": Level.WARN,
        "E": Level.ERROR,
        "F": Level.FATAL,
    }
)

# bunyan and pino: tens; everything between two belongs to the lower one.
_BY_TEN: Final[tuple[Level, ...]] = (
    Level.TRACE,
    Level.TRACE,
    Level.DEBUG,
    Level.INFO,
    Level.WARN,
    Level.ERROR,
    Level.FATAL,
)

#: What a caller may ask for.
LEVEL_NAMES: Final = tuple(level.name.lower() for level in Level)

#: How far into a line a level may stand.
_HEADER: Final = 240

_NAMES: Final = "|".join(sorted(_BY_NAME, key=len, reverse=True))
_END: Final = r"(?![A-Za-z0-9_])"

_AFTER_STAMP: Final = re.compile(
    rf"[\s,\-|:\]\[(<]*(?:({_NAMES}){_END}|((?-i:[VDIWEF]))[/ ])", re.IGNORECASE
)
_ANDROID: Final = re.compile(r"\s+[0-9]+\s+[0-9]+ ([VDIWEF]) ")
_KLOG: Final = re.compile(r"([IWEF])[0-9]{4} ")
# No boundary in front: the search is three times as fast, and what stands before is checked after.
_CAPITALS: Final = re.compile(rf"(?:{_NAMES}){_END}")
# Any word in such a place is looked up: an alternation of all names would be ten times slower.
_WORDS: Final = (
    re.compile(r"[\[<(](?:\w{1,32}:)?\s?([A-Za-z]{3,13})\s?[\]>)]"),
    re.compile(r"[:\]] ([A-Za-z]{3,13}): "),
)
_FIRST_WORD: Final = re.compile(r"([A-Za-z]{3,13}): ")
_FIELD: Final = re.compile(
    r"[lLsS](?:evel|EVEL|vl|VL|everity|EVERITY)\"?\s?[=:]\s?"
    r"(?:\"?([A-Za-z]{3,13})|([0-9]{2})(?![0-9]))"
)


def to_level(name: str) -> Level | None:
    """
    Read a level's name in any spelling and case.

    Args:
        name: Such as ``warn``, ``Warning``, ``err`` or ``CRITICAL``.

    Returns:
        The level, or ``None`` where it names none.
    """
    return _BY_NAME.get(name.strip().upper())


def level_of(text: str, start: int = 0) -> Level | None:
    """
    Tell a line's level.

    Args:
        text: The line.
        start: Where its timestamp ends; 0 where it has none.

    Returns:
        The level, or ``None`` where the line states none.
    """
    if start and (found := _AFTER_STAMP.match(text, start)):
        return _BY_NAME[found[1].upper()] if found[1] else _BY_LETTER[found[2]]
    return _capital(text) or _stated(text) or _lettered(text, start)


def _capital(text: str) -> Level | None:
    """
    Find the first capitalised level that is a word of its own.
    """
    found = _CAPITALS.search(text, 0, _HEADER)
    while found:
        before = text[found.start() - 1] if found.start() else " "
        if not (before.isalnum() or before == "_"):
            return _BY_NAME[found[0]]
        found = _CAPITALS.search(text, found.end(), _HEADER)
    return None


def _stated(text: str) -> Level | None:
    """
    Find a level in front of a message, in brackets, or in a field.
    """
    if (found := _FIRST_WORD.match(text)) and (level := to_level(found[1])):
        return level
    for pattern in _WORDS:
        for found in pattern.finditer(text, 0, _HEADER):
            if level := to_level(found[1]):
                return level
    if found := _FIELD.search(text, 0, _HEADER):
        return to_level(found[1]) if found[1] else _by_ten(int(found[2]))
    return None


def _by_ten(number: int) -> Level | None:
    tens = number // 10
    return _BY_TEN[tens] if tens < len(_BY_TEN) else None


def _lettered(text: str, start: int) -> Level | None:
    found = _KLOG.match(text) or (_ANDROID.match(text, start) if start else None)
    return _BY_LETTER[found[1]] if found else None

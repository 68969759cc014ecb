"""
What varies from line to line is masked: numbers, identifiers, addresses, paths and quoted texts.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["MASK", "mask", "tells"]

#: Stands for what was masked.
MASK: Final = "<*>"

# One group and no other: a split gives the constant and the variable parts in turn. A number is one
# with its unit and with what dots, colons, commas, slashes and dashes join to it. What looks like a
# mask is masked, so that the n-th mask always stands for the n-th value.
_VARIABLE: Final = re.compile(
    r"""(
    <\*> | "[^"]*" | (?<![A-Za-z])'[^']*'
    | ://[^\s"'<>,)]+ | (?<![0-9A-Za-z_.:/])/[0-9A-Za-z_.@%+~-]+(?:/[0-9A-Za-z_.@%+~-]*)*
    | (?<![0-9A-Za-z])[a-f](?=[a-f]*[0-9])[0-9a-f]{7,}(?:-[0-9a-f]{4,12})*(?![0-9A-Za-z])
    | (?<![0-9A-Za-z])-?[0-9][0-9A-Za-z]*(?:[.,:_/-][A-Za-z]*[0-9][0-9A-Za-z]*)*
    )""",
    re.VERBOSE,
)
# The message of a structured line: its quotes do not make it a variable.
_MESSAGE: Final = re.compile(r'\b(?:msg|message|event|err|error)"?[ ]?[=:][ ]?"((?:[^"\\]|\\.)+)"')
# What stands between a timestamp and the text.
_TRIMMED: Final = " \t]),|:-"

# Words that tell what happened, by their ending or by themselves.
_TELLING: Final = re.compile(
    r"(?:ed|ing|up|down|on|off|not|ok|true|false|success\w*|fail\w*|errors?|start|stop)\W*$",
    re.IGNORECASE,
)


def mask(text: str, start: int = 0) -> tuple[str, list[str]]:
    """
    Mask what varies in a line.

    Args:
        text: The line.
        start: Where its timestamp ends.

    Returns:
        What is constant, with :data:`MASK` in the place of the rest, and what was masked.
    """
    message = _MESSAGE.search(text, start) if '"' in text else None
    said = message[1] if message else text[start:].lstrip(_TRIMMED)
    parts = _VARIABLE.split(said)
    return MASK.join(parts[::2]), parts[1::2]


def tells(word: str) -> bool:
    """
    Say whether a word tells what happened, such as ``accepted`` or ``down``.

    Args:
        word: One masked word of a line.

    Returns:
        Whether it must never become a variable.
    """
    return _TELLING.search(word) is not None

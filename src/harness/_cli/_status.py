"""The exit statuses of the commands."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from harness._states import ReleaseOutcome

__all__ = ["BAD_INPUT", "CLOSED_PIPE", "EXIT_STATUS", "FAILED", "INTERRUPTED"]

#: A wrong argument, or a file that cannot be used.
BAD_INPUT: Final = 2
#: Only a failure could be released, or nothing could be written.
FAILED: Final = 4
#: Ended by Ctrl-C, as shells say it.
INTERRUPTED: Final = 130
#: Whoever read the output has gone, as shells say it.
CLOSED_PIPE: Final = 141

#: The exit status of each release outcome.
EXIT_STATUS: Final = MappingProxyType(
    {
        ReleaseOutcome.SUCCESS: 0,
        ReleaseOutcome.FALLBACK: 3,
        ReleaseOutcome.FAILED: FAILED,
        ReleaseOutcome.CANCELLED: INTERRUPTED,
    }
)

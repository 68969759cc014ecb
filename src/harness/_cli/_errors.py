"""What a command cannot work with: told in one line, with the exit status of a usage error."""

from __future__ import annotations

from harness.errors import HarnessError

__all__ = ["CommandError"]


class CommandError(HarnessError):
    """
    A command got something that it cannot work with; nothing was run or changed.

    Attributes:
        message: What, and what is allowed.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __str__(self) -> str:
        return self.message

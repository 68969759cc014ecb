"""A tool that tells progress while it works, and that Ctrl-C can interrupt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from harness._cli._interrupt import Interrupt
from harness._cli._progress import Progress
from harness._seam import Attempt
from harness._tools import Parameter
from harness._values import ToolCall
from harness.ports import Tool

__all__ = ["WatchedTool"]


class WatchedTool:
    """
    A tool as it is, watched.

    Args:
        tool: The tool.
        progress: Is told of each call, and ticks as often as the tool asks whether to go on.
        interrupt: May raise inside a call.
    """

    def __init__(self, tool: Tool, progress: Progress, interrupt: Interrupt) -> None:
        self.name: Final = tool.name
        self.description: Final = tool.description
        self.parameters: Final[Mapping[str, Parameter] | None] = tool.parameters
        self._execute = interrupt.around(tool.execute)
        self._progress = progress

    def execute(self, call: ToolCall, attempt: Attempt) -> object:
        """
        Execute a call.

        Args:
            call: The call.
            attempt: Deadline and cancellation.

        Returns:
            What the tool returns.
        """
        self._progress.asking(call)
        return self._execute(call, cast("Attempt", _Ticking(attempt, self._progress)))


class _Ticking:
    """
    An attempt that ticks whenever it is asked whether the run has ended.
    """

    def __init__(self, attempt: Attempt, progress: Progress) -> None:
        self._attempt = attempt
        self._progress = progress

    @property
    def is_cancelled(self) -> bool:
        self._progress.tick()
        return self._attempt.is_cancelled

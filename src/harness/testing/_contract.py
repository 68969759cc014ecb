"""What the contract kits of host objects have in common; without pytest."""

from __future__ import annotations

from typing import Any, Final

from harness._records import RunRecord
from harness._states import SemanticVerdict
from harness._sync import Harness
from harness._values import AgentTurn, DiagnosisDraft, ToolCall
from harness._view import AgentView

__all__ = ["QUESTION", "Contract", "approve", "run_call"]

QUESTION: Final = "Why do payments fail?"


class Contract:
    """
    What the kits have in common: pytest and :func:`broken_rules` call these around each rule.
    """

    def setup_method(self) -> None:
        """
        Prepare a rule. Override it where something is to be opened.
        """

    def teardown_method(self) -> None:
        """
        Clean up after a rule. Override it where something is to be closed.
        """


def approve(_case: object) -> SemanticVerdict:
    """
    Judge everything as supported: the kits of tools and agents are not about the guard.

    Args:
        _case: The case.
    """
    return SemanticVerdict.SUPPORTED


def run_call(tool: Any, call: ToolCall) -> RunRecord:
    """
    Let the harness make one call of a tool, as it makes them in production.

    Args:
        tool: The tool.
        call: The call.
    """

    def agent(view: AgentView) -> AgentTurn:
        return AgentTurn(draft=DiagnosisDraft(None)) if view.records else AgentTurn([call])

    return Harness(agent, [tool], semantic_guard=approve).run(QUESTION).record

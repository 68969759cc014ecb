"""What the agents of the demo's other endings do wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve, frozen

from harness import AgentTurn, DiagnosisDraft, Usage
from harness.demo._agent import state_progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness import AgentView, Attempt, RepairCase
    from harness.ports import DiagnosisAgent


@frozen
class DraftingAgent:
    """
    An agent whose drafts come out wrong: another agent's, changed before they are handed in.

    Attributes:
        agent: Who investigates.
        spoil: What happens to its drafts.
    """

    agent: DiagnosisAgent
    spoil: Callable[[DiagnosisDraft], DiagnosisDraft]

    def next_turn(self, view: AgentView, attempt: Attempt) -> AgentTurn:
        """
        Take the other agent's turn.

        Args:
            view: What is known so far.
            attempt: Where to report usage.

        Returns:
            Its turn, with the draft spoiled.
        """
        turn = self.agent.next_turn(view, attempt)
        return evolve(turn, draft=self.spoil(turn.draft)) if turn.draft else turn


def misquote(draft: DiagnosisDraft) -> DiagnosisDraft:
    """
    Quote what no source says, as a model does that remembers instead of copying.

    Args:
        draft: A draft with quotes.

    Returns:
        The draft; each quote of its conclusion is followed by words of the drafter's own.
    """
    citations = [evolve(citation, quote=f"{citation.quote} or so") for citation in draft.citations]
    return evolve(draft, citations=citations)


def overreach(draft: DiagnosisDraft) -> DiagnosisDraft:
    """
    Conclude more than the cited evidence says.

    Args:
        draft: A draft with a conclusion.

    Returns:
        The draft, with a second cause that nobody observed.
    """
    invented = "The host db-7 ran out of memory after 31 failed logins."
    return evolve(draft, conclusion=f"{draft.conclusion} {invented}")


@frozen
class StuckAgent:
    """
    An agent that asks the same again and again, whatever it was answered.

    Attributes:
        agent: Who takes the first turn, and drafts when asking has to stop.
    """

    agent: DiagnosisAgent

    def next_turn(self, view: AgentView, attempt: Attempt) -> AgentTurn:
        """
        Ask what was asked in the first turn.

        Args:
            view: What is known so far.
            attempt: Where to report usage.

        Returns:
            The first turn's calls; a draft where one is required.
        """
        if view.turn == 1 or view.stop:
            return self.agent.next_turn(view, attempt)
        return AgentTurn(
            [view.records[0].invocation.call], progress=state_progress(view), usage=Usage(0, 0)
        )


class StubbornRepairer:
    """
    A repairer that sees nothing wrong with the draft.
    """

    def repair(self, case: RepairCase, attempt: Attempt) -> DiagnosisDraft:
        """
        Hand the draft in again.

        Args:
            case: The draft and what is wrong with it.
            attempt: Where to report usage.

        Returns:
            The draft as it was.
        """
        del attempt
        return case.draft

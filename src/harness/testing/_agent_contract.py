"""What an agent must hold, rule by rule (sections 3.2, 3.4 and 3.6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from harness._limits import Limits
from harness._records import RunRecord
from harness._states import StopCause
from harness._sync import Harness
from harness.testing._contract import QUESTION, Contract, approve
from harness.testing._store_contract import THREADS, at_once, expect

__all__ = ["AgentContract"]

#: How a run ends whose agent does its part.
_FAIR: Final = frozenset(
    {
        StopCause.REPORT_APPROVED,
        StopCause.NO_CONCLUSION,
        StopCause.MISSING_REQUIRED_CONTEXT,
    }
)


class AgentContract(Contract):
    """
    What an agent must hold: it drafts when it is told to, and cites what it was shown.
    """

    def make_agent(self) -> Any:
        """
        Give the agent. Override it.
        """
        raise NotImplementedError(f"{type(self).__name__}.make_agent gives no agent")

    def make_tools(self) -> Iterable[Any]:
        """
        Give tools that answer the agent's calls. Override it.
        """
        raise NotImplementedError(f"{type(self).__name__}.make_tools gives no tools")

    def context(self) -> Mapping[str, str]:
        """
        Give the context of the runs. Override it where the agent needs one.
        """
        return {}

    def _run(self, tools: Iterable[Any], limits: Limits | None = None) -> RunRecord:
        harness = Harness(self.make_agent(), tools, semantic_guard=approve, limits=limits)
        return harness.run(QUESTION, context=self.context()).record

    def _expect_fair(self, record: RunRecord, when: str) -> None:
        cause = record.stop_cause
        told = None if cause is None else cause.name
        faults = [event.detail for event in record.trace if "error" in event.detail]
        expect(cause in _FAIR, f"{when} the run ended as {told}: {faults!r:.300}")

    def test_it_comes_to_an_end(self) -> None:
        """
        Within the default limits it drafts, and its citations hold.
        """
        self._expect_fair(self._run(self.make_tools()), "with tools that answer")

    def test_it_drafts_when_it_must(self) -> None:
        """
        On the turn that has a ``stop``, it hands in a draft and asks for nothing.
        """
        self._expect_fair(self._run(self.make_tools(), Limits(tool_calls=0)), "without tool calls")

    def test_it_bears_empty_results(self) -> None:
        """
        A scope that holds nothing is an answer; there is no fact to cite in it.
        """
        empty = [_Answering(tool, None) for tool in self.make_tools()]
        self._expect_fair(self._run(empty), "with empty results")

    def test_it_bears_failing_tools(self) -> None:
        """
        A tool that fails is an error record in the view, and no fault of the agent.
        """
        failing = [_Answering(tool, OSError("out of order")) for tool in self.make_tools()]
        self._expect_fair(self._run(failing), "with failing tools")

    def test_runs_share_nothing(self) -> None:
        """
        One agent serves several runs at once, each as if it were alone.
        """
        agent = self.make_agent()
        harness = Harness(agent, self.make_tools(), semantic_guard=approve)

        def run() -> object:
            return harness.run(QUESTION, context=self.context()).record.stop_cause

        alone = run()
        for found in at_once([run] * THREADS):
            expect(found is alone, f"beside other runs {found!r}, alone {alone!r}")


class _Answering:
    """
    A tool by another's name, with one answer to everything.
    """

    def __init__(self, tool: Any, answer: object) -> None:
        self.name = getattr(tool, "name", None) or tool.__name__
        self.description = "answers everything alike"
        self.parameters = None
        self._answer = answer

    def execute(self, _call: object, _attempt: object) -> object:
        """
        Answer, or raise.
        """
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer

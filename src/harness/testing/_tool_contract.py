"""What a tool must hold, rule by rule (section 3.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from harness._records import RunRecord
from harness._states import InvocationStatus
from harness._tools import Parameter
from harness._values import ToolCall
from harness.testing._contract import Contract, run_call
from harness.testing._store_contract import THREADS, at_once, expect

__all__ = ["ToolContract"]


class ToolContract(Contract):
    """
    What a tool must hold (section 3.5): it says what it takes, and gives facts that can be cited.
    """

    def make_tool(self) -> Any:
        """
        Give the tool. Override it.
        """
        raise NotImplementedError(f"{type(self).__name__}.make_tool gives no tool")

    def sample_calls(self) -> Iterable[ToolCall]:
        """
        Give calls that the tool must answer, one that finds nothing among them. Override it.
        """
        raise NotImplementedError(f"{type(self).__name__}.sample_calls gives no calls")

    def _records(self) -> list[tuple[ToolCall, RunRecord]]:
        tool, calls = self.make_tool(), tuple(self.sample_calls())
        expect(calls, "there are no sample calls")
        return [(call, run_call(tool, call)) for call in calls]

    def test_it_says_what_it_is(self) -> None:
        """
        A name and a description that an agent can read.
        """
        tool = self.make_tool()
        for name in ("name", "description"):
            text = getattr(tool, name, None)
            expect(isinstance(text, str) and text.strip(), f"{name} is {text!r}")

    def test_it_declares_its_parameters(self) -> None:
        """
        Names to parameters, so that a wrong call never reaches it; ``None`` where it checks itself.
        """
        parameters = getattr(self.make_tool(), "parameters", None)
        if parameters is None:
            return
        expect(isinstance(parameters, Mapping), f"parameters are {parameters!r:.200}")
        for name, parameter in parameters.items():
            expect(isinstance(parameter, Parameter), f"{name!r} is {parameter!r:.200}")

    def test_it_answers_its_sample_calls(self) -> None:
        """
        Each gives facts or nothing; what is raised, or no result, is an error record.
        """
        for call, record in self._records():
            (row,) = record.invocations
            code = None if row.code is None else row.code.name
            expect(row.status is InvocationStatus.READY, f"{call!r:.300} gave {code}")

    def test_its_facts_are_not_cut(self) -> None:
        """
        A result fits the default limits: what is cut off cannot be cited.
        """
        for call, record in self._records():
            cuts = [row.cut for row in record.invocations if row.cut is not None]
            expect(not cuts, f"{call!r:.300} was cut: {cuts!r}")

    def test_it_says_where_its_facts_stand(self) -> None:
        """
        Each fact has a source, which a report's reader can look up.
        """
        for call, record in self._records():
            facts = () if record.snapshot is None else record.snapshot.facts
            bare = [fact.text for fact in facts if not fact.source.strip()]
            expect(not bare, f"{call!r:.300} gave facts without a source: {bare!r:.200}")

    def test_several_threads_may_call_it_at_once(self) -> None:
        """
        Every call on a thread is answered like one by itself.
        """
        tool = self.make_tool()
        for call, record in self._records():
            alone = [row.evidence_status for row in record.invocations]
            for found in at_once([partial(run_call, tool, call)] * THREADS):
                expect(isinstance(found, RunRecord), f"a call on a thread raised {found!r}")
                rows = getattr(found, "invocations", ())
                together = [row.evidence_status for row in rows]
                expect(together == alone, f"on a thread {together!r}, alone {alone!r}")

"""
A process that runs one diagnosis with a journal, or resumes it, and can kill itself on the way.

``python -m tests.journal.resuming FOLDER [POSITION]``: starts the run, or goes on with the one that
the folder's journal has. At POSITION, counted over every outward call and every append of the
journal, it sends itself SIGKILL. It prints one line of JSON: how the run ended, and the positions.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from harness import (
    AgentTurn,
    AgentView,
    Citation,
    DiagnosisDraft,
    Fact,
    Harness,
    RunResult,
    SemanticVerdict,
    ToolCall,
)
from harness.replay import cut_short, resume
from harness.stores import SqliteStores
from harness.stores.journal import SqliteJournal
from tests.stores.crashing import Positions

RUN_ID = "run-1"


class _Journal(SqliteJournal):
    """A journal whose every append is a position."""

    def __init__(self, file: Path, positions: Positions) -> None:
        super().__init__(file)
        self.positions = positions

    def append(self, run_id: str, number: int, lines: Sequence[str]) -> None:
        """Store lines."""
        self.positions.reach("before append")
        super().append(run_id, number, lines)
        self.positions.reach("after append")


class _Host:
    """The agent, the tool and the guard; each call is in a file, whatever becomes of us."""

    name, description, parameters = "search", "Search.", None

    def __init__(self, folder: Path, positions: Positions) -> None:
        self._calls = folder / "calls"
        self._positions = positions

    def _called(self, name: str) -> None:
        self._positions.reach(f"before {name}")
        with self._calls.open("a") as file:
            file.write(f"{name}\n")
        self._positions.reach(f"in {name}")

    def execute(self, call: ToolCall, _attempt: object) -> list[Fact]:
        """Search."""
        self._called("TOOL")
        return [Fact("pool exhausted, 20 of 20 connections in use", f"log:{len(call.scope)}")]

    def next_turn(self, view: AgentView, _attempt: object) -> AgentTurn:
        """Ask twice, then report."""
        self._called("DIAGNOSIS_AGENT")
        if len(view.records) < 2:
            return AgentTurn([ToolCall("search", {"turn": str(view.turn)})])
        ready = [record for record in view.records if record.facts]
        cited = [Citation(record.invocation_id, fact_id=1) for record in ready[:1]]
        return AgentTurn(draft=DiagnosisDraft("The pool was exhausted." if cited else None, cited))

    def judge(self, _case: object, _attempt: object) -> SemanticVerdict:
        """Approve."""
        self._called("SEMANTIC_GUARD")
        return SemanticVerdict.SUPPORTED


def execute(folder: Path, at: int) -> tuple[RunResult, list[str]]:
    """Run the diagnosis, or go on with it."""
    positions = Positions(at)
    host = _Host(folder, positions)
    with SqliteStores(folder / "runs.db") as stores:
        journal = _Journal(folder / "runs.db", positions)
        harness = Harness(
            host,
            [host],
            semantic_guard=host,
            canonical_store=stores.canonical,
            run_store=stores.runs,
            journal=journal,
        )
        if cut_short(journal) or journal.read(RUN_ID):
            return resume(journal, RUN_ID, harness), positions.names
        return harness.run("Why?", run_id=RUN_ID), positions.names


if __name__ == "__main__":
    result, names = execute(Path(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else 0)
    record = result.record
    told = {
        "run": record.run_state.name,
        "cause": record.stop_cause and record.stop_cause.name,
        "outcome": record.release_outcome and record.release_outcome.name,
        "attempts": [component.name for component in record.attempts.components],
        "text": result.text,
        "positions": names,
    }
    print(json.dumps(told))  # noqa: T201

"""
A process that runs one diagnosis on a file, and kills itself at a position.

``python -m tests.stores.crashing FOLDER POSITION`` counts every outward call (before it and after
it) and every commit of the file; at POSITION it sends itself SIGKILL. At 0 it prints all positions.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import (
    AgentTurn,
    AgentView,
    Citation,
    DiagnosisDraft,
    Fact,
    Harness,
    SemanticVerdict,
    StreamEvent,
    ToolCall,
)
from harness.stores import SqliteStores

RUN_ID = "run-1"


class Positions:
    """Counts positions, and ends the process at one of them."""

    def __init__(self, at: int) -> None:
        self._at = at
        self.names: list[str] = []

    def reach(self, name: str) -> None:
        """Take note of a position."""
        self.names.append(name)
        if len(self.names) == self._at:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Take note before and after a call."""

        def called(*arguments: Any) -> Any:
            self.reach(f"before {name}")
            result = function(*arguments)
            self.reach(f"after {name}")
            return result

        return called


class _Canonical:
    """A store whose every call is a position."""

    def __init__(self, positions: Positions, store: Any) -> None:
        self.save = positions.around("canonical.save", store.save)
        self.load = positions.around("canonical.load", store.load)


class _Runs:
    """The same for runs."""

    def __init__(self, positions: Positions, store: Any) -> None:
        self.begin = positions.around("runs.begin", store.begin)
        self.finish = positions.around("runs.finish", store.finish)
        self.mark_delivered = positions.around("runs.mark_delivered", store.mark_delivered)
        self.load = positions.around("runs.load", store.load)


class _Client:
    """A client on the other end of a wire: what it got is in a file, whatever becomes of us."""

    def __init__(self, positions: Positions, file: Path) -> None:
        self._positions = positions
        self._file = file

    def send(self, event: StreamEvent) -> None:
        """Receive an event."""
        self._positions.reach(f"before client {event.kind.name}")
        with self._file.open("a") as file:
            file.write(f"{event.kind.name}\n")
        self._positions.reach(f"after client {event.kind.name}")


class _Tool:
    name, description, parameters = "search", "Search.", None

    def __init__(self, positions: Positions) -> None:
        self.execute = positions.around("tool", self._execute)

    def _execute(self, _call: ToolCall, _attempt: object) -> list[Fact]:
        return [Fact("pool exhausted, 20 of 20 connections in use", "payment.log:812")]


def _agent(view: AgentView, _attempt: object) -> AgentTurn:
    if not view.records:
        return AgentTurn([ToolCall("search", {"service": "payment"})])
    cited = [Citation(view.records[0].invocation_id, fact_id=1)]
    return AgentTurn(draft=DiagnosisDraft("The pool was exhausted.", cited))


class _Agent:
    def __init__(self, positions: Positions) -> None:
        self.next_turn = positions.around("agent", _agent)


class _Guard:
    def __init__(self, positions: Positions) -> None:
        self.judge = positions.around("guard", lambda *_: SemanticVerdict.SUPPORTED)


def execute(folder: Path, at: int) -> list[str]:
    """Run the diagnosis; gives the positions, where it lives to tell."""
    positions = Positions(at)
    stores = SqliteStores(folder / "runs.db")

    def traced(statement: str) -> None:
        if statement == "COMMIT":
            positions.reach("before COMMIT")

    with stores._database.reading() as connection:
        connection.set_trace_callback(traced)
    harness = Harness(
        _Agent(positions),
        [_Tool(positions)],
        semantic_guard=_Guard(positions),
        canonical_store=_Canonical(positions, stores.canonical),
        run_store=_Runs(positions, stores.runs),
    )
    harness.run("Why?", run_id=RUN_ID, client=_Client(positions, folder / "client"))
    return positions.names


if __name__ == "__main__":
    print("\n".join(execute(Path(sys.argv[1]), int(sys.argv[2]))))  # noqa: T201

"""
A process that executes one durable run, and can be told to kill itself at any of its commits.

``python -m tests.integrations.workflow_process FOLDER URL [POSITION]`` starts the run, or, where
the folder has it already, waits for the engine to recover it. POSITION is the number of a commit
of the engine, and ``-`` or ``+``: the process kills itself right before it or right after it. It
prints one line of JSON: how the run ended.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dbos import DBOS
from dbos._sys_db import SystemDatabase

from harness import (
    AgentTurn,
    AgentView,
    Citation,
    DiagnosisDraft,
    Fact,
    Harness,
    Limits,
    RunResult,
    ToolCall,
    tool,
)
from harness.integrations.dbos import DurableHarness
from harness.stores.sqlite import SqliteCanonicalStore, SqliteRunStore

RUN_ID = "run-1"
_TEXT = "pool exhausted after 2000 ms, 20 of 20 connections in use"


def configure(url: str) -> None:
    """Make the engine ready to be launched."""
    logging.getLogger("dbos").setLevel(logging.ERROR)
    DBOS(
        config={
            "name": "harness-tests",
            "system_database_url": url,
            "application_version": "1",
            "log_level": "ERROR",
        }
    )


def build(folder: Path, heard: Callable[[str], None]) -> Harness:
    """A harness on stores in a folder: two tools, one after the other, and a report."""

    @tool
    def search_log(text: str) -> list[Fact]:
        """Search the log."""
        heard("TOOL")
        return [Fact(_TEXT, f"payment.log:{text}")]

    def agent(view: AgentView) -> AgentTurn:
        heard("DIAGNOSIS_AGENT")
        if len(view.records) < 2:
            call = ToolCall("search_log", {"turn": str(view.turn)}, {"text": str(view.turn)})
            return AgentTurn([call])
        cited = [Citation(view.records[0].invocation_id, fact_id=1)]
        conclusion = "The connection pool was exhausted, with 20 of 20 connections in use."
        return AgentTurn(draft=DiagnosisDraft(conclusion, cited))

    return Harness(
        agent,
        [search_log],
        canonical_store=SqliteCanonicalStore(folder / "runs.db"),
        run_store=SqliteRunStore(folder / "runs.db"),
        limits=Limits(deadline=3600),
    )


def kill_at(position: str) -> None:
    """Kill this process at a commit: ``7-`` right before the seventh, ``7+`` right after it."""
    wanted, after = int(position[:-1]), position.endswith("+")
    real: Callable[..., None] = SystemDatabase.record_operation_result
    count = 0

    def record(self: Any, *arguments: Any, **named: Any) -> None:
        nonlocal count
        count += 1
        if count == wanted and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        real(self, *arguments, **named)
        if count == wanted:
            os.kill(os.getpid(), signal.SIGKILL)

    setattr(SystemDatabase, "record_operation_result", record)  # noqa: B010  a method, replaced


def ending(result: RunResult) -> dict[str, Any]:
    """What is compared of two runs."""
    record = result.record
    return {
        "run": record.run_state.name,
        "cause": None if record.stop_cause is None else record.stop_cause.name,
        "outcome": None if record.release_outcome is None else record.release_outcome.name,
        "attempts": [component.name for component in record.attempts.components],
        "budget": [record.used.model_attempts, record.used.tool_calls],
        "delivered": record.delivered,
        "text": result.text,
    }


def main(folder: Path, url: str, position: str = "") -> None:
    """Execute the run, or recover it."""
    configure(url)

    def heard(what: str) -> None:
        with (folder / "calls").open("a") as file:
            file.write(what + "\n")

    durable = DurableHarness(build(folder, heard))
    if position:
        kill_at(position)
    DBOS.launch()
    result = durable.run("Why do payments fail?", run_id=RUN_ID, stream=True)
    events = [event.kind.name for event in durable.events(RUN_ID)]
    steps = [step["function_name"] for step in DBOS.list_workflow_steps(RUN_ID)]
    print(json.dumps({**ending(result), "events": events, "steps": steps}))  # noqa: T201
    DBOS.destroy()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])

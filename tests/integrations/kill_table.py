"""
Kill a durable run at each commit of its engine, recover it, and print what came of it.

``python -m tests.integrations.kill_table`` takes a few minutes; each run has a SQLite file of its
own as the engine's database (:mod:`tests.integrations.postgres` has it on PostgreSQL). Right after
a commit (``+``) the process is between two steps: nothing may be lost. Right before one (``-``) a
call has been made whose answer the engine does not have.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Any

from attrs import frozen

#: Gives the engine's database for a run in a folder.
Database = Callable[[Path], str]

_ROOT = Path(__file__).parents[2]


@frozen
class Row:
    """
    What came of one kill.

    Attributes:
        position: Which commit, and on which side of it the process was killed.
        step: The step that was to be committed.
        killed: Whether the process really died of it.
        ending: How the run ended after it was started again.
        calls: How often each component was really called, in both processes.
    """

    position: str
    step: str
    killed: bool
    ending: dict[str, Any]
    calls: Counter[str]


def sqlite(folder: Path) -> str:
    """A file of its own."""
    return f"sqlite:///{folder / 'engine.db'}"


def execute(folder: Path, url: str, position: str = "") -> tuple[int, dict[str, Any]]:
    """Execute the run in a process of its own: its exit status, and how the run ended."""
    command = [sys.executable, "-m", "tests.integrations.workflow_process", str(folder), url]
    finished = subprocess.run(
        [*command, *([position] if position else [])],
        cwd=_ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(_ROOT / "src"), str(_ROOT)))},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    lines = finished.stdout.splitlines()
    if finished.returncode == 0:
        return 0, json.loads(lines[-1])
    if not position:
        raise RuntimeError(finished.stderr[-2000:])
    return finished.returncode, {}


def calls_in(folder: Path) -> Counter[str]:
    """How often each component was called."""
    return Counter((folder / "calls").read_text(encoding="utf-8").split())


def undisturbed(folder: Path, database: Database = sqlite) -> Row:
    """The run without a kill."""
    _, ending = execute(folder, database(folder))
    return Row("", "", killed=False, ending=ending, calls=calls_in(folder))


def killed_at(folder: Path, position: str, step: str, database: Database = sqlite) -> Row:
    """The run, killed at a position, and started again."""
    url = database(folder)
    status, _ = execute(folder, url, position)
    _, ending = execute(folder, url)
    return Row(position, step, killed=status == -9, ending=ending, calls=calls_in(folder))


def table(database: Database = sqlite) -> Iterator[str]:
    """The lines of the table, each as soon as it is known; the last one sums up."""
    with tempfile.TemporaryDirectory() as name:
        yield from _lines(Path(name), database)


def _lines(root: Path, database: Database) -> Iterator[str]:
    def folder(position: str) -> Path:
        made = root / f"run{position}"
        made.mkdir()
        return made

    plain = undisturbed(folder("0"), database)
    steps = plain.ending["steps"]
    yield f"undisturbed: {_shown(plain)}"
    places = [(f"{n}{side}", step) for n, step in enumerate(steps, 1) for side in "-+"]
    wrong = 0
    with ThreadPoolExecutor(2) as pool:
        for row in pool.map(lambda at: killed_at(folder(at[0]), at[0], at[1], database), places):
            fault = fault_of(row, plain)
            wrong += fault is not None
            yield f"{row.position:>4} {row.step:<26} {_shown(row)}{fault or ''}"
    yield f"{len(places)} kills, {wrong} wrong"


def _shown(row: Row) -> str:
    calls = f"{row.calls['DIAGNOSIS_AGENT']} model, {row.calls['TOOL']} tool calls"
    ending = row.ending
    return f"{calls}; {ending['run']} {ending['outcome']} delivered={ending['delivered']} "


def fault_of(row: Row, plain: Row) -> str | None:
    """What is wrong with a row, or ``None``."""
    if not row.killed:
        return "the process was not killed"
    attempts = Counter(row.ending["attempts"])
    if any(attempts[component] != count for component, count in row.calls.items()):
        return "a call was made that is not counted"
    if row.position.endswith("-") and row.step in SPENT:
        cause = row.ending["cause"]
        return None if cause in SPENT[row.step] else f"ended as {cause}"
    if row.calls != plain.calls:
        return "a call was made twice, or not at all"
    same = ("run", "cause", "outcome", "text", "attempts", "budget")
    differs = [name for name in same if row.ending[name] != plain.ending[name]]
    return f"differs: {', '.join(differs)}" if differs else None


#: Killed while one of these is under way, the run goes on without its answer, which counts as
#: spent: a turn is not asked for twice, a tool's error is seen by the agent, the guard is asked
#: once more.
SPENT: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "DIAGNOSIS_AGENT": ("AGENT_UNAVAILABLE",),
        "TOOL search_log": ("REPORT_APPROVED", "EVIDENCE_REJECTED"),
        "SEMANTIC_GUARD": ("REPORT_APPROVED",),
    }
)


def main(database: Database = sqlite) -> int:
    """Print the table."""
    last = ""
    for last in table(database):
        print(last, flush=True)  # noqa: T201
    return 0 if last.endswith(" 0 wrong") else 1


if __name__ == "__main__":
    sys.exit(main())

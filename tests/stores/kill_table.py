"""
Kill a run at every outward call and every commit, and print what the file held afterwards.

``python -m tests.stores.kill_table`` starts a process for each position, some forty of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from attrs import frozen

from harness import RunRecord, RunState
from harness.stores import SqliteStores, recover_abandoned
from tests.stores.crashing import RUN_ID

_ROOT = Path(__file__).parents[2]


@frozen
class Row:
    """
    What one kill left behind.

    Attributes:
        position: Where the process was killed.
        killed: Whether it really died of it.
        held: The run's record in the file, or ``None``.
        evidence: How many canonical records the file held.
        received: The events that the client had got.
        recovered: The record after the recovery, or ``None``.
    """

    position: str
    killed: bool
    held: RunRecord | None
    evidence: int
    received: tuple[str, ...]
    recovered: RunRecord | None

    def __str__(self) -> str:
        got = "CONTENT" if "CONTENT" in self.received else "no content"
        return (
            f"{self.position:<30} {_shown(self.held):<36} {self.evidence} records"
            f"  client: {got:<10}  recovered: {_shown(self.recovered)}"
        )


def _shown(record: RunRecord | None) -> str:
    if record is None:
        return "no run"
    cause = "" if record.stop_cause is None else f" ({record.stop_cause.name})"
    return f"{record.run_state.name}{cause}{' delivered' if record.delivered else ''}"


def start(folder: Path, at: int) -> tuple[int, str]:
    """Run the process: its exit status and what it printed."""
    finished = subprocess.run(
        [sys.executable, "-m", "tests.stores.crashing", str(folder), str(at)],
        cwd=_ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(_ROOT / "src"), str(_ROOT)))},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return finished.returncode, finished.stdout


def positions(folder: Path) -> list[str]:
    """All positions of the run, in order."""
    return start(folder, 0)[1].splitlines()


def killed_at(folder: Path, at: int, position: str) -> Row:
    """Kill the run at a position, look into the file, and recover what was left open."""
    status, _ = start(folder, at)
    client = folder / "client"
    received = tuple(client.read_text().split()) if client.exists() else ()
    with SqliteStores(folder / "runs.db") as stores:
        held, evidence = stores.runs.load(RUN_ID), len(stores.canonical)
        recover_abandoned(stores.runs, older_than=timedelta(0))
        recovered = stores.runs.load(RUN_ID)
    return Row(position, status == -9, held, evidence, received, recovered)


def faults_of(row: Row) -> list[str]:
    """What is wrong with a row."""
    held, recovered = row.held, row.recovered
    content = "CONTENT" in row.received
    found = []
    if not row.killed:
        found.append("the process was not killed")
    if held is not None and held.run_state is not RunState.RUNNING and held.public is None:
        found.append("an ending whose content was not decided")
    if content and (held is None or held.run_state is not RunState.SUCCESS):
        found.append("content was public whose record is missing")
    if held is not None and held.delivered and not content:
        found.append("delivered, and the client got nothing")
    if recovered is not None and recovered.run_state is RunState.RUNNING:
        found.append("still open after the recovery")
    if held is not None and held.run_state is not RunState.RUNNING and recovered != held:
        found.append("the recovery changed an ending")
    return found


def rows(step: int = 1, first: int = 1) -> Iterator[Row]:
    """The rows of the table, every so many of them."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "0").mkdir()
        listed = positions(root / "0")
        for at in range(first, len(listed) + 1, step):
            folder = root / str(at)
            folder.mkdir()
            yield killed_at(folder, at, f"{at:>2} {listed[at - 1]}")


def main() -> int:
    """Print the table."""
    count = wrong = 0
    for row in rows():
        faults = faults_of(row)
        count, wrong = count + 1, wrong + bool(faults)
        print(row, *faults, flush=True)  # noqa: T201
    print(f"{count} kills, {wrong} wrong")  # noqa: T201
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

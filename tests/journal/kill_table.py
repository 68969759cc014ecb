"""
Kill a run at every outward call and every append, resume it, and print what came of it.

``python -m tests.journal.kill_table`` starts two processes for each position.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from attrs import frozen

_ROOT = Path(__file__).parents[2]


@frozen
class Row:
    """
    What came of one kill.

    Attributes:
        position: Where the process was killed.
        killed: Whether it really died of it.
        calls: How often each component was really called, in both processes.
        ending: How the run ended after it was resumed.
    """

    position: str
    killed: bool
    calls: Counter[str]
    ending: Mapping[str, Any]

    def __str__(self) -> str:
        made = self.calls
        ending = self.ending
        return (
            f"{self.position:<26} {made['DIAGNOSIS_AGENT']} model, {made['TOOL']} tool, "
            f"{made['SEMANTIC_GUARD']} guard calls; {len(ending['attempts'])} attempts; "
            f"{ending['run']} ({ending['cause']}), {ending['outcome']}"
        )


def start(folder: Path, at: int = 0) -> tuple[int, dict[str, Any]]:
    """Run the process: its exit status, and how the run ended."""
    finished = subprocess.run(
        [sys.executable, "-m", "tests.journal.resuming", str(folder), str(at)],
        cwd=_ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(_ROOT / "src"), str(_ROOT)))},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if finished.returncode == 0:
        return 0, json.loads(finished.stdout)
    if not at:
        raise RuntimeError(finished.stderr[-2000:])
    return finished.returncode, {}


def _calls(folder: Path) -> Counter[str]:
    file = folder / "calls"
    return Counter(file.read_text().split()) if file.exists() else Counter()


def undisturbed(folder: Path) -> Row:
    """The run without a kill."""
    _, ending = start(folder)
    return Row("", killed=False, calls=_calls(folder), ending=ending)


def killed_at(folder: Path, at: int, position: str) -> Row:
    """Kill the run at a position, and resume it."""
    status, _ = start(folder, at)
    _, ending = start(folder)
    return Row(position, killed=status == -9, calls=_calls(folder), ending=ending)


#: Killed in the middle of such a call, its answer is unknown: what the run may end as then.
SPENT: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "DIAGNOSIS_AGENT": ("AGENT_UNAVAILABLE",),
        "TOOL": ("REPORT_APPROVED",),
        "SEMANTIC_GUARD": ("REPORT_APPROVED",),
    }
)


def fault_of(row: Row, plain: Row, component: str | None) -> str | None:
    """
    What is wrong with a row, or ``None``.

    Args:
        row: The row.
        plain: The run without a kill.
        component: Whose call was begun and not finished at the kill, or ``None``.
    """
    if not row.killed:
        return "the process was not killed"
    attempts = Counter(row.ending["attempts"])
    unmade = {name: attempts[name] - count for name, count in row.calls.items()}
    if any(not 0 <= missing <= (name == component) for name, missing in unmade.items()):
        return "a call was made that is not counted, or counted and not made"
    if component is not None:
        cause = row.ending["cause"]
        return None if cause in SPENT[component] else f"ended as {cause}"
    same = ("run", "cause", "outcome", "attempts", "text")
    differs = [name for name in same if row.ending[name] != plain.ending[name]]
    if row.calls != plain.calls:
        differs.append("calls")
    return f"differs: {', '.join(differs)}" if differs else None


def begun(names: list[str], at: int) -> str | None:
    """Whose call the journal has as begun and not as ended at a position."""
    # an append before a call says that it begins, the one behind it what came of it
    before = names[:at]
    for place in range(len(before) - 1, -1, -1):
        name = before[place].split()
        if name[1] in SPENT:
            ended = "after append" in before[place + 1 :]
            return None if ended else name[1]
        if before[place] == "after append":
            following = names[place + 1].split() if place + 1 < len(names) else ["", ""]
            return following[1] if following[1] in SPENT else None
    return None


def rows(step: int = 1, first: int = 1) -> Iterator[tuple[Row, str | None]]:
    """The rows of the table, every so many of them, each with what is wrong."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "0").mkdir()
        plain = undisturbed(root / "0")
        names = plain.ending["positions"]
        for at in range(first, len(names) + 1, step):
            folder = root / str(at)
            folder.mkdir()
            row = killed_at(folder, at, f"{at:>2} {names[at - 1]}")
            yield row, fault_of(row, plain, begun(names, at))


def main() -> int:
    """Print the table."""
    count = wrong = 0
    for row, fault in rows():
        count, wrong = count + 1, wrong + (fault is not None)
        print(row, fault or "", flush=True)  # noqa: T201
    print(f"{count} kills, {wrong} wrong")  # noqa: T201
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

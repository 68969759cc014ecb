"""
The guard: what a run of 10 tool calls costs, in instructions of the floor, must not creep up.

``python -m benchmarks.guard`` counts the instructions of a run of the harness and of the floor with
callgrind, in the same job, and compares their ratio with the committed one. It fails where the
ratio is more than 5 % dearer. Instructions are counted and not timed, so a busy machine changes
nothing. ``--self-test`` also demands that a deliberate slow-down is caught; ``--write`` commits the
ratio of today.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

__all__ = ["ALLOWED", "COMMITTED", "Counter", "instructions", "main", "ratios", "verdict"]

#: How much dearer than the committed ratio a run may be.
ALLOWED: Final = 1.05
#: The committed ratios, by Python version.
COMMITTED: Final = Path(__file__).with_name("committed.json")
#: Two numbers of runs: what differs between them is the runs alone, without start and set-up.
_FEW, _MANY = 5, 25
_COLLECTED: Final = re.compile(r"Collected\s*:\s*(\d+)")

#: Counts the instructions of a process that makes so many runs of something.
Counter = Callable[[str, int], int]


def instructions(what: str, runs: int) -> int:
    """
    Count the instructions of a process with callgrind.

    Args:
        what: ``floor``, ``harness`` or ``planted``.
        runs: How many runs it makes.

    Raises:
        RuntimeError: valgrind is not installed, or counted nothing.
    """
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise RuntimeError("valgrind is not installed: apt-get install valgrind")
    done = subprocess.run(
        [
            valgrind,
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
            sys.executable,
            "-m",
            "benchmarks.counted",
            what,
            str(runs),
        ],
        env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    found = _COLLECTED.search(done.stderr)
    if done.returncode or found is None:
        raise RuntimeError(f"callgrind counted nothing: {done.stderr[-500:]}")
    return int(found[1])


def ratios(names: list[str], count: Counter = instructions) -> dict[str, float]:
    """
    Give what one run of each costs, in runs of the floor.

    Args:
        names: What is compared with the floor.
        count: Counts instructions.
    """
    asked = [(what, runs) for what in ("floor", *names) for runs in (_FEW, _MANY)]
    with ThreadPoolExecutor(2) as pool:
        counted = dict(zip(asked, pool.map(lambda one: count(*one), asked), strict=True))
    cost = {what: counted[what, _MANY] - counted[what, _FEW] for what in ("floor", *names)}
    return {what: cost[what] / cost["floor"] for what in names}


def verdict(ratio: float, committed: float) -> str | None:
    """
    Say what is wrong with a ratio; ``None`` where it is no more than 5 % dearer.

    Args:
        ratio: The ratio of today.
        committed: The committed one.
    """
    dearer = ratio / committed
    if dearer <= ALLOWED:
        return None
    return f"a run is {dearer - 1:.1%} dearer than committed: {ratio:.3f} x the floor"


def _version() -> str:
    return ".".join(platform.python_version_tuple()[:2])


def main(
    argv: list[str] | None = None, *, count: Counter = instructions, file: Path = COMMITTED
) -> int:
    """
    Guard, test the guard, or commit a ratio.

    Args:
        argv: The arguments; default: those of the process.
        count: Counts instructions.
        file: The committed ratios.

    Returns:
        0 where the ratio holds, 1 where it does not, 2 where nothing can be compared.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guard", description=__doc__)
    parser.add_argument("--self-test", action="store_true", help="demand that a slow-down fails")
    parser.add_argument("--write", action="store_true", help="commit the ratio of today")
    given = parser.parse_args(argv)
    committed: dict[str, float] = json.loads(file.read_text()) if file.exists() else {}
    try:
        measured = ratios(["harness", *(["planted"] if given.self_test else [])], count)
    except RuntimeError as error:
        return _say(str(error), 2)
    version = _version()
    if given.write:
        file.write_text(json.dumps({**committed, version: round(measured["harness"], 3)}) + "\n")
        return _say(f"committed for Python {version}: {measured['harness']:.3f} x the floor", 0)
    if version not in committed:
        return _say(f"nothing is committed for Python {version}; --write does it", 2)
    return _judge(measured, committed[version])


def _judge(measured: dict[str, float], committed: float) -> int:
    """
    Compare what was measured with what is committed.
    """
    ratio = measured["harness"]
    fault = verdict(ratio, committed)
    if fault is not None:
        return _say(fault, 1)
    _say(f"a run costs {ratio:.3f} x the floor; committed: {committed:.3f}", 0)
    if "planted" not in measured:
        return 0
    caught = verdict(measured["planted"], committed)
    if caught is None:
        return _say(f"the planted slow-down was not caught: {measured['planted']:.3f} x", 1)
    return _say(f"the planted slow-down was caught: {caught}", 0)


def _say(text: str, status: int) -> int:
    print(text, flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())

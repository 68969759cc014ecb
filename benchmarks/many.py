"""
A thousand runs at once of 10 tool calls of 1 ms: total time and peak memory, each in a process.

``python -m benchmarks.many`` measures the loop written by hand and the harness, in tasks and in
threads, each in fresh interpreters and in turn; the figures are medians.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from attrs import frozen

import harness
from benchmarks import floor, work
from benchmarks.contender import Contender, check

__all__ = ["WAYS", "Way", "main"]

CALLS: Final = 10
PAUSE: Final = 0.001
#: Threads that a machine can be asked for without harm; a run waits for nothing else.
THREADS: Final = 64


async def _pause() -> None:
    await asyncio.sleep(PAUSE)


def _by_hand_tasks(runs: int) -> list[Any]:
    async def main() -> list[Any]:
        loops = [floor.by_hand_async(CALLS, _pause) for _ in range(runs)]
        return list(await asyncio.gather(*loops))

    return asyncio.run(main())


async def _block() -> None:
    time.sleep(PAUSE)  # noqa: ASYNC251  driven by hand below, outside of any loop


def _by_hand_threads(runs: int) -> list[Any]:
    def run(_place: int) -> Any:
        loop = floor.by_hand_async(CALLS, _block)
        try:
            loop.send(None)
        except StopIteration as ended:
            return ended.value
        raise RuntimeError("the loop by hand suspended")

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(runs)))


def _tasks(runs: int) -> list[Any]:
    runner = Contender(CALLS).asynchronous(PAUSE)

    async def main() -> list[Any]:
        return await asyncio.gather(*(runner.run(work.QUESTION) for _ in range(runs)))

    return asyncio.run(main())


def _many_tasks(runs: int) -> list[Any]:
    runner = Contender(CALLS).asynchronous(PAUSE)

    async def main() -> list[Any]:
        questions = (work.QUESTION for _ in range(runs))
        results = harness.run_many_async(runner, questions, workers=runs)
        return [many.result async for many in results]

    return asyncio.run(main())


def _many_threads(runs: int) -> list[Any]:
    runner = Contender(CALLS).blocking(PAUSE)
    questions = (work.QUESTION for _ in range(runs))
    return [many.result for many in harness.run_many(runner, questions, workers=THREADS)]


@frozen
class Way:
    """
    One way to make many runs at once.

    Attributes:
        make: Makes so many runs, and gives what comes of them.
        beside: The way that it is compared with; ``None``: it is one of those.
    """

    make: Callable[[int], list[Any]]
    beside: str | None = None


#: What is measured.
WAYS: Final = {
    "by hand, tasks": Way(_by_hand_tasks),
    "harness, tasks": Way(_tasks, "by hand, tasks"),
    "harness, run_many_async": Way(_many_tasks, "by hand, tasks"),
    "by hand, threads": Way(_by_hand_threads),
    "harness, run_many": Way(_many_threads, "by hand, threads"),
}


def _peak() -> float:
    """
    Give this process's peak memory, MiB.
    """
    status = Path("/proc/self/status")
    if status.exists():
        # of this program alone; the other figure begins with its parent's
        lines = status.read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _measure(name: str, runs: int) -> tuple[float, float]:
    """
    Make the runs in this process, all of them kept: seconds, and its peak memory in MiB.
    """
    make = WAYS[name].make
    make(10)
    began = time.perf_counter()
    made = make(runs)
    took = time.perf_counter() - began
    for one in made:
        if isinstance(one, dict):
            done = one["released"] and len(one["kept"].kept) == CALLS
            if not done:
                raise AssertionError(str(one))
        else:
            check(one, CALLS)
    return took, _peak()


def _in_process(name: str, runs: int) -> tuple[float, float]:
    command = [sys.executable, "-m", "benchmarks.many", "--runs", str(runs), "--only", name]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    took, peak = json.loads(done.stdout)
    return took, peak


def main(argv: list[str] | None = None) -> int:
    """
    Measure and print.

    Args:
        argv: The arguments; default: the command line's.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.many", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="how many runs; default: 1000")
    parser.add_argument("--rounds", type=int, default=5, help="processes of each way; default: 5")
    parser.add_argument("--only", choices=tuple(WAYS), help="one way, in this process, as JSON")
    given = parser.parse_args(argv)
    if given.only:
        sys.stdout.write(json.dumps(_measure(given.only, given.runs)) + "\n")
        return 0
    measured: dict[str, list[tuple[float, float]]] = {name: [] for name in WAYS}
    for _ in range(given.rounds):
        for name, figures in measured.items():
            figures.append(_in_process(name, given.runs))
    sys.stdout.write(f"{given.runs:,} runs of {CALLS} calls of 1 ms; {THREADS} threads\n")
    sys.stdout.write(f"{'way':<26} {'s':>7} {'peak MiB':>9} {'times by hand':>14}\n")
    for name, figures in measured.items():
        seconds, peak = (statistics.median(column) for column in zip(*figures, strict=True))
        row = f"{name:<26} {seconds:>7.2f} {peak:>9.0f}"
        beside = WAYS[name].beside
        if beside is not None:
            pairs = zip(figures, measured[beside], strict=True)
            row += f" {statistics.median(ours[0] / theirs[0] for ours, theirs in pairs):>14.2f}"
        sys.stdout.write(f"{row}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

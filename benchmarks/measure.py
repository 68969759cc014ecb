"""How the figures are measured: side by side, interleaved, medians of ratios."""

from __future__ import annotations

import asyncio
import gc
import re
import statistics
import subprocess
import sys
import tracemalloc
from collections.abc import Awaitable, Callable
from importlib import metadata
from pathlib import Path
from time import perf_counter
from typing import Any

from attrs import frozen

from benchmarks import floor
from benchmarks.contender import Contender, check

__all__ = ["Figure", "measure_all"]


@frozen(kw_only=True)
class Figure:
    """
    One measured figure.

    Attributes:
        name: What was measured.
        value: The median.
        low: The smallest of the rounds.
        high: The largest of the rounds.
        unit: What the value counts.
        aim: What it should not exceed.
    """

    name: str
    value: float
    low: float
    high: float
    unit: str
    aim: float

    @property
    def reached(self) -> bool:
        """
        Whether the aim is reached.
        """
        return self.value <= self.aim


def _figure(name: str, values: list[float], unit: str, aim: float) -> Figure:
    median = statistics.median(values)
    return Figure(name=name, value=median, low=min(values), high=max(values), unit=unit, aim=aim)


def _seconds(function: Callable[[], Any], at_least: float) -> float:
    """
    Give the seconds of one call, averaged over as many as fill a time.
    """
    made, began = 0, perf_counter()
    while True:
        function()
        made += 1
        spent = perf_counter() - began
        if spent >= at_least:
            return spent / made


def ratio(  # noqa: PLR0913  what is compared, and how long
    name: str,
    one: Callable[[], Any],
    other: Callable[[], Any],
    aim: float,
    rounds: int,
    slice_: float,
) -> Figure:
    """
    Time two functions in turn, and give the ratio of each round.
    """
    ratios: list[float] = []
    for _ in range(rounds):
        gc.collect()
        before = _seconds(other, slice_)
        took = _seconds(one, slice_)
        after = _seconds(other, slice_)
        ratios.append(2 * took / (before + after))
    return _figure(name, ratios, "x", aim)


def synchronous(calls: int, aim: float, rounds: int, slice_: float) -> Figure:
    """
    Compare a synchronous run with the floor.
    """
    contender = Contender(calls)
    check(contender.run(), calls)

    def one() -> None:
        contender.run()
        contender.canonical_store.clear()
        contender.run_store.clear()

    name = f"synchronous run, {calls} tool calls"
    return ratio(name, one, lambda: floor.bare(calls), aim, rounds, slice_)


def linearity(aim: float, rounds: int, slice_: float) -> Figure:
    """
    Compare the cost of a step in a run of 1,000 calls with one of 10.
    """
    long, short = Contender(1000), Contender(10)
    values: list[float] = []
    for _ in range(rounds):
        gc.collect()
        took = _step_seconds(long, slice_)
        values.append(took / _step_seconds(short, slice_))
    return _figure("1,000 tool calls: cost of a step against 10", values, "x", aim)


def _step_seconds(contender: Contender, slice_: float) -> float:
    """
    Give the seconds of a step: of a whole run, by its number of calls.
    """

    def one() -> None:
        contender.run()
        contender.canonical_store.clear()
        contender.run_store.clear()

    return _seconds(one, slice_) / contender.calls


def asynchronous(aim: float, rounds: int, slice_: float) -> Figure:
    """
    Compare an asynchronous run of 10 calls with the floor, inside one running loop.
    """
    contender = Contender(10)
    runner = contender.asynchronous()

    async def timed() -> float:
        made, began = 0, perf_counter()
        while True:
            await runner.run("why?")
            made += 1
            if perf_counter() - began >= slice_:
                return (perf_counter() - began) / made

    values: list[float] = []
    with asyncio.Runner() as loop:
        check(loop.run(runner.run("why?")), 10)
        for _ in range(rounds):
            before = _seconds(lambda: floor.bare(10), slice_)
            took = loop.run(timed())
            after = _seconds(lambda: floor.bare(10), slice_)
            values.append(2 * took / (before + after))
            contender.canonical_store.clear()
            contender.run_store.clear()
    return _figure("asynchronous run, 10 tool calls", values, "x", aim)


def concurrent(aim: float, rounds: int, runs: int = 1000) -> Figure:
    """
    Compare many runs at once of 10 calls of 1 ms with the hand-written asyncio loop.
    """
    contender = Contender(10)
    runner = contender.asynchronous(0.001)

    async def ours() -> list[Any]:
        return await asyncio.gather(*(runner.run("why?") for _ in range(runs)))

    async def theirs() -> list[Any]:
        pause = _pause
        return await asyncio.gather(*(floor.by_hand_async(10, pause) for _ in range(runs)))

    values: list[float] = []
    for _ in range(rounds):
        gc.collect()
        before, _ = _wall(theirs)
        took, results = _wall(ours)
        check(results[0], 10)
        values.append(took / before)
        contender.canonical_store.clear()
        contender.run_store.clear()
    return _figure(f"{runs:,} concurrent runs of 10 calls of 1 ms", values, "x", aim)


async def _pause() -> None:
    await asyncio.sleep(0.001)


def _wall(run: Callable[[], Awaitable[list[Any]]]) -> tuple[float, list[Any]]:
    async def main() -> list[Any]:
        return await run()

    began = perf_counter()
    results = asyncio.run(main())
    return perf_counter() - began, results


def memory(aim: float, keep: int = 300) -> Figure:
    """
    Compare the memory kept per finished run of 10 calls with the floor's.
    """
    contender = Contender(10)

    def ours() -> Any:
        return contender.run(), contender.agent.last

    values = [_kept(ours, keep) / _kept(lambda: floor.bare(10), keep) for _ in range(3)]
    return _figure("memory kept per finished run, 10 calls", values, "x", aim)


def _kept(run: Callable[[], Any], keep: int) -> float:
    """
    Give the bytes that each of so many kept runs takes.
    """
    run()
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        held = [run() for _ in range(keep)]
        gc.collect()
        return (tracemalloc.get_traced_memory()[0] - before) / len(held)
    finally:
        tracemalloc.stop()


def importing(aim: float, rounds: int) -> Figure:
    """
    Compare ``import harness`` with ``import attrs``, each in fresh interpreters.
    """
    values = [_import_seconds("harness") / _import_seconds("attrs") for _ in range(max(rounds, 5))]
    return _figure("import harness, against import attrs", values, "x", aim)


def _import_seconds(module: str) -> float:
    code = (
        "from time import perf_counter; began = perf_counter(); "
        f"import {module}; print(perf_counter() - began)"
    )
    command = [sys.executable, "-c", code]
    return float(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def installed() -> tuple[Figure, Figure]:
    """
    Count what an installation brings: distributions, and their megabytes.
    """
    names: list[str] = []
    wanted = ["diagnosis-harness"]
    size = 0
    while wanted:
        name = wanted.pop()
        if name in names:
            continue
        names.append(name)
        distribution = metadata.distribution(name)
        size += _size(distribution)
        wanted += [_plain(need) for need in distribution.requires or () if ";" not in need]
    megabytes = size / 1e6
    return (
        _figure("distributions installed", [float(len(names))], "", 4),
        _figure("megabytes installed", [megabytes], "MB", 3),
    )


def _plain(requirement: str) -> str:
    """
    Give the name that a requirement begins with.
    """
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0]


def _size(distribution: metadata.Distribution) -> int:
    """
    Add up the files of a distribution; an editable one counts its sources.
    """
    total = 0
    for file in distribution.files or ():
        path = Path(str(file.locate()))
        if path.suffix == ".pth":
            return _tree(Path(__file__).parents[1] / "src")
        if path.is_file() and path.suffix != ".pyc":
            total += path.stat().st_size
    return total


def _tree(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*.py"))


def scenarios(count: int, aim: float) -> Figure:
    """
    Time one call of ``python -m harness scenario`` over generated scenarios.
    """
    import json  # noqa: PLC0415
    import tempfile  # noqa: PLC0415

    from tests.model.generate import generate  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "generated.jsonl"
        with file.open("w", encoding="utf-8") as lines:
            for seed in range(count):
                lines.write(json.dumps(generate(seed)) + "\n")
        command = [sys.executable, "-m", "harness", "scenario", str(file)]
        began = perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        took = perf_counter() - began
    return _figure(f"{count:,} scenarios in one call", [took], "s", aim)


def measure_all(*, quick: bool = False, report: Callable[[Figure], None]) -> list[Figure]:
    """
    Measure every figure of the table.

    Args:
        quick: Fewer and shorter rounds, for a look.
        report: Called with each figure as it is there.
    """
    rounds, slice_ = (2, 0.05) if quick else (7, 0.4)
    figures: list[Figure] = []

    def take(*measured: Figure) -> None:
        for figure in measured:
            figures.append(figure)
            report(figure)

    take(synchronous(10, 3.0, rounds, slice_))
    take(synchronous(1, 5.0, rounds, slice_))
    take(synchronous(200, 2.7, rounds, slice_))
    take(linearity(1.10, rounds, max(slice_, 0.2)))
    take(asynchronous(4.0, rounds, slice_))
    take(concurrent(3.0, 1 if quick else 3, 100 if quick else 1000))
    take(memory(1.6, 50 if quick else 300))
    take(importing(2.5, rounds))
    take(*installed())
    take(scenarios(500 if quick else 20_000, 30.0))
    return figures

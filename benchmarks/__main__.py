"""``python -m benchmarks``: the table, a JSON file, and a plot where matplotlib is installed."""

from __future__ import annotations

import argparse
import json
import platform
from importlib import metadata
from pathlib import Path

from attrs import asdict

from benchmarks.measure import Figure, measure_all


def main(argv: list[str] | None = None) -> int:
    """
    Measure, print, write.

    Args:
        argv: The arguments; default: the command line's.

    Returns:
        0; a figure that misses its aim is reported, and is no failure.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a look: fewer and shorter rounds")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"), metavar="FOLDER")
    given = parser.parse_args(argv)
    try:
        metadata.distribution("diagnosis-harness")
    except metadata.PackageNotFoundError:
        parser.error("the package is not installed: python -m pip install -e '.[test]'")
    print(f"Python {platform.python_version()} on {platform.machine()}")
    print(f"{'figure':<48} {'median':>9} {'min':>9} {'max':>9}  aim")
    figures = measure_all(quick=given.quick, report=_print)
    given.out.mkdir(parents=True, exist_ok=True)
    data = {
        "python": platform.python_version(),
        "quick": given.quick,
        "figures": [{**asdict(figure), "reached": figure.reached} for figure in figures],
    }
    (given.out / "figures.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    _plot(figures, given.out / "figures.png")
    return 0


def _print(figure: Figure) -> None:
    mark = "reached" if figure.reached else "MISSED"
    numbers = f"{figure.value:>8.2f} {figure.low:>9.2f} {figure.high:>9.2f}"
    print(f"{figure.name:<48} {numbers}  {figure.aim:g} {figure.unit} {mark}", flush=True)


def _plot(figures: list[Figure], file: Path) -> None:
    """
    Plot each figure as a share of its aim; matplotlib is optional.
    """
    try:
        from matplotlib import pyplot as plt  # noqa: PLC0415
    except ImportError:
        print("no plot: matplotlib is not installed")
        return
    names = [figure.name for figure in figures]
    shares = [figure.value / figure.aim for figure in figures]
    colours = ["tab:green" if figure.reached else "tab:red" for figure in figures]
    chart, axes = plt.subplots(figsize=(9, 0.5 * len(names) + 1))
    axes.barh(names, shares, color=colours)
    axes.axvline(1.0, color="black")
    axes.set_xlabel("share of the aim")
    axes.invert_yaxis()
    chart.tight_layout()
    chart.savefig(file, dpi=120)
    plt.close(chart)


if __name__ == "__main__":
    raise SystemExit(main())

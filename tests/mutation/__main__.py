"""``python -m tests.mutation``: change each decision; does a test of the core notice?"""

import argparse
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.mutation.report import (
    Mutation,
    Report,
    is_killed,
    mutation_of,
    read_explanations,
    statuses,
)

_ROOT: Final = Path(__file__).parents[2]
_MODULES: Final = (
    "_lifecycle",
    "_budget",
    "_collection",
    "_evidence",
    "_canonical",
    "_progress",
    "_release",
    "_stream",
)
#: What the tests of the core need beside the code.
_COPIED: Final = ("src", "tests", "docs", "README.md", "pyproject.toml")
_FLOOR: Final = 95.0
_INSTALL: Final = "mutmut is not installed: python -m pip install --group mutation"


def _settings() -> str:
    paths = ", ".join(f'"src/harness/{module}.py"' for module in _MODULES)
    return f"""
[tool.mutmut]
source_paths = [{paths}]
pytest_add_cli_args = ["-p", "no:cacheprovider"]
pytest_add_cli_args_test_selection = ["tests/core"]
also_copy = ["src", "tests", "docs", "README.md"]
track_dependencies = false
use_git_change_detection = false
"""


def _copy(folder: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    for name in _COPIED:
        source = _ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=ignored)
        else:
            shutil.copy(source, folder / name)
    with (folder / "pyproject.toml").open("a", encoding="utf-8") as settings:
        settings.write(_settings())


def _mutmut(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "mutmut", *arguments]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(
            f"{done.stdout[-3000:]}{done.stderr[-3000:]}\nmutmut {arguments[0]} failed"
        )
    return done.stdout


def _survivor(folder: Path, name: str) -> Mutation:
    return mutation_of(name, _mutmut(folder, "show", f"harness.{name}"))


def _run(folder: Path, children: int) -> Report:
    _copy(folder)
    _mutmut(folder, "run", "--max-children", str(children))
    found = statuses(_mutmut(folder, "results", "--all", "true"))
    if not found:
        raise SystemExit("mutmut made no mutants")
    left = [name for name, status in found.items() if not is_killed(status)]
    return Report(found, tuple(_survivor(folder, name) for name in left), read_explanations())


def main(arguments: list[str] | None = None) -> int:
    """
    Run the command.

    Returns:
        0 where enough mutants were killed and every survivor is explained, 1 where not, and 2
        where mutmut is not installed.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--max-children", type=int, default=2, help="processes at the same time")
    chosen = parser.parse_args(arguments)
    if find_spec("mutmut") is None:
        sys.stderr.write(f"{_INSTALL}\n")
        return 2
    with TemporaryDirectory(prefix="mutation-") as folder:
        report = _run(Path(folder), chosen.max_children)
    sys.stdout.writelines(f"{line}\n" for line in report.lines())
    enough = report.percent >= _FLOOR
    sys.stdout.write(f"{report.percent:.1f} % killed; {_FLOOR:g} % is needed\n")
    return 0 if enough and not report.unexplained else 1


if __name__ == "__main__":
    raise SystemExit(main())

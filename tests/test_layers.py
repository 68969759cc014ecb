"""Imports go one way: whoever reads a module has to know only the layers above it in this table."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import harness

_PACKAGE = Path(harness.__file__).parent

#: A module imports from earlier lines only, never from its own line.
_PURE_LAYERS = (
    ("_states",),
    ("errors",),
    ("_json",),
    ("_limits", "_values"),
    ("_tables",),
    ("_records",),
    (
        "_budget",
        "_canonical",
        "_collection",
        "_evidence",
        "_lifecycle",
        "_progress",
        "_release",
        "_stream",
    ),
)
_LAYERS = (
    *_PURE_LAYERS,
    ("_cancel", "_previous", "_seam"),
    ("_tools",),
    ("_view",),
    ("ports",),
    ("_run",),
    ("_attempt", "_publish", "_setup", "_toolstep", "_windup"),
    ("_batch", "_gating"),
    ("_collecting",),
    ("_flow",),
    ("_journal", "codec", "explain", "guards"),
    ("stores",),
    ("_result",),
    ("_sync",),
    ("_graph", "_many", "logs"),
    ("_aio", "playbook"),
    ("replay",),
    ("_cli",),
)
_PURE = tuple(module for layer in _PURE_LAYERS for module in layer)

#: What costs time to import, or reaches outside, and the only units that may.
_IMPORTERS = {
    "asyncio": {"_aio"},
    "cattrs": {"codec"},
    "sqlite3": {"stores", "demo"},
}


def _units() -> dict[str, list[Path]]:
    """The modules and packages directly below ``harness``, with their files."""
    found: dict[str, list[Path]] = {}
    for file in sorted(_PACKAGE.rglob("*.py")):
        found.setdefault(file.relative_to(_PACKAGE).parts[0].removesuffix(".py"), []).append(file)
    return found


def _imported(file: Path) -> Iterator[str]:
    """Every dotted name that a file imports, at its top, in a function, or for type checkers."""
    package = ("harness", *file.relative_to(_PACKAGE).parts[:-1])
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else ()
            base = ".".join((*above, *([node.module] if node.module else [])))
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _inner(unit: str) -> set[str]:
    """The other units that a unit imports; a name of the package itself is ``__init__``."""
    names = [name.split(".") for file in _units()[unit] for name in _imported(file)]
    inner = [name[1] if name[1:2] else "" for name in names if name[0] == "harness"]
    return {name if name in _units() else "__init__" for name in inner} - {unit}


@pytest.mark.parametrize("depth", range(len(_LAYERS)))
def test_a_layer_imports_only_earlier_layers(depth: int) -> None:
    """A core module imports nothing of its own line, of a later line, or outside the table."""
    earlier = {module for layer in _LAYERS[:depth] for module in layer}
    wrong = {unit: _inner(unit) - earlier for unit in _LAYERS[depth] if unit in _units()}
    assert {unit: names for unit, names in wrong.items() if names} == {}


def test_the_table_names_real_modules() -> None:
    """Every unit of the table exists and stands in it once; every private module stands in it."""
    named = [unit for layer in _LAYERS for unit in layer]
    private = {unit for unit in _units() if unit.startswith("_") and not unit.startswith("__")}
    assert len(named) == len(set(named))
    public = {unit for unit in named if not unit.startswith("_")}
    assert public <= set(_units())
    assert private == set(named) - public


def test_no_unit_imports_itself_in_a_circle() -> None:
    """The modules and packages can be put in an order, the ones outside the core included."""
    graph = {unit: _inner(unit) for unit in _units()}
    order = list(TopologicalSorter(graph).static_order())
    assert order.index("_states") < order.index("_flow") < order.index("__init__")


@pytest.mark.parametrize("library", _IMPORTERS)
def test_a_costly_library_has_its_importers(library: str) -> None:
    """Each costly library is imported by the units that need it, and by no other."""
    importers = {
        unit
        for unit, files in _units().items()
        for file in files
        if library in {name.split(".")[0] for name in _imported(file)}
    }
    assert importers <= _IMPORTERS[library]


@pytest.mark.parametrize("unit", _PURE)
def test_a_decision_reaches_nothing_outside(unit: str) -> None:
    """Records, tables and decisions read no clock, environment, file, chance or network."""
    outside = {"io", "logging", "os", "pathlib", "random", "secrets", "socket", "subprocess", "sys"}
    outside |= {"tempfile", "time", "uuid", "warnings"}
    names = {name.split(".")[0] for file in _units()[unit] for name in _imported(file)}
    assert names & outside == set()

"""The public surface: exported names equal bound names, and every one of them is documented."""

import importlib
import inspect
import pkgutil
import re
from types import ModuleType
from typing import Any

import pytest

import harness


def _public_modules() -> list[str]:
    """Every module of the package that a user may import, ``__main__`` aside."""
    found = pkgutil.walk_packages(harness.__path__, "harness.")
    names = ("harness", *(module.name for module in found))
    return [name for name in names if not re.search(r"\._", name)]


def _bound(module: ModuleType) -> set[str]:
    """The public names of a module that are no modules themselves."""
    names = {name for name in dir(module) if not name.startswith("_")}
    return {name for name in names if not inspect.ismodule(getattr(module, name))}


def _documentable(name: str, value: object) -> bool:
    """A class or function of this package: what can carry a docstring of its own."""
    own = str(getattr(value, "__module__", "")).startswith("harness")
    return own and not name.startswith("_") and (inspect.isclass(value) or inspect.isroutine(value))


def _members(owner: type[Any]) -> list[str]:
    """The public methods and properties that a class itself defines."""
    found = []
    for name, value in vars(owner).items():
        plain = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if _documentable(name, plain) or (isinstance(plain, property) and name[0] != "_"):
            found.append(name)
    return found


def _is_silent(owner: type[Any], member: str) -> bool:
    """Whether neither the member, nor what it overrides, nor the class's docstring says a word."""
    inherited = any(getattr(vars(base).get(member), "__doc__", None) for base in owner.__mro__)
    return not inherited and f"\n    {member}: " not in inspect.cleandoc(owner.__doc__ or "")


def _undocumented(module: ModuleType) -> list[str]:
    """Everything public of a module that says nothing about itself."""
    silent = [] if module.__doc__ else [module.__name__]
    for name in module.__all__:
        value = getattr(module, name)
        if not _documentable(name, value):
            continue
        silent += [] if value.__doc__ else [name]
        members = _members(value) if inspect.isclass(value) else []
        silent += [f"{name}.{member}" for member in members if _is_silent(value, member)]
    return silent


def _rank(name: str) -> tuple[bool, bool, str]:
    """The linter's order of exports: constants, then classes, then functions."""
    return (not name.isupper(), not name[0].isupper(), name)


def _import(name: str) -> ModuleType:
    """The module, or a skip where it belongs to an extra that is not installed."""
    if name.startswith("harness.integrations."):
        pytest.importorskip(name)
    return importlib.import_module(name)


def test_the_exported_names_are_the_bound_names() -> None:
    """What ``harness`` binds in public is what it exports, and the other way round."""
    assert set(harness.__all__) == _bound(harness)


@pytest.mark.parametrize("name", _public_modules())
def test_exports_are_sorted_and_real(name: str) -> None:
    """Every public module lists its names once, sorted, and each of them exists."""
    module = _import(name)
    assert list(module.__all__) == sorted(set(module.__all__), key=_rank)
    assert all(hasattr(module, exported) for exported in module.__all__)


@pytest.mark.parametrize("name", _public_modules())
def test_everything_public_has_a_docstring(name: str) -> None:
    """Every public module, class, function, method and property says what it is."""
    assert _undocumented(_import(name)) == []

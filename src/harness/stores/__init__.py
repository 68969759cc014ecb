"""
Stores that work as they are: in memory, and on SQLite.

What needs the database or the codec is loaded when it is first asked for, so that importing
:mod:`harness` loads neither.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from harness.stores.memory import MemoryCanonicalStore, MemoryRunStore

if TYPE_CHECKING:
    from harness.stores._recovery import recover_abandoned
    from harness.stores.sqlite import SqliteCanonicalStore, SqliteRunStore, SqliteStores

__all__ = [
    "MemoryCanonicalStore",
    "MemoryRunStore",
    "SqliteCanonicalStore",
    "SqliteRunStore",
    "SqliteStores",
    "recover_abandoned",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    module = "_recovery" if name == "recover_abandoned" else "sqlite"
    value: object = getattr(import_module(f"harness.stores.{module}"), name)
    # found at once from now on
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Stores that work as they are: in memory, and on SQLite (``harness.stores.sqlite``)."""

from harness.stores.memory import MemoryCanonicalStore, MemoryRunStore

__all__ = ["MemoryCanonicalStore", "MemoryRunStore"]

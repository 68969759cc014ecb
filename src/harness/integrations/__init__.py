"""Frameworks and engines: one module each, imported on demand, each behind an extra of its own."""

__all__: list[str] = []

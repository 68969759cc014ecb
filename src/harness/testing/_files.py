"""Reads scenario files: single ones, folders, and lines of ``.jsonl``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from harness.testing._schema import MalformedScenarioError

__all__ = ["read_scenarios"]

_SUFFIXES = (".json", ".jsonl")


def read_scenarios(
    paths: Iterable[str | Path],
) -> Iterator[tuple[str, Any | MalformedScenarioError]]:
    """
    Read the scenarios of files and folders, in a stable order; each file once.

    Args:
        paths: Files, or folders to search for ``.json`` and ``.jsonl`` files.

    Yields:
        Where each stands, and its decoded JSON value or what is wrong with it.
    """
    seen: set[Path] = set()
    for path in map(Path, paths):
        files = _below(path) if path.is_dir() else (path,)
        if not files:
            reason = "no .json or .jsonl file in this folder"
            yield str(path), MalformedScenarioError("file", reason, str(path))
        for file in files:
            if file.resolve() not in seen:
                seen.add(file.resolve())
                yield from _of_file(file)


def _below(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted(p for p in folder.rglob("*") if p.suffix in _SUFFIXES and p.is_file()))


def _of_file(file: Path) -> Iterator[tuple[str, Any]]:
    where = str(file)
    if file.suffix == ".jsonl":
        yield from _of_lines(file)
        return
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        yield where, MalformedScenarioError("file", _why(error), where)
        return
    yield where, _decoded(text, where)


def _of_lines(file: Path) -> Iterator[tuple[str, Any]]:
    """
    Read one scenario a line; blank lines say nothing.
    """
    number = 0
    try:
        with file.open(encoding="utf-8", newline="\n") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    where = f"{file}:{number}"
                    yield where, _decoded(line, where)
    except (OSError, UnicodeDecodeError) as error:
        where = f"{file}:{number + 1}"
        yield where, MalformedScenarioError("file", _why(error), where)


def _why(error: OSError | UnicodeDecodeError) -> str:
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return "is no UTF-8 text"


def _decoded(text: str, where: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_repeats)
    except RecursionError:
        return MalformedScenarioError("file", "is nested too deep", where)
    except MalformedScenarioError as error:
        return MalformedScenarioError(error.key, error.reason, where)
    except ValueError as error:
        return MalformedScenarioError("file", f"is no JSON: {error}", where)


def _no_constant(name: str) -> NoReturn:
    raise MalformedScenarioError("file", f"is no JSON: {name} is no JSON number")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """
    Refuse a key that stands twice: nobody can tell which value was meant.
    """
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise MalformedScenarioError(twice, "stands twice in one object")
    return found

# noqa: INP001  a script beside the pages that it writes, no package
"""
Writes the pages of the reference that follow from the code's tables.

    python docs/generate.py --check    says which pages differ, and fails if any does
    python docs/generate.py --write    writes them

The picture of the failure graph in README.md is one of them.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from attrs import fields

import harness
from harness import _tables as tables
from harness._cli._drawing import draw_graph
from harness._graph import ANYWHERE, STEPS, WAYS
from harness._states import FailureKind, StopCause

ROOT: Final = Path(__file__).parents[1]
_NOTE: Final = "<!-- Written by docs/generate.py from the code's tables: do not edit. -->"
_BLOCK: Final = re.compile(r"(<!-- failure graph -->\n).*?(<!-- /failure graph -->)", re.DOTALL)
#: The public modules whose docstrings say what is raised.
_MODULES: Final = (
    "harness",
    "harness.codec",
    "harness.logs",
    "harness.playbook",
    "harness.stores.memory",
    "harness.stores.sqlite",
)
_ENTRY: Final = re.compile(r"(\w+): (.*)")
_ROLE: Final = re.compile(r":\w+:`~?([^`]+)`")

Rows = Iterable[Iterable[object]]


def main(argv: list[str] | None = None) -> int:
    """
    Check or write the pages.

    Args:
        argv: The arguments; default: those of the process.

    Returns:
        0, or 1 where a page differs.
    """
    parser = argparse.ArgumentParser(description="Writes the generated pages of the reference.")
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--check", action="store_true", help="say which pages differ")
    mode.add_argument("--write", action="store_true", help="write the pages")
    parser.add_argument("--root", type=Path, default=ROOT, help="default: this clone")
    options = parser.parse_args(argv)
    different = [
        (path, text) for path, text in pages(options.root) if text != _read(options.root / path)
    ]
    for path, text in different:
        if options.write:
            (options.root / path).write_text(text, encoding="utf-8")
        verb = "wrote" if options.write else "differs: python docs/generate.py --write"
        sys.stdout.write(f"{path}: {verb}\n")
    return 1 if different and options.check else 0


def pages(root: Path) -> Iterator[tuple[str, str]]:
    """
    Make every page.

    Args:
        root: The clone.

    Yields:
        Its path and its text.
    """
    yield "docs/reference/failure-graph.md", _page("The failure graph", _graph())
    yield "docs/reference/tables.md", _page("Tables", _tables())
    yield "docs/reference/limits.md", _page("Limits", _limits())
    yield "docs/reference/raises.md", _page("What each call raises", _raises())
    picture = f"```mermaid\n{draw_graph()}```\n"
    yield "README.md", _BLOCK.sub(rf"\1{picture}\2", _read(root / "README.md"))


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _page(title: str, parts: Iterable[str]) -> str:
    return "\n".join((f"# {title}", "", _NOTE, "", *parts)).rstrip("\n") + "\n"


def _table(headings: Iterable[str], rows: Rows) -> Iterator[str]:
    heads = list(headings)
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(map(_cell, row))} |"
    yield ""


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Enum):
        return f"`{value.name}`"
    if isinstance(value, (frozenset, tuple)):
        return " ".join(map(_cell, _in_order(value))) or "-"
    return str(value).replace("|", "\\|")


def _in_order(values: Iterable[Any]) -> list[Any]:
    """
    Put members in the order in which their enum states them.
    """
    return sorted(values, key=_place)


def _graph() -> Iterator[str]:
    yield "`python -m harness graph` prints this picture, and marks a run's path in it."
    yield ""
    yield f"```mermaid\n{draw_graph()}```"
    yield ""
    yield "## Steps"
    yield ""
    yield from _table(
        ("step", "section of the contract", "stop causes that leave it for the release decision"),
        ((step.label, step.section, _causes_of(step.id)) for step in STEPS),
    )
    yield "At any step the run can end with:"
    yield ""
    yield from (f"* {_cell(cause)}" for cause in ANYWHERE)


def _causes_of(step: str) -> tuple[StopCause, ...]:
    return tuple(cause for way in WAYS if way.source == step for cause in way.causes)


def _tables() -> Iterator[str]:
    yield "## Release"
    yield ""
    yield "The first row that accepts the facts decides. A dash accepts every value."
    yield ""
    yield from _table(
        (
            "row",
            "causes",
            "trust kept",
            "safe progress",
            "missing context",
            "run state",
            "release",
            "fallback type",
        ),
        (
            (
                f"`{row.id}`",
                row.causes,
                row.trusted,
                row.safe_progress,
                row.missing_context,
                row.state,
                row.outcome,
                row.fallback,
            )
            for row in tables.RELEASE_ROWS
        ),
    )
    yield "## Stop causes"
    yield ""
    yield from _table(("cause", "run state"), tables.CAUSE_STATES.items())
    yield "## Request status"
    yield ""
    yield from _table(("release", "database row"), tables.REQUEST_STATUS.items())
    yield "## Attempts"
    yield ""
    yield from _table(
        ("component", "attempts", "retried on", "never retried"),
        (
            (who, policy.max_attempts, policy.retried_on, set_of(FailureKind) - policy.retried_on)
            for who, policy in tables.ATTEMPT_POLICY.items()
        ),
    )
    yield from _pairs()
    yield from _machines()


def set_of(kind: type[Enum]) -> frozenset[Any]:
    """
    Give all members of an enum.

    Args:
        kind: The enum.
    """
    return frozenset(kind)


def _pairs() -> Iterator[str]:
    yield "## Legal pairs"
    yield ""
    for title, first, second, pairs in (
        ("An invocation", "status", "evidence", tables.LEGAL_EVIDENCE),
        ("A run whose record was saved", "run state", "release", tables.LEGAL_RELEASES),
        (
            "A run whose record was not saved",
            "run state",
            "release",
            tables.LEGAL_RELEASES_UNSAVED,
        ),
        ("What each release publishes", "release", "content", tables.OUTCOME_CONTENT.items()),
    ):
        yield f"### {title}"
        yield ""
        yield from _table((first, second), _sorted_pairs(pairs))


def _sorted_pairs(pairs: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    return sorted(pairs, key=lambda pair: tuple(map(_place, pair)))


def _place(member: object) -> int:
    return list(type(member)).index(member) if isinstance(member, Enum) else -1


def _machines() -> Iterator[str]:
    yield "## State machines"
    yield ""
    for title, transitions in (
        ("Run", tables.RUN_TRANSITIONS),
        ("Collection", tables.COLLECTION_TRANSITIONS),
        ("Invocation", tables.INVOCATION_TRANSITIONS),
        ("Stream, by the last event that was sent", tables.STREAM_TRANSITIONS),
    ):
        yield f"### {title}"
        yield ""
        yield f"```mermaid\n{draw_states(transitions)}```"
        yield ""


def draw_states(transitions: Iterable[tuple[Any, Any]]) -> str:
    """
    Draw a state machine as Mermaid; where it begins and ends follows from the transitions.

    Args:
        transitions: Pairs of a state and its successor; ``None`` is the state before the first.

    Returns:
        The diagram's source.
    """
    pairs = _sorted_pairs(transitions)
    sources = {source for source, _ in pairs}
    targets = {target for source, target in pairs if source is not target}
    lines = ["stateDiagram-v2"]
    lines += [f"    [*] --> {state.name}" for state in _in_order(sources - targets - {None})]
    lines += [f"    {'[*]' if a is None else a.name} --> {b.name}" for a, b in pairs]
    lines += [f"    {state.name} --> [*]" for state in _in_order(targets - sources)]
    return "\n".join(lines) + "\n"


def _limits() -> Iterator[str]:
    limits = harness.Limits()
    meanings = dict(_entries(harness.Limits, "Attributes"))
    yield "What one run may use, unless `Limits(...)` says otherwise. `None` is no limit, 0 is none"
    yield "at all."
    yield ""
    yield from _table(
        ("limit", "default", "meaning"),
        (
            (f"`{limit.name}`", f"`{getattr(limits, limit.name)}`", meanings[limit.name])
            for limit in fields(harness.Limits)
        ),
    )


def _raises() -> Iterator[str]:
    yield "From the docstrings; [errors per call](errors.md) says what holds afterwards."
    yield ""
    for name in _MODULES:
        yield f"## `{name}`"
        yield ""
        yield from _table(("call", "raises", "when"), _raised(import_module(name)))


def _raised(module: Any) -> Iterator[tuple[str, str, str]]:
    """
    Give what each public call of a module raises, by its docstring.
    """
    for name in module.__all__:
        public = getattr(module, name)
        if inspect.isclass(public):
            calls = [(name, public), *_methods(name, public)]
        else:
            calls = [(name, public)]
        for call, target in calls:
            for error, when in _entries(target, "Raises"):
                yield f"`{call}`", f"`{error}`", when


def _methods(name: str, owner: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    for method, value in vars(owner).items():
        if inspect.isfunction(value) and not method.startswith("_"):
            yield f"{name}.{method}", value


def _entries(target: object, section: str) -> Iterator[tuple[str, str]]:
    """
    Read the entries of a section of a docstring: a name, and what is said of it.
    """
    text = inspect.cleandoc(getattr(target, "__doc__", None) or "")
    found = re.search(rf"^{section}:\n((?:    .*\n?|\n)+)", text, re.MULTILINE)
    joined = re.sub(r"\n {8,}", " ", found[1]) if found else ""
    for line in joined.splitlines():
        entry = _ENTRY.fullmatch(line.strip())
        if entry:
            yield entry[1], _ROLE.sub(r"`\1`", entry[2]).replace("``", "`")


if __name__ == "__main__":
    sys.exit(main())

"""How the demo's endings look in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness._release import limitation_text
from harness.explain import events_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from enum import Enum

    from harness import CitedSource, PublicContent, RunRecord, RunResult
    from harness.demo._endings import Ending

_HEADINGS = (
    "ENDING",
    "RUN",
    "CAUSE",
    "RELEASE",
    "FALLBACK TYPE",
    "DATABASE",
    "STREAM",
    "AS STATED",
)


def write_ending(ending: Ending, result: RunResult) -> str:
    """
    Show one ending: what became public, the four views, and why.

    Args:
        ending: The ending.
        result: The run that reached it.

    Returns:
        Lines of text.
    """
    parts = (
        f"{ending.name}: {ending.scene}",
        "\n".join(_public_lines(result.public)),
        _align(_views(result.record)),
        f"Why did the user see this?\n\n{result.explain()}",
    )
    return "\n\n".join(parts)


def write_table(played: Iterable[tuple[Ending, RunResult]]) -> str:
    """
    Show all endings in one table.

    Args:
        played: Each ending, and its run.

    Returns:
        A line for each ending under a heading, and how many of them are as stated.
    """
    runs = [(ending, result.record) for ending, result in played]
    reached = sum(ending.is_reached(record) for ending, record in runs)
    table = _align([_HEADINGS, *(_row(ending, record) for ending, record in runs)])
    return f"{table}\n\n{reached} of {len(runs)} endings are as the specification states them"


def _row(ending: Ending, record: RunRecord) -> tuple[str, ...]:
    return (
        ending.name,
        record.run_state.name,
        _name(record.stop_cause),
        _name(record.release_outcome),
        _name(record.fallback_type),
        record.request_status.name,
        events_text(record.events),
        "yes" if ending.is_reached(record) else "NO",
    )


def _public_lines(public: PublicContent) -> list[str]:
    lines = [public.text.rstrip() or f"({public.code or 'nothing'} is all that became public)"]
    if public.draft is not None:
        # A fallback names its facts and limitations itself; beside a report they stand apart.
        lines += _section("Sources:", map(_source, public.sources))
        lines += _section("Limitations:", map(limitation_text, public.limitations))
    return lines


def _source(cited: CitedSource) -> str:
    # A whole record has no place in a file; an empty one says by its scope what it is empty of.
    return f"{cited.source or cited.tool}: {cited.text or 'nothing was found'}"


def _section(title: str, items: Iterable[str]) -> list[str]:
    lines = [f"- {item}" for item in items]
    return ["", title, *lines] if lines else []


def _views(record: RunRecord) -> list[tuple[str, ...]]:
    run, release = record.run_state.name, _name(record.release_outcome)
    fallback = f", {record.fallback_type.name}" if record.fallback_type else ""
    return [
        ("VIEW", "QUESTION", "ANSWER"),
        ("run", "why did execution stop?", f"{run}, {_name(record.stop_cause)}"),
        ("release", "what became public?", f"{release}{fallback}"),
        ("database", "was the request handled safely?", record.request_status.name),
        ("stream", "what did the client receive?", events_text(record.events)),
    ]


def _name(member: Enum | None) -> str:
    return "-" if member is None else member.name


def _align(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return "\n".join(lines)

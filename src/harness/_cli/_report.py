"""
What a diagnosis prints: the report with its citations, the fallback, or the failure.

The words of a report are printed as they were approved; what stands beside them is in brackets, or
below.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from harness._cli._terminal import one_line
from harness._records import CitedSource, PublicContent, RunRecord
from harness._release import limitation_text
from harness._states import PublicKind, TraceCode
from harness._values import Citation, DiagnosisDraft

__all__ = ["failures", "summary", "write_public"]


def write_public(record: RunRecord) -> str:
    """
    Write what became public.

    Args:
        record: The record of an ended run.

    Returns:
        Lines of text; empty where nothing became public.
    """
    public = record.public
    if public is None or public.kind is PublicKind.NONE:
        return ""
    if public.kind is PublicKind.FAILURE:
        return f"No diagnosis: the run failed ({public.code}).\n"
    if public.draft is None:
        return public.text
    return "\n".join(_report(public, public.draft)) + "\n"


def _report(public: PublicContent, draft: DiagnosisDraft) -> Iterator[str]:
    yield f"{draft.conclusion}{_marks(draft.citations, public.sources)}"
    if draft.claims:
        yield ""
    for claim in draft.claims:
        yield f"- {claim.text}{_marks(claim.citations, public.sources)}"
    yield from _section("Recommendations", (text for text in draft.recommendations if text.strip()))
    yield ""
    yield "Evidence:"
    for number, source in enumerate(public.sources, 1):
        yield f"[{number}] {one_line(source.source or source.tool)}"
        yield f"    {one_line(source.text) or 'nothing was found'}"
    yield from _section("Limitations", map(limitation_text, public.limitations))


def _section(title: str, items: Iterable[str]) -> list[str]:
    lines = [f"- {item}" for item in items]
    return ["", f"{title}:", *lines] if lines else []


def _marks(citations: Iterable[Citation], sources: tuple[CitedSource, ...]) -> str:
    """
    Name the pieces of evidence that citations cite, by their numbers.
    """
    numbers = {
        number
        for citation in citations
        for number, source in enumerate(sources, 1)
        if _cites(citation, source)
    }
    return "".join(f" [{number}]" for number in sorted(numbers))


def _cites(citation: Citation, source: CitedSource) -> bool:
    if citation.invocation_id != source.invocation_id:
        return False
    if citation.fact_id is not None:
        return citation.fact_id == source.fact_id
    return citation.quote is None or citation.quote in source.text


def summary(record: RunRecord) -> str:
    """
    Say in one line how a run ended.

    Args:
        record: Its record.
    """
    names = (record.stop_cause, record.release_outcome, record.fallback_type)
    cause, outcome, fallback = ("-" if one is None else one.name for one in names)
    released = outcome if record.fallback_type is None else f"{outcome} ({fallback})"
    return f"run {record.run_state.name} ({cause}), release {released}"


def failures(record: RunRecord) -> Iterator[str]:
    """
    Say for whoever runs the command what failed, with the details that are never made public.

    Args:
        record: The record of an ended run.

    Yields:
        A line for each failed attempt.
    """
    for event in record.trace:
        if event.code is TraceCode.ATTEMPT_FAILED:
            yield one_line(_failure(event.detail))


def _failure(detail: Mapping[str, Any]) -> str:
    who = str(detail["component"]).lower().replace("_", " ")
    # an error of this library says its kind itself
    why = str(detail["detail"]).removeprefix(f"{detail['kind']}: ")
    what = f"{detail['error']}: {why}" if why else detail["error"]
    return f"{who} {detail['number']} failed ({detail['kind']}): {what}"

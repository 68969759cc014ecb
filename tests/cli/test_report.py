"""What is printed of a run."""

from datetime import UTC, datetime

import pytest

from harness import (
    Citation,
    CitedSource,
    Claim,
    DiagnosisDraft,
    InvocationCode,
    Limitation,
    LimitationKind,
    PublicContent,
    PublicKind,
    Request,
    RunRecord,
)
from harness._cli._report import failures, summary, write_public

_SOURCES = (
    CitedSource("logs", "a.log:1", "pool exhausted", "E-1", 1),
    CitedSource("logs", "a.log:2", "37 waiters\x1b[2J\nforged", "E-1", 2),
    CitedSource("deploys", "", "", "E-2"),
)


def _record(public: PublicContent | None) -> RunRecord:
    """A record that has not ended, with something public put into it."""
    return RunRecord(
        run_id="r",
        request=Request("why?"),
        started_at=datetime(2024, 5, 4, tzinfo=UTC),
        public=public,
    )


def _report(draft: DiagnosisDraft, limitations: tuple[Limitation, ...] = ()) -> str:
    public = PublicContent(
        kind=PublicKind.REPORT, draft=draft, sources=_SOURCES, limitations=limitations
    )
    return write_public(_record(public))


def test_a_report_stands_above_its_evidence() -> None:
    """Statements keep their words; evidence and limitations stand below, a line each."""
    draft = DiagnosisDraft(
        "The pool ran out.",
        [Citation("E-1", 1)],
        [Claim("37 waited.", [Citation("E-1", 2), Citation("E-2")])],
        ["Raise the limit.", " "],
    )
    down = Limitation(LimitationKind.SOURCE_UNAVAILABLE, "metrics", InvocationCode.TIMEOUT)
    assert _report(draft, (down,)).splitlines() == [
        "The pool ran out. [1]",
        "",
        "- 37 waited. [2] [3]",
        "",
        "Recommendations:",
        "- Raise the limit.",
        "",
        "Evidence:",
        "[1] a.log:1",
        "    pool exhausted",
        "[2] a.log:2",
        "    37 waiters\\u001b[2J\\u000aforged",
        "[3] deploys",
        "    nothing was found",
        "",
        "Limitations:",
        "- `metrics` could not be asked (TIMEOUT)",
    ]


@pytest.mark.parametrize(
    ("citation", "marks"),
    [
        (Citation("E-1"), "[1] [2]"),
        (Citation("E-1", None, "waiters"), "[2]"),
        (Citation("E-2"), "[3]"),
    ],
)
def test_a_whole_record_is_cited_by_what_holds_the_quote(citation: Citation, marks: str) -> None:
    """A citation without a fact stands for the facts with its quote, or for all."""
    text = _report(DiagnosisDraft("The pool ran out.", [citation]))
    assert text.splitlines()[0] == f"The pool ran out. {marks}"


@pytest.mark.parametrize(
    ("public", "text"),
    [
        (None, ""),
        (PublicContent(kind=PublicKind.NONE), ""),
        (PublicContent(kind=PublicKind.FAILURE, code="X"), "No diagnosis: the run failed (X).\n"),
        (PublicContent(kind=PublicKind.FALLBACK, text="No diagnosis.\n"), "No diagnosis.\n"),
    ],
)
def test_what_is_no_report_is_printed_as_it_is(public: PublicContent | None, text: str) -> None:
    """A fallback is its text, a failure its code, and nothing is nothing."""
    assert write_public(_record(public)) == text


def test_a_run_that_goes_on_has_no_ending_to_tell() -> None:
    """The summary of a record that has not ended says so, and no attempt failed."""
    record = _record(None)
    assert summary(record) == "run RUNNING (-), release -"
    assert list(failures(record)) == []

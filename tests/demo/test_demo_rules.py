"""The agent of rules: whom it blames, and what it leaves out."""

import pytest

from harness import (
    CanonicalRecord,
    EvidenceStatus,
    Fact,
    Invocation,
    InvocationStatus,
    ToolCall,
)
from harness.demo._rules import draft_report, find_culprit

_ERROR = (
    "2026-01-31T09:05:{}.000Z ERROR payment refused because the connection pool is exhausted: "
    "size=5 in_use=5 waiting=9"
)
_DEPLOY = "2026-01-31T09:05:{}.000Z INFO  deployed shop version={}: changed pool_size from {} to {}"
_ERRORS = ("logs", (_ERROR.format("07"), _ERROR.format("08")))
_CONFIG = ("config", ('"pool_size": 5,', '"acquire_timeout_ms": 100'))
_METRICS = ("metrics", tuple(f'{{"pool_waiting_peak": 9, "pool_timeouts": {n}}}' for n in (3, 49)))
_NONE = ("metrics", ('{"pool_waiting_peak": 0, "pool_timeouts": 0}',))


def _deploys(*deploys: tuple[str, str, int, int]) -> tuple[str, tuple[str, ...]]:
    return ("deploys", tuple(_DEPLOY.format(*deploy) for deploy in deploys))


_CULPRIT = _deploys(("01", "1.0", 10, 20), ("05", "2.0", 20, 5))


def _records(*found: tuple[str, tuple[str, ...]]) -> list[CanonicalRecord]:
    ready = (InvocationStatus.READY, EvidenceStatus.EVIDENCE_FOUND)
    return [
        CanonicalRecord(
            Invocation(number, f"E-{number}", "run", ToolCall(tool), *ready),
            tuple(Fact(text) for text in texts),
        )
        for number, (tool, texts) in enumerate(found, 1)
    ]


def test_the_last_deploy_before_the_errors_is_blamed() -> None:
    """The first error and the deploy that set its size belong together."""
    culprit = find_culprit(_records(_ERRORS, _CULPRIT))
    assert culprit
    error, deploy = culprit
    assert (error.time, error.fact_id) == ("2026-01-31T09:05:07.000Z", 1)
    assert (deploy.match["version"], deploy.fact_id) == ("2.0", 2)


@pytest.mark.parametrize(
    "found",
    [
        (),
        (_ERRORS,),
        (_CULPRIT,),
        (("logs", ("2026-01-31T09:05:07.000Z ERROR disk full",)), _CULPRIT),
        (_ERRORS, _deploys(("08", "2.0", 20, 5))),
        (_ERRORS, _deploys(("05", "2.0", 20, 6))),
        (_ERRORS, _deploys(("01", "2.0", 20, 5), ("05", "3.0", 5, 6))),
        (_ERRORS, _CULPRIT, ("logs", (_ERROR.format("04"),))),
    ],
)
def test_no_other_deploy_is_blamed(found: tuple[tuple[str, tuple[str, ...]], ...]) -> None:
    """Without errors, with a later or another deploy, or with an older error nobody is blamed."""
    assert find_culprit(_records(*found)) is None
    assert draft_report(_records(*found)).conclusion is None


def test_every_statement_is_cited() -> None:
    """The conclusion quotes error and deploy, each claim the line that it repeats."""
    draft = draft_report(_records(_ERRORS, _CULPRIT, _CONFIG, _METRICS))
    quotes = [citation.quote for citation in draft.citations]
    assert quotes == [
        "connection pool is exhausted: size=5 in_use=5",
        "changed pool_size from 20 to 5",
    ]
    cited = [(claim.citations[0].invocation_id, claim.citations[0].quote) for claim in draft.claims]
    assert cited == [("E-3", '"pool_size": 5'), ("E-4", '"pool_timeouts": 49')]


@pytest.mark.parametrize("found", [(), (_NONE,), (("config", ('"pool_size": 50,',)),)])
def test_what_no_source_says_is_left_out(found: tuple[tuple[str, tuple[str, ...]], ...]) -> None:
    """Sources that are down, or say something else, carry no claim; the conclusion stands."""
    draft = draft_report(_records(_ERRORS, _CULPRIT, *found))
    assert draft.conclusion
    assert draft.claims == ()


@pytest.mark.parametrize(
    ("until", "claimed"), [("2026-01-31T09:05:05.000Z", True), ("2026-01-31T09:05:06.000Z", False)]
)
def test_an_empty_scope_before_the_deploy_is_cited(until: str, *, claimed: bool) -> None:
    """That nothing failed before the deploy is said only where exactly that was asked."""
    row = Invocation(
        9,
        "E-9",
        "run",
        ToolCall("logs", {}, {"until": until}),
        InvocationStatus.READY,
        EvidenceStatus.NO_EVIDENCE,
    )
    draft = draft_report([*_records(_ERRORS, _CULPRIT), CanonicalRecord(row)])
    texts = [claim.text for claim in draft.claims]
    assert texts == (["No error was found in the logs until " + until + "."] if claimed else [])

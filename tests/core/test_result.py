"""What a run gives back: five lines when printed, everything as a record."""

from __future__ import annotations

import pytest

from harness import (
    CancelToken,
    Explanation,
    Intent,
    PublicContent,
    PublicKind,
    ReleaseOutcome,
    Route,
    RunResult,
    RunState,
    StopCause,
)
from harness.errors import TransportError
from harness.testing import RecordingClient, Script
from tests.core.doubles import GOOD, Source, asking, begun, drafting, ended, harness

REPORT = """\
run      SUCCESS (REPORT_APPROVED)
release  SUCCESS
request  SUCCESS, stream METADATA STATUS* CONTENT DONE, delivered
evidence 1 of 1 invocations ready, 3 model attempts, 1 tool calls
text     the pool ran out"""

FALLBACK = """\
run      SUCCESS (NO_CONCLUSION)
release  FALLBACK (INSUFFICIENT_EVIDENCE)
request  SUCCESS, stream METADATA STATUS* CONTENT DONE, delivered
evidence 1 of 2 invocations ready, 2 model attempts, 2 tool calls
text     No diagnosis: what could be checked does not carry a conclusion."""

FAILURE = """\
run      FAILED (AGENT_UNAVAILABLE)
release  FAILED (AGENT_UNAVAILABLE)
request  FAILED, stream METADATA STATUS* FAILURE DONE, delivered
evidence 0 of 0 invocations ready, 1 model attempts, 0 tool calls
text     -"""

CANCELLED = """\
run      CANCELLED (CANCELLED_BY_CALLER)
release  CANCELLED
request  CANCELLED, stream METADATA STATUS* DONE, not delivered
evidence 0 of 0 invocations ready, 0 model attempts, 0 tool calls
text     -"""

RUNNING = """\
run      RUNNING (-)
release  CANCELLED
request  RUNNING, stream -, not delivered
evidence 0 of 0 invocations ready, 0 model attempts, 0 tool calls
text     -"""


def test_a_report() -> None:
    """A report is printed with its first line."""
    result = harness(GOOD, Source("pool size 5")).run("why?", client=RecordingClient())
    assert str(result) == REPORT


def test_a_fallback() -> None:
    """A fallback is printed with its type, and says how much of the evidence is ready."""
    agent = [asking({"n": 1}, {"n": 2}), drafting(None)]
    assert str(harness(agent, Source("a", TimeoutError())).run("why?")) == FALLBACK


def test_a_failure() -> None:
    """A failure is printed with its stable code, and has no text."""
    result = harness([TransportError()]).run("why?")
    assert str(result) == FAILURE
    assert result.text == ""


def test_a_cancelled_run() -> None:
    """A cancelled run has published nothing."""
    token = CancelToken()
    token.cancel()
    result = harness([]).run("why?", cancel=token)
    assert str(result) == CANCELLED
    assert result.public == PublicContent(kind=PublicKind.NONE)


def test_a_record_of_elsewhere() -> None:
    """A record without public content can be printed too."""
    result = RunResult(begun())
    assert str(result) == RUNNING
    assert result.public == PublicContent(kind=PublicKind.NONE)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\n  first\nsecond", "first"),
        ("x" * 100, "x" * 100),
        ("x" * 101, "x" * 97 + "..."),
        ("a\x1b[2Jb\rc", "a\\u001b[2Jb\\u000dc"),
        ("a\u202eb\u2028c", "a\\u202eb\\u2028c"),
        ("", "-"),
    ],
)
def test_the_line_of_a_text(text: str, line: str) -> None:
    """Of the text one bounded line is printed, that drives no terminal and forges no line."""
    record = ended(
        RunState.SUCCESS,
        StopCause.REPLY_GIVEN,
        ReleaseOutcome.SUCCESS,
        public=PublicContent(kind=PublicKind.REPLY, text=text),
    )
    assert str(RunResult(record)).splitlines()[-1] == f"text     {line}"


def test_an_explanation() -> None:
    """A result explains itself, from its record."""
    given = {"router": Script([Route(Intent.GENERAL)]), "responder": Script(["hello"])}
    result = harness([], **given).run("hi")
    explanation = result.explain()
    assert isinstance(explanation, Explanation)
    assert explanation.run_id == result.record.run_id

"""The playbook agent, run by the harness against real files and the built-in guard."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import (
    Harness,
    Limits,
    ReleaseOutcome,
    RunResult,
    StopCause,
    StopReason,
    TraceCode,
    tool,
)
from harness.errors import InvalidArgumentError
from harness.guards import LexicalGuard
from harness.logs import LogTool
from harness.playbook import PlaybookAgent
from harness.stores import MemoryCanonicalStore

_DATA = Path(__file__).parents[2].parent / "shared" / "data" / "loghub"

_CALM = "".join(f"2015-10-18 18:0{n}:00 INFO [main] call {n} served\n" for n in range(9))
_BURST = "".join(
    f"2015-10-18 18:05:{n:02} ERROR [pool] cannot get a connection after {n} ms\n"
    for n in range(30)
)
_FATAL = "2015-10-18 18:06:00 FATAL [main] disk is full, giving up\n"
_SYSLOG = "".join(
    f"Dec 10 06:5{n}:46 web sshd[{n}]: Failed password for root from 10.0.0.1\n" for n in range(9)
)


def _run(
    paths: Any, *, agent: Any = None, context: Any = None, limits: Any = None, store: Any = None
) -> RunResult:
    harness = Harness(
        agent=agent or PlaybookAgent(),
        tools=[LogTool(paths)],
        semantic_guard=LexicalGuard(),
        canonical_store=store,
        limits=limits,
    )
    return harness.run("what is wrong?", context=context)


def _views(result: RunResult) -> list[str]:
    calls = [invocation.call.arguments for invocation in result.record.invocations]
    return [arguments["view"] for arguments in calls]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log with a burst of errors and one fatal line."""
    path = tmp_path / "app.log"
    path.write_text(_CALM + _BURST + _FATAL)
    return path


def test_a_report_names_what_explains_most(log: Path) -> None:
    """The conclusion says what, how often, when, and what is worse; all of it passed both gates."""
    result = _run(log)
    assert result.record.stop_cause is StopCause.REPORT_APPROVED
    assert result.public.draft is not None
    assert result.public.draft.conclusion == (
        "In app.log, 30 lines at level error from line 10 (2015-10-18 18:05:00) to line 39 "
        '(2015-10-18 18:05:29) say "cannot get a connection after". The busiest 10 seconds had '
        "10 lines from 2015-10-18 18:05:00 to 2015-10-18 18:05:09. "
        "In app.log, line 40 (2015-10-18 18:06:00) at level fatal says "
        '"disk is full, giving up".'
    )
    assert result.public.draft.recommendations == (
        "Check app.log from 2015-10-18 18:05:00 to 2015-10-18 18:05:09.",
    )


def test_it_asks_from_the_whole_to_the_burst(log: Path) -> None:
    """It counts, groups what is bad, and reads the burst; each call says what it searches."""
    result = _run(log)
    assert _views(result) == ["count", "templates", "lines"]
    last = result.record.invocations[-1].call
    assert last.scope == {
        "files": "app.log",
        "since": "2015-10-18 18:05:00",
        "until": "2015-10-18 18:05:09",
        "level": "warn or more severe",
    }


def test_a_log_without_levels(tmp_path: Path) -> None:
    """Without levels the words decide, and the lines of the group are read by their words."""
    (tmp_path / "auth.log").write_text(_SYSLOG)
    result = _run(tmp_path / "auth.log")
    assert result.public.text.startswith(
        'In auth.log, 9 lines without a level say "Failed password for root from 10.0.0.1", from '
        "line 1 (Dec 10 06:50:46) to line 9 (Dec 10 06:58:46)."
    )


def test_a_stretch_without_levels_is_read_by_words(tmp_path: Path) -> None:
    """The lines of a burst without levels are told from the others by their words."""
    burst = "Dec 10 06:51:46 web sshd[1]: Failed password for root from 10.0.0.1\n" * 3
    (tmp_path / "auth.log").write_text(_SYSLOG + burst)
    call = _run(tmp_path / "auth.log").record.invocations[-1].call
    assert call.arguments["pattern"] == r"Failed\ password\ for\ root\ from\ 10\.0\.0\.1"


def test_nothing_wrong_gives_no_conclusion(tmp_path: Path) -> None:
    """Where only ordinary lines stand, the agent says that it has no conclusion."""
    (tmp_path / "calm.log").write_text(_CALM)
    result = _run(tmp_path / "calm.log")
    assert result.record.stop_cause is StopCause.NO_CONCLUSION
    assert result.record.release_outcome is ReleaseOutcome.FALLBACK
    assert _views(result) == ["count"]


def test_ordinary_words_without_levels(tmp_path: Path) -> None:
    """Lines without a level that speak of no failure are no problem either."""
    (tmp_path / "calm.log").write_text("Dec 10 06:55:46 web app: served\n" * 3)
    result = _run(tmp_path / "calm.log")
    assert result.record.stop_cause is StopCause.NO_CONCLUSION
    assert _views(result) == ["count", "templates"]


def test_one_file_that_cannot_be_read(log: Path) -> None:
    """A file that cannot be read hides no other, and stands among the limitations."""
    result = _run([log, log.parent / "gone.log"])
    assert result.record.stop_cause is StopCause.REPORT_APPROVED
    assert [one.is_ready for one in result.record.invocations][:2] == [True, False]


def test_no_file_that_can_be_read(tmp_path: Path) -> None:
    """Where no file can be read nothing is concluded."""
    (tmp_path / "cut.log").write_bytes(gzip.compress(b"x" * 99)[:9])
    result = _run(tmp_path / "cut.log")
    assert result.record.stop_cause is StopCause.NO_CONCLUSION
    assert result.record.release_outcome is ReleaseOutcome.FAILED


def test_several_files(log: Path) -> None:
    """The worst file gives the conclusion; problems of others are named beside it."""
    (log.parent / "auth.log").write_text(_SYSLOG)
    result = _run([log.parent / "auth.log", log])
    assert result.public.text.startswith("In app.log, 30 lines at level error")
    assert "In auth.log, 9 lines without a level" in result.public.text


def test_many_files_are_asked_about_together(log: Path) -> None:
    """More files than a batch should hold are counted in one call."""
    others = [log.parent / f"{n}.log" for n in range(20)]
    for path in others:
        path.write_text(_CALM)
    result = _run([log, *others])
    assert _views(result) == ["count", "templates", "lines"]
    assert result.public.text.startswith("In app.log, 30 lines at level error")


@pytest.mark.parametrize("how", ["context", "agent"])
def test_a_window(log: Path, how: str) -> None:
    """The window comes from the request or from the agent, and nothing outside it is used."""
    window = {"since": "2015-10-18 18:05:20", "until": "2015-10-18 18:05"}
    context, agent = (window, None) if how == "context" else ({}, PlaybookAgent(**window))
    result = _run(log, agent=agent, context=context)
    assert "10 lines at level error" in result.public.text
    assert "fatal" not in result.public.text


def test_progress_is_stated_truthfully(log: Path) -> None:
    """Every batch is followed by a statement that the harness accepts."""
    result = _run(log)
    codes = {event.code for event in result.record.trace}
    assert TraceCode.PROGRESS_JUDGED in codes
    assert TraceCode.PROTOCOL_VIOLATION not in codes
    assert result.record.stop_reason is None


def test_it_drafts_when_it_must_stop(log: Path) -> None:
    """Told to stop, it drafts at once from what it has."""
    result = _run(log, limits=Limits(tool_calls=2))
    assert result.record.stop_reason is StopReason.BUDGET_LIMIT_REACHED
    assert result.record.stop_cause is StopCause.REPORT_APPROVED
    assert _views(result) == ["count", "templates"]


def test_a_harness_without_the_log_tool() -> None:
    """Without its tool, or with another one of that name, it asks and concludes nothing."""

    @tool(name="logs")
    def pathless(query: str) -> str:
        """Search something."""
        return query

    @tool(name="logs")
    def fileless(path: str) -> str:
        """Read something."""
        return path

    for tools in ([], [pathless], [fileless]):
        harness = Harness(agent=PlaybookAgent(), tools=tools, semantic_guard=LexicalGuard())
        result = harness.run("what is wrong?")
        assert result.record.stop_cause is StopCause.NO_CONCLUSION
        assert result.record.invocations == ()


@pytest.mark.parametrize("argument", ["tool", "since", "until"])
@pytest.mark.parametrize("value", [" ", 7])
def test_wrong_settings(argument: str, value: Any) -> None:
    """Settings that say nothing are refused by name."""
    with pytest.raises(InvalidArgumentError) as caught:
        PlaybookAgent(**{argument: value})
    assert caught.value.argument == argument


_LINES = st.sampled_from(
    [
        "2015-10-18 18:05:00 INFO [main] call 7 served",
        "2015-10-18 18:05:01 ERROR [pool] cannot get a connection after 51 ms",
        "2015-10-18 18:05:01 ERROR [pool] cannot get a connection after 52 ms",
        "2015-10-18 18:07:09 WARN no route to 10.0.0.1; retry 3 of 5 failed",
        '2015-10-18 18:07:10 FATAL "disk" is not writable, 7 % left',
        "Caused by: java.net.ConnectException: Connection refused",
        "    at org.example.Pool.get(Pool.java:12)",
        "Dec 10 06:55:46 web sshd[24200]: Invalid user webmaster from 173.234.31.186",
        '{"ts":1445191307,"level":"error","msg":"cannot say \\"why\\""}',
        "error <*> ... ]] [[ 50%",
        "\u9519\u8bef: error \u6ca1\u6709 17",
        "failed",
    ]
)


@given(st.lists(_LINES, max_size=12))
def test_every_draft_passes_the_gates(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    """Whatever stands in a log, the agent's report is approved, or it concludes nothing."""
    path = tmp_path_factory.mktemp("log") / "any.log"
    path.write_text("\n".join(lines), encoding="utf-8")
    result = _run(path)
    assert result.record.stop_cause in {StopCause.REPORT_APPROVED, StopCause.NO_CONCLUSION}


@pytest.mark.parametrize("name", ["Apache", "Hadoop", "Linux", "OpenSSH", "OpenStack", "Zookeeper"])
def test_real_logs_give_a_report(name: str) -> None:
    """Each real log gives an approved report, whose quotes stand in the lines that it cites."""
    path = _DATA / f"{name}_2k.log"
    if not path.exists():
        pytest.skip(f"{path} is absent")
    store = MemoryCanonicalStore()
    draft = _run(path, store=store).public.draft
    assert draft is not None
    lines = path.read_bytes().decode().split("\n")
    cited = [*draft.citations, *(one for claim in draft.claims for one in claim.citations)]
    for citation in (one for one in cited if one.quote):
        record = store.load(citation.invocation_id)
        assert record is not None
        fact = record.facts[(citation.fact_id or 0) - 1]
        assert str(citation.quote) in lines[int(fact.source.rpartition(":")[2]) - 1]
    assert draft.citations[0].quote


def test_only_lines_that_report_a_problem_are_copied(tmp_path: Path) -> None:
    """Of a traceback the line of the failure is stated, not its frames, nor what was left out."""
    frames = "Traceback (most recent call last):\n  File pay\nValueError: bad amount\n"
    text = "".join(f"2024-05-04 10:0{n}:00 ERROR boom {n}\n{frames}" for n in range(10))
    log = tmp_path / "app.log"
    log.write_text(text)
    result = _run([log])
    assert result.record.release_outcome is ReleaseOutcome.SUCCESS
    assert "ERROR boom" in result.text
    assert "File pay" not in result.text
    assert "lines match" not in result.text

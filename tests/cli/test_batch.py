"""``diagnose --batch``: many diagnoses of a file, told as they finish."""

import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness import AgentTurn, DiagnosisDraft, Harness
from harness._cli._bar import Bar
from harness._cli._terminal import SafeStream
from harness._states import ReleaseOutcome
from harness.codec import record_from_json
from harness.errors import RejectedError
from harness.stores.sqlite import SqliteStores
from tests.cli.conftest import Call

Batch = Callable[..., Path]


@pytest.fixture
def batch(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Batch:
    """Write a batch file beside the logs, in the current directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "calm.log").write_text("2024-05-04 10:00:01 INFO all is well\n")

    def write(*lines: object) -> Path:
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        Path("batch.jsonl").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        return Path("batch.jsonl")

    return write


def _agent(monkeypatch: pytest.MonkeyPatch, agent: Callable[..., Any]) -> tuple[str, str]:
    """Let ``--agent`` name a function of the test."""
    monkeypatch.setattr("harness._cli.diagnose.load_agent", lambda _path: agent)
    return ("--agent", "some:agent")


def _rows(out: str) -> dict[str, list[str]]:
    """The rows of the table by their line numbers."""
    rows = [row.split(maxsplit=4) for row in out.splitlines()]
    assert rows[0] == ["LINE", "RELEASE", "CAUSE", "RUN", "TEXT"]
    return {row[0]: row[1:] for row in rows[1:]}


def test_each_line_has_its_row(batch: Batch, call: Call) -> None:
    """A table on standard output names what became of every line, and how its text begins."""
    file = batch({"logs": "payment.log"}, "", {"logs": ["calm.log"]})
    called = call("diagnose", "--batch", file)
    rows = _rows(called.out)
    assert rows["1"][:2] == ["SUCCESS", "REPORT_APPROVED"]
    assert rows["1"][3].startswith("In payment.log, ")
    assert rows["1"][3].endswith("...")
    assert len(rows["1"][3]) == 60
    assert rows["3"][:2] == ["FALLBACK", "NO_CONCLUSION"]
    assert called.status == 3


def test_progress_is_plain_lines_in_a_pipe(batch: Batch, call: Call) -> None:
    """Each line's end, and what came of all, are plain lines on standard error."""
    file = batch({"logs": "payment.log"}, {"logs": "calm.log"})
    err = call("diagnose", "--batch", file, "--workers", "1").err
    fallback = "run SUCCESS (NO_CONCLUSION), release FALLBACK (INSUFFICIENT_EVIDENCE)"
    assert err.splitlines() == [
        "diagnose: 1/2 batch.jsonl:1: run SUCCESS (REPORT_APPROVED), release SUCCESS",
        f"diagnose: 2/2 batch.jsonl:2: {fallback}",
        "diagnose: 2 of 2 done: 1 report, 1 fallback",
    ]


def test_json_lines_hold_the_records(batch: Batch, call: Call) -> None:
    """With ``--json`` each line is an object with the line's number and its whole record."""
    file = batch(
        {"logs": "payment.log", "question": "why?", "context": {"service": "pay"}},
        {"logs": "payment.log", "since": "2024-05-04 10:00:08", "until": "2024-05-04 10:00:08"},
        {"logs": ["payment.log", "calm.log"], "run_id": "r-3", "conversation_id": "c"},
    )
    called = call("diagnose", "--batch", file, "--json", "--question", "what?")
    objects = sorted(map(json.loads, called.out.splitlines()), key=lambda one: int(one["line"]))
    records = [record_from_json(json.dumps(one["record"])) for one in objects]
    assert [one["line"] for one in objects] == [1, 2, 3]
    assert [record.request.question for record in records] == ["why?", "what?", "what?"]
    assert records[0].request.context == {"service": "pay"}
    assert records[1].public is not None
    assert {source.source for source in records[1].public.sources} == {"payment.log:3"}
    assert (records[2].run_id, records[2].request.conversation_id) == ("r-3", "c")
    assert called.status == 0


def test_a_batch_stays_in_the_database(batch: Batch, call: Call) -> None:
    """Every run is kept; one whose id exists already is refused, and the others are run."""
    file = batch({"logs": "payment.log", "run_id": "r-1"}, {"logs": "calm.log"})
    assert call("diagnose", "--batch", file, "--db", "runs.db").status == 3
    with SqliteStores("runs.db", create=False) as stores:
        assert stores.runs.load("r-1") is not None
    again = call("diagnose", "--batch", file, "--db", "runs.db")
    assert again.status == 4
    assert _rows(again.out)["1"][:3] == ["-", "REFUSED", "r-1"]
    assert _rows(again.out)["2"][0] == "FALLBACK"
    assert "batch.jsonl:1: run 'r-1' exists already; it is SUCCESS" in again.err
    assert again.err.endswith("why? python -m harness explain RUN --db runs.db\n")
    refused = call("diagnose", "--batch", file, "--db", "runs.db", "--json").out.splitlines()
    errors = [json.loads(line).get("error") for line in refused]
    assert "run 'r-1' exists already; it is SUCCESS" in errors


def test_one_failure_does_not_stop_the_others(
    batch: Batch, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that fails is told with its private reason, and the status is the worst one."""

    def agent(view: Any) -> AgentTurn:
        if view.question == "fail":
            raise RejectedError("the key is \x1b[31mwrong")
        return AgentTurn(draft=DiagnosisDraft(None, missing_context=["service"]))

    file = batch({"logs": "calm.log", "question": "fail"}, {"logs": "calm.log"})
    called = call("diagnose", "--batch", file, *_agent(monkeypatch, agent))
    rows = _rows(called.out)
    assert (rows["1"][1], rows["2"][1]) == ("AGENT_UNAVAILABLE", "MISSING_REQUIRED_CONTEXT")
    assert (
        "batch.jsonl:1: diagnosis agent 1 failed (REJECTED): RejectedError: the key is \\u001b"
        in (called.err)
    )
    assert called.err.endswith("diagnose: 2 of 2 done: 1 fallback, 1 failure\n")
    assert called.status == 4


def test_a_deadline_is_that_of_each_run(batch: Batch, call: Call) -> None:
    """``--deadline`` bounds every run by itself."""
    file = batch({"logs": "payment.log"}, {"logs": "calm.log"})
    called = call("diagnose", "--batch", file, "--deadline", "0")
    assert [row[1] for row in _rows(called.out).values()] == ["DEADLINE_EXCEEDED"] * 2
    assert called.status == 4


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "is no JSON: Expecting property name enclosed in double quotes at character 2"),
        ("[" * 100_000, "is nested too deep"),
        ('{"logs": NaN}', "is no JSON: NaN is no JSON number"),
        ('{"logs": "calm.log", "logs": "x"}', "'logs' stands twice in one object"),
        ([1], "is no JSON object, but list"),
        ({"log": "calm.log"}, "'log' is no key; allowed: logs, question, context, since, until"),
        ({}, "logs is None; allowed: the path of a log file, or a list of them"),
        ({"logs": []}, "logs is []; allowed: the path of a log file, or a list of them"),
        ({"logs": ["calm.log", 3]}, "logs is ['calm.log', 3]; allowed: the path"),
        ({"logs": ""}, "logs is ''; allowed: the path of a log file"),
        ({"logs": "missing.log"}, "missing.log: no such file"),
        ({"logs": "no\x00file"}, "no\\u0000file: "),
        ({"logs": ["a.log", "b.log"]}, "a.log: no such file; b.log: no such file"),
        ({"logs": "calm.log", "question": " "}, "question is ' '; allowed: text"),
        ({"logs": "calm.log", "context": [1]}, "context is [1]; allowed: a JSON object of texts"),
        ({"logs": "calm.log", "context": {"a": 1}}, "context is {'a': 1}; allowed"),
        ({"logs": "calm.log", "since": 3}, "since is 3; allowed: text"),
        ({"logs": "calm.log", "until": "later"}, "until is 'later'; allowed: a date"),
        (
            {"logs": "calm.log", "since": "2024-05-04", "context": {"since": "2024-05-04"}},
            "'since' and context 'since' say the same",
        ),
        ({"logs": "calm.log", "run_id": " "}, "run_id is ' '; allowed: text that is not blank"),
        ({"logs": "calm.log", "run_id": "r"}, "run_id 'r' is that of line 1 too"),
    ],
)
def test_a_bad_line_is_named(line: object, said: str, batch: Batch, call: Call) -> None:
    """A bad line is named with file, line and reason, and nothing is run, the good ones neither."""
    called = call("diagnose", "--batch", batch({"logs": "calm.log", "run_id": "r"}, line))
    assert (called.status, called.out) == (2, "")
    named, last = called.err.splitlines()
    assert named.startswith(f"batch.jsonl:2: {said}")
    assert last == (
        "harness: error: --batch batch.jsonl: 1 of 2 lines cannot be used; nothing was run"
    )


def test_bad_lines_without_end_are_counted(batch: Batch, call: Call) -> None:
    """The first twenty are named, all of them counted."""
    err = call("diagnose", "--batch", batch(*["{}"] * 99)).err.splitlines()
    assert len(err) == 21
    assert "99 of 99 lines cannot be used" in err[-1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["calm.log"], "LOGFILE and --batch exclude each other: say it in the file's lines"),
        (["--context", "a=b"], "--context and --batch exclude each other"),
        (["--since", "2024-05-04"], "--since and --batch exclude each other"),
        (["--until", "2024-05-04"], "--until and --batch exclude each other"),
        (["--workers", "0"], "--workers is 0; allowed: a whole number from 1"),
        (["--agent", "agents"], "--agent is 'agents'; allowed: module:factory"),
        (["--deadline", "-1"], "deadline is -1.0; allowed"),
    ],
)
def test_a_wrong_argument_is_named(options: list[str], said: str, batch: Batch, call: Call) -> None:
    """What a batch cannot be combined with is named; nothing is run."""
    called = call("diagnose", "--batch", batch({"logs": "calm.log"}), *options)
    assert (called.status, called.out) == (2, "")
    assert said in called.err
    assert called.err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "--batch batch.jsonl: No such file or directory"),
        (b"\n \n", "--batch batch.jsonl: has no line that says anything"),
        (b"\xff\n", "--batch batch.jsonl: is no text in UTF-8"),
    ],
)
def test_a_file_that_is_no_batch_is_refused(
    content: bytes | None, said: str, batch: Batch, call: Call
) -> None:
    """A batch file that cannot be read is named in one line."""
    file = batch()
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    called = call("diagnose", "--batch", file)
    assert (called.status, called.out) == (2, "")
    assert called.err == f"harness: error: {said}\n"


# --- Ctrl-C


def _press() -> None:
    """Press Ctrl-C, as the terminal does: the main thread hears it."""
    main = threading.main_thread().ident
    assert main is not None
    signal.pthread_kill(main, signal.SIGINT)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for a thread")
def test_ctrl_c_ends_the_batch(batch: Batch, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is under way ends as cancelled and is told; what was not started is counted."""
    before = signal.getsignal(signal.SIGINT)

    def agent(_view: Any, attempt: Any) -> AgentTurn:
        _press()
        while not attempt.is_cancelled:
            threading.Event().wait(0.001)
        return AgentTurn()

    file = batch(*[{"logs": "calm.log", "run_id": f"r-{n}"} for n in range(3)])
    options = ("--workers", "1", "--db", "runs.db", *_agent(monkeypatch, agent))
    called = call("diagnose", "--batch", file, *options)
    assert called.status == 130
    assert _rows(called.out) == {"1": ["CANCELLED", "CANCELLED_BY_CALLER", "r-0"]}
    said = "interrupted from the keyboard: no further line is started"
    assert said in called.err
    assert "diagnose: 2 of 3 lines were not started\n" in called.err
    assert "diagnose: 1 of 3 done: 1 cancelled\n" in called.err
    with SqliteStores("runs.db", create=False) as stores:
        record = stores.runs.load("r-0")
    assert record is not None
    assert record.cancel_reason == "interrupted from the keyboard"
    assert signal.getsignal(signal.SIGINT) is before


def test_an_agent_that_leaves_ends_the_batch(
    batch: Batch, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host's ``SystemExit`` ends its run as interrupted, and no further one is started."""

    def agent(_view: Any) -> AgentTurn:
        raise SystemExit(5)

    file = batch(*[{"logs": "calm.log"}] * 2)
    options = ("--workers", "1", *_agent(monkeypatch, agent))
    called = call("diagnose", "--batch", file, *options)
    assert called.status == 130
    assert _rows(called.out)["1"][:2] == ["CANCELLED", "INTERRUPTED"]
    assert "line 1 was interrupted: no further line is started" in called.err
    assert "1 of 2 lines were not started" in called.err


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for a process")
def test_a_second_ctrl_c_ends_the_process(log: Path, tmp_path: Path) -> None:
    """An agent that never returns holds nobody: the second press ends the process at once."""
    (tmp_path / "stuck_agent.py").write_text(
        "import sys, threading\n"
        "def make():\n"
        "    def agent(view):\n"
        "        print('stuck', file=sys.stderr, flush=True)\n"
        "        threading.Event().wait(60)\n"
        "    return agent\n"
    )
    (tmp_path / "batch.jsonl").write_text(json.dumps({"logs": str(log)}) + "\n")
    command = [sys.executable, "-m", "harness", "diagnose", "--batch", "batch.jsonl"]
    process = subprocess.Popen(
        [*command, "--agent", "stuck_agent:make"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert process.stderr is not None
        for said in (b"stuck", b"no further line is started"):
            while said not in process.stderr.readline():
                assert process.poll() is None
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT


def test_a_reader_that_leaves_ends_the_batch(
    batch: Batch, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody reads the results any more, what is under way is cancelled."""
    write = io.StringIO.write

    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            if "SUCCESS" in text:
                raise BrokenPipeError
            return write(self, text)

    file = batch(*[{"logs": "payment.log"}] * 9)
    monkeypatch.setattr(sys, "stdout", Closed())
    assert call("diagnose", "--batch", file, "--workers", "2").status == 141
    assert not [one for one in threading.enumerate() if one.name.startswith("harness")]


def test_what_no_run_can_do_is_told(
    batch: Batch, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault outside of a run is the line's, not the batch's."""

    class Broken(Harness):
        def _execute(self, request: Any, **given: Any) -> Any:
            if request.question == "break":
                raise ValueError("broken")
            return super()._execute(request, **given)

    monkeypatch.setattr("harness._cli._batch.Harness", Broken)
    file = batch({"logs": "calm.log", "question": "break"}, {"logs": "payment.log"})
    called = call("diagnose", "--batch", file)
    assert _rows(called.out)["1"] == ["-", "REFUSED", "-", "broken"]
    assert called.status == 4


# --- the bar


class _Terminal(io.StringIO):
    """A stream that says that it is a terminal, and remembers its lives."""

    def isatty(self) -> bool:
        return True


class _Gone(_Terminal):
    """A terminal that nobody reads any more."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def _screen(text: str) -> list[str]:
    """What a live line showed, one after the other."""
    return [part for part in text.replace("\r", "").split("\x1b[K") if part]


def test_a_terminal_has_a_bar() -> None:
    """The bar grows, counts endings by kind, and is gone when the last line is told."""
    out = _Terminal()
    bar = Bar(SafeStream(out), "diagnose", 4)
    bar.start()
    bar.start()
    bar.end(ReleaseOutcome.SUCCESS, "is not told")
    bar.end(ReleaseOutcome.SUCCESS, "neither")
    bar.close()
    assert _screen(out.getvalue()) == [
        "diagnose: [....................] 0/4 1 under way",
        "diagnose: [....................] 0/4 2 under way",
        "diagnose: [#####...............] 1/4 1 report, 1 under way",
        "diagnose: [##########..........] 2/4 2 reports, 0 under way",
        "diagnose: 2 of 4 done: 2 reports\n",
    ]


def test_what_is_said_does_not_mix_with_the_bar() -> None:
    """The bar is taken away before a line is written, to either stream, and drawn again."""
    out = _Terminal()
    bar = Bar(SafeStream(out), "diagnose", 1)
    bar.say("a line")
    bar.around(lambda: print("a row", file=out))
    live = "\rdiagnose: [....................] 0/1 0 under way\x1b[K"
    cleared = "\r\x1b[K"
    assert out.getvalue() == f"diagnose: a line\n{live}{cleared}a row\n{live}"


def test_nothing_done_is_said() -> None:
    """A batch that was stopped before anything ended says so."""
    out = io.StringIO()
    Bar(SafeStream(out), "diagnose", 3).close()
    assert out.getvalue() == "diagnose: 0 of 3 done: nothing\n"


def test_a_closed_terminal_does_not_end_a_batch() -> None:
    """Progress never raises."""
    bar = Bar(SafeStream(_Gone()), "diagnose", 1)
    bar.start()
    bar.end(ReleaseOutcome.FAILED, "is lost")
    bar.close()
    assert bar.ended == 1

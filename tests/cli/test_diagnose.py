"""``diagnose``: every ending, every wrong input, and nothing raw on the terminal."""

import gzip
import json
import signal
import threading
from argparse import ArgumentParser
from pathlib import Path

import pytest

from harness._cli import diagnose
from harness.codec import record_from_json
from harness.stores.sqlite import SqliteStores
from tests.cli.conftest import LOG, Call

_LOGHUB = Path(__file__).parents[2].parent / "shared" / "data" / "loghub"


def test_a_report_names_file_and_line(log: Path, call: Call) -> None:
    """A report is on standard output, each statement with its evidence by file and line."""
    called = call("diagnose", log)
    assert called.status == 0
    assert 'pool exhausted after 2000 ms"' in called.out
    assert "[1] payment.log:2\n" in called.out
    assert called.out.splitlines()[0].endswith("[1]")


def test_progress_is_on_standard_error(log: Path, call: Call) -> None:
    """Stages and counts are on standard error, a plain line each where it is no terminal."""
    lines = call("diagnose", log).err.splitlines()
    assert "diagnose: collecting, turn 1, 0 invocations" in lines
    assert "diagnose: asking logs: path=payment.log, view=count" in lines
    assert lines[-1] == "diagnose: run SUCCESS (REPORT_APPROVED), release SUCCESS"


def test_logs_without_a_problem_end_in_a_fallback(tmp_path: Path, call: Call) -> None:
    """Where no line reports a problem there is no conclusion, and the status is 3."""
    calm = tmp_path / "calm.log.gz"
    calm.write_bytes(gzip.compress(b"2024-05-04 10:00:01 INFO all is well\n"))
    called = call("diagnose", calm)
    assert called.status == 3
    assert called.out.startswith("No diagnosis: ")
    assert called.err.endswith("release FALLBACK (INSUFFICIENT_EVIDENCE)\n")


def test_a_failure_is_told_with_its_reason(log: Path, agents: str, call: Call) -> None:
    """The public failure has a stable code; the private reason is told to whoever runs it."""
    called = call("diagnose", log, "--agent", f"{agents}:failing")
    assert (called.status, called.out) == (
        4,
        "No diagnosis: the run failed (AGENT_UNAVAILABLE).\n",
    )
    assert (
        "diagnosis agent 1 failed (REJECTED): RejectedError: the key is \\u001b[31mwrong"
        in called.err
    )


def test_an_agent_without_a_conclusion_is_no_success(log: Path, agents: str, call: Call) -> None:
    """An agent that asked nothing and concluded nothing leaves nothing to release."""
    called = call("diagnose", log, "--agent", f"{agents}:empty")
    assert (called.status, called.out) == (4, "No diagnosis: the run failed (NO_CONCLUSION).\n")


@pytest.mark.parametrize("factory", ["interrupted", "leaving"])
def test_an_interrupt_is_recorded(factory: str, log: Path, agents: str, call: Call) -> None:
    """An interrupt inside the agent ends the run with status 130, its record saved."""
    called = call("diagnose", log, "--agent", f"{agents}:{factory}", "--db", "runs.db")
    assert (called.status, called.out) == (130, "")
    assert "run CANCELLED (INTERRUPTED), release CANCELLED" in called.err
    run_id = called.err.splitlines()[0].removeprefix("diagnose: run ")
    with SqliteStores("runs.db") as stores:
        record = stores.runs.load(run_id)
    assert record is not None
    assert record.run_state.name == "CANCELLED"


def test_ctrl_c_between_calls_cancels(
    log: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while the harness itself works ends the run at its next check."""
    started: list[threading.Thread] = []
    start = threading.Thread.start

    def at_once(thread: threading.Thread) -> None:
        start(thread)
        thread.join()
        started.append(thread)

    def press(*_arguments: object) -> None:
        if not started:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(threading.Thread, "start", at_once)
    monkeypatch.setattr("harness._cli._progress.Progress.send", press)
    called = call("diagnose", log, "--json")
    record = record_from_json(called.out)
    assert called.status == 130
    assert record.cancel_reason == "interrupted from the keyboard"


def test_json_is_the_record(log: Path, call: Call) -> None:
    """``--json`` prints the run record, from which it can be read again."""
    called = call("diagnose", log, "--json", "--question", "why?", "--context", "service=pay=ment")
    record = record_from_json(called.out)
    assert record.request.question == "why?"
    assert record.request.context == {"service": "pay=ment"}
    assert record.public is not None
    assert record.public.sources[0].source == "payment.log:2"


def test_a_window_is_told_to_the_agent(log: Path, call: Call) -> None:
    """``--since`` and ``--until`` are a part of what is known, and the playbook keeps to them."""
    window = ("--since", "2024-05-04 10:00:08", "--until", "2024-05-04 10:00:08")
    record = record_from_json(call("diagnose", log, "--json", *window).out)
    assert record.request.context["since"] == "2024-05-04 10:00:08"
    assert record.public is not None
    assert {source.source for source in record.public.sources} == {"payment.log:3"}


def test_a_deadline_ends_the_run(log: Path, call: Call) -> None:
    """A run that has no time left is timed out."""
    called = call("diagnose", log, "--deadline", "0")
    assert called.status == 4
    assert "run TIMED_OUT (DEADLINE_EXCEEDED), release FAILED" in called.err


def test_a_run_stays_in_the_database(log: Path, tmp_path: Path, call: Call) -> None:
    """With ``--db`` the run and its canonical records are there afterwards."""
    file = tmp_path / "runs.db"
    called = call("diagnose", log, "--db", file, "--json")
    record = record_from_json(called.out)
    with SqliteStores(file, create=False) as stores:
        stored = stores.runs.load(record.run_id)
        kept = stores.canonical.load(record.invocations[0].invocation_id)
    assert stored is not None
    assert stored.public == record.public
    assert kept is not None
    assert kept.invocation == record.invocations[0]
    assert called.err.endswith(f"explain {record.run_id} --db {file}\n")


def test_two_runs_share_a_database(log: Path, tmp_path: Path, call: Call) -> None:
    """A second diagnosis adds a run of its own."""
    file = tmp_path / "runs.db"
    assert call("diagnose", log, "--db", file).status == 0
    assert call("diagnose", log, "--db", file).status == 0


def test_several_files_are_read(log: Path, tmp_path: Path, call: Call) -> None:
    """Every file that is named is asked about."""
    other = tmp_path / "other.log"
    other.write_text(LOG.replace("pool exhausted", "disk full"))
    called = call("diagnose", log, other)
    assert called.status == 0
    assert "payment.log:2" in called.out
    assert "other.log:2" in called.out


def test_no_escape_of_a_log_reaches_the_terminal(tmp_path: Path, call: Call) -> None:
    """Escapes in a log are shown as text, in a report and in JSON."""
    file = tmp_path / "hostile.log"
    file.write_text(
        "2024-05-04 10:00:07 ERROR pool \x1b[2J\x1b]0;owned\x07 exhausted \x9b31m\n" * 3
    )
    for options in ([], ["--json"]):
        called = call("diagnose", file, *options)
        assert not set(called.out + called.err) & {"\x1b", "\x07", "\x9b", "\r"}
        assert "\\u001b[2J" in called.out


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "no such file"), (b"", "is empty"), (bytes(range(256)) * 9, "is binary")],
)
def test_a_file_that_is_no_log_is_refused(
    content: bytes | None, said: str, log: Path, tmp_path: Path, call: Call
) -> None:
    """What cannot be read is named before anything is run, the good file beside it too."""
    file = tmp_path / "wrong.log"
    if content is not None:
        file.write_bytes(content)
    called = call("diagnose", log, file)
    assert (called.status, called.out) == (2, "")
    assert called.err.startswith(f"harness: error: {file}: {said}")
    assert called.err.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--context", "service"], "--context is 'service'; allowed: NAME=VALUE"),
        (["--context", " =x"], "--context is ' =x'; allowed: NAME=VALUE"),
        (["--context", "a=1", "--context", "a=2"], "--context names 'a' twice"),
        (["--since", "now"], "since is 'now'; allowed: a date"),
        (["--context", "until=later"], "until is 'later'; allowed: a date"),
        (["--since", "2024-05-05", "--until", "2024-05-04"], "until is '2024-05-04'; allowed"),
        (["--since", "2024-05-05", "--context", "since=x"], "--since and --context since=..."),
        (["--deadline", "soon"], "--deadline: invalid float value: 'soon'"),
        (["--deadline", "nan"], "deadline is nan; allowed: a non-negative finite number"),
        (["--question", " "], "question is ' '; allowed: text that is not blank"),
        (["--agent", "agents"], "--agent is 'agents'; allowed: module:factory"),
        (["--db", "missing/runs.db"], "missing/runs.db: "),
        ([""], "LOGFILE is ''; allowed: the path of a file"),
    ],
)
def test_a_wrong_argument_is_named(options: list[str], said: str, log: Path, call: Call) -> None:
    """A wrong argument is named with its value and what is allowed; nothing is run."""
    called = call("diagnose", log, *options)
    assert (called.status, called.out) == (2, "")
    assert said in called.err
    assert called.err.count("\n") == 1


def test_a_broken_database_is_refused(log: Path, tmp_path: Path, call: Call) -> None:
    """A file that is no database is named, and left as it is."""
    file = tmp_path / "runs.db"
    file.write_text("this is no database " * 99)
    called = call("diagnose", log, "--db", file)
    assert (called.status, called.out) == (2, "")
    assert str(file) in called.err
    assert called.err.count("\n") == 1
    assert file.read_text() == "this is no database " * 99


def test_the_command_works_without_safe_streams(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A caller of the module alone gets progress that is escaped all the same."""
    parser = ArgumentParser()
    diagnose.add_arguments(parser)
    assert diagnose.run(parser.parse_args([str(log)])) == 0
    assert "diagnose: collecting" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["Apache", "Hadoop", "Linux", "OpenSSH", "OpenStack", "Zookeeper"])
def test_a_real_log_is_diagnosed(name: str, call: Call) -> None:
    """A report over a real log cites lines that are there, and that hold what is quoted."""
    file = _LOGHUB / f"{name}_2k.log"
    if not file.exists():
        pytest.skip("the public log files are not here")
    called = call("diagnose", file, "--json")
    record = record_from_json(called.out)
    assert called.status in {0, 3}
    lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
    sources = record.public.sources if record.public else ()
    for source in sources:
        number = int(source.source.rpartition(":")[2])
        line = lines[number - 1].rstrip("\r")
        assert line in source.text or source.text.startswith(f"{file.name}: "), json.dumps(number)

"""The command line as a whole: its commands, its help, and how it ends whatever happens."""

import io
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from harness.__main__ import COMMANDS, main
from tests.cli.conftest import Call


def _running(monkeypatch: pytest.MonkeyPatch, run: Callable[[object], int]) -> None:
    """Let ``graph`` do something else."""
    monkeypatch.setattr("harness._cli.graph.run", run)


def _raising(error: BaseException) -> Callable[[object], int]:
    def run(_namespace: object) -> int:
        raise error

    return run


class _Closed(io.StringIO):
    """A stream whose reader has gone."""

    def write(self, text: str) -> int:
        raise BrokenPipeError

    def flush(self) -> None:
        raise BrokenPipeError


def test_help_lists_every_command(call: Call) -> None:
    """The help names all commands in one screen."""
    called = call("--help")
    assert called.status == 0
    assert all(f"  {name} " in called.out for name, _, _ in COMMANDS)
    assert len(called.out.splitlines()) < 25


@pytest.mark.parametrize(("name", "module"), [command[:2] for command in COMMANDS])
def test_every_command_follows_the_convention(name: str, module: str) -> None:
    """A command is a module with ``add_arguments`` and ``run``."""
    command = import_module(module)
    assert callable(command.add_arguments), name
    assert callable(command.run), name


@pytest.mark.parametrize("name", [name for name, _, _ in COMMANDS])
def test_every_command_explains_itself(name: str, call: Call) -> None:
    """Each command has a help of its own."""
    called = call(name, "--help")
    assert called.status == 0
    assert f"usage: harness {name}" in called.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "required: COMMAND"),
        (["dagnose"], "invalid choice: 'dagnose'"),
        (["graph", "--nothing"], "unrecognized arguments: --nothing"),
        (["graph", "--nothing\x1b[31m"], "unrecognized arguments: --nothing\\u001b[31m"),
        (["graph", "--re", "x"], "unrecognized arguments: --re"),
        (["diagnose"], "required: LOGFILE"),
    ],
)
def test_wrong_usage_is_told_in_one_line(arguments: list[str], said: str, call: Call) -> None:
    """Wrong usage ends with status 2, one line on standard error and nothing on the other."""
    called = call(*arguments)
    assert (called.status, called.out) == (2, "")
    assert said in called.err
    assert called.err.count("\n") == 1


def test_arguments_default_to_those_of_the_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without arguments of its own it takes those of the process, and calls itself as started."""
    monkeypatch.setattr("sys.argv", ["/some/where/harness/__main__.py", "--help"])
    assert main() == 0
    assert "usage: python -m harness COMMAND" in capsys.readouterr().out


def test_options_may_stand_between_positional_arguments(call: Call) -> None:
    """Files are all files, whatever stands between them."""
    called = call("diagnose", "first", "--question", "why?", "second")
    assert "first: no such file; second: no such file" in called.err


def test_an_interrupt_ends_quietly(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C outside a run leaves status 130 and no traceback."""
    _running(monkeypatch, _raising(KeyboardInterrupt()))
    called = call("graph")
    assert (called.status, called.err) == (130, "")


@pytest.mark.parametrize(
    ("error", "said"),
    [(OSError(28, "No space left on device"), "No space left on device"), (OSError("odd"), "odd")],
)
def test_what_cannot_be_written_is_a_failure(
    error: OSError, said: str, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk behind the output is told in one line and is no success."""
    _running(monkeypatch, _raising(error))
    called = call("graph")
    assert (called.status, called.err) == (4, f"harness: error: {said}\n")


def test_a_closed_pipe_ends_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output that nobody reads any more ends the command without a word."""
    err = io.StringIO()
    monkeypatch.setattr(sys, "stdout", _Closed())
    monkeypatch.setattr(sys, "stderr", err)
    assert main(["graph"]) == 141
    assert err.getvalue() == ""


def test_a_closed_standard_error_changes_no_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A complaint that nobody reads is still the status of a complaint."""
    monkeypatch.setattr(sys, "stderr", _Closed())
    assert main(["nothing"]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_a_missing_stream_is_no_problem(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A shell can close a stream before the command starts; what goes there goes nowhere."""
    monkeypatch.setattr(sys, name, None)
    assert main(["graph"]) == 0
    assert getattr(sys, name) is None
    out = capsys.readouterr().out
    assert out.startswith("flowchart") if name == "stderr" else out == ""


def test_the_streams_are_put_back(call: Call) -> None:
    """A command leaves standard output and standard error as they were."""
    before: tuple[Any, Any] = (sys.stdout, sys.stderr)
    call("graph")
    assert (sys.stdout, sys.stderr) == before

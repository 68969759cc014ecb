"""Log files, and ways to call a command."""

from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import frozen

from harness.__main__ import main

LOG = """\
2024-05-04 10:00:01 INFO request served in 12 ms
2024-05-04 10:00:07 ERROR pool exhausted after 2000 ms
2024-05-04 10:00:08 ERROR pool exhausted after 2000 ms
2024-05-04 10:00:09 INFO request served in 14 ms
"""

# The endings of a run, reached by an agent that a user could have written.
AGENTS = """\
import os, signal, sys
from harness import AgentTurn, DiagnosisDraft, ToolCall
from harness.errors import RejectedError

def failing():
    def agent(view):
        raise RejectedError("the key is \\x1b[31mwrong")
    return agent

def empty():
    return lambda view: AgentTurn(draft=DiagnosisDraft(None))

def interrupted():
    def agent(view):
        if not view.records:
            return AgentTurn([ToolCall("logs", arguments={"view": "count"})])
        raise KeyboardInterrupt
    return agent

def leaving():
    return lambda view: sys.exit(5)

class Namespace:
    @staticmethod
    def make():
        return failing()

def broken():
    raise ValueError("no settings")

def number():
    return 7

def waiting():
    async def agent(view):
        pass
    return agent
"""


@frozen
class Called:
    """What a command left: its exit status and what it wrote."""

    status: int
    out: str
    err: str


Call = Callable[..., Called]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """Call the command line in this process."""
    monkeypatch.setattr("sys.argv", ["harness"])

    def called(*arguments: object) -> Called:
        capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Called(status, out, err)

    return called


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log file in which something goes wrong."""
    file = tmp_path / "payment.log"
    file.write_text(LOG)
    return file


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of agents beside the log, in the current directory."""
    (tmp_path / "some_agents.py").write_text(AGENTS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return "some_agents"

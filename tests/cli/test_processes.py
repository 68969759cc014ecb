"""The command line as real processes: start-up, pipes, signals, encodings."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

_COMMAND = [sys.executable, "-m", "harness"]


def _environment(**more: str) -> dict[str, str]:
    path = os.pathsep.join(path for path in sys.path if path)
    return {**os.environ, "PYTHONPATH": path, **more}


def _run(*arguments: object, **options: str) -> subprocess.CompletedProcess[bytes]:
    command = [*_COMMAND, *map(str, arguments)]
    return subprocess.run(command, env=_environment(**options), capture_output=True, check=False)


def test_a_log_is_diagnosed(log: Path) -> None:
    """The command is there as ``python -m harness``, and calls itself so."""
    done = _run("diagnose", log)
    assert done.returncode == 0
    assert b"payment.log:2" in done.stdout
    assert _run("nothing").stderr.startswith(b"python -m harness: error: ")


def test_help_loads_no_command() -> None:
    """Asking for help imports neither a command nor what only some commands need."""
    script = "import sys, harness.__main__ as m; m.main(['--help']); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", script],
        env=_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = done.stdout.splitlines()[-1].split()
    assert "harness._cli._terminal" in loaded
    assert not {"harness.demo", "harness.testing", "harness.logs", "cattrs"} & set(loaded)


def test_an_output_that_nobody_reads_ends_quietly(log: Path) -> None:
    """A reader that leaves at once gets no traceback and no complaint at exit."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*_COMMAND, "diagnose", str(log)],
        env=_environment(),
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert done.returncode == 141
    assert done.stderr.splitlines()[-1].startswith(b"diagnose: run SUCCESS")


def test_ascii_terminals_get_ascii(log: Path) -> None:
    """What the terminal's encoding lacks is escaped, not raised."""
    log.write_text("2024-05-04 10:00:07 ERROR Verbindung verloren: Überlauf 漢\n" * 2, "utf-8")
    done = _run("diagnose", log, PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert rb"\xdcberlauf" in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for a process")
def _interrupted(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Press Ctrl-C, and again: one that falls into the code that measures coverage is lost."""
    for _ in range(5):
        process.send_signal(signal.SIGINT)
        try:
            return process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            continue
    return process.communicate(timeout=10)


def test_ctrl_c_leaves_a_record_and_no_traceback(log: Path, tmp_path: Path) -> None:
    """A signal during a run ends it with 130, the run stored as cancelled."""
    (tmp_path / "slow_agent.py").write_text(
        "import sys, threading\n"
        "def make():\n"
        "    def agent(view):\n"
        "        print('waiting', file=sys.stderr, flush=True)\n"
        "        threading.Event().wait(60)\n"
        "    return agent\n"
    )
    process = subprocess.Popen(
        [*_COMMAND, "diagnose", str(log), "--agent", "slow_agent:make", "--db", "runs.db"],
        env=_environment(),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert process.stderr is not None
        lines: list[bytes] = []
        while not lines or lines[-1] != b"waiting\n":
            lines.append(process.stderr.readline())
        out, err = _interrupted(process)
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in err
    assert b"run CANCELLED (INTERRUPTED)" in err
    assert (tmp_path / "runs.db").exists()

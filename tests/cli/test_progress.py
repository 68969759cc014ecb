"""Progress: plain lines in a pipe, one live line on a terminal."""

import io

import pytest

from harness import EventKind, FrozenDict, StreamEvent, ToolCall
from harness._cli._progress import Progress
from harness._cli._terminal import SafeStream

_STATUS = StreamEvent(
    EventKind.STATUS, FrozenDict({"stage": "CHECKING_EVIDENCE", "turn": 2, "invocations": 3})
)
_DONE = StreamEvent(EventKind.DONE, FrozenDict({"outcome": "SUCCESS"}))


class _Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


class _Gone(io.StringIO):
    """A stream that nobody reads any more."""

    writes = 0

    def write(self, text: str) -> int:
        self.writes += 1
        raise BrokenPipeError


class _Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def _progress(stream: io.StringIO, clock: _Clock | None = None) -> Progress:
    return Progress(SafeStream(stream), "diagnose", clock=clock or _Clock())


def test_a_pipe_gets_a_line_for_each_stage() -> None:
    """Stage and counts stand in a plain line each; a tick and the end write nothing."""
    out = io.StringIO()
    progress = _progress(out)
    progress.send(StreamEvent(EventKind.METADATA, FrozenDict({"run_id": "r-1"})))
    progress.send(_STATUS)
    progress.tick()
    progress.send(_DONE)
    assert out.getvalue() == (
        "diagnose: run r-1\ndiagnose: checking evidence, turn 2, 3 invocations\n"
    )


def test_a_call_is_told_with_its_arguments() -> None:
    """Which call is made is told in one line, whatever its arguments are."""
    out = io.StringIO()
    progress = _progress(out)
    progress.asking(ToolCall("logs", arguments={"pattern": "a\nb\x1b"}))
    progress.asking(ToolCall("logs"))
    assert out.getvalue() == (
        "diagnose: asking logs: pattern=a b\\u001b\ndiagnose: asking logs: everything\n"
    )


def test_a_terminal_has_one_live_line() -> None:
    """On a terminal the stage takes the place of the one before, and is gone at the end."""
    out = _Terminal()
    progress = _progress(out)
    progress.send(_STATUS)
    progress.send(_DONE)
    progress.send(_DONE)
    assert out.getvalue() == (
        "\rdiagnose: 0.0 s, checking evidence, turn 2, 3 invocations\x1b[K\r\x1b[K"
    )


def test_a_line_that_stays_does_not_mix_with_the_live_one() -> None:
    """The live line is taken away before a line that stays is written."""
    out = _Terminal()
    progress = _progress(out)
    progress.send(_STATUS)
    progress.say("done")
    assert out.getvalue().endswith("\r\x1b[Kdiagnose: done\n")


def test_a_long_call_shows_that_it_goes_on() -> None:
    """Ticks redraw the live line with the seconds, no more than five times a second."""
    out, clock = _Terminal(), _Clock()
    progress = _progress(out, clock)
    progress.asking(ToolCall("logs"))
    for now in (0.1, 0.3, 0.4, 12.0):
        clock.now = now
        progress.tick()
    seconds = [line.split(", ")[0] for line in out.getvalue().split("\x1b[K")[:-1]]
    assert seconds == [f"\rdiagnose: {at} s" for at in ("0.0", "0.3", "12.0")]


@pytest.mark.parametrize("event", [_STATUS, _DONE])
def test_a_closed_terminal_does_not_end_a_run(event: StreamEvent) -> None:
    """A client that raises is taken for gone and cancels the run; progress never raises."""
    gone = _Gone()
    progress = _progress(gone)
    progress.send(_STATUS)
    progress.send(event)
    progress.say("done")
    assert gone.writes == (3 if event is _STATUS else 2)

"""Ctrl-C during a run."""

import signal
import threading
from typing import Any

import pytest

from harness import AgentView
from harness._cli._interrupt import Interrupt


def _press() -> None:
    signal.raise_signal(signal.SIGINT)


def test_inside_a_host_function_it_raises() -> None:
    """A call that waits ends at once, and the run's token is left alone."""
    with Interrupt() as interrupt:
        with pytest.raises(KeyboardInterrupt):
            interrupt.around(_press)()
        assert not interrupt.token.is_cancelled


def test_outside_it_cancels_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the harness does itself is not torn: the run ends at its next check."""
    started: list[threading.Thread] = []
    start = threading.Thread.start

    def remember(thread: threading.Thread) -> None:
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", remember)
    with Interrupt() as interrupt:
        _press()
        started[0].join()
    assert interrupt.token.is_cancelled
    assert interrupt.token.reason == "interrupted from the keyboard"


def test_behind_a_host_function_it_is_outside_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that ended, well or not, is not interrupted any more."""
    monkeypatch.setattr(threading.Thread, "start", lambda _thread: None)

    def fail() -> None:
        raise ValueError("broken")

    with Interrupt() as interrupt:
        with pytest.raises(ValueError, match="broken"):
            interrupt.around(fail)()
        _press()
        assert not interrupt.token.is_cancelled


def test_the_handler_before_is_put_back() -> None:
    """Behind the run Ctrl-C does what it did before."""
    before = signal.getsignal(signal.SIGINT)
    with Interrupt():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_another_thread_listens_to_nothing() -> None:
    """Signals belong to the main thread; a run on another one goes without."""
    handlers: list[Any] = []

    def enter() -> None:
        with Interrupt():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert handlers == [signal.getsignal(signal.SIGINT)]


def test_a_function_keeps_its_face() -> None:
    """A harness still sees how many arguments the function takes."""

    def agent(view: AgentView) -> None:
        """An agent."""

    assert Interrupt().around(agent).__doc__ == "An agent."

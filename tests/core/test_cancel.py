"""A caller's token cancels its runs from any thread (section 3.1)."""

from __future__ import annotations

from threading import Barrier, Thread
from typing import Any

import pytest

from harness import CancelToken
from harness.errors import InvalidArgumentError


def _listener(heard: list[str], *, accepts: bool = True) -> Any:
    def hear(reason: str) -> bool:
        heard.append(reason)
        return accepts

    return hear


def test_a_fresh_token() -> None:
    """A token that nobody cancelled says so."""
    token = CancelToken()
    assert (token.is_cancelled, token.reason) == (False, "")


def test_cancelling_once() -> None:
    """The first cancel takes effect with its reason; later ones do nothing."""
    token = CancelToken()
    assert token.cancel("enough")
    assert not token.cancel("again")
    assert (token.is_cancelled, token.reason) == (True, "enough")


@pytest.mark.parametrize(
    ("accepts", "took_effect"), [((True,), True), ((False,), False), ((False, True), True)]
)
def test_every_run_is_told(accepts: tuple[bool, ...], took_effect: bool) -> None:
    """Every listening run is told, and the caller whether one of them was still active."""
    token, heard = CancelToken(), list[str]()
    for key, accepted in enumerate(accepts):
        token._join(key, _listener(heard, accepts=accepted))
    assert token.cancel("stop") is took_effect
    assert heard == ["stop"] * len(accepts)


def test_a_run_that_comes_later() -> None:
    """A run that is given a cancelled token is told at once."""
    token, heard = CancelToken(), list[str]()
    token.cancel("stop")
    token._join(1, _listener(heard))
    assert heard == ["stop"]


def test_a_run_that_has_left() -> None:
    """A run that has ended is told nothing, and cancelling is reported as lost."""
    token, heard = CancelToken(), list[str]()
    token._join(1, _listener(heard))
    token._leave(1)
    token._leave(1)
    assert not token.cancel()
    assert heard == []


@pytest.mark.parametrize("reason", [5, None, b"x"])
def test_a_reason_is_text(reason: Any) -> None:
    """A reason that is no text is refused, and nothing is cancelled."""
    token = CancelToken()
    with pytest.raises(InvalidArgumentError, match=r"^reason is .*; allowed: text"):
        token.cancel(reason)
    assert not token.is_cancelled


@pytest.mark.parametrize(
    ("reason", "kept"), [("x" * 900, "x" * 500), ("a\ud800", "a\ufffd"), ("", "")]
)
def test_a_reason_is_bounded(reason: str, kept: str) -> None:
    """A reason is bounded and repaired before a record keeps it."""
    token = CancelToken()
    token.cancel(reason)
    assert token.reason == kept


def test_threads() -> None:
    """Of many threads that cancel at once, one takes effect, and the run is told once."""
    token, heard, barrier = CancelToken(), list[str](), Barrier(16)
    token._join(1, _listener(heard))
    won: list[bool] = []

    def cancel() -> None:
        barrier.wait()
        won.append(token.cancel("stop"))

    threads = [Thread(target=cancel) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False] * 15 + [True]
    assert heard == ["stop"]

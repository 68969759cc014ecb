"""
A scenario through the asynchronous driver: every scripted call suspends before it answers.

Steps are shielded from aborts and tools run one at a time, so that every observed key is the one
of the synchronous driver.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from typing import Any

from harness._aio import AsyncHarness, run_in_loop
from harness._cancel import CancelToken
from harness._records import RunRecord
from harness._values import Request

__all__ = ["execute", "suspending", "suspending_harness"]

_PORTS = ("router", "responder", "repairer", "semantic_guard", "canonical_store", "run_store")
_METHODS = frozenset(
    {"save", "load", "begin", "finish", "mark_delivered", "execute", "project", "send"}
)


def execute(
    parts: Mapping[str, Any], request: Request, cancel: CancelToken, client: object
) -> RunRecord:
    """
    Execute a run in a loop of its own.

    Args:
        parts: The arguments of a harness, with plain host objects.
        request: What is asked.
        cancel: The caller's token.
        client: A plain client.

    Returns:
        The record that stands.
    """
    harness, sink = suspending_harness(parts), suspending(client)
    record, _interrupt = run_in_loop(
        lambda: harness._execute(request, cancel=cancel, client=sink)  # noqa: SLF001  as its sync twin
    )
    return record


def suspending_harness(parts: Mapping[str, Any]) -> AsyncHarness:
    """
    Make an asynchronous harness whose host objects suspend at every call.

    Args:
        parts: The arguments of a harness, with plain host objects.
    """
    ports = {name: suspending(parts[name]) for name in _PORTS}
    agent, tools = suspending(parts["agent"]), [suspending(tool) for tool in parts["tools"]]
    return AsyncHarness(**{**parts, **ports, "agent": agent, "tools": tools}, max_parallel_tools=1)


def suspending(host: Any) -> Any:
    """
    Make a plain host object or function one whose calls suspend.
    """
    if host is None:
        return None
    return _later(host) if callable(host) else _Suspending(host)


class _Suspending:
    """
    A host object whose port methods suspend.
    """

    def __init__(self, host: Any) -> None:
        self._host = host

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._host, name)
        return _later(value) if name in _METHODS else value


def _later(function: Callable[..., Any]) -> Callable[..., Any]:
    """
    Play a step at once, and answer one turn of the loop later.
    """

    def call(*arguments: Any) -> Any:
        try:
            return _answered(function(*arguments))
        except StopIteration:
            # no coroutine can raise it
            raise
        except BaseException as error:  # noqa: BLE001  raised when the answer is awaited
            return _raised(error)

    return call


async def _answered(value: Any) -> Any:
    await _Turn()
    return value


async def _raised(error: BaseException) -> None:
    await _Turn()
    raise error


class _Turn:
    """
    One turn of the loop, which nothing cuts short.
    """

    def __await__(self) -> Generator[None, None, None]:
        with suppress(BaseException):
            yield

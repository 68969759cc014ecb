"""Plain host objects that block, pushed to threads so that the loop goes on meanwhile."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Final, TypeVar, cast

from harness._aio._engine import in_trio
from harness._setup import is_asynchronous
from harness.errors import InvalidArgumentError

__all__ = ["in_threads"]

T = TypeVar("T")

#: The methods of the ports that a harness calls.
_METHODS: Final = frozenset(
    {
        "begin",
        "execute",
        "finish",
        "judge",
        "load",
        "mark_delivered",
        "next_turn",
        "project",
        "repair",
        "reply",
        "route",
        "save",
        "send",
    }
)
_END: Final = object()


def in_threads(host: T) -> T:
    """
    Have an :class:`AsyncHarness` call a plain host object in threads of the loop's.

    For what blocks: a database driver, an HTTP client without ``async``. Everything else of the
    object stays as it is. A thread cannot be aborted: where the run ends first, the call finishes
    by itself, its result is late and used for nothing.

    Args:
        host: A plain function, tool, store or other host object; safe for several threads.

    Returns:
        The same to a harness, with asynchronous methods.

    Raises:
        InvalidArgumentError: It is a class, asynchronous, or nothing that a harness could call.
    """
    if inspect.isroutine(host) and not is_asynchronous(host):
        return cast("T", _pushed(host))
    usable = callable(host) or _METHODS.intersection(dir(host))
    if isinstance(host, type) or inspect.isroutine(host) or not usable:
        raise InvalidArgumentError("host", host, "a plain function, or an object with port methods")
    return cast("T", _InThreads(host))


class _InThreads:
    """
    A host object whose port methods run in threads.
    """

    def __init__(self, host: Any) -> None:
        self._host = host
        # whoever asks for the signature gets the host's
        self.__wrapped__ = host

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._host, name)
        plain = name in _METHODS and callable(value) and not is_asynchronous(value)
        return _pushed(value) if plain else value

    def __call__(self, *arguments: Any) -> Any:
        return _pushed(self._host)(*arguments)

    def __repr__(self) -> str:
        return f"in_threads({self._host!r})"


def _pushed(function: Callable[..., Any]) -> Callable[..., Any]:
    """
    Make a plain function one that runs in a thread.
    """

    async def call(*arguments: Any, **named: Any) -> Any:
        value = await _in_thread(function, *arguments, **named)
        return _pulled(value) if isinstance(value, Iterator) else value

    functools.update_wrapper(call, function)
    return call


async def _in_thread(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """
    Call in a thread; what is raised there is raised here, whatever it is.
    """

    def settled() -> tuple[Any, BaseException | None]:
        # no future can carry StopIteration
        try:
            return function(*arguments, **named), None
        except BaseException as error:  # noqa: BLE001  raised again by the caller's task
            return None, error

    if in_trio():
        # only here: whoever runs asyncio needs no trio
        from harness._aio._trio import to_thread  # noqa: PLC0415

        value, error = await to_thread(settled)
    else:
        value, error = await asyncio.to_thread(settled)
    if error is not None:
        raise error
    return value


async def _pulled(items: Iterator[Any]) -> AsyncIterator[Any]:
    """
    Pull a generator's items in a thread: its body is what blocks.
    """
    while (item := await _in_thread(next, items, _END)) is not _END:
        yield item

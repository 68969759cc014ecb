"""What a host hands to a harness, checked and looked up once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, TypeVar

from harness._json import clean_text
from harness._limits import Limits
from harness._release import ReleasePolicy
from harness._run import Backoff, Setup, ToolSpec
from harness._states import OnDisconnect, ProgressMode
from harness._tools import FunctionTool, Parameter
from harness._values import clean_names
from harness._view import ToolInfo
from harness.errors import AwaitableResultError, InvalidArgumentError, MalformedOutputError

__all__ = ["build_setup", "has_methods", "is_asynchronous", "member"]

E = TypeVar("E", bound=Enum)

_CANONICAL_METHODS = ("save", "load")
_RUN_METHODS = ("begin", "finish", "mark_delivered", "load")


def build_setup(  # noqa: PLR0913  one parameter a port
    *,
    agent: object,
    tools: object,
    router: object,
    responder: object,
    repairer: object,
    semantic_guard: object,
    canonical_store: object,
    run_store: object,
    limits: object,
    progress: object,
    required_context: object,
    policy: object,
    on_disconnect: object,
    backoff: object,
    max_parallel_tools: int = 1,
    allow_async: bool = False,
) -> Setup:
    """
    Check everything a host hands to a harness.

    Raises:
        InvalidArgumentError: An argument is something else; names it and what is allowed.
        AwaitableResultError: A host object is asynchronous and the driver is not.
    """
    look_up = _Lookup(allow_async=allow_async)
    specs, infos = look_up.tools(tools)
    return Setup(
        agent=look_up.function("agent", agent, "next_turn"),
        tools=specs,
        tool_infos=infos,
        router=look_up.optional("router", router, "route"),
        responder=look_up.optional("responder", responder, "reply"),
        repairer=look_up.optional("repairer", repairer, "repair"),
        guard=look_up.function("semantic_guard", semantic_guard, "judge"),
        canonical_store=look_up.store("canonical_store", canonical_store, _CANONICAL_METHODS),
        run_store=look_up.store("run_store", run_store, _RUN_METHODS),
        limits=_instance("limits", limits, Limits),
        progress=member("progress", progress, ProgressMode),
        required_context=_names(required_context),
        policy=_instance("policy", policy, ReleasePolicy),
        on_disconnect=member("on_disconnect", on_disconnect, OnDisconnect),
        backoff=_backoff(backoff),
        max_parallel_tools=_parallel(max_parallel_tools, allow_async=allow_async),
    )


def member(name: str, value: object, kind: type[E]) -> E:
    """
    Accept a member of an enum, or its name.

    Raises:
        InvalidArgumentError: It is neither.
    """
    if isinstance(value, kind):
        return value
    if isinstance(value, str) and value in kind.__members__:
        return kind[value]
    raise InvalidArgumentError(name, value, " or ".join(kind.__members__))


def has_methods(value: object, methods: Iterable[str]) -> bool:
    """
    Whether an object has all these methods.
    """
    return all(callable(getattr(value, method, None)) for method in methods)


def _instance(name: str, value: object, kind: type[Any]) -> Any:
    if isinstance(value, kind):
        return value
    raise InvalidArgumentError(name, value, f"a {kind.__name__}")


def _names(value: object) -> tuple[str, ...]:
    try:
        return clean_names(value, "required_context")
    except MalformedOutputError as error:
        raise InvalidArgumentError("required_context", value, error.allowed) from None


def _backoff(value: object) -> Backoff | None:
    if value is None:
        return None
    if callable(value):
        function: Callable[..., Any] = value
        return function
    raise InvalidArgumentError("backoff", value, "a function (component, number) -> seconds")


def is_asynchronous(function: object) -> bool:
    """
    Whether calling a function gives something that must be awaited.
    """
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def _parallel(value: object, *, allow_async: bool) -> int:
    if type(value) is int and value >= 1 and (allow_async or value == 1):
        return value
    allowed = "a whole number from 1" if allow_async else "1; an AsyncHarness runs tools together"
    raise InvalidArgumentError("max_parallel_tools", value, allowed)


class _Lookup:
    """
    Looks up the one function of each host object.
    """

    def __init__(self, *, allow_async: bool) -> None:
        self._allow_async = allow_async

    def optional(self, role: str, target: object, method: str) -> Callable[..., Any] | None:
        """
        Look up a function that need not be there.
        """
        return None if target is None else self.function(role, target, method)

    def function(self, role: str, target: object, method: str) -> Callable[..., Any]:
        """
        Look up an object's method, or take the function itself.
        """
        bound = None if isinstance(target, type) else getattr(target, method, None)
        function = bound if callable(bound) else target
        if not callable(function) or isinstance(target, type):
            allowed = f"an object with {method}, or a function"
            raise InvalidArgumentError(role, target, allowed)
        self.check_plain(role, function)
        return _with_attempt(role, function)

    def check_plain(self, role: str, function: object) -> None:
        """
        Refuse an asynchronous function where the driver cannot await it.
        """
        inner = getattr(function, "function", function)
        called = getattr(inner, "__call__", inner)  # noqa: B004  an object may be callable
        if not self._allow_async and any(map(is_asynchronous, (inner, called))):
            raise AwaitableResultError(role)

    def store(self, name: str, store: Any, methods: tuple[str, ...]) -> Any:
        """
        Accept a store that has these methods.
        """
        if not has_methods(store, methods) or isinstance(store, type):
            raise InvalidArgumentError(name, store, f"an object with {', '.join(methods)}")
        for method in methods:
            self.check_plain(name, getattr(store, method))
        return store

    def tools(self, tools: object) -> tuple[Mapping[str, ToolSpec], tuple[ToolInfo, ...]]:
        """
        Look up tools; a plain typed function becomes one.
        """
        if isinstance(tools, (str, Mapping)) or not isinstance(tools, Iterable):
            raise InvalidArgumentError("tools", tools, "an iterable of tools")
        specs: dict[str, ToolSpec] = {}
        infos: list[ToolInfo] = []
        for given in tools:
            spec, info = self._tool(given)
            if spec.name in specs:
                raise InvalidArgumentError("tools", spec.name, "tools with different names")
            specs[spec.name] = spec
            infos.append(info)
        return MappingProxyType(specs), tuple(infos)

    def _tool(self, given: Any) -> tuple[ToolSpec, ToolInfo]:
        tool = given
        if not has_methods(given, ("execute",)) or isinstance(given, type):
            if not inspect.isroutine(given):
                allowed = "tools with name, description, parameters and execute, or functions"
                raise InvalidArgumentError("tools", given, allowed)
            tool = FunctionTool(given)
        name = clean_text(_tool_text(tool, "name"))
        if not name.strip():
            raise InvalidArgumentError("tool.name", name, "text that is not blank")
        parameters = _parameters(name, getattr(tool, "parameters", None))
        self.check_plain(f"tool {name!r}", tool.execute)
        self.check_plain(f"tool {name!r}", tool)
        project = _projector(name, getattr(tool, "project", None))
        self.check_plain(f"tool {name!r}.project", project)
        spec = ToolSpec(name, parameters, _with_attempt(f"tool {name!r}", tool.execute), project)
        description = clean_text(_tool_text(tool, "description"))
        return spec, ToolInfo(name, description, parameters)


def _projector(name: str, value: Any) -> Callable[..., Any] | None:
    if value is None:
        return None
    if callable(value):
        method: Callable[..., Any] = value
        return method
    raise InvalidArgumentError(f"tool {name!r}.project", value, "a method, or None")


def _tool_text(tool: object, attribute: str) -> str:
    value = getattr(tool, attribute, "")
    if isinstance(value, str):
        return value
    raise InvalidArgumentError(f"tool.{attribute}", value, "text")


def _parameters(name: str, parameters: Any) -> Mapping[str, Parameter] | None:
    if parameters is None:
        return None
    allowed = "a mapping of names to Parameter, or None"
    if not isinstance(parameters, Mapping):
        raise InvalidArgumentError(f"tool {name!r}.parameters", parameters, allowed)
    for key, parameter in parameters.items():
        if not isinstance(key, str) or not isinstance(parameter, Parameter):
            raise InvalidArgumentError(f"tool {name!r}.parameters", {key: parameter}, allowed)
    return MappingProxyType(dict(parameters))


def _with_attempt(role: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """
    Let a function that takes only its argument be called with the attempt as well.

    Raises:
        InvalidArgumentError: It takes neither one argument nor two.
    """
    if _takes(function, 2):
        return function
    if not _takes(function, 1):
        allowed = "a function of one argument, or of it and the attempt"
        raise InvalidArgumentError(role, function, allowed)
    if inspect.iscoroutinefunction(function):

        async def call_async(argument: object, _attempt: object) -> object:
            result: object = await function(argument)
            return result

        return call_async

    def call(argument: object, _attempt: object) -> object:
        result: object = function(argument)
        return result

    return call


def _takes(function: Callable[..., Any], count: int) -> bool:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        # not to be read, as some builtins: only calling it tells
        return True
    try:
        signature.bind(*[None] * count)
    except TypeError:
        return False
    return True

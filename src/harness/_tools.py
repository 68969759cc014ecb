"""A typed function as a tool: its parameters are checked before it is called (section 3.5)."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, Union, overload

from attrs import field, frozen

from harness._seam import Attempt
from harness._values import Fact, ToolCall
from harness.errors import InvalidArgumentError

__all__ = ["FunctionTool", "Parameter", "check_arguments", "tool"]

#: The kinds of JSON values that a parameter may accept.
KINDS: Final = ("str", "int", "float", "bool", "list", "dict", "null")
_KIND_OF_TYPE: Final = MappingProxyType(
    {str: "str", int: "int", float: "float", bool: "bool", list: "list", dict: "dict"}
)


def _kinds(value: object) -> tuple[str, ...]:
    allowed = f"at least one of {', '.join(KINDS)}, as a tuple"
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidArgumentError("kinds", value, allowed)
    kinds = tuple(value)
    for kind in kinds or (None,):
        if kind not in KINDS:
            raise InvalidArgumentError("kinds", kind, allowed)
    return kinds


def _choices(value: object) -> tuple[Any, ...]:
    if isinstance(value, (list, tuple)):
        return tuple(value)
    raise InvalidArgumentError("choices", value, "a tuple of values")


@frozen
class Parameter:
    """
    One declared parameter of a tool.

    Attributes:
        kinds: The kinds of JSON values it accepts: ``str``, ``int``, ``float`` (accepts whole
            numbers too), ``bool``, ``list``, ``dict``, ``null``.
        required: Whether a call must give it.
        choices: The only values it accepts; empty accepts every value of its kinds.

    Raises:
        InvalidArgumentError: A kind is unknown, or there is none.
    """

    kinds: tuple[str, ...] = field(converter=_kinds)
    required: bool = True
    choices: tuple[Any, ...] = field(default=(), converter=_choices)

    def refuses(self, value: object) -> str | None:
        """
        Say what is wrong with a value; ``None`` where it is accepted.
        """
        kind = _kind(value)
        if kind not in self.kinds and not (kind == "int" and "float" in self.kinds):
            return f"is {kind}, allowed: {' or '.join(self.kinds)}"
        if self.choices and not any(value == c and type(value) is type(c) for c in self.choices):
            return f"is none of {list(self.choices)!r:.200}"
        return None


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "dict"
    if isinstance(value, (list, tuple)):
        return "list"
    return type(value).__name__


def check_arguments(
    parameters: Mapping[str, Parameter] | None, arguments: Mapping[str, Any]
) -> str | None:
    """
    Check a call's arguments against declared parameters.

    Args:
        parameters: The declared parameters; ``None`` accepts any.
        arguments: The arguments.

    Returns:
        What is wrong, or ``None``.
    """
    if parameters is None:
        return None
    for name in arguments:
        if name not in parameters:
            return f"unknown argument {name!r:.80}"
    for name, parameter in parameters.items():
        if name in arguments:
            wrong = parameter.refuses(arguments[name])
            if wrong is not None:
                return f"argument {name!r} {wrong}"
        elif parameter.required:
            return f"argument {name!r} is missing"
    return None


class FunctionTool:
    """
    A tool made of a typed function, by :func:`tool`.

    Attributes:
        name: The tool's name.
        description: The first paragraph of the function's docstring.
        parameters: From the annotations.
        function: The function itself.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        project: Callable[[Any], Iterable[Fact | str]] | None = None,
    ) -> None:
        if not callable(function):
            raise InvalidArgumentError("function", function, "a function with annotations")
        self.function = function
        given: object = name or getattr(function, "__name__", "")
        if not isinstance(given, str) or not given:
            raise InvalidArgumentError("name", given, "text that is not empty")
        self.name: str = given
        summary = (inspect.getdoc(function) or "").partition("\n\n")[0]
        self.description: str = " ".join(summary.split()) if description is None else description
        declared = _declared(function)
        self.parameters: Mapping[str, Parameter] | None = declared[0]
        self._attempt_name = declared[1]
        #: Projects the raw value where the tool has a projector of its own, else ``None``.
        self.project = project

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """
        Call the function itself, unchecked.
        """
        return self.function(*args, **kwargs)

    def execute(self, call: ToolCall, attempt: Attempt) -> object:
        """
        Call the function with a private copy of the call's arguments.

        Args:
            call: The call, its arguments already checked.
            attempt: Handed to a parameter annotated :class:`Attempt`.

        Returns:
            What the function returns.
        """
        arguments = call.arguments.thaw()
        if self._attempt_name is not None:
            arguments[self._attempt_name] = attempt
        result: object = self.function(**arguments)
        return result

    def __repr__(self) -> str:
        return f"FunctionTool({self.name!r})"


@overload
def tool(function: Callable[..., Any], /) -> FunctionTool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    project: Callable[[Any], Iterable[Fact | str]] | None = None,
) -> Callable[[Callable[..., Any]], FunctionTool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    project: Callable[[Any], Iterable[Fact | str]] | None = None,
) -> FunctionTool | Callable[[Callable[..., Any]], FunctionTool]:
    """
    Turn a typed function into a tool, as ``@tool`` or ``@tool(name=...)``.

    Its annotations declare the parameters, which are checked before it is called. It returns
    text, a :class:`Fact`, an iterable of them, or nothing; what it raises is a tool error.

    Args:
        function: The function.
        name: The tool's name; default: the function's.
        description: What it does; default: the first paragraph of its docstring.
        project: Turns any other returned value into facts.

    Returns:
        The tool, or a decorator.

    Raises:
        InvalidArgumentError: A parameter has no annotation, or one that JSON cannot carry.
    """

    def decorate(target: Callable[..., Any]) -> FunctionTool:
        return FunctionTool(target, name=name, description=description, project=project)

    return decorate if function is None else decorate(function)


def _declared(
    function: Callable[..., Any],
) -> tuple[Mapping[str, Parameter], str | None]:
    """
    Read the parameters off a function's annotations.
    """
    hints = _hints(function)
    parameters: dict[str, Parameter] = {}
    attempt_name: str | None = None
    for name, parameter in _signature(function).parameters.items():
        where = f"{getattr(function, '__name__', function)}({name})"
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise InvalidArgumentError(where, str(parameter), "a parameter that can be named")
        if hints.get(name) is Attempt:
            attempt_name = name
            continue
        required = parameter.default is inspect.Parameter.empty
        parameters[name] = _parameter(hints.get(name), where, required=required)
    return MappingProxyType(parameters), attempt_name


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except ValueError as error:
        where = getattr(function, "__name__", "function")
        raise InvalidArgumentError(where, str(error), "parameters that can be read") from error


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except (NameError, TypeError) as error:
        where = getattr(function, "__name__", "function")
        raise InvalidArgumentError(where, str(error), "annotations that can be resolved") from error


def _parameter(hint: object, where: str, *, required: bool) -> Parameter:
    """
    Turn one annotation into a parameter.
    """
    union = typing.get_origin(hint) in (Union, types.UnionType)
    parts = typing.get_args(hint) if union else (hint,)
    choices = _literal_choices(parts)
    if choices:
        kinds = tuple(dict.fromkeys(_kind(choice) for choice in choices))
        if set(kinds) <= set(KINDS):
            return Parameter(kinds, required=required, choices=choices)
    of_parts = [_kind_of_hint(part) for part in parts]
    if not all(of_parts):
        allowed = "str, int, float, bool, list, dict, None, a union of them, Literal, or Any"
        raise InvalidArgumentError(where, hint, allowed)
    kinds = tuple(dict.fromkeys(kind for of_part in of_parts for kind in of_part))
    return Parameter(kinds, required=required)


def _literal_choices(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """
    Give the choices of a ``Literal``, alone or beside ``None``; empty where it is anything else.
    """
    literals = [part for part in parts if typing.get_origin(part) is Literal]
    others = [part for part in parts if part not in literals]
    if not literals or any(part is not type(None) for part in others):
        return ()
    choices = [choice for part in literals for choice in typing.get_args(part)]
    return (*choices, None) if others else tuple(choices)


def _kind_of_hint(hint: object) -> tuple[str, ...]:
    if hint is Any:
        return KINDS
    if hint is type(None):
        return ("null",)
    plain: Any = typing.get_origin(hint) or hint
    kind = _KIND_OF_TYPE.get(plain)
    return () if kind is None else (kind,)

"""A typed function as a tool: its parameters are checked before it is called (section 3.5)."""

from __future__ import annotations

import functools
from decimal import Decimal
from itertools import product
from typing import Annotated, Any, Literal, Optional, Union

import pytest

from harness import Attempt, Component, Fact, FunctionTool, Parameter, ToolCall, tool
from harness._lifecycle import Lifecycle
from harness._tools import check_arguments
from harness.errors import InvalidArgumentError

KINDS = ("str", "int", "float", "bool", "list", "dict", "null")

# A value of each kind.
VALUES = {
    "str": "x",
    "int": 1,
    "float": 1.5,
    "bool": True,
    "list": [1],
    "dict": {"a": 1},
    "null": None,
}


def _attempt() -> Attempt:
    return Attempt(Component.TOOL, 1, Lifecycle(None), lambda: 0.0)


# --- parameters


@pytest.mark.parametrize(("kind", "given"), list(product(KINDS, VALUES)))
def test_kinds(kind: str, given: str) -> None:
    """A parameter accepts the values of its kind, and whole numbers as floats; nothing else."""
    accepted = kind == given or (kind, given) == ("float", "int")
    refused = Parameter((kind,)).refuses(VALUES[given])
    assert refused == (None if accepted else f"is {given}, allowed: {kind}")


def test_several_kinds() -> None:
    """A parameter may accept several kinds; a tuple is a list."""
    parameter = Parameter(("str", "list"))
    assert parameter.refuses("x") is parameter.refuses((1, 2)) is None
    assert parameter.refuses(1) == "is int, allowed: str or list"


@pytest.mark.parametrize(
    ("value", "accepted"), [("a", True), (1, True), ("b", False), (True, False)]
)
def test_choices(value: Any, accepted: bool) -> None:
    """Choices are compared with their types: 1 is not True."""
    parameter = Parameter(("str", "int", "bool"), choices=["a", 1])
    assert parameter.refuses(value) == (None if accepted else "is none of ['a', 1]")


@pytest.mark.parametrize("kinds", ["str", 5, None, (), ("text",), ("str", 5)])
def test_bad_kinds(kinds: Any) -> None:
    """Kinds are a tuple of known ones, at least one."""
    with pytest.raises(InvalidArgumentError, match=r"^kinds is .*; allowed: at least one of str"):
        Parameter(kinds)


@pytest.mark.parametrize("choices", ["ab", 5, {"a"}, None])
def test_bad_choices(choices: Any) -> None:
    """Choices have an order."""
    with pytest.raises(InvalidArgumentError, match=r"^choices is "):
        Parameter(("str",), choices=choices)


PARAMETERS = {"q": Parameter(("str",)), "n": Parameter(("int",), required=False)}


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ({"q": "x"}, None),
        ({"q": "x", "n": 1}, None),
        ({"q": 1}, "argument 'q' is int, allowed: str"),
        ({"q": "x", "n": "1"}, "argument 'n' is str, allowed: int"),
        ({}, "argument 'q' is missing"),
        ({"n": 1}, "argument 'q' is missing"),
        ({"q": "x", "Q": "x"}, "unknown argument 'Q'"),
        ({"x" * 200: 1}, f"unknown argument '{'x' * 79}"),
    ],
)
def test_arguments(arguments: dict[str, Any], wrong: str | None) -> None:
    """Arguments are checked by name and kind; what is wrong is said, bounded."""
    assert check_arguments(PARAMETERS, arguments) == wrong


def test_undeclared_parameters() -> None:
    """A tool without declared parameters accepts any; one with none accepts none."""
    assert check_arguments(None, {"anything": object()}) is None
    assert check_arguments({}, {}) is None
    assert check_arguments({}, {"a": 1}) == "unknown argument 'a'"


# --- functions


def search(query: str, limit: int = 5, *, deep: bool = False) -> list[str]:
    """
    Search the logs
    of a service.

    Details that no agent needs.
    """  # noqa: D205  as users write
    return [query] * limit if deep else []


def test_a_function_tool() -> None:
    """Name, description and parameters are those of the function, which stays callable."""
    made = tool(search)
    assert (made.name, made.description) == ("search", "Search the logs of a service.")
    assert made.parameters == {
        "query": Parameter(("str",)),
        "limit": Parameter(("int",), required=False),
        "deep": Parameter(("bool",), required=False),
    }
    assert made("x", 2, deep=True) == ["x", "x"]
    assert repr(made) == "FunctionTool('search')"
    assert made.project is None


def test_a_decorator_with_arguments() -> None:
    """Name, description and projector may be given."""

    @tool(name="logs", description="All of it.", project=lambda raw: [raw["x"]])
    def whatever() -> dict[str, str]:
        return {"x": "y"}

    assert isinstance(whatever, FunctionTool)
    assert (whatever.name, whatever.description) == ("logs", "All of it.")
    assert whatever.project is not None
    assert whatever.project({"x": "y"}) == ["y"]


def test_no_description() -> None:
    """A function without a docstring has an empty description."""
    assert tool(lambda: None).description == ""


def test_executing() -> None:
    """The function gets a private copy of the call's arguments."""
    seen: list[Any] = []

    @tool
    def keep(window: dict[str, Any]) -> Fact:
        window["changed"] = True
        seen.append(window)
        return Fact("x")

    call = ToolCall("keep", None, {"window": {"hosts": ["a"]}})
    assert keep.execute(call, _attempt()) == Fact("x")
    assert seen == [{"hosts": ["a"], "changed": True}]
    assert call.arguments == {"window": {"hosts": ("a",)}}


def test_a_function_that_asks_for_its_attempt() -> None:
    """A parameter annotated with Attempt gets the attempt and is no argument of calls."""

    @tool
    def look(q: str, attempt: Attempt) -> str:
        return f"{q}{attempt.number}"

    assert set(look.parameters or ()) == {"q"}
    assert look.execute(ToolCall("look", None, {"q": "x"}), _attempt()) == "x1"


# What an annotation declares.
HINTS: list[tuple[Any, tuple[str, ...], tuple[Any, ...]]] = [
    (str, ("str",), ()),
    (float, ("float",), ()),
    (list, ("list",), ()),
    (list[int], ("list",), ()),
    (dict[str, Any], ("dict",), ()),
    (None, ("null",), ()),
    (Any, KINDS, ()),
    (str | None, ("str", "null"), ()),
    (Optional[int], ("int", "null"), ()),  # noqa: UP045  an old spelling that users write
    (Union[int, list[str]], ("int", "list"), ()),  # noqa: UP007  the same
    (Annotated[str, "a host"], ("str",), ()),
    (Literal["a", "b"], ("str",), ("a", "b")),
    ((Literal["a", 1] | None), ("str", "int", "null"), ("a", 1, None)),
    (Literal["a"] | None, ("str", "null"), ("a", None)),
    (Literal["a", "b"], ("str",), ("a", "b")),
]


@pytest.mark.parametrize(("hint", "kinds", "choices"), HINTS, ids=[str(one[0]) for one in HINTS])
def test_annotations(hint: Any, kinds: tuple[str, ...], choices: tuple[Any, ...]) -> None:
    """An annotation declares the kinds and choices that its parameter accepts."""

    def function(x: Any) -> None: ...

    function.__annotations__["x"] = hint
    assert tool(function).parameters == {"x": Parameter(kinds, choices=choices)}


@pytest.mark.parametrize(
    "hint",
    [
        bytes,
        Decimal,
        set[str],
        tuple[int, ...],
        str | bytes,
        Literal[b"x"],
        Literal["a"] | int,
        Literal["a"] | bytes,
        Fact,
        "Unknown",
        5,
    ],
    ids=str,
)
def test_an_annotation_that_json_cannot_carry(hint: Any) -> None:
    """An annotation of which any part is no JSON is refused, with the parameter's name."""

    def function(x: Any) -> None: ...

    function.__annotations__["x"] = hint
    with pytest.raises(InvalidArgumentError, match="function"):
        tool(function)


def _no_annotation(x) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001


def _positional(x: str, /) -> None: ...


def _many(*names: str) -> None: ...


def _any_name(**names: str) -> None: ...


@pytest.mark.parametrize("function", [_no_annotation, _positional, _many, _any_name])
def test_a_parameter_that_cannot_be_declared(function: Any) -> None:
    """Every parameter has an annotation and a name; the error says which has not."""
    with pytest.raises(InvalidArgumentError, match=function.__name__):
        tool(function)


@pytest.mark.parametrize("function", [max, functools.partial(search, "x")])
def test_a_function_that_cannot_be_read(function: Any) -> None:
    """A function whose parameters or annotations Python cannot read is refused."""
    with pytest.raises(InvalidArgumentError, match=r"allowed: .*read|allowed: .*resolved"):
        FunctionTool(function, name="search")


@pytest.mark.parametrize("function", [5, "search", None])
def test_what_is_no_function(function: Any) -> None:
    """Only what can be called becomes a tool."""
    with pytest.raises(InvalidArgumentError, match=r"^function is "):
        FunctionTool(function)


@pytest.mark.parametrize("name", [5, ["x"]])
def test_a_bad_name(name: Any) -> None:
    """A tool's name is text."""
    with pytest.raises(InvalidArgumentError, match=r"^name is "):
        FunctionTool(search, name=name)


def test_an_object_that_can_be_called() -> None:
    """An object without a name of its own needs one."""

    class Search:
        def __call__(self, q: str) -> str:
            return q

    with pytest.raises(InvalidArgumentError, match=r"^name is ''"):
        FunctionTool(Search())
    assert FunctionTool(Search().__call__, name="s").parameters == {"q": Parameter(("str",))}

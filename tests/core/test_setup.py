"""What a host hands to a harness is checked and looked up once."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import pytest

from harness import (
    FunctionTool,
    Harness,
    Limits,
    OnDisconnect,
    Parameter,
    ProgressMode,
    ReleasePolicy,
)
from harness._setup import build_setup, has_methods, is_asynchronous, member
from harness.errors import AwaitableResultError, InvalidArgumentError
from harness.stores.memory import MemoryCanonicalStore, MemoryRunStore
from tests.core.doubles import Source

# What a harness needs at the least; a test replaces what it is about.
GIVEN: dict[str, Any] = {
    "agent": lambda view, attempt: None,
    "tools": (),
    "router": None,
    "responder": None,
    "repairer": None,
    "semantic_guard": lambda case, attempt: None,
    "canonical_store": MemoryCanonicalStore(),
    "run_store": MemoryRunStore(),
    "limits": Limits(),
    "progress": ProgressMode.REPORTED,
    "required_context": (),
    "policy": ReleasePolicy(),
    "on_disconnect": OnDisconnect.CANCEL,
    "backoff": None,
}

ROLES = {
    "agent": "next_turn",
    "router": "route",
    "responder": "reply",
    "repairer": "repair",
    "semantic_guard": "judge",
}
#: The name under which a setup keeps a role.
KEPT = {"semantic_guard": "guard"}


def _build(**changed: Any) -> Any:
    return build_setup(**{**GIVEN, **changed})


class Agent:
    """An object with the methods of every role."""

    def next_turn(self, argument: object, attempt: object) -> tuple[object, object]:
        return argument, attempt

    route = reply = repair = judge = next_turn


class Asynchronous:
    """An object whose methods are all asynchronous."""

    async def next_turn(self, argument: object, attempt: object) -> None: ...

    route = reply = repair = judge = next_turn

    async def save(self, record: object) -> None: ...

    load = begin = finish = mark_delivered = save


def _one(argument: object) -> object:
    return argument


async def _async_one(argument: object) -> object:
    return argument


async def _generator(argument: object) -> Any:
    yield argument


# --- roles


@pytest.mark.parametrize("role", ROLES)
def test_a_role_is_an_object_or_a_function(role: str) -> None:
    """Each role is filled by an object with its method, or by a function."""
    name = KEPT.get(role, role)
    assert getattr(_build(**{role: Agent()}), name)(1, 2) == (1, 2)
    assert getattr(_build(**{role: Agent().next_turn}), name)(1, 2) == (1, 2)
    assert getattr(_build(**{role: _one}), name)(1, 2) == 1


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("target", [5, "agent", Agent, object(), object])
def test_what_fills_no_role(role: str, target: Any) -> None:
    """Anything else, a class included, is refused; the error names role and method."""
    with pytest.raises(InvalidArgumentError, match=f"^{role} is .*; allowed: .*{ROLES[role]}"):
        _build(**{role: target})


@pytest.mark.parametrize("function", [lambda: None, lambda a, b, c: None, lambda *, view: None])
def test_a_function_of_the_wrong_arguments(function: Callable[..., Any]) -> None:
    """A function that takes neither one argument nor two is refused when the harness is built."""
    with pytest.raises(InvalidArgumentError, match=r"^agent is .*of one argument, or of it and"):
        _build(agent=function)


def test_which_functions_get_the_attempt() -> None:
    """The attempt is handed to whoever can take it, by position."""
    assert _build(agent=lambda view, attempt=None: attempt).agent(1, 2) == 2
    assert _build(agent=lambda *arguments: arguments).agent(1, 2) == (1, 2)
    assert _build(agent=lambda view, *, other=3: other).agent(1, 2) == 3
    assert _build(agent=max).agent(1, 2) == 2


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("target", [Asynchronous(), _async_one, _generator])
def test_an_asynchronous_role(role: str, target: Any) -> None:
    """The synchronous driver refuses asynchronous objects when the harness is built."""
    with pytest.raises(AwaitableResultError, match=f"^{role} is asynchronous; .*use AsyncHarness"):
        _build(**{role: target})
    assert _build(**{role: target}, allow_async=True)


def test_an_asynchronous_function_of_one_argument() -> None:
    """An asynchronous function that takes only its argument is called with the attempt as well."""
    coroutine = _build(agent=_async_one, allow_async=True).agent(1, 2)
    with pytest.raises(StopIteration) as caught:
        coroutine.send(None)
    assert caught.value.value == 1


def test_an_asynchronous_object_that_is_called() -> None:
    """An object whose call is asynchronous is asynchronous."""

    class Called:
        async def __call__(self, argument: object) -> None: ...

    with pytest.raises(AwaitableResultError, match=r"^agent is asynchronous"):
        _build(agent=Called())
    assert is_asynchronous(_generator)
    assert not is_asynchronous(_one)


# --- stores


@pytest.mark.parametrize("name", ["canonical_store", "run_store"])
@pytest.mark.parametrize("store", [None, {}, object(), MemoryCanonicalStore, MemoryRunStore])
def test_what_is_no_store(name: str, store: Any) -> None:
    """A store has the methods of its port; a class is no store."""
    with pytest.raises(InvalidArgumentError, match=f"^{name} is .*; allowed: an object with"):
        _build(**{name: store})


@pytest.mark.parametrize("name", ["canonical_store", "run_store"])
def test_an_asynchronous_store(name: str) -> None:
    """The synchronous driver refuses asynchronous stores when the harness is built."""
    with pytest.raises(AwaitableResultError, match=f"^{name} is asynchronous"):
        _build(**{name: Asynchronous()})
    assert _build(**{name: Asynchronous()}, allow_async=True)


def test_methods() -> None:
    """A method is what can be called."""

    class Half:
        save = 5

        def load(self) -> None: ...

    assert has_methods(Half(), ("load",))
    assert not has_methods(Half(), ("load", "save"))
    assert not has_methods(Half(), ("load", "missing"))


# --- options


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("limits", {"tokens": 5}, "a Limits"),
        ("limits", None, "a Limits"),
        ("policy", True, "a ReleasePolicy"),
        ("progress", "reported", "REPORTED or INFERRED"),
        ("progress", 1, "REPORTED or INFERRED"),
        ("progress", OnDisconnect.CANCEL, "REPORTED or INFERRED"),
        ("on_disconnect", "LEAVE", "CANCEL or DETACH"),
        ("required_context", "service", "an iterable of texts"),
        ("required_context", 5, "an iterable of texts"),
        ("required_context", [5], "text"),
        ("backoff", 1.5, "a function"),
        ("max_parallel_tools", 2, "1; an AsyncHarness"),
        ("max_parallel_tools", "1", "1; an AsyncHarness"),
        ("max_parallel_tools", True, "1; an AsyncHarness"),
    ],
)
def test_a_bad_option(name: str, value: Any, allowed: str) -> None:
    """A wrong option is refused; the error names it and what is allowed."""
    with pytest.raises(InvalidArgumentError, match=f"^{name} is .*; allowed: {allowed}"):
        _build(**{name: value})


@pytest.mark.parametrize(("value", "fits"), [(1, True), (8, True), (0, False), (None, False)])
def test_tools_at_once(value: Any, fits: bool) -> None:
    """The asynchronous driver runs any number of tools together, from one."""
    if fits:
        assert _build(max_parallel_tools=value, allow_async=True).max_parallel_tools == value
        return
    with pytest.raises(InvalidArgumentError, match=r"allowed: a whole number from 1$"):
        _build(max_parallel_tools=value, allow_async=True)


def test_options_by_name() -> None:
    """A member may be given by its name."""
    setup = _build(progress="INFERRED", on_disconnect="DETACH", backoff=lambda c, n: 1.0)
    assert setup.progress is ProgressMode.INFERRED
    assert setup.on_disconnect is OnDisconnect.DETACH

    class Colour(Enum):
        RED = 1

    assert member("colour", "RED", Colour) is member("colour", Colour.RED, Colour)


def test_required_context() -> None:
    """Required names are copied, repaired, each once; blank ones require nothing."""
    names = ["service", " ", "service", "time\ud800"]
    setup = _build(required_context=names)
    names.clear()
    assert setup.required_context == ("service", "time\ufffd")


# --- tools


def search(query: str) -> str:
    """Search the logs."""
    return query


class Bare:
    """A tool of the least that a tool must have."""

    name = "bare"

    def execute(self, call: object) -> object:
        return call


def test_tools() -> None:
    """A tool is an object or a typed function; agents see name, description and parameters."""
    setup = _build(tools=[search, Source(parameters={"n": Parameter(("int",))}), Bare()])
    assert list(setup.tools) == ["search", "logs", "bare"]
    assert [info.description for info in setup.tool_infos] == ["Search the logs.", "scripted", ""]
    assert [info.parameters for info in setup.tool_infos] == [
        {"query": Parameter(("str",))},
        {"n": Parameter(("int",))},
        None,
    ]
    assert setup.tools["bare"].execute(1, 2) == 1
    assert setup.tools["bare"].project is None


def test_tools_cannot_be_changed() -> None:
    """What the host changes later alters no tool, and nobody can add one."""
    parameters = {"n": Parameter(("int",))}
    setup = _build(tools=[Source(parameters=parameters)])
    parameters.clear()
    assert setup.tools["logs"].parameters == {"n": Parameter(("int",))}
    with pytest.raises(TypeError):
        setup.tools["other"] = None


@pytest.mark.parametrize("tools", [5, "search", {"search": search}, search])
def test_what_are_no_tools(tools: Any) -> None:
    """Tools are an iterable."""
    with pytest.raises(InvalidArgumentError, match=r"^tools is .*; allowed: an iterable of tools"):
        _build(tools=tools)


@pytest.mark.parametrize("given", [5, "search", Bare, object(), None])
def test_what_is_no_tool(given: Any) -> None:
    """A class, or an object without execute, is no tool."""
    with pytest.raises(InvalidArgumentError, match=r"^tools is .*; allowed: tools with name"):
        _build(tools=[given])


def _tool(**attributes: Any) -> Any:
    return type("Tool", (Bare,), attributes)()


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (_tool(name=""), "tool.name"),
        (_tool(name="  "), "tool.name"),
        (_tool(name=5), "tool.name"),
        (_tool(description=5), "tool.description"),
        (_tool(parameters=[("n", Parameter(("int",)))]), "tool 'bare'.parameters"),
        (_tool(parameters={"n": "int"}), "tool 'bare'.parameters"),
        (_tool(parameters={5: Parameter(("int",))}), "tool 'bare'.parameters"),
        (_tool(project=5), "tool 'bare'.project"),
        (_tool(execute=staticmethod(lambda: None)), "tool 'bare'"),
    ],
)
def test_a_bad_tool(given: Any, named: str) -> None:
    """A tool with a wrong part is refused; the error names tool and part."""
    with pytest.raises(InvalidArgumentError, match=f"^{named} is "):
        _build(tools=[given])


def test_a_name_stands_once() -> None:
    """Two tools of one name are refused, also where only their repair makes them the same."""
    with pytest.raises(InvalidArgumentError, match=r"^tools is 'logs'; allowed: tools with differ"):
        _build(tools=[Source(), Source()])
    names = [_tool(name="a\ud800"), _tool(name="a\udfff")]
    with pytest.raises(InvalidArgumentError, match="different names"):
        _build(tools=names)


async def _async_search(query: str) -> str:
    return query


@pytest.mark.parametrize(
    "given",
    [
        FunctionTool(_async_search),
        _tool(execute=staticmethod(_async_one)),
        _tool(execute=staticmethod(_generator)),
        _tool(project=staticmethod(_async_one)),
    ],
)
def test_an_asynchronous_tool(given: Any) -> None:
    """The synchronous driver refuses asynchronous tools and projectors when it is built."""
    with pytest.raises(AwaitableResultError, match=r"^tool '.*is asynchronous"):
        _build(tools=[given])
    assert _build(tools=[given], allow_async=True)


def test_a_harness_has_defaults() -> None:
    """An agent is all that a harness needs."""
    made = Harness(_one)
    assert made.limits == Limits()
    assert isinstance(made.canonical_store, MemoryCanonicalStore)
    assert isinstance(made.run_store, MemoryRunStore)

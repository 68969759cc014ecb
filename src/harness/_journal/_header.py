"""How a journal begins: what was asked, and the rules that the run was begun under."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from attrs import asdict, evolve, frozen

from harness._journal._codec import from_data, to_data
from harness._journal._tape import SCHEMA, Entry
from harness._limits import Limits
from harness._release import ReleasePolicy
from harness._run import Setup, ToolSpec
from harness._states import OnDisconnect, ProgressMode
from harness._tools import Parameter
from harness._values import Request
from harness._view import ToolInfo
from harness.errors import RecordDecodeError

__all__ = ["Header", "bare_setup", "differences", "header_data", "read_header", "under_rules_of"]

#: The parts of a setup that are rules, and go with a run that is resumed.
_RULES: Final = ("limits", "policy", "progress", "required_context", "on_disconnect")
_OPTIONAL: Final = ("router", "responder", "repairer", "backoff")


@frozen(kw_only=True)
class Header:
    """
    How a journal begins.

    Attributes:
        run_id: The run.
        request: What was asked.
        deadline: Seconds that the caller gave, beside the limits' deadline.
        client: Whether a client received the events.
        parent: Whether a parent budget had a say.
        limits: The limits.
        policy: The release policy.
        progress: Who says what is progress.
        required_context: Names that every diagnosis needs.
        on_disconnect: What a client that goes away means.
        tools: The tools' names and declared parameters.
        parts: Which of router, responder, repairer and backoff there were.
    """

    run_id: str
    request: Request
    deadline: float | None
    client: bool
    parent: bool
    limits: Limits
    policy: ReleasePolicy
    progress: ProgressMode
    required_context: tuple[str, ...]
    on_disconnect: OnDisconnect
    tools: Mapping[str, Mapping[str, Parameter] | None]
    parts: tuple[str, ...]


_TYPES: Final[Mapping[str, type[Any] | tuple[type[Any], ...]]] = MappingProxyType(
    {
        "run_id": str,
        "request": Request,
        "deadline": (int, float, type(None)),
        "client": bool,
        "parent": bool,
        "limits": Limits,
        "policy": ReleasePolicy,
        "progress": ProgressMode,
        "required_context": tuple,
        "on_disconnect": OnDisconnect,
        "tools": dict,
        "parts": tuple,
    }
)


def header_data(  # noqa: PLR0913  what a run begins with
    setup: Setup,
    run_id: str,
    request: Request,
    *,
    deadline: float | None,
    client: bool,
    parent: bool,
) -> dict[str, Any]:
    """
    Write how a run begins.

    Args:
        setup: The harness's parts.
        run_id: The run.
        request: What is asked.
        deadline: What the caller gave.
        client: Whether there is a client.
        parent: Whether there is a parent budget.
    """
    given = {
        "run_id": run_id,
        "request": request,
        "deadline": deadline,
        "client": client,
        "parent": parent,
        **{name: getattr(setup, name) for name in _RULES},
        "parts": _parts(setup),
    }
    tools = {name: _parameters(spec) for name, spec in setup.tools.items()}
    written = {name: to_data(value) for name, value in given.items()}
    return {"v": SCHEMA, **written, "tools": {"!": "map", "is": tools}}


def _parts(setup: Setup) -> tuple[str, ...]:
    return tuple(name for name in _OPTIONAL if getattr(setup, name) is not None)


def _parameters(spec: ToolSpec) -> Any:
    if spec.parameters is None:
        return None
    return {"!": "map", "is": {name: to_data(one) for name, one in spec.parameters.items()}}


def read_header(entry: Entry) -> Header:
    """
    Read how a run began.

    Args:
        entry: The journal's first entry.

    Raises:
        RecordDecodeError: A part is missing or of another type.
    """
    given: dict[str, Any] = {}
    for name, kind in _TYPES.items():
        path = f"{entry.path}.{name}"
        value = from_data(entry.data.get(name), path)
        if not isinstance(value, kind):
            raise RecordDecodeError(path, value, f"the {name} of a run")
        given[name] = value
    return Header(**given)


def bare_setup(header: Header) -> Setup:
    """
    Build the parts of a harness that only has the rules of a journal: nothing of it can be called.

    Args:
        header: How the journal begins.
    """
    specs = {name: ToolSpec(name, given, _never) for name, given in header.tools.items()}
    infos = tuple(ToolInfo(name, "", given) for name, given in header.tools.items())
    nothing: Any = _NoStore()
    return Setup(
        agent=_never,
        tools=MappingProxyType(specs),
        tool_infos=infos,
        guard=_never,
        canonical_store=nothing,
        run_store=nothing,
        max_parallel_tools=1,
        **{name: _never if name in header.parts else None for name in _OPTIONAL},  # type: ignore[arg-type]
        **{name: getattr(header, name) for name in _RULES},
    )


def _never(*_arguments: object) -> Any:  # pragma: no cover  a replay calls nothing
    raise AssertionError("a replay calls nothing")


class _NoStore:
    """
    Stands where a store would be; the replay's seam answers in its place.
    """

    begin = finish = mark_delivered = save = load = staticmethod(_never)


def under_rules_of(setup: Setup, header: Header) -> Setup:
    """
    Give a harness's parts the rules that a run was begun under.

    Args:
        setup: The parts.
        header: How the journal begins.
    """
    return evolve(setup, **{name: getattr(header, name) for name in _RULES})


def differences(header: Header, setup: Setup, *, rules: bool) -> tuple[str, ...]:
    """
    Name what a harness has otherwise than the one that wrote a journal.

    Args:
        header: How the journal begins.
        setup: The harness's parts.
        rules: Whether its rules count too.
    """
    return tuple(_differences(header, setup, rules=rules))


def _differences(header: Header, setup: Setup, *, rules: bool) -> Iterator[str]:
    if rules:
        for name in _RULES:
            yield from _rule(name, getattr(header, name), getattr(setup, name))
    if header.parts != _parts(setup):
        yield f"parts: {' '.join(header.parts) or '-'} -> {' '.join(_parts(setup)) or '-'}"
    old, new = header.tools, {name: spec.parameters for name, spec in setup.tools.items()}
    for name in dict.fromkeys((*old, *new)):
        if name not in old:
            yield f"tools: {name!r} is new"
        elif name not in new:
            yield f"tools: {name!r} is gone"
        elif old[name] != new[name]:
            yield f"tools: {name!r} has other parameters"


def _rule(name: str, old: Any, new: Any) -> Iterator[str]:
    if not hasattr(old, "__attrs_attrs__"):
        if old != new:
            yield f"{name}: {_said(old)} -> {_said(new)}"
        return
    before, after = asdict(old, recurse=False), asdict(new, recurse=False)
    for key, value in before.items():
        if value != after[key]:
            yield f"{name}.{key}: {_said(value)} -> {_said(after[key])}"


def _said(value: Any) -> str:
    return str(getattr(value, "name", value))

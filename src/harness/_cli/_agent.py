"""The agent of a command: the model-free one, or the user's own from ``module:factory``."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from harness._cli._errors import CommandError
from harness._sync import Harness
from harness.errors import HarnessError

__all__ = ["load_agent"]


def load_agent(path: str) -> Any:
    """
    Make an agent by calling a factory without arguments.

    Args:
        path: ``module:factory``; the module is looked for in the current directory too, as
            ``python -m`` does.

    Returns:
        What a :class:`harness.Harness` accepts as its agent.

    Raises:
        CommandError: There is no such factory, it fails, or what it makes is no agent.
    """
    module, separator, name = path.partition(":")
    if not separator or not module or not name or module.startswith("."):
        raise CommandError(f"--agent is {path!r}; allowed: module:factory")
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    try:
        factory: Any = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise CommandError(f"--agent: {module!r} cannot be imported: {_what(error)}") from error
    for part in name.split("."):
        factory = getattr(factory, part, None)
    if not callable(factory):
        raise CommandError(f"--agent: {module!r} has no function {name!r} that makes an agent")
    return _made(path, factory)


def _made(path: str, factory: Any) -> Any:
    try:
        agent = factory()
    except (Exception, SystemExit) as error:
        raise CommandError(f"--agent: {path!r} failed: {_what(error)}") from error
    try:
        Harness(agent)
    except HarnessError as error:
        raise CommandError(f"--agent: {path!r} makes no agent: {error}") from error
    return agent


def _what(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(": ")

"""The agent of ``--agent module:factory``."""

import sys
from pathlib import Path

import pytest

from harness._cli._agent import load_agent
from harness._cli._errors import CommandError


def test_a_factory_makes_the_agent(agents: str) -> None:
    """The factory is called without arguments."""
    assert callable(load_agent(f"{agents}:empty"))


def test_a_factory_may_stand_inside_a_class(agents: str) -> None:
    """A dotted name is looked up part by part."""
    assert callable(load_agent(f"{agents}:Namespace.make"))


def test_the_current_directory_is_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module beside the logs is found, however the command was started."""
    (tmp_path / "an_agent_here.py").write_text("def make():\n    return lambda view: None\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    assert callable(load_agent("an_agent_here:make"))
    assert sys.path[0] == str(tmp_path)


@pytest.mark.parametrize("path", ["", "agents", ":make", "agents:", ".agents:make"])
def test_the_form_is_module_and_factory(path: str) -> None:
    """Anything else is refused with the form that is allowed."""
    with pytest.raises(CommandError, match="allowed: module:factory"):
        load_agent(path)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("no_such_module:make", "cannot be imported: ModuleNotFoundError: No module named"),
        ("some_agents:nothing", "'some_agents' has no function 'nothing'"),
        ("some_agents:empty.nothing", "'some_agents' has no function 'empty.nothing'"),
        ("some_agents:broken", "'some_agents:broken' failed: ValueError: no settings"),
        ("some_agents:number", "'some_agents:number' makes no agent: agent is 7; allowed"),
        ("some_agents:waiting", "makes no agent: agent is asynchronous"),
    ],
)
@pytest.mark.usefixtures("agents")
def test_what_makes_no_agent_is_named(path: str, said: str) -> None:
    """A module, a factory or an agent that cannot be used is named with the reason."""
    with pytest.raises(CommandError) as caught:
        load_agent(path)
    assert said in str(caught.value)


@pytest.mark.parametrize("content", ["1 +", "raise RuntimeError", "import sys; sys.exit(3)"])
def test_a_module_that_fails_is_named(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a module does while it is imported is told in one line."""
    (tmp_path / "a_failing_module.py").write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "a_failing_module", raising=False)
    with pytest.raises(CommandError, match="'a_failing_module' cannot be imported: "):
        load_agent("a_failing_module:make")

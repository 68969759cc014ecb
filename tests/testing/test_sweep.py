"""The sweep over the library's own graph: every bundled scenario, every fault, every call."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness import (
    AgentTurn,
    Citation,
    DiagnosisDraft,
    Limits,
    Request,
    RunRecord,
    SemanticVerdict,
    ToolCall,
    tool,
)
from harness._view import AgentView
from harness.errors import InvalidArgumentError
from harness.stores.memory import MemoryRunStore
from harness.stores.sqlite import SqliteCanonicalStore, SqliteRunStore
from harness.testing.faults import Fault, Injection
from harness.testing.scenario import Scenario, load_scenario
from harness.testing.sweep import sweep, sweep_harness
from tests.testing import __main__ as long
from tests.testing.stages import FAILURE, LEAVING, REFUSED, REPLY, REPORT, names

_CASES = sorted((Path(__file__).parents[1] / "conformance" / "cases").glob("*.json"))
#: The whole sweep takes a minute: ``python -m harness sweep tests/conformance/cases``, or the
#: thorough profile. The stride has no factor in common with the number of faults, so that it still
#: comes to every call and to every fault.
_STRIDE = 1 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 9
_FEW = (Fault.TIMEOUT, Fault.KEYBOARD_INTERRUPT, Fault.OVERSIZED, Fault.CANCEL, Fault.ANSWER_LOST)


def _scenario(path: Path) -> Scenario:
    return load_scenario(json.loads(path.read_text(encoding="utf-8")), str(path))


def test_the_stride_comes_to_every_fault() -> None:
    """Faults and stride share no factor."""
    assert len(Fault) % _STRIDE != 0 or _STRIDE == 1


@pytest.mark.parametrize("path", _CASES, ids=lambda path: path.stem)
def test_no_fault_breaks_an_invariant(path: Path) -> None:
    """A bundled scenario keeps every invariant under single faults."""
    report = sweep(_scenario(path), stride=_STRIDE)
    assert [str(finding) for finding in report.findings] == []
    assert report.runs >= report.calls


@pytest.mark.parametrize("path", _CASES[::9], ids=lambda path: path.stem)
def test_no_fault_breaks_an_invariant_when_awaited(path: Path) -> None:
    """The asynchronous driver keeps them too."""
    report = sweep(_scenario(path), driver="async", stride=3 * _STRIDE)
    assert [str(finding) for finding in report.findings] == []


@pytest.mark.parametrize(
    ("scenario", "driver"), [(FAILURE, "sync"), (LEAVING, "sync"), (LEAVING, "async")]
)
def test_no_pair_of_faults_breaks_an_invariant(scenario: dict[str, Any], driver: str) -> None:
    """Small scenarios keep every invariant under pairs of a few faults."""
    report = sweep(load_scenario(scenario), depth=2, driver=driver, faults=_FEW, stride=6)
    assert [str(finding) for finding in report.findings] == []
    single = sweep(load_scenario(scenario), faults=_FEW, stride=6)
    assert report.runs > 2 * single.runs


def test_every_fault_comes_to_every_call() -> None:
    """A sweep of depth 1 makes one run without a fault, and one a call and fault."""
    report = sweep(load_scenario(REPLY), faults=_FEW)
    assert report.runs == 1 + report.calls * len(_FEW)
    assert report.passed


def test_equal_runs_are_followed_once() -> None:
    """The second fault comes behind one of those first faults that made the very same run."""
    same = sweep(load_scenario(FAILURE), depth=2, faults=(Fault.MEMORY_ERROR, Fault.MEMORY_ERROR))
    once = sweep(load_scenario(FAILURE), depth=2, faults=(Fault.MEMORY_ERROR,))
    assert once.runs < same.runs < 3 * once.runs


def test_a_finding_says_how_to_repeat_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken invariant names scenario, fault, position, and the command of that very run."""
    scenario = load_scenario(REFUSED, "some where.json")

    def agreed(_value: object) -> SemanticVerdict:
        return SemanticVerdict.SUPPORTED

    monkeypatch.setattr("harness._gating._verdict", agreed)
    report = sweep(scenario, depth=0, inject=["tool:1=cancel", "agent:1=late"])
    assert report.findings == ()
    finding = sweep(scenario, depth=0, driver="async").findings[0]
    assert str(finding).startswith("refused: no fault: report-is-proven: ")
    command = "python -m harness sweep 'some where.json' --driver async --depth 0"
    assert finding.command == command
    injected = sweep(scenario, depth=0, inject=["ids:2=return:surrogate"]).findings[0]
    assert injected.injections == (Injection("ids:2", Fault.SURROGATE),)
    assert injected.command.endswith("'some where.json' --depth 0 --inject ids:2=return:surrogate")
    assert "refused: ids:2=return:surrogate: " in str(injected)


def test_a_scenario_may_be_an_object() -> None:
    """A scenario that stands in no file is swept as it is."""
    report = sweep({**REPORT, "name": "x"}, depth=0)
    assert report.passed
    assert (report.runs, report.scenario.name) == (1, "x")


def test_further_faults_come_after_the_given_ones() -> None:
    """What is injected in every run is there in every run, and faults come at later calls."""
    given = "agent:1=fail:TIMEOUT"
    seen: list[int] = []
    alone = sweep(load_scenario(REPORT), depth=0, inject=[given])
    report = sweep(load_scenario(REPORT), inject=[given], faults=_FEW, tick=seen.append)
    assert alone.calls == report.calls
    assert 1 < report.runs < 1 + report.calls * len(_FEW)
    assert seen == list(range(1, report.runs + 1))


def test_a_script_that_runs_dry_repeats_its_last_step() -> None:
    """A fault takes the place of a step; where none is left the last one is played again."""
    scenario = load_scenario({**REPORT, "agent": REPORT["agent"][:1], "name": "asks for ever"})
    assert sweep(scenario, faults=_FEW, stride=3).passed


def test_a_scripted_interrupt_stops_nothing() -> None:
    """An interrupt that a scenario itself raises belongs to the run."""
    raising = {**REPORT, "name": "raises", "tools": {"logs": [{"raise": "KeyboardInterrupt"}]}}
    assert sweep(load_scenario(raising), faults=_FEW, stride=3).passed
    assert sweep(load_scenario(raising), depth=0, driver="async").passed


def test_a_component_without_a_step_fails() -> None:
    """A component that a fault brings to a call, and that has no step at all, refuses it."""
    scenario = load_scenario({**REPORT, "name": "no guard", "semantic_guard": []})
    report = sweep(scenario, faults=_FEW, stride=3)
    assert report.passed


@pytest.mark.parametrize(
    ("argument", "value"),
    [("depth", 3), ("driver", "threads"), ("stride", 0), ("stride", 1.5), ("inject", ["x"])],
)
def test_wrong_arguments_are_refused(argument: str, value: Any) -> None:
    """A sweep that cannot be made is refused before anything is run."""
    with pytest.raises(InvalidArgumentError):
        sweep(load_scenario(REPORT), **{argument: value})


def test_nothing_else_is_loaded() -> None:
    """Faults, invariants and sweep can be imported where no test runner is installed."""
    loaded = (
        "import sys, harness.testing.faults, harness.testing.invariants, harness.testing.sweep; "
        "sys.exit(bool({'asyncio', 'cattrs', 'hypothesis', 'pytest'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", loaded], check=False).returncode == 0


def test_the_long_sweep_names_real_scenarios(monkeypatch: pytest.MonkeyPatch) -> None:
    """The long sweep makes three, and its status is the worst of theirs."""
    assert set(long.PAIRS) <= {path.stem for path in _CASES}
    assert len(set(long.PAIRS)) == 12
    called: list[list[str]] = []

    def status(arguments: list[str]) -> int:
        called.append(arguments)
        return len(called) % 3

    monkeypatch.setattr(long, "main", status)
    assert long.run() == 2
    assert [arguments[-1] for arguments in called[:2]] == [str(long.CASES), "async"]


# --- a host's own harness


def _agent(view: AgentView) -> AgentTurn:
    if not view.records:
        return AgentTurn([ToolCall("logs")])
    return AgentTurn(
        draft=DiagnosisDraft("pool exhausted", [Citation(view.records[0].invocation_id, 1)])
    )


def _logs() -> str:
    """Find something."""
    return "pool exhausted"


def _parts(**more: Any) -> dict[str, Any]:
    return {"agent": _agent, "tools": [tool(name="logs")(_logs)], **more}


@pytest.mark.parametrize("driver", ["sync", "async"])
def test_a_hosts_own_harness_is_swept(driver: str) -> None:
    """Every call of a host's agent, tools and stores meets every fault."""
    report = sweep_harness(_parts, "why?", driver=driver, faults=_FEW)
    assert [str(finding) for finding in report.findings] == []
    assert report.runs == 1 + report.calls * len(_FEW)
    assert report.scenario.name == "harness"


def test_a_host_that_lies_is_found() -> None:
    """A run store that says it has saved, and has not, breaks an invariant; the call is told."""

    class Forgetful(MemoryRunStore):
        def finish(self, record: RunRecord) -> None:
            """Say that it is saved."""

    report = sweep_harness(
        lambda: _parts(run_store=Forgetful()),
        Request("why?"),
        name="mine",
        depth=0,
        inject=["client.send:2=clock:backward"],
    )
    assert names(report.findings) == {"one-ending"}
    assert report.findings[0].command == (
        "sweep_harness(..., driver='sync', depth=0, inject=['client.send:2=clock:backward'])"
    )
    assert str(report.findings[0]).startswith("mine: client.send:2=clock:backward: one-ending: ")


def test_stores_in_a_file_are_swept(tmp_path: Path) -> None:
    """The bundled file stores keep every invariant when calls around them fail."""
    opened: list[SqliteRunStore | SqliteCanonicalStore] = []

    def parts() -> dict[str, Any]:
        path = str(tmp_path / f"{len(opened)}.db")
        runs, evidence = SqliteRunStore(path), SqliteCanonicalStore(path)
        opened.extend((runs, evidence))
        return _parts(run_store=runs, canonical_store=evidence)

    report = sweep_harness(parts, "why?", faults=_FEW, stride=7)
    for store in opened:
        store.close()
    assert [str(finding) for finding in report.findings] == []
    assert 2 * report.runs == len(opened)


@pytest.mark.parametrize("driver", ["sync", "async"])
def test_a_sweep_can_be_stopped(driver: str) -> None:
    """Ctrl-C is no finding: it ends the sweep, wherever in a run it comes."""

    def stop(_view: AgentView) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep_harness(lambda: _parts(agent=stop), "why?", driver=driver)


def test_a_host_may_detach_and_await() -> None:
    """The harness is built as the host says, with stores that are awaited where they are."""

    class Awaited(MemoryRunStore):
        async def load(self, run_id: str) -> RunRecord | None:  # type: ignore[override]
            return MemoryRunStore.load(self, run_id)

    report = sweep_harness(
        lambda: _parts(run_store=Awaited(), on_disconnect="DETACH", limits=Limits(deadline=5)),
        "why?",
        driver="async",
        faults=(Fault.UNKNOWN, Fault.LATE),
    )
    assert [str(finding) for finding in report.findings] == []


@pytest.mark.parametrize(
    ("parts", "driver"), [(7, "sync"), (lambda: 7, "sync"), (_parts, "threads")]
)
def test_parts_that_make_no_harness_are_refused(parts: Any, driver: str) -> None:
    """What makes no arguments, or no driver, is refused."""
    with pytest.raises(InvalidArgumentError):
        sweep_harness(parts, "why?", driver=driver, depth=0)

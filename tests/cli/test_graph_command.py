"""The failure graph, and the path of a run in it."""

import json
import re
from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from harness import (
    Component,
    Request,
    RunRecord,
    StopCause,
)
from harness._cli._drawing import draw_graph
from harness._graph import ANYWHERE, STEPS, WAYS, path_of
from harness.codec import record_from_json
from harness.testing._files import read_scenarios
from harness.testing.scenario import load_scenario, run_scenario
from tests.cli.conftest import Call

_CASES = Path(__file__).parents[1] / "conformance" / "cases"
_IDS = [step.id for step in STEPS]
_WAYS = {(way.source, way.target): way for way in WAYS}


def _data(name: str) -> dict[str, Any]:
    """The data of a conformance case."""
    data: dict[str, Any] = json.loads((_CASES / f"{name}.json").read_text(encoding="utf-8"))
    return data


@pytest.fixture(scope="module")
def runs() -> dict[str, RunRecord]:
    """Every conformance case, run once for this module."""
    found = (load_scenario(data, where) for where, data in read_scenarios([str(_CASES)]))
    return {scenario.name: run_scenario(scenario).record for scenario in found}


def test_every_step_and_way_has_a_name_of_its_own() -> None:
    """No step or way stands twice, and ways join steps that exist."""
    assert len(set(_IDS)) == len(STEPS)
    assert len(_WAYS) == len(WAYS)
    assert {end for way in _WAYS for end in way} == set(_IDS)


def test_every_stop_cause_leads_to_the_release_decision() -> None:
    """Each cause has an arrow, and every arrow with a cause leads to the release decision."""
    assert {cause for way in WAYS for cause in way.causes} | set(ANYWHERE) == set(StopCause)
    assert {way.target for way in WAYS if way.causes} == {"release"}


def test_only_the_endings_lead_nowhere() -> None:
    """What becomes public is an end, and nothing else is."""
    ends = set(_IDS) - {way.source for way in WAYS}
    assert ends == {"report", "reply", "fallback", "failure", "nothing"}
    assert ends == {step.id for step in STEPS if step.ending}


def test_every_run_took_a_path_of_the_picture(runs: dict[str, RunRecord]) -> None:
    """The path of each case is made of ways of the picture, and its stop cause stands on one."""
    for name, record in runs.items():
        path = path_of(record)
        ways = [pair for pair in pairwise(path) if pair[1] != "release"]
        assert [pair for pair in ways if pair not in _WAYS] == [], name
        stopped = path[path.index("release") - 1], "release"
        anywhere = record.stop_cause in ANYWHERE
        assert anywhere or record.stop_cause in _WAYS[stopped].causes, name
        assert path[0] == "request", name
        assert path[-1] in {step.id for step in STEPS if step.ending}, name


@pytest.mark.parametrize(
    ("name", "path"),
    [
        (
            "scene-01-both-gates-pass",
            "request route context turn batch turn draft evidence semantic release save report",
        ),
        ("scene-02-missing-context-declared", "request route context release save fallback"),
        (
            "repair-succeeds",
            "turn draft evidence repair evidence semantic release save report",
        ),
        ("general-reply", "request route context responder release save reply"),
        ("record-not-saved", "release failure"),
        (
            "tool-calls-run-out-stop-ignored",
            "batch last_turn release save",
        ),
        ("store-save-fails", "turn batch release save failure"),
        ("cancel-during-the-last-guard", "evidence semantic release save nothing"),
        ("scene-12-router-unavailable", "request route release save failure"),
        ("null-conclusion-without-facts", "turn draft release save failure"),
    ],
)
def test_a_path_is_read_from_the_record(name: str, path: str, runs: dict[str, RunRecord]) -> None:
    """The path of a case is the one that its scenario describes."""
    assert path in " ".join(path_of(runs[name]))


def test_a_run_that_was_begun_has_only_its_request() -> None:
    """A record that has not ended shows as far as it says."""
    record = RunRecord(
        run_id="r", request=Request("why?"), started_at=datetime(2024, 5, 4, tzinfo=UTC)
    )
    assert path_of(record) == ("request",)
    drawn = draw_graph(record)
    assert "class request taken" in drawn
    assert "linkStyle" not in drawn


def test_a_store_that_breaks_under_the_guard_is_told_from_one_under_a_tool(
    runs: dict[str, RunRecord],
) -> None:
    """A record that is gone when the evidence guard reads it ends the run at the guard."""
    broken = {"canonical_store": {"load": {"1": "raise"}}, "expect": {}}
    record = run_scenario(load_scenario({**_data("scene-01-both-gates-pass"), **broken})).record
    assert path_of(record)[-4:] == ("batch", "release", "save", "failure")
    handed_in = evolve(record, collection_state=runs["repair-succeeds"].collection_state)
    assert path_of(handed_in)[-5:] == ("draft", "evidence", "release", "save", "failure")


def test_every_component_has_its_step(runs: dict[str, RunRecord]) -> None:
    """A run in which a component was asked passes through the step of that component."""
    steps = {
        Component.INTENT_ROUTER: {"route"},
        Component.RESPONDER: {"responder"},
        Component.DIAGNOSIS_AGENT: {"turn", "last_turn"},
        Component.TOOL: {"batch"},
        Component.EVIDENCE_REPAIR: {"repair"},
        Component.SEMANTIC_GUARD: {"semantic"},
    }
    assert set(steps) == set(Component)
    for name, record in runs.items():
        path = set(path_of(record))
        assert all(steps[who] & path for who in record.attempts.components), name


def test_the_picture_has_every_step_and_way() -> None:
    """Each step is a box and each way an arrow, with its causes on it."""
    lines = [line.strip() for line in draw_graph().splitlines()]
    arrows = [line for line in lines if "-->" in line or ".->" in line]
    assert lines[0] == "flowchart TD"
    assert len(arrows) == len(WAYS) + 1
    assert 'batch["tool batch"]' in lines
    assert 'report(["report"])' in lines
    assert any("DEADLINE_EXCEEDED<br>" in line and line.endswith("release") for line in arrows)


def test_a_path_is_marked(runs: dict[str, RunRecord]) -> None:
    """The boxes and arrows of a path are marked, with how often a box was passed."""
    drawn = draw_graph(runs["scene-01-both-gates-pass"])
    assert 'turn["agent turn x2"]' in drawn
    assert "class request,route,context,turn,batch,draft,evidence,semantic,release,save,report" in (
        drawn
    )
    (numbers,) = re.findall(r"linkStyle ([\d,]+) ", drawn)
    taken = Counter(WAYS[int(number)].target for number in numbers.split(","))
    assert taken["turn"] == 2
    assert taken["report"] == 1


def test_an_ending_of_the_active_check_marks_its_one_arrow(runs: dict[str, RunRecord]) -> None:
    """A deadline marks the arrow that leaves every step, which is the last one."""
    drawn = draw_graph(runs["scene-10-timeout-without-content"])
    assert "%% stop cause DEADLINE_EXCEEDED" in drawn
    assert re.search(rf"linkStyle [\d,]*\b{len(WAYS)} stroke", drawn)


def test_an_unknown_way_is_left_unmarked(runs: dict[str, RunRecord]) -> None:
    """A record that says odd things is drawn as far as the picture goes."""
    record = runs["scene-01-both-gates-pass"]
    odd = evolve(record, trace=type(record.trace)(record.trace._raw[:1]))
    assert path_of(odd)[:2] == ("request", "draft")
    assert "linkStyle" in draw_graph(odd)


def test_the_command_prints_the_picture(call: Call) -> None:
    """Without a run the plain picture is printed."""
    called = call("graph")
    assert (called.status, called.out, called.err) == (0, draw_graph(), "")


def test_the_command_marks_a_run(log: Path, tmp_path: Path, call: Call) -> None:
    """A run is marked from its file and from the database alike."""
    file, db = tmp_path / "run.json", tmp_path / "runs.db"
    file.write_text(call("diagnose", log, "--json", "--db", db).out)
    record = record_from_json(file.read_text())
    marked = call("graph", "--record", file)
    assert marked.out == draw_graph(record)
    assert call("graph", record.run_id, "--db", db).out == marked.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["r-1"], "RUN_ID and --db go together"),
        (["--db", "x"], "RUN_ID and --db go together"),
        (["--record", "x", "--db", "y"], "--record takes neither RUN_ID nor --db"),
        (["--record", "x", "r-1"], "--record takes neither RUN_ID nor --db"),
    ],
)
def test_a_run_is_named_in_one_way(arguments: list[str], said: str, call: Call) -> None:
    """Half a name, or two of them, is refused."""
    called = call("graph", *arguments)
    assert (called.status, called.err) == (2, f"harness: error: {said}\n")

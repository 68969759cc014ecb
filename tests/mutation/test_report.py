"""How the mutation command reads what mutmut found; the command itself takes minutes."""

import json
from pathlib import Path

import pytest

from tests.mutation import __main__ as command
from tests.mutation.report import (
    Mutation,
    Report,
    mutation_of,
    read_explanations,
    statuses,
)

RESULTS = """
    harness._budget.x__limit__mutmut_1: killed
    harness._budget.xǁBudgetǁreserve_tools__mutmut_5: survived
    harness._stream.x_encode_sse__mutmut_2: timeout
    harness._stream.x_encode_sse__mutmut_3: no tests
"""
RESERVE = Mutation("_budget.Budget.reserve_tools", "if room < granted:", "if room <= granted:")
ENCODE = Mutation("_stream.encode_sse", "a = 1 b = 2", "a = 1")
DIFF = """# harness._budget.xǁBudgetǁreserve_tools__mutmut_5: survived
--- src/harness/_budget.py
+++ src/harness/_budget.py
@@ -13,7 +13,7 @@
             if ledger.tool_calls is not None:
-                if room < granted:
+                if room <= granted:
                     granted = max(room, 0)
"""


def test_the_results_are_read() -> None:
    """Each mutant has its status, under its name without the package."""
    assert statuses(RESULTS) == {
        "_budget.x__limit__mutmut_1": "killed",
        "_budget.xǁBudgetǁreserve_tools__mutmut_5": "survived",
        "_stream.x_encode_sse__mutmut_2": "timeout",
        "_stream.x_encode_sse__mutmut_3": "no tests",
    }


def test_a_mutation_is_told_by_its_lines() -> None:
    """A mutation is where it is and what it changes, whatever its number and its indent."""
    assert mutation_of("_budget.xǁBudgetǁreserve_tools__mutmut_5", DIFF) == RESERVE
    lines = "-    a = 1\n-    b = 2\n+    a = 1\n"
    assert mutation_of("_stream.x_encode_sse__mutmut_77", lines) == ENCODE
    with pytest.raises(ValueError, match=r"not the name of a mutant: 'x_encode_sse'"):
        mutation_of("x_encode_sse", "")


def test_a_report() -> None:
    """The report counts by module, and holds the survivors against what is explained."""
    known = {RESERVE: "equal", Mutation("_stream.gone", "a", "b"): "equal"}
    report = Report(statuses(RESULTS), (RESERVE, ENCODE), known)
    assert (report.percent, report.unexplained) == (50.0, [ENCODE])
    assert list(report.lines()) == [
        "module            mutants   killed  survived  percent",
        "_budget                 2        1         1     50.0",
        "_stream                 2        1         1     50.0",
        "all                     4        2         2     50.0",
        "2 survived, 1 of them explained",
        "not explained: _stream.encode_sse\n    - a = 1 b = 2\n    + a = 1",
        "explained, but did not survive: _stream.gone\n    - a\n    + b",
    ]


def test_the_explanations_are_whole() -> None:
    """Every known survivor says where it is, what it changes, and why nobody can notice."""
    explained = read_explanations()
    assert explained
    modules = {mutation.where.partition(".")[0] for mutation in explained}
    assert modules <= set(command._MODULES)
    assert all(one.line and one.becomes != one.line for one in explained)
    assert all(len(why) > 20 for why in explained.values())


@pytest.mark.parametrize("why", [["equal", "equal"], [" "]])
def test_a_broken_explanation_is_refused(why: list[str], tmp_path: Path) -> None:
    """A mutation is explained once, and by words."""
    mutation = {"in": "_stream.encode_sse", "line": "a", "becomes": "b"}
    file = tmp_path / "survivors.json"
    file.write_text(json.dumps([{"why": text, "mutations": [mutation]} for text in why]))
    with pytest.raises(ValueError, match="explained twice, or not at all"):
        read_explanations(file)


def test_without_mutmut(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without mutmut the command says how to install it, and fails."""
    monkeypatch.setattr(command, "find_spec", lambda _name: None)
    assert command.main([]) == 2
    assert "pip install --group mutation" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("found", "survivors", "status"),
    [
        ({"_stream.x_a__mutmut_1": "killed"}, (), 0),
        ({"_stream.x_a__mutmut_1": "killed"}, (ENCODE,), 1),
        ({"_stream.x_a__mutmut_1": "survived"}, (), 1),
    ],
)
def test_the_exit_status(
    found: dict[str, str],
    survivors: tuple[Mutation, ...],
    status: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The command fails where too few were killed, or where a survivor is not explained."""
    monkeypatch.setattr(command, "find_spec", lambda _name: True)
    monkeypatch.setattr(command, "_run", lambda _folder, _children: Report(found, survivors, {}))
    assert command.main([]) == status

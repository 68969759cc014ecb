"""A short form of the kill table; ``python -m tests.journal.kill_table`` is the long one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from attrs import evolve

from tests.journal import kill_table

_ENDING = {
    "run": "SUCCESS",
    "cause": "REPORT_APPROVED",
    "outcome": "SUCCESS",
    "attempts": [*(["DIAGNOSIS_AGENT", "TOOL"] * 2), "DIAGNOSIS_AGENT", "SEMANTIC_GUARD"],
    "text": "The pool was exhausted.\n",
}
_CALLS = Counter({"DIAGNOSIS_AGENT": 3, "TOOL": 2, "SEMANTIC_GUARD": 1})
_PLAIN = kill_table.Row("", killed=True, calls=_CALLS, ending=_ENDING)


@pytest.mark.parametrize(
    ("at", "component"), [(10, None), (14, "TOOL"), (24, "DIAGNOSIS_AGENT"), (48, None)]
)
def test_a_killed_process_is_resumed(tmp_path: Path, at: int, component: str | None) -> None:
    """Between two calls nothing is lost; a call under way is spent, and not made again."""
    row = kill_table.killed_at(tmp_path, at, str(at))
    assert kill_table.fault_of(row, _PLAIN, component) is None


def test_the_table_names_what_is_wrong() -> None:
    """A process that survived, a repeated call, and another ending are each told."""
    assert kill_table.fault_of(_PLAIN, _PLAIN, None) is None
    alive = evolve(_PLAIN, killed=False)
    assert kill_table.fault_of(alive, _PLAIN, None) == "the process was not killed"
    twice = evolve(_PLAIN, calls=_CALLS + Counter(TOOL=1))
    assert "not counted" in str(kill_table.fault_of(twice, _PLAIN, None))
    other = evolve(_PLAIN, ending={**_ENDING, "outcome": "FALLBACK"})
    assert kill_table.fault_of(other, _PLAIN, None) == "differs: outcome"
    odd = evolve(_PLAIN, ending={**_ENDING, "cause": "INTERNAL_ERROR"})
    assert kill_table.fault_of(odd, _PLAIN, "TOOL") == "ended as INTERNAL_ERROR"
    fewer = evolve(
        _PLAIN, calls=Counter({"DIAGNOSIS_AGENT": 3}), ending={**_ENDING, "attempts": []}
    )
    assert kill_table.fault_of(fewer, _PLAIN, None) is not None

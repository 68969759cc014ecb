"""A short form of the kill table; ``python -m tests.stores.kill_table`` is the long one."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve

from harness import RunState
from harness.testing._samples import sample_endings, sample_opening
from tests.stores import kill_table

_ENDED = sample_endings("run-1")["report"]


@pytest.mark.parametrize("part", ["finish", "CONTENT", "mark_delivered", "save"])
def test_a_killed_process_leaves_nothing_false(tmp_path: Path, part: str) -> None:
    """Killed around saving and publishing, the file opens and claims only what was decided."""
    folder = tmp_path / "listing"
    folder.mkdir()
    listed = kill_table.positions(folder)
    at = next(n for n, name in enumerate(listed, 1) if name.startswith("after") and part in name)
    row = kill_table.killed_at(tmp_path, at, listed[at - 1])
    assert kill_table.faults_of(row) == []
    assert row.held is not None
    published = part in {"CONTENT", "mark_delivered"}
    assert ("CONTENT" in row.received) is published
    assert (row.held.run_state is RunState.SUCCESS) is (published or part == "finish")


def _row(**changed: object) -> kill_table.Row:
    plain = kill_table.Row(
        position="1",
        killed=True,
        held=_ENDED,
        evidence=1,
        received=("CONTENT",),
        recovered=_ENDED,
    )
    return evolve(plain, **changed)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (_row(killed=False), "the process was not killed"),
        (_row(held=evolve(sample_opening("run-1"))), "content was public whose record is missing"),
        (_row(held=None), "content was public whose record is missing"),
        (_row(received=(), held=evolve(_ENDED, delivered=True)), "delivered, and the client"),
        (_row(recovered=sample_opening("run-1")), "still open after the recovery"),
        (_row(recovered=None), "the recovery changed an ending"),
    ],
)
def test_the_table_names_what_is_wrong(row: kill_table.Row, fault: str) -> None:
    """Each rule of the table sees its fault."""
    assert any(found.startswith(fault) for found in kill_table.faults_of(row))

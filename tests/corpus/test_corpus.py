"""
Records that version 1 stored, one of each ending and feature: files that are never changed.

A release that reads them no longer, or reads something else out of them, breaks the promise of
section 3.11. A later version gets a folder of its own beside this one.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness import RunState
from harness._canonical import digest_of
from harness.codec import (
    canonical_from_json,
    canonical_to_json,
    record_from_json,
    record_to_json,
)
from harness.explain import explain

_FOLDER = Path(__file__).parent / "version-1"
_RUNS = sorted(path.name for path in _FOLDER.glob("run-*.json"))
_CANONICAL = sorted(path.name for path in _FOLDER.glob("canonical-*.json"))


def _text(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8").removesuffix("\n")


@pytest.mark.parametrize("name", _RUNS)
def test_a_stored_run_is_read_and_written_as_it_is(name: str) -> None:
    """It decodes, says what its file is named for, explains itself, and encodes to the same."""
    text = _text(name)
    record = record_from_json(text)
    assert json.loads(text)["schema_version"] == 1
    assert record_to_json(record) == text
    if not name.startswith("run-sample-"):
        members = (
            record.run_state,
            record.stop_cause,
            record.release_outcome,
            record.fallback_type,
        )
        parts = [member.name.lower().replace("_", "-") for member in members if member is not None]
        assert name == f"run-{'-'.join(parts)}.json"
    if record.run_state is not RunState.RUNNING:
        assert str(explain(record))


@pytest.mark.parametrize("name", _CANONICAL)
def test_stored_evidence_is_read_and_still_has_its_digest(name: str) -> None:
    """It decodes, its content has the digest that was noted then, and it encodes to the same."""
    text = _text(name)
    record = canonical_from_json(text)
    assert canonical_to_json(record) == text
    assert digest_of(record) == record.invocation.digest


def test_the_corpus_has_every_ending() -> None:
    """Nobody has thinned it out: so many endings and kinds of evidence were stored."""
    assert (len(_RUNS), len(_CANONICAL)) == (34, 5)
    fallbacks = {record_from_json(_text(name)).fallback_type for name in _RUNS}
    assert len(fallbacks - {None}) == 6

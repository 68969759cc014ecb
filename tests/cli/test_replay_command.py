"""A real diagnosis, run again from the journal that it left in its database."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import LOG, Call


@pytest.fixture
def stored(tmp_path: Path, call: Call) -> tuple[str, str]:
    """A run's id, and the database that it is in."""
    log, db = tmp_path / "app.log", str(tmp_path / "runs.db")
    log.write_text(LOG)
    done = call("diagnose", str(log), "--db", db)
    found = re.search(r"explain (\S+) --db", done.err)
    assert found is not None
    return found[1], db


def test_a_real_diagnosis_replays_identically(stored: tuple[str, str], call: Call) -> None:
    """No log file is read again, and every decision is the same."""
    run_id, db = stored
    done = call("replay", run_id, "--db", db)
    assert done.status == 0
    assert re.fullmatch(r"same     \d+ steps, SUCCESS, SUCCESS\n", done.out)


def test_other_limits_name_the_step_that_differs(stored: tuple[str, str], call: Call) -> None:
    """With one tool call less the run would have drafted earlier: the step is named."""
    run_id, db = stored
    done = call("replay", run_id, "--db", db, "--limit", "tool_calls=1", "--limit", "cost=null")
    assert done.status == 1
    changed, differs, *_ = done.out.splitlines()
    assert changed == "changed  limits.tool_calls: 100 -> 1"
    assert re.match(r"differs  step \d+, ", differs)


def test_another_policy_may_change_nothing(stored: tuple[str, str], call: Call) -> None:
    """It is told as changed; the decisions are the same."""
    run_id, db = stored
    done = call("replay", run_id, "--db", db, "--policy", "distinguish_budget=true")
    assert done.status == 0
    assert done.out.startswith("changed  policy.distinguish_budget: False -> True\nsame ")


def test_the_result_as_data(stored: tuple[str, str], call: Call) -> None:
    """``--json`` has the steps, the differences and today's ending."""
    run_id, db = stored
    data = json.loads(call("replay", run_id, "--db", db, "--json").out)
    assert (data["same"], data["run_state"], data["fallback_type"]) == (True, "SUCCESS", None)
    done = call("replay", run_id, "--db", db, "--json", "--limit", "draft_bytes=10")
    data = json.loads(done.out)
    assert not data["same"]
    assert data["fallback_type"] == "INSUFFICIENT_EVIDENCE"
    assert data["divergences"][0]["step"] > 1
    ends = json.loads(
        call("replay", run_id, "--db", db, "--json", "--limit", "model_attempts=1").out
    )
    assert (ends["run_state"], ends["release_outcome"]) == (None, None)


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (["--limit", "songs=3"], "--limit is 'songs=3'; allowed: NAME=VALUE of deadline"),
        (["--limit", "tool_calls"], "allowed: NAME=VALUE of"),
        (["--limit", "tool_calls=few"], "allowed: a number, true, false or null behind ="),
        (["--limit", "tool_calls=-1"], "--limit: "),
        (["--policy", "distinguish_budget=3"], "--policy: "),
    ],
)
def test_wrong_rules_are_named(
    stored: tuple[str, str], call: Call, more: list[str], text: str
) -> None:
    """One line says which option is wrong and what is allowed."""
    run_id, db = stored
    done = call("replay", run_id, "--db", db, *more)
    assert done.status == 2
    assert text in done.err
    assert done.err.count("\n") == 1


def test_a_run_that_is_not_there_is_named(stored: tuple[str, str], call: Call) -> None:
    """A run without a journal, and a database that does not exist."""
    _, db = stored
    done = call("replay", "nobody", "--db", db)
    assert (done.status, done.out) == (2, "")
    assert "has no journal of 'nobody'" in done.err
    assert call("replay", "nobody", "--db", f"{db}.none").status == 2

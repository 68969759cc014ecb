"""Journals that are broken, foreign or of another version: a clear error that says where."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from harness import AgentTurn, AgentView, Attempt, CancelToken, DiagnosisDraft, Usage
from harness._journal._codec import from_data, to_data, to_line
from harness.errors import (
    HarnessError,
    InvalidArgumentError,
    JournalConflictError,
    RecordDecodeError,
    SchemaVersionError,
    StoreError,
    UnknownMemberError,
)
from harness.replay import replay
from harness.stores import SqliteStores
from harness.stores.journal import MemoryJournal, SqliteJournal
from tests.journal.test_replay import build, recorded
from tests.journal.worlds import RUN_ID, World, generated

_LINES = recorded()[0].read(RUN_ID)


def _journal(lines: Any) -> MemoryJournal:
    journal = MemoryJournal()
    journal.append(RUN_ID, 0, list(lines))
    return journal


def _with(place: int, line: Any) -> MemoryJournal:
    return _journal([*_LINES[:place], line, *_LINES[place + 1 :]])


def _header(**changed: Any) -> MemoryJournal:
    return _with(0, json.dumps({**json.loads(_LINES[0]), **changed}))


def _place(text: str) -> int:
    return next(place for place, line in enumerate(_LINES) if text in line)


def _entry(text: str, **changed: Any) -> MemoryJournal:
    place = _place(text)
    return _with(place, json.dumps({**json.loads(_LINES[place]), **changed}))


@pytest.mark.parametrize(
    ("journal", "error", "text"),
    [
        (_with(3, "no json"), RecordDecodeError, r"journal\[4\] is 'no json'; allowed: a line"),
        (_with(3, '{"k": NaN}'), RecordDecodeError, r"journal\[4\].*strict JSON"),
        (_with(3, b"\xff"), RecordDecodeError, r"journal\[4\].*strict JSON"),
        (_with(3, "[1]"), RecordDecodeError, r"journal\[4\] is \[1\]; allowed: a JSON object"),
        (_with(3, "[" * 100_000), RecordDecodeError, r"journal\[4\]"),
        (_with(3, '{"k": 7}'), RecordDecodeError, r"journal\[4\]\.k is 7"),
        (_with(3, '{"k": "now", "w": -1}'), RecordDecodeError, r"journal\[4\]\.w is -1"),
        (_journal(_LINES[1:]), RecordDecodeError, r"journal\[1\]\.k.*the beginning of a run"),
        (_header(v=0), RecordDecodeError, r"journal\[1\]\.v is 0"),
        (_header(v=2), SchemaVersionError, "version is 2, of a later release"),
        (_header(deadline="soon"), RecordDecodeError, "the deadline of a run"),
        (_header(limits={"!": "Limits", "songs": 3}), RecordDecodeError, "songs"),
        (_header(limits={"!": "Songs"}), UnknownMemberError, "a type that this version knows"),
        (_header(request={"!": "Request"}), RecordDecodeError, r"request\.question"),
        (_header(progress={"!": "ProgressMode", "is": "ODD"}), UnknownMemberError, "progress"),
        (_header(deadline={"!": "Decimal", "is": "many"}), RecordDecodeError, "a Decimal"),
        (_entry('"k":"answer"', ended="late"), RecordDecodeError, r"\.ended is 'late'"),
        (_entry('"k":"answer"', failure=7), RecordDecodeError, "a Failure"),
        (_entry('"k":"next"', place="x"), RecordDecodeError, "a step that was finished"),
        (_entry('"k":"close"', places="x"), RecordDecodeError, "a list of places"),
        (_entry('"k":"answer"', wall=7), RecordDecodeError, r"\.wall is 7"),
    ],
)
def test_a_broken_journal_says_where(
    journal: MemoryJournal, error: type[Exception], text: str
) -> None:
    """The line, the key, what stands there and what is allowed."""
    with pytest.raises(error, match=text):
        replay(journal)


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("cause", "x", "a StopCause"),
        ("at", None, "seconds"),
        ("reason", 7, "text, or null"),
    ],
)
def test_a_broken_signal_says_where(key: str, value: object, text: str) -> None:
    """A signal from outside has a cause, an instant and a reason."""
    token = CancelToken()
    token.cancel("enough")
    journal = MemoryJournal()
    build(journal).run("Why?", run_id=RUN_ID, cancel=token)
    lines = list(journal.read(RUN_ID))
    place = next(place for place, line in enumerate(lines) if '"k":"signal"' in line)
    lines[place] = json.dumps({**json.loads(lines[place]), key: value})
    with pytest.raises(RecordDecodeError, match=text):
        replay(_journal(lines))


def test_any_damage_gives_a_clear_error_or_a_difference() -> None:
    """Whatever is changed in a line, the answer is a result or a typed error, never a traceback."""
    for seed in range(400):
        random = Random(seed)  # noqa: S311  the same damage each time
        lines = list(_LINES) if seed % 4 else list(_scenario_lines(seed))
        place = random.randrange(len(lines))
        lines[place] = _damaged(random, lines[place])
        try:
            assert str(replay(_journal(lines)))
        except HarnessError as error:
            assert str(error)  # noqa: PT017  either is fine


def _scenario_lines(seed: int) -> tuple[str, ...]:
    world = World(generated(seed))
    world.run()
    return world.journal.read(RUN_ID)


def _damaged(random: Random, line: str) -> str:
    kind = random.randrange(4)
    if kind == 0:
        at = random.randrange(len(line))
        return line[:at] + random.choice(["", "0", '"', "}", "\\", "x"]) + line[at + 1 :]
    data = json.loads(line)
    key = random.choice(list(data))
    if kind == 1:
        del data[key]
    else:
        odd: list[Any] = [None, 7, -1, "x", [], {}, {"!": "map"}, {"!": "Trace", "is": 3}, True]
        data[key] = random.choice(odd)
    return json.dumps(data)


def test_values_survive_exactly() -> None:
    """Numbers beyond what JSON has, times, enums and records come back as they were."""
    odd: list[Any] = [10**30, -(10**30), float("inf"), float("-inf"), 1.5, True, None, "\ud800x"]
    for value in odd:
        assert from_data(json.loads(to_line({"is": to_data(value)}))["is"]) == value
    assert from_data({"!": "Decimal", "is": "1.50"}).as_tuple().exponent == -2


def test_reported_usage_is_part_of_an_answer() -> None:
    """What an agent reports through its attempt is charged again in a replay."""

    class Reporting:
        def next_turn(self, _view: AgentView, attempt: Attempt) -> AgentTurn:
            attempt.report(Usage(input_tokens=7, output_tokens=1))
            return AgentTurn(draft=DiagnosisDraft(None))

    journal, record = recorded(agent=Reporting())
    assert record.used.tokens == 8
    assert replay(journal).record == record


# --- where journals are kept


@pytest.fixture(params=["memory", "file"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """Each bundled journal."""
    if request.param == "memory":
        yield MemoryJournal()
        return
    with SqliteJournal(tmp_path / "runs.db", durable=False) as opened:
        yield opened


def test_lines_are_kept_in_order_and_conflicts_refused(journal: Any) -> None:
    """An append says how many lines there must be: who is late adds nothing."""
    journal.append("a", 0, ["1", "2"])
    journal.append("b", 0, ["x"])
    journal.append("a", 2, ["3"])
    for number in (0, 2, 9):
        with pytest.raises(JournalConflictError, match="it goes on elsewhere"):
            journal.append("a", number, ["lost"])
    assert journal.read("a") == ("1", "2", "3")
    assert journal.read("A") == ()
    assert journal.last_lines() == (("a", "3"), ("b", "x"))
    assert journal.delete("a") == 3
    assert journal.delete("a") == 0
    assert journal.last_lines() == (("b", "x"),)


def test_an_id_that_no_text_can_be_has_no_lines(tmp_path: Path) -> None:
    """A number names no run, nor does text that is no Unicode."""
    with SqliteJournal(tmp_path / "runs.db") as journal:
        journal.append("7", 0, ["1"])
        for strange in (7, None, "\ud800"):
            assert journal.read(strange) == ()  # type: ignore[arg-type]
            assert journal.delete(strange) == 0  # type: ignore[arg-type]


def test_a_journal_shares_the_file_of_the_stores(tmp_path: Path) -> None:
    """One file holds all that a run needs to go on; opened again, it is as it was."""
    file = tmp_path / "runs.db"
    with SqliteStores(file) as stores, SqliteJournal(file) as journal:
        harness = build(journal, canonical_store=stores.canonical, run_store=stores.runs)
        record = harness.run("Why?", run_id=RUN_ID).record
        stored = stores.runs.load(RUN_ID)
        assert stored is not None
        assert stored.public == record.public
    with SqliteJournal(file, create=False) as journal:
        assert replay(journal).is_same
    with pytest.raises(StoreError, match="does not exist"):
        SqliteJournal(tmp_path / "none.db", create=False)


def test_a_harness_takes_a_journal_only() -> None:
    """What has no append, read and last_lines is refused by name."""
    with pytest.raises(InvalidArgumentError, match="journal"):
        build(object())

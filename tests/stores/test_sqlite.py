"""One SQLite file: shared, migrated, kept for a while; and every way in which it cannot be used."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from harness import (
    AgentTurn,
    AgentView,
    DiagnosisDraft,
    Harness,
    RunRecord,
    RunState,
    StopCause,
)
from harness import stores as stores_package
from harness.errors import (
    IllegalTransitionError,
    InvalidArgumentError,
    RecordDecodeError,
    RunExistsError,
    SchemaVersionError,
    StoreError,
    UnknownMemberError,
)
from harness.stores import SqliteRunStore, SqliteStores, _database
from harness.stores._database import Database
from harness.stores._schema import STEPS, migrate
from harness.testing._samples import (
    BEGAN,
    sample_canonical,
    sample_endings,
    sample_evidence,
    sample_opening,
)

_ROOT = Path(__file__).parents[2]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the file is made."""
    return tmp_path / "runs.db"


@pytest.fixture
def stores(file: Path) -> Iterator[SqliteStores]:
    """Both stores on one file."""
    with SqliteStores(file, durable=False) as opened:
        yield opened


def _ended(runs: Any, run_id: str, conversation: str | None = None, **changed: Any) -> RunRecord:
    """A run that was begun and ended."""
    runs.begin(sample_opening(run_id, conversation))
    record = evolve(sample_endings(run_id, conversation)["report"], **changed)
    assert runs.finish(record) is None
    return record


def _gives_up(_view: AgentView) -> AgentTurn:
    return AgentTurn(draft=DiagnosisDraft(None))


# --- what is kept


def test_a_whole_run_stays_in_the_file(file: Path) -> None:
    """Another process that opens the file reads what this one wrote: the run and its evidence."""
    with SqliteStores(file) as stores:
        harness = Harness(_gives_up, canonical_store=stores.canonical, run_store=stores.runs)
        record = harness.run("q", run_id="run-1").record
        assert len(stores.runs) == 1
        assert stores.path == str(file)
    code = (
        "import sys; from harness.stores import SqliteRunStore;"
        "print(SqliteRunStore(sys.argv[1]).load('run-1').stop_cause.name)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, str(file)],
        env={**os.environ, "PYTHONPATH": str(_ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == record.stop_cause.name  # type: ignore[union-attr]


def test_runs_of_a_conversation_come_oldest_first(stores: SqliteStores) -> None:
    """The index gives a conversation's runs in the order in which they began, and no others."""
    late = _ended(stores.runs, "run-2", "c-1", started_at=BEGAN)
    stores.runs.begin(evolve(sample_opening("run-3", "c-1"), started_at=BEGAN - timedelta(days=1)))
    stores.runs.begin(sample_opening("run-4", "c-2"))
    found = stores.runs.runs_of("c-1")
    assert [record.run_id for record in found] == ["run-3", late.run_id]
    assert stores.runs.runs_of("nobody's") == ()
    assert stores.runs.runs_of(7) == ()  # type: ignore[arg-type]


def test_old_runs_are_deleted_with_their_evidence(stores: SqliteStores) -> None:
    """What ended before a time goes, with its canonical records; running and later ones stay."""
    for record in sample_evidence("run-1"):
        stores.canonical.save(record)
    for record in sample_evidence("run-2"):
        stores.canonical.save(record)
    kept = len(sample_evidence("run-2"))
    _ended(stores.runs, "run-1", ended_at=BEGAN)
    _ended(stores.runs, "run-2", ended_at=BEGAN + timedelta(days=2))
    stores.runs.begin(sample_opening("run-3"))
    assert stores.runs.delete_before(BEGAN + timedelta(days=1)) == 1
    assert stores.runs.load("run-1") is None
    assert len(stores.runs) == 2
    assert len(stores.canonical) == kept
    assert stores.canonical.delete_run("run-2") == kept
    assert stores.canonical.delete_run("run-2") == 0
    assert stores.canonical.delete_run(None) == 0  # type: ignore[arg-type]


def test_an_open_run_that_is_long_ago_is_found(stores: SqliteStores) -> None:
    """``unfinished`` gives what is still RUNNING and old enough, oldest first."""
    now = BEGAN + timedelta(hours=3)
    for number in (2, 1, 0):
        opening = sample_opening(f"run-{number}")
        stores.runs.begin(evolve(opening, started_at=BEGAN + timedelta(hours=number)))
    _ended(stores.runs, "run-9")
    found = stores.runs.unfinished(timedelta(hours=2), now)
    assert [record.run_id for record in found] == ["run-0", "run-1"]


def test_an_id_that_no_text_can_be_is_not_found(stores: SqliteStores) -> None:
    """A number, or text that is no Unicode, names no row, and no run of a like text."""
    _ended(stores.runs, "7")
    stores.canonical.save(sample_canonical("run-1"))
    for strange in (7, None, b"7", "\ud800"):
        assert stores.runs.load(strange) is None  # type: ignore[arg-type]
        assert stores.canonical.load(strange) is None  # type: ignore[arg-type]
        with pytest.raises(StoreError, match="has not ended here"):
            stores.runs.mark_delivered(strange)  # type: ignore[arg-type]


def test_what_is_no_ending_or_no_opening_is_refused(stores: SqliteStores) -> None:
    """Begin takes a RUNNING record alone, finish an ended one of a run that was begun."""
    opening, record = sample_opening("run-1"), sample_endings("run-1")["report"]
    with pytest.raises(InvalidArgumentError, match="RUNNING"):
        stores.runs.begin(record)
    with pytest.raises(StoreError, match="was never begun"):
        stores.runs.finish(record)
    stores.runs.begin(opening)
    with pytest.raises(IllegalTransitionError):
        stores.runs.finish(opening)


def test_times_are_checked(stores: SqliteStores) -> None:
    """A naive time, or one before the calendar, is refused by its name."""
    with pytest.raises(InvalidArgumentError, match="time"):
        stores.runs.delete_before(datetime(2026, 1, 1))  # noqa: DTZ001  a naive one
    with pytest.raises(InvalidArgumentError, match="now"):
        stores.runs.unfinished(timedelta(days=999_999), datetime(2026, 1, 1, tzinfo=UTC))


def test_a_row_that_is_no_record_says_so(stores: SqliteStores, file: Path) -> None:
    """What somebody else wrote into the file is told as what it is."""
    _ended(stores.runs, "run-1")
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE runs SET record = '{}', run_state = 'ODD'")
    with pytest.raises(RecordDecodeError):
        stores.runs.load("run-1")
    with pytest.raises(UnknownMemberError, match="run_state"):
        stores.runs.begin(sample_opening("run-1"))


def test_the_module_lists_what_it_loads_when_asked() -> None:
    """Names of the package are found once they are asked for; others are an AttributeError."""
    assert set(stores_package.__all__) <= set(dir(stores_package))
    with pytest.raises(AttributeError, match="'songs'"):
        stores_package.songs  # noqa: B018


# --- the file


def test_a_file_is_opened_again_and_again(file: Path) -> None:
    """A file that is there is used as it is; one that is not there can be demanded."""
    with pytest.raises(StoreError, match="does not exist"):
        SqliteRunStore(file, create=False)
    with SqliteRunStore(file) as runs:
        _ended(runs, "run-1")
    with SqliteRunStore(str(file), create=False) as runs:
        assert runs.load("run-1") is not None
    runs.close()
    with pytest.raises(StoreError, match="is closed"):
        runs.load("run-1")


@pytest.mark.parametrize("path", ["", ":memory:", "a\0b", b"runs.db", 7, None])
def test_a_path_that_is_none_is_refused(path: Any) -> None:
    """The path must name a file; in memory there are other stores."""
    with pytest.raises(InvalidArgumentError, match="path"):
        SqliteStores(path)


@pytest.mark.parametrize("timeout", [-1, "soon", None, True])
def test_a_timeout_that_is_none_is_refused(file: Path, timeout: Any) -> None:
    """The timeout is a number of seconds."""
    with pytest.raises(InvalidArgumentError, match="timeout"):
        SqliteStores(file, timeout=timeout)


def _text_file(path: Path) -> None:
    path.write_text("no database, but long enough to have a header " * 50)


def _damaged(path: Path) -> None:
    with SqliteStores(path) as stores:
        for number in range(40):
            _ended(stores.runs, f"run-{number}")
    with path.open("r+b") as raw:
        raw.seek(4096)
        raw.write(b"\xff" * (path.stat().st_size - 8192))


def _foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE songs (title TEXT)")


def _from_the_future(path: Path) -> None:
    SqliteStores(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {len(STEPS) + 1}")


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (_text_file, StoreError, "is no SQLite database"),
        (_damaged, StoreError, "is damaged"),
        (_foreign, StoreError, "another program"),
        (_from_the_future, SchemaVersionError, "later release"),
        (Path.mkdir, StoreError, "is a directory"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(
    file: Path, make: Callable[[Path], None], error: type[Exception], text: str
) -> None:
    """One line names the file and the reason; the file is left as it is."""
    make(file)
    with pytest.raises(error, match=text) as caught, SqliteStores(file) as stores:
        stores.runs.load("run-1")
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    """The file is not made in a folder that does not exist."""
    with pytest.raises(StoreError, match="its folder does not exist"):
        SqliteStores(tmp_path / "nowhere" / "runs.db")


def test_a_device_is_no_file() -> None:
    """What can be opened and is no plain file is refused."""
    with pytest.raises(StoreError, match="its folder does not exist"):
        SqliteStores("/dev/null/runs.db")
    with pytest.raises(StoreError, match="the disk is full"):
        SqliteStores("/dev/full")


def test_a_read_only_file_can_be_read_and_not_written(tmp_path: Path, file: Path) -> None:
    """An archive is read as it is; a run that is to be saved there ends as RECORD_NOT_SAVED."""
    with SqliteStores(file) as stores:
        _ended(stores.runs, "run-1")
    file.chmod(stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
    with closing(_ReadOnly(file)) as database, database.reading() as connection:
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (1,)
    with _ReadOnlyRuns.of(file) as runs:
        record = Harness(_gives_up, run_store=runs).run("q").record
    assert record.stop_cause is StopCause.RECORD_NOT_SAVED
    assert record.run_state is RunState.FAILED
    assert not record.record_saved


class _ReadOnly(Database):
    """A file as somebody opens it who may only read: root may everything."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, timeout=0.1, create=False, durable=False)

    def _prepared(self, name: str) -> sqlite3.Connection:
        if name == self.path:
            raise sqlite3.OperationalError
        return super()._prepared(name)


class _ReadOnlyRuns(SqliteRunStore):
    @classmethod
    def of(cls, file: Path) -> SqliteRunStore:
        return cls.sharing(_ReadOnly(file))


@pytest.fixture(autouse=True)
def _archives(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Where a test is about an archive, the folder counts as read-only, whoever runs the test."""
    if "read_only" in request.node.name:
        monkeypatch.setattr(_database, "_is_archive", lambda _path: True)


def test_an_archive_is_what_nobody_can_be_writing(file: Path) -> None:
    """A folder that can be written, or a log beside the file, means that somebody may write it."""
    SqliteStores(file).close()
    assert not _database._is_archive(str(file))
    assert not _database._is_archive(str(file.parent / "missing.db"))


def test_a_file_that_cannot_be_opened_says_so(file: Path) -> None:
    """What the system refuses to open is one line too, not a traceback of the library."""
    file.symlink_to(file)
    with pytest.raises(StoreError, match="cannot be opened: not allowed, or not a plain file"):
        SqliteStores(file)


def test_a_full_disk_saves_nothing_and_publishes_a_failure(file: Path) -> None:
    """The run's record cannot be stored: the client gets a failure, and the file stays readable."""
    with SqliteStores(file) as stores:
        _ended(stores.runs, "run-1")
        with stores._database.reading() as connection:
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {pages}")
        big = sample_canonical("run-2", texts=("x" * 4000,) * 50)
        with pytest.raises(StoreError, match="the disk is full"):
            stores.canonical.save(big)
        assert stores.canonical.load(big.invocation_id) is None
        record = Harness(_gives_up, run_store=stores.runs).run("x" * 100_000).record
        assert record.stop_cause is StopCause.RECORD_NOT_SAVED
        assert stores.runs.load("run-1") is not None


def test_a_locked_file_is_waited_for_and_then_told(file: Path) -> None:
    """Another process that holds the file for longer than the timeout is named as the reason."""
    with SqliteStores(file, timeout=0) as stores, closing(sqlite3.connect(file)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"locked by another process; waited 0 s"):
            stores.runs.begin(sample_opening("run-1"))
        other.rollback()
        stores.runs.begin(sample_opening("run-1"))


def test_a_file_that_is_being_made_by_another_process_is_waited_for(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changing the journal mode does not wait by itself: it is tried again until the timeout."""
    waits: list[float] = []
    times = iter([0.0, 0.0, 1.0, 1.0, 9.0])
    monkeypatch.setattr(_database, "sleep", waits.append)
    monkeypatch.setattr(_database, "monotonic", lambda: next(times))
    with closing(sqlite3.connect(file, timeout=0)) as other:
        other.execute("BEGIN EXCLUSIVE")
        other.execute("CREATE TABLE t (x)")
        with pytest.raises(StoreError, match="locked by another process"):
            _Impatient(file)
    assert waits in ([], [0.01], [0.01, 0.01])


class _Impatient(Database):
    def __init__(self, path: Path) -> None:
        super().__init__(path, timeout=0.0, create=True, durable=False)


class _Refusing:
    """A connection of which a pragma fails as told."""

    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)
        self.asked = 0

    def execute(self, _statement: str) -> None:
        self.asked += 1
        if self.codes:
            error = sqlite3.OperationalError("refused")
            error.sqlite_errorcode = self.codes.pop(0)
            raise error


def test_the_journal_mode_is_set_with_patience(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Busy is tried again, read-only is fine, and anything else goes on."""
    waits: list[float] = []
    monkeypatch.setattr(_database, "sleep", waits.append)
    database = Database(file, timeout=5.0, create=True, durable=False)
    busy = _Refusing(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_BUSY)
    database._use_wal(busy)  # type: ignore[arg-type]
    assert (busy.asked, waits) == (3, [0.01, 0.01])
    database._use_wal(_Refusing(sqlite3.SQLITE_READONLY))  # type: ignore[arg-type]
    with pytest.raises(sqlite3.OperationalError):
        database._use_wal(_Refusing(sqlite3.SQLITE_CORRUPT))  # type: ignore[arg-type]
    database.close()


def test_an_older_file_becomes_a_current_one(tmp_path: Path) -> None:
    """Steps run from the file's own version on, whole or not at all; done twice is done once."""
    steps = (("CREATE TABLE a (x)",), ("CREATE TABLE b (x)", "INSERT INTO b VALUES (1)"))
    with closing(sqlite3.connect(tmp_path / "old.db", isolation_level=None)) as connection:
        migrate(connection, "old.db", steps[:1])
        migrate(connection, "old.db", steps)
        migrate(connection, "old.db", steps)
        assert connection.execute("SELECT count(*) FROM b").fetchone() == (1,)
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)


def test_a_migration_that_fails_leaves_the_file_as_it_was(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step and the version are one transaction."""
    monkeypatch.setattr(_database, "migrate", partial(_failing_migration, STEPS))
    with pytest.raises(StoreError, match="cannot be used"):
        SqliteStores(file)
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)


def _failing_migration(
    steps: tuple[tuple[str, ...], ...], connection: sqlite3.Connection, path: str
) -> None:
    migrate(connection, path, (*steps, ("CREATE TABLE runs (x)",)))


# --- forks


def test_a_fork_shares_no_connection(file: Path) -> None:
    """Parent and child go on with connections of their own; neither loses what it writes."""
    with SqliteStores(file) as stores:
        _ended(stores.runs, "run-1")
        read, write = os.pipe()
        child = os.fork()
        if child == 0:  # pragma: no cover  the child's own process
            try:
                _ended(stores.runs, "run-2")
                os.write(write, b"1")
            finally:
                os._exit(0)
        os.close(write)
        _ended(stores.runs, "run-3")
        assert os.read(read, 1) == b"1"
        os.close(read)
        os.waitpid(child, 0)
        assert len(stores.runs) == 3


# --- two processes


_FINISH = """
import sys
from harness.stores import SqliteRunStore
from harness.testing._samples import sample_endings
runs = SqliteRunStore(sys.argv[1], timeout=30)
sys.stdin.readline()
won = 0
for number in range(40):
    won += runs.finish(sample_endings(f"run-{number}")[sys.argv[2]]) is None
print(won)
"""


def test_of_two_processes_one_ends_each_run(file: Path) -> None:
    """Two processes finish the same forty runs: each run has one ending, of whoever was first."""
    with SqliteStores(file, durable=False) as stores:
        for number in range(40):
            stores.runs.begin(sample_opening(f"run-{number}"))
        racers = [
            subprocess.Popen(
                [sys.executable, "-c", _FINISH, str(file), name],
                env={**os.environ, "PYTHONPATH": str(_ROOT / "src")},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for name in ("report", "cancelled")
        ]
        outputs = [racer.communicate("go\n")[0] for racer in racers]
        assert sum(map(int, outputs)) == 40
        endings = [stores.runs.load(f"run-{number}") for number in range(40)]
        reports = sum(1 for one in endings if one and one.stop_cause is StopCause.REPORT_APPROVED)
        assert reports == int(outputs[0])
        with pytest.raises(RunExistsError):
            stores.runs.begin(sample_opening("run-0"))

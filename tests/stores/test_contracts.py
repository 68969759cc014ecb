"""The contract kits: the bundled stores hold every rule, and for each a faulty store breaks it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from harness import CanonicalRecord, Invocation, RunRecord, Trace
from harness.errors import RunExistsError
from harness.ports import CanonicalStore, RunStore
from harness.stores import (
    MemoryCanonicalStore,
    MemoryRunStore,
    SqliteCanonicalStore,
    SqliteRunStore,
)
from harness.testing.contracts_stores import (
    CanonicalStoreContract,
    RunStoreContract,
    broken_rules,
)


class TestMemoryCanonicalStore(CanonicalStoreContract):
    """The store in memory."""

    def make_store(self) -> CanonicalStore:
        return MemoryCanonicalStore()


class TestMemoryRunStore(RunStoreContract):
    """The store in memory."""

    def make_store(self) -> RunStore:
        return MemoryRunStore()


class _OnFile:
    """A new file for each rule."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.file = tmp_path / "runs.db"
        self.store: Any = self.kind(self.file, durable=False)

    kind: Callable[..., Any]

    def setup_method(self) -> None:
        """The fixture makes the store: it knows the folder."""

    def reopen(self, _store: Any) -> Any:
        return self.kind(self.file)

    def discard(self, store: Any) -> None:
        store.close()


class TestSqliteCanonicalStore(_OnFile, CanonicalStoreContract):
    """The store in a file."""

    kind = SqliteCanonicalStore


class TestSqliteRunStore(_OnFile, RunStoreContract):
    """The store in a file."""

    kind = SqliteRunStore


# --- faulty stores, one a rule


class _LosesFailures(MemoryCanonicalStore):
    def load(self, invocation_id: str) -> CanonicalRecord | None:
        record = super().load(invocation_id)
        if record is None or record.facts:
            return record
        return None


class _Cuts(MemoryCanonicalStore):
    def load(self, invocation_id: str) -> CanonicalRecord | None:
        record = super().load(invocation_id)
        if record is None or len(record.facts) < 100:
            return record
        return evolve(record, facts=record.facts[:100])


class _RaisesOnUnknown(MemoryCanonicalStore):
    def load(self, invocation_id: str) -> CanonicalRecord | None:
        record = super().load(invocation_id)
        if record is None:
            raise KeyError(invocation_id)
        return record


class _FoldsCase(MemoryCanonicalStore):
    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, CanonicalRecord] = {}

    def save(self, record: CanonicalRecord) -> None:
        self.kept[record.invocation_id.casefold()] = record

    def load(self, invocation_id: str) -> CanonicalRecord | None:
        return self.kept.get(invocation_id.casefold())


class _OneRun(MemoryCanonicalStore):
    run_id = ""

    def save(self, record: CanonicalRecord) -> None:
        self.run_id = self.run_id or record.invocation.run_id
        super().save(record)

    def load(self, invocation_id: str) -> CanonicalRecord | None:
        record = super().load(invocation_id)
        foreign = record is not None and record.invocation.run_id != self.run_id
        return None if foreign else record


class _Overwrites(MemoryCanonicalStore):
    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, CanonicalRecord] = {}

    def save(self, record: CanonicalRecord) -> None:
        self.kept[record.invocation_id] = record

    def load(self, invocation_id: str) -> CanonicalRecord | None:
        return self.kept.get(invocation_id)


class _Racy(_Overwrites):
    def save(self, record: CanonicalRecord) -> None:
        if self.kept.get(record.invocation_id, record) != record:
            raise ValueError(record.invocation_id)
        copy = dict(self.kept)
        time.sleep(0)
        copy[record.invocation_id] = record
        for _ in range(200):
            time.sleep(0)
        self.kept = copy


class _Flushes(MemoryCanonicalStore):
    """Another reader sees nothing: reopening gives an empty store."""


_FAULTY_CANONICAL = {
    "test_a_record_comes_back_as_it_was_saved": _LosesFailures,
    "test_a_record_of_the_largest_size_is_kept_whole": _Cuts,
    "test_an_id_that_was_never_saved_gives_none": _RaisesOnUnknown,
    "test_ids_are_compared_literally": _FoldsCase,
    "test_a_record_is_found_whatever_its_run": _OneRun,
    "test_another_content_under_an_id_is_refused": _Overwrites,
    "test_several_threads_may_save_at_once": _Racy,
    "test_what_was_saved_is_there_for_another_reader": _Flushes,
}


def _canonical_kit(kind: Callable[[], CanonicalStore]) -> type[CanonicalStoreContract]:
    class Kit(CanonicalStoreContract):
        def make_store(self) -> CanonicalStore:
            return kind()

        def reopen(self, store: CanonicalStore) -> CanonicalStore:
            return kind() if kind is _Flushes else store

    return Kit


@pytest.mark.parametrize("rule", _FAULTY_CANONICAL)
def test_a_faulty_canonical_store_is_caught(rule: str) -> None:
    """The kit names the rule that the store breaks, and says what it found."""
    broken = broken_rules(_canonical_kit(_FAULTY_CANONICAL[rule]))
    assert rule in broken
    assert broken[rule]


class _ForgetsRunning(MemoryRunStore):
    def load(self, run_id: str) -> RunRecord | None:
        record = super().load(run_id)
        return None if record is None or record.ended_at is None else record


class _Invents(MemoryRunStore):
    first: RunRecord | None = None

    def begin(self, record: RunRecord) -> None:
        self.first = record
        super().begin(record)

    def load(self, run_id: str) -> RunRecord | None:
        return super().load(run_id) or self.first


class _BeginsTwice(MemoryRunStore):
    def begin(self, record: RunRecord) -> None:
        try:
            super().begin(record)
        except RunExistsError as error:
            raise RunExistsError(error.run_id, record.run_state) from None


class _LosesTrace(MemoryRunStore):
    def load(self, run_id: str) -> RunRecord | None:
        record = super().load(run_id)
        return None if record is None else evolve(record, trace=Trace([]))


class _LastWins(MemoryRunStore):
    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, RunRecord] = {}

    def begin(self, record: RunRecord) -> None:
        if record.run_id in self.kept:
            raise RunExistsError(record.run_id, self.kept[record.run_id].run_state)
        self.kept[record.run_id] = record

    def finish(self, record: RunRecord) -> RunRecord | None:
        if record.ended_at is None:
            raise ValueError(record.run_id)
        self.kept[record.run_id]
        self.kept[record.run_id] = record
        return None

    def mark_delivered(self, run_id: str) -> None:
        self.kept[run_id] = evolve(self.kept[run_id], delivered=True)

    def load(self, run_id: str) -> RunRecord | None:
        return self.kept.get(run_id)


class _FinishesUnbegun(_LastWins):
    def finish(self, record: RunRecord) -> RunRecord | None:
        self.kept[record.run_id] = record
        return None


class _FinishesRunning(_LastWins):
    def finish(self, record: RunRecord) -> RunRecord | None:
        self.kept[record.run_id]
        self.kept[record.run_id] = record
        return None


class _ForgetsDelivery(MemoryRunStore):
    def mark_delivered(self, run_id: str) -> None:
        """Note nothing."""


class _GivesUndelivered(MemoryRunStore):
    def finish(self, record: RunRecord) -> RunRecord | None:
        standing = super().finish(record)
        return None if standing is None else evolve(standing, delivered=False)


class _Trims(MemoryRunStore):
    def load(self, run_id: str) -> RunRecord | None:
        return super().load(run_id) or super().load(run_id.strip())


class _DeliversAll(_LastWins):
    def mark_delivered(self, run_id: str) -> None:
        self.kept = {key: evolve(one, delivered=True) for key, one in self.kept.items()}


class _RacyBegin(_LastWins):
    def begin(self, record: RunRecord) -> None:
        if record.run_id in self.kept:
            raise RunExistsError(record.run_id, self.kept[record.run_id].run_state)
        for _ in range(50):
            time.sleep(0)
        self.kept[record.run_id] = record


class _RacyFinish(_LastWins):
    def finish(self, record: RunRecord) -> RunRecord | None:
        standing = self.kept[record.run_id]
        for _ in range(50):
            time.sleep(0)
        if standing.ended_at is not None:
            return standing
        self.kept[record.run_id] = record
        return None


class _InMemoryOnly(MemoryRunStore):
    """Another reader sees nothing."""


_FAULTY_RUN = {
    "test_a_begun_run_is_running": _ForgetsRunning,
    "test_an_unknown_run_gives_none": _Invents,
    "test_a_second_begin_is_refused_with_the_stored_state": _BeginsTwice,
    "test_every_ending_comes_back_as_it_was_finished": _LosesTrace,
    "test_the_first_ending_stands": _LastWins,
    "test_a_run_that_was_never_begun_cannot_be_finished": _FinishesUnbegun,
    "test_only_an_ending_finishes_a_run": _FinishesRunning,
    "test_a_delivery_is_noted_and_nothing_else": _ForgetsDelivery,
    "test_a_standing_ending_says_whether_it_was_delivered": _GivesUndelivered,
    "test_nothing_that_has_not_ended_is_delivered": _DeliversAll,
    "test_ids_are_compared_literally": _Trims,
    "test_runs_leave_each_other_alone": _DeliversAll,
    "test_one_of_several_threads_begins_a_run": _RacyBegin,
    "test_one_of_several_threads_finishes_a_run": _RacyFinish,
    "test_what_was_stored_is_there_for_another_reader": _InMemoryOnly,
}


def _run_kit(kind: Callable[[], RunStore]) -> type[RunStoreContract]:
    class Kit(RunStoreContract):
        def make_store(self) -> RunStore:
            return kind()

        def reopen(self, store: RunStore) -> RunStore:
            return kind() if kind is _InMemoryOnly else store

    return Kit


@pytest.mark.parametrize("rule", _FAULTY_RUN)
def test_a_faulty_run_store_is_caught(rule: str) -> None:
    """The kit names the rule that the store breaks, and says what it found."""
    broken = broken_rules(_run_kit(_FAULTY_RUN[rule]))
    assert rule in broken
    assert broken[rule]


def test_every_rule_has_a_store_that_breaks_it() -> None:
    """No rule of a kit goes untried."""
    for kit, faulty in (
        (CanonicalStoreContract, _FAULTY_CANONICAL),
        (RunStoreContract, _FAULTY_RUN),
    ):
        assert {name for name in dir(kit) if name.startswith("test_")} == set(faulty)


def test_a_kit_without_a_factory_says_so() -> None:
    """A subclass that forgot its factory is told its name."""

    class Forgetful(RunStoreContract):
        pass

    with pytest.raises(NotImplementedError, match=r"Forgetful\.make_store"):
        broken_rules(Forgetful)


def test_the_bundled_stores_break_no_rule_without_a_test_runner() -> None:
    """The kits run anywhere."""
    assert broken_rules(_canonical_kit(MemoryCanonicalStore)) == {}
    assert broken_rules(_run_kit(MemoryRunStore)) == {}


def test_an_invocation_is_part_of_what_is_compared() -> None:
    """A canonical record that comes back with another invocation is no record of the run."""

    class Other(MemoryCanonicalStore):
        def load(self, invocation_id: str) -> CanonicalRecord | None:
            record = super().load(invocation_id)
            if record is None:
                return None
            invocation: Invocation = evolve(record.invocation, number=99)
            return evolve(record, invocation=invocation)

    broken = broken_rules(_canonical_kit(Other))
    assert "test_a_record_comes_back_as_it_was_saved" in broken

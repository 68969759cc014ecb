"""What a run store must hold, rule by rule (section 3.10)."""

from __future__ import annotations

from functools import partial
from typing import Final

from attrs import evolve

from harness._records import RunRecord
from harness.errors import RunExistsError
from harness.ports import RunStore
from harness.testing._samples import sample_endings, sample_opening
from harness.testing._store_contract import (
    LOOKALIKES,
    THREADS,
    StoreContract,
    at_once,
    expect,
    expect_equal,
    expect_refusal,
)

__all__ = ["RunStoreContract"]

#: How often threads race for one run.
_ROUNDS: Final = 20


class RunStoreContract(StoreContract[RunStore]):
    """
    What a run store must hold (section 3.10): one ending a run, decided by compare-and-set.
    """

    def _begun(self, run_id: str = "Run-1") -> RunRecord:
        opening = sample_opening(run_id, "a conversation")
        self.store.begin(opening)
        return opening

    def _ended(self, run_id: str = "Run-1", name: str = "report") -> RunRecord:
        self._begun(run_id)
        record = _ending(name, run_id)
        expect(self.store.finish(record) is None, "the first finish of a begun run was refused")
        return record

    def _expect_stored(self, run_id: str, record: RunRecord | None) -> None:
        expect_equal(self.store.load(run_id), record, f"run {run_id!r}")

    def test_a_begun_run_is_running(self) -> None:
        """
        What was opened can be read at once, as it was opened.
        """
        self._expect_stored("Run-1", self._begun())

    def test_an_unknown_run_gives_none(self) -> None:
        """
        Asking for a run that was never begun is no error.
        """
        self._begun()
        self._expect_stored("Run-2", None)

    def test_a_second_begin_is_refused_with_the_stored_state(self) -> None:
        """
        A repeated request cannot run twice, whether the first run is under way or has ended.
        """
        for record in (self._begun("Run-1"), self._ended("Run-2")):
            again = partial(self.store.begin, sample_opening(record.run_id))
            error = expect_refusal(again, "a second begin")
            expect(isinstance(error, RunExistsError), f"a second begin raised {error!r}")
            expect_equal(getattr(error, "state", None), record.run_state, "the state of the error")
            self._expect_stored(record.run_id, record)

    def test_every_ending_comes_back_as_it_was_finished(self) -> None:
        """
        Nothing of a record is lost: gates, invocations, attempts, budget and trace included.
        """
        for number, name in enumerate(sample_endings("any")):
            record = self._ended(f"Run-{number}", name)
            self._expect_stored(record.run_id, record)

    def test_the_first_ending_stands(self) -> None:
        """
        A second finish changes nothing and gives the ending that stands.
        """
        first = self._ended()
        for name in sample_endings("any"):
            expect_equal(self.store.finish(_ending(name)), first, "what a second finish gave")
        self._expect_stored("Run-1", first)

    def test_a_run_that_was_never_begun_cannot_be_finished(self) -> None:
        """
        There is nothing to compare with, so nothing is set.
        """
        expect_refusal(lambda: self.store.finish(_ending()), "finishing an unknown run")
        self._expect_stored("Run-1", None)

    def test_only_an_ending_finishes_a_run(self) -> None:
        """
        A record that is still running is no ending.
        """
        opening = self._begun()
        other = evolve(opening, missing_context=("service",))
        expect_refusal(lambda: self.store.finish(other), "finishing with a running record")
        self._expect_stored("Run-1", opening)

    def test_a_delivery_is_noted_and_nothing_else(self) -> None:
        """
        Noted once or twice, it sets ``delivered`` and leaves the rest of the record.
        """
        record = self._ended()
        for _time in range(2):
            self.store.mark_delivered("Run-1")
            self._expect_stored("Run-1", evolve(record, delivered=True))

    def test_a_standing_ending_says_whether_it_was_delivered(self) -> None:
        """
        Whoever lost the compare-and-set sees what the winner's client received.
        """
        record = self._ended()
        self.store.mark_delivered("Run-1")
        standing = self.store.finish(_ending("cancelled"))
        expect_equal(standing, evolve(record, delivered=True), "what a second finish gave")

    def test_nothing_that_has_not_ended_is_delivered(self) -> None:
        """
        Refused or ignored, a delivery makes no run up and marks none that is under way.
        """
        opening = self._begun()
        for run_id in ("Run-1", "Run-2"):
            try:
                self.store.mark_delivered(run_id)
            except Exception:  # noqa: BLE001, S112  a refusal is as good
                continue
        self._expect_stored("Run-1", opening)
        self._expect_stored("Run-2", None)

    def test_ids_are_compared_literally(self) -> None:
        """
        No case folding, trimming, patterns or prefixes: two runs never share a row.
        """
        record = self._ended()
        for other in LOOKALIKES:
            self._expect_stored(other, None)
            self._begun(other)
        self._expect_stored("Run-1", record)

    def test_runs_leave_each_other_alone(self) -> None:
        """
        Ending and delivering one run changes no other.
        """
        opening = self._begun("Run-2")
        other = self._ended("Run-3", "cancelled")
        self._ended("Run-1")
        self.store.mark_delivered("Run-1")
        self._expect_stored("Run-2", opening)
        self._expect_stored("Run-3", other)

    def test_one_of_several_threads_begins_a_run(self) -> None:
        """
        Under contention exactly one begin is accepted, and every other one is refused.
        """
        for number in range(_ROUNDS):
            opening = sample_opening(f"Run-{number}")
            results = at_once([partial(self.store.begin, opening)] * THREADS)
            refused = [result for result in results if isinstance(result, RunExistsError)]
            expect_equal(results.count(None), 1, "how many begins were accepted")
            expect_equal(len(refused), THREADS - 1, "how many begins were refused")

    def test_one_of_several_threads_finishes_a_run(self) -> None:
        """
        Under contention exactly one ending is stored, and every other finish gives that one.
        """
        names = list(sample_endings("any"))
        for number in range(_ROUNDS):
            run_id = f"Run-{number}"
            self._begun(run_id)
            endings = [_ending(name, run_id) for name in names]
            results = at_once([partial(self.store.finish, ending) for ending in endings])
            stored = self.store.load(run_id)
            expected = [None if ending == stored else stored for ending in endings]
            expect(stored in endings, f"none of the endings is stored but {stored!r:.300}")
            expect_equal(results, expected, "what the finishes gave")

    def test_what_was_stored_is_there_for_another_reader(self) -> None:
        """
        Begun, ended and delivered mean what they say to another process at once.
        """
        opening, ended = self._begun("Run-2"), self._ended("Run-1")
        self.store.mark_delivered("Run-1")
        with self._another_reader() as other:
            expect_equal(other.load("Run-2"), opening, "read by another")
            expect_equal(other.load("Run-1"), evolve(ended, delivered=True), "read by another")


def _ending(name: str = "report", run_id: str = "Run-1") -> RunRecord:
    return sample_endings(run_id, "a conversation")[name]

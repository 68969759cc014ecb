"""What a canonical store must hold, rule by rule (section 3.5)."""

from __future__ import annotations

from functools import partial
from typing import Final

from harness._canonical import digest_of
from harness._records import CanonicalRecord
from harness.ports import CanonicalStore
from harness.testing._samples import ODD_TEXT, sample_canonical, sample_evidence
from harness.testing._store_contract import (
    LOOKALIKES,
    THREADS,
    StoreContract,
    at_once,
    expect,
    expect_equal,
    expect_refusal,
)

__all__ = ["CanonicalStoreContract"]

#: As much as the default limits let one record hold.
_LARGEST: Final = tuple(f"{number:04}" * 1024 for number in range(200))


class CanonicalStoreContract(StoreContract[CanonicalStore]):
    """
    What a canonical store must hold (section 3.5): evidence comes back as it was saved, or not.
    """

    def test_a_record_comes_back_as_it_was_saved(self) -> None:
        """
        Facts, empty scopes, failures, cuts and refused arguments are kept, whole and literally.
        """
        for record in sample_evidence("Run-1"):
            self.store.save(record)
        for record in sample_evidence("Run-1"):
            self._expect_kept(record)

    def test_a_record_of_the_largest_size_is_kept_whole(self) -> None:
        """
        Nothing is cut off of a record that the default limits let through.
        """
        record = sample_canonical("Run-1", texts=_LARGEST)
        self.store.save(record)
        self._expect_kept(record)

    def test_an_id_that_was_never_saved_gives_none(self) -> None:
        """
        A citation of an id that nobody gave is no error of the store.
        """
        self.store.save(sample_canonical("Run-1"))
        for unknown in ("E-Run-2-1", "", ODD_TEXT):
            expect(self.store.load(unknown) is None, f"load({unknown!r}) gave a record")

    def test_ids_are_compared_literally(self) -> None:
        """
        No case folding, trimming, patterns or prefixes: a citation names its record exactly.
        """
        record = sample_canonical("Run-1", prefix="Run-")
        self.store.save(record)
        for other in LOOKALIKES:
            expect(self.store.load(other) is None, f"{other!r} was taken for 'Run-1'")
        self.store.save(sample_canonical("Run-2", prefix="run-"))
        self._expect_kept(record)

    def test_a_record_is_found_whatever_its_run(self) -> None:
        """
        The evidence guard must see that a cited record belongs to another run.
        """
        for run_id in ("Run-1", "Run-2"):
            self.store.save(sample_canonical(run_id))
        self._expect_kept(sample_canonical("Run-1"))
        self._expect_kept(sample_canonical("Run-2"))

    def test_another_content_under_an_id_is_refused(self) -> None:
        """
        A record is immutable: the first content stays.
        """
        first = sample_canonical("Run-1")
        self.store.save(first)
        second = sample_canonical("Run-1", texts=("something else",))
        expect_refusal(lambda: self.store.save(second), "another content under a saved id")
        self._expect_kept(first)

    def test_several_threads_may_save_at_once(self) -> None:
        """
        Every record of runs on several threads is there afterwards.
        """
        runs = [f"Run-{number}" for number in range(THREADS)]

        def save_all(run_id: str) -> None:
            for record in sample_evidence(run_id):
                self.store.save(record)

        for result in at_once([partial(save_all, run_id) for run_id in runs]):
            expect(not isinstance(result, Exception), f"a save on a thread raised {result!r}")
        for run_id in runs:
            for record in sample_evidence(run_id):
                self._expect_kept(record)

    def test_what_was_saved_is_there_for_another_reader(self) -> None:
        """
        Saved means saved: nothing waits in the object for a flush or a close.
        """
        record = sample_canonical("Run-1")
        self.store.save(record)
        with self._another_reader() as other:
            expect_equal(other.load(record.invocation_id), record, "read by another")

    def _expect_kept(self, record: CanonicalRecord) -> None:
        found = self.store.load(record.invocation_id)
        expect_equal(found, record, f"record {record.invocation_id!r}")
        digest = record.invocation.digest
        expect_equal(found and digest_of(found), digest, f"digest of {record.invocation_id!r}")

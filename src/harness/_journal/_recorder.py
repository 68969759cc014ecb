"""Writes a run's journal: entries are gathered, and stored before the flow acts on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness._journal._codec import to_line
from harness.errors import JournalConflictError
from harness.ports import Journal

__all__ = ["Recorder"]


class Recorder:
    """
    Writes to one run's journal.

    Args:
        journal: The journal; ``None`` writes nowhere.
        run_id: The run.
        number: How many lines it has.
    """

    __slots__ = ("_journal", "_lines", "is_open", "number", "run_id")

    def __init__(self, journal: Journal | None, run_id: str, number: int = 0) -> None:
        self._journal = journal
        self.run_id = run_id
        #: How many lines the journal has.
        self.number = number
        #: Whether anything is written; a journal that failed once is left alone.
        self.is_open = journal is not None
        self._lines: list[str] = []

    def note(self, kind: str, lane: int, data: Mapping[str, Any]) -> None:
        """
        Gather an entry.

        Args:
            kind: Its kind.
            lane: Which step of a batch it belongs to, from 1; 0 for the run itself.
            data: What it says.
        """
        if self.is_open:
            self._lines.append(to_line({"k": kind, **({"w": lane} if lane else {}), **data}))

    def flush(self) -> Exception | None:
        """
        Store what was gathered.

        Returns:
            What the journal raised, once: from then on nothing is written; else ``None``.

        Raises:
            JournalConflictError: Somebody else goes on with the run.
        """
        journal = self._journal
        if journal is None or not self.is_open or not self._lines:
            return None
        # whatever comes out of an append, nobody knows whether it was stored
        self.is_open = False
        try:
            journal.append(self.run_id, self.number, self._lines)
        except JournalConflictError:
            raise
        except Exception as error:  # noqa: BLE001  a broken journal ends the run, whatever broke it
            return error
        self.number += len(self._lines)
        self._lines = []
        self.is_open = True
        return None

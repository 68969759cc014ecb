"""Scenarios with a journal: run, crash at any of its appends, and go on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness import CancelToken, Harness, RunRecord
from harness._seam import SeamBroken
from harness.replay import ReplayResult, replay, resume
from harness.stores.journal import MemoryJournal
from harness.testing import VirtualClock, _play
from harness.testing.scenario import (
    client_of,
    load_scenario,
    parts_of,
    request_of,
)
from tests.model.generate import generate

CASES = sorted((Path(__file__).parents[1] / "conformance/cases").glob("*.json"))
RUN_ID = "run-1"


class CrashedError(SeamBroken):
    """The process is gone: nothing of the run goes on in it."""


class CrashingJournal(MemoryJournal):
    """Ends the process at one of its appends: before the lines are stored, or after."""

    def __init__(self, at: int = 0, *, stored: bool = True) -> None:
        super().__init__()
        self.appends = 0
        self.at = at
        self.stored = stored
        #: Crashes after storing the first lines that hold this text.
        self.text = ""

    def append(self, run_id: str, number: int, lines: Sequence[str]) -> None:
        """Store lines, or end the process."""
        self.appends += 1
        if self.appends == self.at and not self.stored:
            raise CrashedError
        super().append(run_id, number, lines)
        is_told = bool(self.text) and any(self.text in line for line in lines)
        if self.appends == self.at or is_told:
            raise CrashedError


class World:
    """Everything outside of one run of a scenario; it stays when the process goes."""

    def __init__(self, data: Mapping[str, Any], journal: MemoryJournal | None = None) -> None:
        scenario = load_scenario(data)
        self.data = scenario.data
        self.clock, self.token = VirtualClock(), CancelToken()
        self.player = _play.Player(self.data, self.clock, self.token)
        self.client = client_of(self.data)
        self.parts = parts_of(self.data, self.player, self.clock)
        self.journal = MemoryJournal() if journal is None else journal
        self.interrupt: BaseException | None = None

    def harness(self) -> Harness:
        """The harness as each process builds it."""
        return Harness(**self.parts, journal=self.journal)

    def run(self) -> RunRecord:
        """The run, as a process would do it that does not crash."""
        record, self.interrupt = self.harness()._execute(
            request_of(self.data), run_id=RUN_ID, cancel=self.token, client=self.client
        )
        return record

    def crashed(self) -> bool:
        """Run it; whether the process crashed."""
        try:
            self.run()
        except CrashedError:
            return True
        return False

    def resume(self) -> RunRecord | None:
        """Go on with it in another process; ``None`` where the script has no step for that."""
        try:
            result = resume(
                self.journal, RUN_ID, self.harness(), cancel=self.token, client=self.client
            )
        except _play.OutOfSteps:
            return None
        except KeyboardInterrupt:
            stored: RunRecord = self.parts["run_store"].load(RUN_ID)
            return stored
        return result.record

    def calls(self) -> int:
        """How many calls of models and tools were really made."""
        made = self.player._made.items()
        return sum(count for what, count in made if what.startswith("call of "))

    def replay(self) -> ReplayResult:
        """Read it back."""
        return replay(self.journal, RUN_ID)


def ending(record: RunRecord) -> tuple[Any, ...]:
    """How a run ended, and what was public."""
    return (
        record.run_state,
        record.stop_cause,
        record.release_outcome,
        record.fallback_type,
        # not the draft: its citations name ids that are drawn anew where nobody has seen them yet
        None if record.public is None else (record.public.kind, record.public.text),
    )


def case(path: Path) -> dict[str, Any]:
    """A bundled scenario."""
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data


def generated(seed: int) -> dict[str, Any]:
    """A generated scenario."""
    return dict(generate(seed))

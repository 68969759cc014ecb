"""
Crash a scenario's run at each append of its journal, resume it, and say what is wrong.

``python -m tests.journal.cuts [COUNT]`` takes all bundled scenarios and COUNT generated ones.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from harness import RunRecord
from harness._journal import read_entries
from harness._journal._asks import MODEL_SITES, TOOL
from tests.journal.worlds import CASES, RUN_ID, CrashingJournal, World, case, ending, generated

_SPENT = MODEL_SITES | {TOOL}


def positions(data: Mapping[str, Any]) -> tuple[RunRecord, int, int]:
    """The run without a crash: its record, its calls, and how often it appends."""
    journal = CrashingJournal()
    world = World(data, journal)
    return world.run(), world.calls(), journal.appends


def faults(
    data: Mapping[str, Any], whole: RunRecord, calls: int, at: int, *, stored: bool
) -> Iterator[str]:
    """What is wrong after a crash at one append and a resume."""
    journal = CrashingJournal(at, stored=stored)
    world = World(data, journal)
    if not world.crashed():
        yield "no crash"
        return
    lines = journal.read(RUN_ID)
    if not lines:
        # the process was gone before it had begun anything
        return
    under_way = _under_way(lines)
    journal.at = 0
    record = world.resume()
    if record is None:
        # the script has no answer to what a lost one makes the run ask
        yield from () if under_way else ("the script ran dry",)
        return
    # a call that is refused before it is made (an unknown tool) is an attempt as well
    refused = len(whole.attempts) - calls
    unmade = len(record.attempts) - world.calls()
    # another process's ending has no attempts of this one
    if whole.attempts and not 0 <= unmade <= refused + 1:
        yield f"{world.calls()} calls made, {len(record.attempts)} attempts counted"
    if not under_way and ending(record) != ending(whole):
        yield f"ended as {ending(record)[:4]}"
    if not under_way and world.calls() != calls:
        yield f"{world.calls()} calls made instead of {calls}"
    again = world.replay()
    interrupted = "interrupt" in data
    if not again.is_same or (again.record != record and not interrupted):
        yield f"its journal replays otherwise: {again}"


def _under_way(lines: tuple[str, ...]) -> bool:
    """Whether a call was under way whose answer the journal does not have."""
    last = read_entries(lines, RUN_ID)[-1]
    return last.kind == "start" and last.data["site"] in {*_SPENT, "client.send"}


def main(argv: list[str]) -> int:
    """Crash everywhere."""
    count = wrong = 0
    listed = [(path.stem, case(path)) for path in CASES]
    listed += [(f"seed {seed}", generated(seed)) for seed in range(int(argv[0]) if argv else 0)]
    for name, data in listed:
        whole, calls, appends = positions(data)
        for at in range(1, appends + 1):
            for stored in (False, True):
                count += 1
                for fault in faults(data, whole, calls, at, stored=stored):
                    wrong += 1
                    print(f"{name}, append {at}{'+' if stored else '-'}: {fault}")  # noqa: T201
    print(f"{count} crashes, {wrong} wrong")  # noqa: T201
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

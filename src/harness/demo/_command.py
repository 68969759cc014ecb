"""The command ``python -m harness demo``: makes a real incident, and diagnoses it to an ending."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TextIO

from attrs import frozen

from harness import EventKind, ReleaseOutcome
from harness.demo._endings import ENDINGS, Ending
from harness.demo._incident import Incident, IncidentError, make_incident
from harness.demo._show import write_ending, write_table
from harness.errors import InvalidArgumentError

if TYPE_CHECKING:
    from harness import RunResult, StreamEvent

#: The exit status of each release outcome, as for ``diagnose``.
EXIT_STATUS: Final = MappingProxyType(
    {
        ReleaseOutcome.SUCCESS: 0,
        ReleaseOutcome.FALLBACK: 3,
        ReleaseOutcome.FAILED: 4,
        ReleaseOutcome.CANCELLED: 130,
    }
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the command's arguments.

    Args:
        parser: The command's parser.
    """
    names = ", ".join(ending.name for ending in ENDINGS[1:])
    parser.add_argument(
        "ending", nargs="?", metavar="ENDING", help=f"another ending than the report: {names}"
    )
    parser.add_argument("--all", action="store_true", help="run every ending, print one table")


def run(namespace: argparse.Namespace) -> int:
    """
    Run the command.

    Args:
        namespace: The parsed arguments.

    Returns:
        As :func:`run_demo` and :func:`run_every_ending`.

    Raises:
        InvalidArgumentError: If an ending is named beside ``--all``. Nothing was made.
    """
    if namespace.all:
        if namespace.ending is not None:
            raise InvalidArgumentError("ENDING", namespace.ending, "none beside --all")
        return run_every_ending(out=sys.stdout, err=sys.stderr)
    return run_demo(namespace.ending, out=sys.stdout, err=sys.stderr)


def run_demo(ending: str | None = None, *, out: TextIO, err: TextIO) -> int:
    """
    Make an incident in a temporary folder, and run one ending over it.

    Args:
        ending: The name of one of :data:`ENDINGS`; default: the good report.
        out: Gets the public text, the four views and the explanation.
        err: Gets a line for each step as it happens.

    Returns:
        The exit status: 0 for a report, 3 for a fallback, 4 for a failure (an incident that could
        not be made is one), 130 for a cancelled run.

    Raises:
        InvalidArgumentError: If there is no such ending. Nothing was made.
    """
    chosen = _find(ENDINGS[0].name if ending is None else ending)
    played = _play((chosen,), err)
    if not played:
        return EXIT_STATUS[ReleaseOutcome.FAILED]
    result = played[0][1]
    print(write_ending(chosen, result), file=out)
    return EXIT_STATUS[result.record.release_outcome or ReleaseOutcome.FAILED]


def run_every_ending(*, out: TextIO, err: TextIO) -> int:
    """
    Make an incident in a temporary folder, and run all endings over it.

    Args:
        out: Gets one table.
        err: Gets a line for each step as it happens.

    Returns:
        The exit status: 0 where every ending is as the specification states it, else 4.
    """
    played = _play(ENDINGS, err)
    if played:
        print(write_table(played), file=out)
    reached = [ending.is_reached(result.record) for ending, result in played]
    all_reached = bool(reached) and all(reached)
    return EXIT_STATUS[ReleaseOutcome.SUCCESS if all_reached else ReleaseOutcome.FAILED]


def _find(name: str) -> Ending:
    for ending in ENDINGS:
        if ending.name == name:
            return ending
    raise InvalidArgumentError("ending", name, ", ".join(ending.name for ending in ENDINGS))


def _play(endings: tuple[Ending, ...], err: TextIO) -> list[tuple[Ending, RunResult]]:
    """
    Run endings over one incident; none of them where there is no incident.
    """
    progress = _Progress(err)
    try:
        with TemporaryDirectory(prefix="harness-demo-") as folder:
            incident = make_incident(Path(folder), progress=progress.tell)
            progress.tell_counts(incident)
            return [progress.tell_run(ending, incident) for ending in endings]
    except (IncidentError, OSError) as error:
        progress.tell(f"failed: {error}")
        return []


@frozen
class _Progress:
    """
    Tells the terminal what happens, a line each; also a client of each run.
    """

    err: TextIO

    def tell(self, line: str) -> None:
        print(f"demo: {line}", file=self.err, flush=True)

    def tell_counts(self, incident: Incident) -> None:
        calm, burst = incident.calm, incident.burst
        self.tell(f"before the deploy: {calm.paid} paid, {calm.exhausted} refused")
        self.tell(f"after the deploy: {burst.paid} paid, {burst.exhausted} refused: no connection")

    def tell_run(self, ending: Ending, incident: Incident) -> tuple[Ending, RunResult]:
        self.tell(f"{ending.name}: {ending.scene}")
        return ending, ending.play(incident, self)

    def send(self, event: StreamEvent) -> None:
        if event.kind is EventKind.STATUS:
            stage = event.data["stage"].lower()
            self.tell(
                f"{stage}, turn {event.data['turn']}, {event.data['invocations']} invocations"
            )

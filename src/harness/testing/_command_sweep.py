"""``python -m harness sweep``: runs scenarios with every fault at every call that they make."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from time import monotonic
from typing import Final, TextIO

from harness._cli._terminal import one_line
from harness.errors import InvalidArgumentError
from harness.testing._files import read_scenarios
from harness.testing._schema import MalformedScenarioError
from harness.testing.faults import Fault, Injection
from harness.testing.invariants import INVARIANTS
from harness.testing.scenario import DRIVERS, Scenario, load_scenario
from harness.testing.sweep import Finding, SweepReport, sweep

__all__ = ["add_arguments", "run"]

_BROKEN: Final = 1
_MALFORMED: Final = 2
#: Seconds between two lines of progress.
_PACE: Final = 5.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the command's arguments.

    Args:
        parser: The command's parser.
    """
    parser.add_argument("paths", nargs="*", metavar="PATH", help="file, folder or .jsonl file")
    parser.add_argument(
        "--depth",
        type=int,
        choices=(0, 1, 2),
        default=1,
        help="0: one run, 1: every single fault (default), 2: every pair too",
    )
    parser.add_argument("--driver", choices=DRIVERS, default="sync", help="default: sync")
    parser.add_argument(
        "--inject",
        action="append",
        default=[],
        metavar="SITE:N=FAULT",
        help="a fault that every run has, such as tool:1=fail:TIMEOUT; repeatable",
    )
    parser.add_argument("--json", action="store_true", help="print what was found, as JSON")
    parser.add_argument("--list", action="store_true", help="list the faults and the invariants")


def run(namespace: argparse.Namespace) -> int:
    """
    Run the command.

    Args:
        namespace: The parsed arguments.

    Returns:
        0 no invariant broke, 1 some did, 2 a scenario or an argument is malformed.
    """
    if namespace.list:
        return _listed()
    if not namespace.paths:
        return _usage("name at least one PATH")
    try:
        injections = tuple(map(Injection.parse, namespace.inject))
    except InvalidArgumentError as error:
        return _usage(str(error))
    telling = _Progress(sys.stderr)
    tally = _Tally(as_json=namespace.json)
    for scenario in _scenarios(namespace.paths):
        if isinstance(scenario, MalformedScenarioError):
            tally.refuse(scenario)
            continue
        telling.begin(scenario.name)
        tally.take(
            sweep(
                scenario,
                depth=namespace.depth,
                driver=namespace.driver,
                inject=injections,
                tick=telling.tick,
            )
        )
    return tally.close()


def _listed() -> int:
    for fault in Fault:
        _say(f"fault      {fault.value}")
    for name, sentence in INVARIANTS.items():
        _say(f"invariant  {name}: {sentence}")
    return 0


def _usage(message: str) -> int:
    _say(f"sweep: {one_line(message)}", sys.stderr)
    return _MALFORMED


def _scenarios(paths: list[str]) -> Iterator[Scenario | MalformedScenarioError]:
    for where, data in read_scenarios(paths):
        if isinstance(data, MalformedScenarioError):
            yield data
            continue
        try:
            yield load_scenario(data, where)
        except MalformedScenarioError as error:
            yield error


def _say(line: str, file: TextIO | None = None) -> None:
    """
    Print a line; the streams are looked up late, so that whoever replaced them gets it.
    """
    (sys.stdout if file is None else file).write(f"{line}\n")


class _Progress:
    """
    Tells on standard error how far a long sweep is.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._name = ""
        self._made = 0
        self._before = 0
        self._told = monotonic()

    def begin(self, name: str) -> None:
        """
        Go on with another scenario.
        """
        self._name = name
        self._before += self._made
        self._made = 0

    def tick(self, made: int) -> None:
        """
        Tell now and then.
        """
        self._made = made
        now = monotonic()
        if now - self._told >= _PACE:
            self._told = now
            _say(f"sweep: {self._before + made} runs, at {one_line(self._name)}", self._stream)
            self._stream.flush()


class _Tally:
    """
    Prints a line a scenario, what broke, then a count.
    """

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._scenarios = self._runs = self._broken = self._malformed = 0

    def refuse(self, error: MalformedScenarioError) -> None:
        """
        Tell what is wrong with a scenario.
        """
        self._malformed += 1
        _say(f"malformed: {one_line(str(error))}", sys.stderr)

    def take(self, report: SweepReport) -> None:
        """
        Print what came of one scenario.
        """
        self._scenarios += 1
        self._runs += report.runs
        self._broken += len(report.findings)
        if self._as_json:
            _say(json.dumps(_encoded(report), ensure_ascii=False))
            return
        word = "ok" if report.passed else "BROKEN"
        name = one_line(report.scenario.name)
        _say(f"{word} {name}: {report.calls} calls, {report.runs} runs")
        for finding in report.findings:
            _say(f"  {one_line(str(finding))}")
            _say(f"    {one_line(finding.command)}")

    def close(self) -> int:
        """
        Print the count, and give the exit status.
        """
        count = f"{self._scenarios} scenarios, {self._runs} runs, {self._broken} broken invariants"
        if self._malformed:
            count += f", {self._malformed} malformed"
        _say(count, sys.stderr if self._as_json else None)
        if self._malformed:
            return _MALFORMED
        return _BROKEN if self._broken else 0


def _encoded(report: SweepReport) -> dict[str, object]:
    return {
        "name": report.scenario.name,
        "file": report.scenario.where,
        "calls": report.calls,
        "runs": report.runs,
        "broken": [_finding(finding) for finding in report.findings],
    }


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "injections": [str(one) for one in finding.injections],
        "invariant": finding.broken.invariant,
        "detail": finding.broken.detail,
        "command": finding.command,
    }

"""``python -m harness scenario``: runs scenario files and compares with what they expect."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import TextIO

from harness.testing._files import read_scenarios
from harness.testing._schema import MalformedScenarioError
from harness.testing.scenario import DRIVERS, Outcome, load_scenario, run_scenario

__all__ = ["add_arguments", "run"]

_DIFFERENT = 1
_MALFORMED = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the command's arguments.

    Args:
        parser: The command's parser.
    """
    parser.add_argument("paths", nargs="*", metavar="PATH", help="file, folder or .jsonl file")
    parser.add_argument("--json", action="store_true", help="print what was observed, as JSON")
    parser.add_argument("--driver", choices=DRIVERS, default="sync", help="default: sync")
    parser.add_argument(
        "--from-record",
        metavar="FILE",
        help="write the scenario that reproduces the ending of a stored record",
    )


def run(namespace: argparse.Namespace) -> int:
    """
    Run the command.

    Args:
        namespace: The parsed arguments.

    Returns:
        0 every expectation holds, 1 some differ, 2 a scenario is malformed.
    """
    if namespace.from_record is not None:
        if namespace.paths:
            return _usage("--from-record takes no PATH")
        return _write_scenario(namespace.from_record)
    if not namespace.paths:
        return _usage("name at least one PATH, or --from-record FILE")
    tally = _Tally(as_json=namespace.json)
    for outcome in _outcomes(namespace.paths, namespace.driver, full=namespace.json):
        tally.take(outcome)
    return tally.close()


def _usage(message: str) -> int:
    _say(f"scenario: {message}", file=sys.stderr)
    return _MALFORMED


def _write_scenario(file: str) -> int:
    # only here: the codec costs time that running scenarios need not pay
    from harness.errors import RecordDecodeError, StoreError  # noqa: PLC0415
    from harness.testing._from_record import scenario_of_file  # noqa: PLC0415

    try:
        scenario = scenario_of_file(file)
    except OSError as error:
        return _usage(f"{file}: {error.strerror or type(error).__name__}")
    except (RecordDecodeError, StoreError, ValueError) as error:
        return _usage(f"{file}: {error}")
    _say(json.dumps(scenario, indent=1, ensure_ascii=False))
    return 0


def _outcomes(
    paths: list[str], driver: str, *, full: bool
) -> Iterator[Outcome | MalformedScenarioError]:
    """
    Run every scenario; a malformed one takes its place in the order.
    """
    names: dict[str, str] = {}
    for where, data in read_scenarios(paths):
        if isinstance(data, MalformedScenarioError):
            yield data
            continue
        try:
            scenario = load_scenario(data, where)
            other = names.setdefault(scenario.name, where)
            if other != where:
                reason = f"{scenario.name!r} is the name of {other} too"
                yield MalformedScenarioError("name", reason, where)
                continue
            yield run_scenario(scenario, full=full, driver=driver)
        except MalformedScenarioError as error:
            yield error


def _say(line: str, file: TextIO | None = None) -> None:
    """
    Print a line; the streams are looked up late, so that whoever replaced them gets it.
    """
    (sys.stdout if file is None else file).write(f"{line}\n")


class _Tally:
    """
    Prints a line a scenario, then a count.
    """

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._passed = self._failed = self._malformed = 0

    def take(self, outcome: Outcome | MalformedScenarioError) -> None:
        """
        Print what came of one scenario.
        """
        if isinstance(outcome, MalformedScenarioError):
            self._malformed += 1
            _say(f"malformed: {outcome}", file=sys.stderr)
            return
        self._passed += outcome.passed
        self._failed += not outcome.passed
        if self._as_json:
            line = {"name": outcome.scenario.name, **outcome.observed}
            _say(json.dumps(line, ensure_ascii=False))
        else:
            _say(f"{'ok' if outcome.passed else 'FAILED'} {outcome.scenario.name!s}")
        for difference in outcome.differences:
            _say(f"  {difference}", file=sys.stderr if self._as_json else sys.stdout)

    def close(self) -> int:
        """
        Print the count, and give the exit status.
        """
        count = f"{self._passed} passed, {self._failed} failed"
        if self._malformed:
            count += f", {self._malformed} malformed"
        _say(count, file=sys.stderr if self._as_json else sys.stdout)
        if self._malformed:
            return _MALFORMED
        return _DIFFERENT if self._failed else 0

"""``python -m harness replay``: run a stored run again from its journal, with no call outside."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from attrs import asdict, evolve, fields

from harness._cli._errors import CommandError
from harness._journal import read_entries, read_header
from harness._limits import Limits
from harness._release import ReleasePolicy
from harness.errors import InvalidArgumentError
from harness.replay import ReplayResult, replay

__all__ = ["add_arguments", "run"]

R = TypeVar("R", Limits, ReleasePolicy)

#: Today decides otherwise, or the journal ends before the run did.
DIFFERS = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the command's arguments.

    Args:
        parser: The command's parser.
    """
    parser.add_argument("run_id", metavar="RUN_ID", help="a run of --db")
    parser.add_argument(
        "--db", metavar="FILE", required=True, help="the database that diagnose --db wrote"
    )
    parser.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="another limit than the run had, such as tool_calls=3; null for none",
    )
    parser.add_argument(
        "--policy",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="another release policy than the run had",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.epilog = "exit status: 0 the same, 1 today decides otherwise or the journal ends early"


def run(namespace: argparse.Namespace) -> int:
    """
    Run the command.

    Args:
        namespace: The parsed arguments.

    Returns:
        0 where every decision is the same, else 1.

    Raises:
        HarnessError: There is no such run, or its journal cannot be read.
    """
    # only here, as for the other commands that need a database
    from harness.stores.journal import SqliteJournal  # noqa: PLC0415

    with SqliteJournal(namespace.db, create=False) as journal:
        lines = journal.read(namespace.run_id)
        if not lines:
            raise CommandError(f"RUN_ID: {namespace.db} has no journal of {namespace.run_id!r}")
        header = read_header(read_entries(lines[:1], namespace.run_id)[0])
        result = replay(
            journal,
            namespace.run_id,
            limits=_changed("--limit", header.limits, namespace.limit),
            policy=_changed("--policy", header.policy, namespace.policy),
        )
    text = json.dumps(_data(result), indent=1) if namespace.json else str(result)
    sys.stdout.write(f"{text}\n")
    return 0 if result.is_same else DIFFERS


def _changed(option: str, then: R, given: Sequence[str]) -> R:
    """
    Change the limits or the policy that the run had.
    """
    allowed = [attribute.name for attribute in fields(type(then))]
    values: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or name not in allowed:
            raise CommandError(f"{option} is {text!r}; allowed: NAME=VALUE of {' '.join(allowed)}")
        values[name] = _value(option, text, value)
    try:
        return evolve(then, **values)
    except InvalidArgumentError as error:
        raise CommandError(f"{option}: {error}") from error


def _value(option: str, text: str, value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        raise CommandError(
            f"{option} is {text!r}; allowed: a number, true, false or null behind ="
        ) from None


def _data(result: ReplayResult) -> Mapping[str, Any]:
    record = result.record
    return {
        "same": result.is_same,
        "steps": result.steps,
        "changed": list(result.changed),
        "divergences": [
            {**asdict(one), "expected": one.expected.thaw(), "actual": one.actual.thaw()}
            for one in result.divergences
        ],
        "run_state": None if record is None else record.run_state.name,
        "release_outcome": _name(record and record.release_outcome),
        "fallback_type": _name(record and record.fallback_type),
    }


def _name(member: Any) -> str | None:
    return None if member is None else str(member.name)

"""``python -m harness graph``: the failure graph as Mermaid, with a run's path marked."""

from __future__ import annotations

import argparse
import sys

from harness._cli._drawing import draw_graph
from harness._cli._errors import CommandError
from harness._cli._stored import find_record, read_record
from harness._records import RunRecord

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the command's arguments.

    Args:
        parser: The command's parser.
    """
    parser.add_argument("run_id", nargs="?", metavar="RUN_ID", help="marks this run of --db")
    parser.add_argument("--db", metavar="FILE", help="the database that diagnose --db wrote")
    parser.add_argument("--record", metavar="FILE", help="marks the run of this record's JSON file")


def run(namespace: argparse.Namespace) -> int:
    """
    Run the command.

    Args:
        namespace: The parsed arguments.

    Returns:
        0.

    Raises:
        HarnessError: There is no such record.
    """
    sys.stdout.write(draw_graph(_record(namespace)))
    return 0


def _record(namespace: argparse.Namespace) -> RunRecord | None:
    if namespace.record is not None:
        if namespace.run_id is not None or namespace.db is not None:
            raise CommandError("--record takes neither RUN_ID nor --db")
        return read_record(namespace.record)
    if (namespace.run_id is None) is not (namespace.db is None):
        raise CommandError("RUN_ID and --db go together")
    return None if namespace.db is None else find_record(namespace.run_id, namespace.db)

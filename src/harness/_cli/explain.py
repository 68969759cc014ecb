"""``python -m harness explain``: why did the user see this?"""

from __future__ import annotations

import argparse
import json
import sys

from harness._cli._stored import find_record, read_record
from harness.explain import explain

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the command's arguments.

    Args:
        parser: The command's parser.
    """
    parser.add_argument("target", metavar="RUN_ID|FILE.json", help="a run of --db, or its record")
    parser.add_argument("--db", metavar="FILE", help="the database that diagnose --db wrote")
    parser.add_argument("--json", action="store_true", help="print the explanation as JSON")


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
    if namespace.db is None:
        record = read_record(namespace.target)
    else:
        record = find_record(namespace.target, namespace.db)
    explanation = explain(record)
    text = json.dumps(explanation.to_data(), indent=1) if namespace.json else str(explanation)
    sys.stdout.write(f"{text}\n")
    return 0

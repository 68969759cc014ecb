"""
The long sweep: every single fault on both drivers, every pair of faults on a dozen scenarios.

``python -m tests.testing`` takes some twenty minutes, and says how far it is.
"""

import sys
from pathlib import Path

from harness.__main__ import main

CASES = Path(__file__).parents[1] / "conformance" / "cases"

#: Small ones, so that all pairs can be tried; together they come to every step of the graph.
PAIRS = (
    "another-process-ended-the-run",
    "cancel-during-a-tool",
    "general-reply",
    "illegal-draft-without-facts",
    "interrupt-in-a-tool",
    "record-not-saved",
    "scene-02-missing-context-declared",
    "scene-07-semantic-unsupported-is-final",
    "scene-10-timeout-without-content",
    "scene-12-router-unavailable",
    "scene-13-client-gone",
    "store-save-fails",
)


def run() -> int:
    """
    Run all three sweeps; the worst of their statuses.
    """
    pairs = [str(CASES / f"{name}.json") for name in PAIRS]
    commands = ([str(CASES)], [str(CASES), "--driver", "async"], ["--depth", "2", *pairs])
    return max(main(["sweep", *arguments]) for arguments in commands)


if __name__ == "__main__":
    sys.exit(run())

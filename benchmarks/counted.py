"""
What the guard counts the instructions of: so many runs of 10 tool calls, after a warm-up.

``python -m benchmarks.counted WHAT RUNS`` runs ``floor``, ``harness`` or ``planted``: the harness
with a deliberate slow-down, by which the guard is tested.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any, Final

from benchmarks import floor
from benchmarks.contender import Contender, check

__all__ = ["CALLS", "runner"]

#: Tool calls a run.
CALLS: Final = 10
_WARM_UP: Final = 3


def runner(what: str) -> Callable[[], Any]:
    """
    Give what is run.

    Args:
        what: ``floor``, ``harness`` or ``planted``.

    Raises:
        ValueError: It is something else.
    """
    if what == "floor":
        return lambda: floor.bare(CALLS)
    if what not in {"harness", "planted"}:
        raise ValueError(what)
    contender = Contender(CALLS)
    if what == "planted":
        _plant(contender)
    check(contender.run(), CALLS)

    def run() -> None:
        contender.run()
        contender.canonical_store.clear()
        contender.run_store.clear()

    return run


def _plant(contender: Contender) -> None:
    """
    Read and encode each result once more than it needs to be: an oversight, easily made.
    """
    execute = contender.tool.execute

    def slower(call: Any, attempt: Any) -> str:
        return json.dumps(json.loads(execute(call, attempt)))

    setattr(contender.tool, "execute", slower)  # noqa: B010  a method, replaced


def main(argv: list[str]) -> None:
    """
    Run it so many times.

    Args:
        argv: What, and how often.
    """
    run = runner(argv[0])
    for _ in range(_WARM_UP + int(argv[1])):
        run()


if __name__ == "__main__":
    main(sys.argv[1:])

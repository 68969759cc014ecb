"""
Small well-formed scenarios, the same for the same seed, over the whole input of the format.

Run ``python -m tests.model.generate N [--seed S] [--with-expect] [--clear]`` for JSON lines.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator

from tests.model.faults import FaultyRun
from tests.model.oracle import simulate
from tests.model.runs import TEXTS, TOOLS
from tests.model.vocabulary import Json


class _Maker(FaultyRun):
    """The weights of the faults, and how the parts become one scenario."""

    def make(self) -> Json:
        self.good()
        faults: tuple[tuple[Callable[[], None], int], ...] = (
            (lambda: None, 6),
            (self.router, 7),
            (self.general, 5),
            (self.context, 6),
            (self.no_conclusion, 4),
            (self.agent_fails, 7),
            (self.illegal_turn, 6),
            (self.tool_fails, 9),
            (self.bad_call, 6),
            (self.progress, 9),
            (self.saturated, 9),
            (self.stopped_short, 5),
            (self.budget, 13),
            (self.sizes, 8),
            (self.deadline, 9),
            (self.cancel, 6),
            (self.interrupt, 4),
            (self.client, 7),
            (self.canonical, 5),
            (self.runs, 4),
            (self.miscite, 10),
            (self.cite_failed, 4),
            (self.semantic, 9),
            (self.usage, 6),
            (self.thresholds, 2),
        )
        for _ in range(self.weighted(((1, 50), (2, 32), (3, 18)))):
            self.weighted(faults)()
        return self.close()

    def close(self) -> Json:
        """Put the parts together; the last step of every list answers for ever."""
        scenario = self.scenario
        scenario["agent"] = self.agent
        for tool in TOOLS[:2] if self.chance(50) else ():
            self.tools.setdefault(tool, [])
        for steps in self.tools.values():
            if not steps:
                steps.append({"facts": [self.pick(*TEXTS)]})
        scenario["tools"] = self.tools
        if self.limits:
            scenario["limits"] = self.limits
        parts = [scenario.get(name) for name in ("router", "responder", "repair")]
        for part in [*parts, scenario["semantic_guard"], self.agent, *self.tools.values()]:
            if part:
                part[-1] = {**part[-1], "repeat": True}
        # Steps were shared while they were moved about: the scenario is a tree.
        copied: Json = json.loads(json.dumps(scenario))
        return copied


def generate(seed: int) -> Json:
    """Return the scenario of a seed: well formed, small, never out of steps."""
    return _Maker(seed).make()


def scenarios(count: int, seed: int, *, only_clear: bool, with_expect: bool) -> Iterator[Json]:
    """
    Yield scenarios of consecutive seeds.

    Args:
        count: How many.
        seed: The first seed.
        only_clear: Leave out those whose prediction depends on an open reading.
        with_expect: State the prediction under ``expect``.
    """
    made = 0
    while made < count:
        scenario = generate(seed)
        seed += 1
        observed, touched = simulate(scenario)
        if only_clear and touched:
            continue
        made += 1
        yield {**scenario, "expect": observed} if with_expect else scenario


def main(arguments: list[str] | None = None) -> int:
    """Write scenarios as JSON lines."""
    parser = argparse.ArgumentParser(prog="python -m tests.model.generate", description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--with-expect", action="store_true")
    parser.add_argument("--clear", action="store_true", help="only where the text has one reading")
    given = parser.parse_args(arguments)
    for scenario in scenarios(
        given.count, given.seed, only_clear=given.clear, with_expect=given.with_expect
    ):
        sys.stdout.write(json.dumps(scenario) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

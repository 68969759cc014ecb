"""
The same generated scenarios through both drivers: what differs, if anything does.

``python -m tests.aio.drivers 1000`` runs so many, from seed 0 or the one that is given behind.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator

from harness.codec import record_to_json
from harness.testing.scenario import Scenario, load_scenario, run_scenario
from tests.model.generate import generate


def differing(scenario: Scenario) -> list[str]:
    """What differs between the drivers: observed keys, and the records themselves."""
    plain, other = run_scenario(scenario), run_scenario(scenario, driver="async")
    keys = [key for key, value in plain.observed.items() if other.observed[key] != value]
    same = plain.record == other.record
    same = same and record_to_json(plain.record) == record_to_json(other.record)
    return keys if same else [*keys, "record"]


def differing_seeds(seeds: Iterable[int]) -> Iterator[tuple[int, list[str]]]:
    """The seeds whose scenarios differ, with what differs."""
    for seed in seeds:
        keys = differing(load_scenario(generate(seed)))
        if keys:
            yield seed, keys


def main(argv: list[str] | None = None) -> int:
    """Compare generated scenarios; 1 where one differs, 0 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m tests.aio.drivers", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=1000, help="how many")
    parser.add_argument("first", type=int, nargs="?", default=0, help="the first seed")
    given = parser.parse_args(argv)
    found = list(differing_seeds(range(given.first, given.first + given.count)))
    for seed, keys in found:
        sys.stdout.write(f"seed {seed} differs: {', '.join(keys)}\n")
    same = given.count - len(found)
    sys.stdout.write(f"{same} scenarios with identical records, {len(found)} without\n")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""
Compare what was observed with what the model predicts, and name the reading that explains it.

Run ``python -m tests.model.compare SCENARIOS.jsonl OBSERVED.jsonl``: the second file is the output
of ``python -m harness scenario SCENARIOS.jsonl --json``, line by line in the same order.
"""

from __future__ import annotations

import argparse
import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.model.oracle import simulate
from tests.model.vocabulary import Json


def _is_subsequence(codes: list[str], trace: list[str]) -> bool:
    rest = iter(trace)
    return all(code in rest for code in codes)


def _events(value: str | list[str]) -> list[str]:
    """Return the kinds sent, without the STATUS events, of a pattern or a list."""
    kinds = value.split() if isinstance(value, str) else value
    return [kind for kind in kinds if not kind.startswith("STATUS")]


def _public(expected: Json, found: Json) -> list[str]:
    text = found.get("text") or ""
    named: list[str] = ["kind", "code"]
    wrong = [key for key in named if key in expected and expected[key] != found.get(key)]
    wrong += [f"lacks {part!r}" for part in expected.get("contains", []) if part not in text]
    wrong += [f"shows {part!r}" for part in expected.get("excludes", []) if part in text]
    return wrong


def _agrees(key: str, expected: Any, found: Any) -> bool:  # As the keys are.
    if key == "public":
        return not _public(expected, found)
    if key == "trace":
        return _is_subsequence(expected, found)
    if key == "events":
        return _events(expected) == _events(found)
    if key == "used":
        exact = {**expected, "cost": Decimal(expected["cost"])}
        return bool(exact == {**found, "cost": Decimal(found["cost"])})
    return bool(expected == found)


def differences(expected: Json, found: Json) -> list[str]:
    """Name every predicted key that was observed otherwise."""
    return [
        f"{key}: expected {value!r}, observed {found.get(key)!r}"
        for key, value in expected.items()
        if key not in found or not _agrees(key, value, found[key])
    ]


def explaining(scenario: Json, found: Json) -> list[str]:
    """Return the open readings that, taken the other way, make the prediction hold."""
    touched = simulate(scenario).touched
    return sorted(
        name for name in touched if not differences(simulate(scenario, [name]).observed, found)
    )


def main(arguments: list[str] | None = None) -> int:
    """Compare line by line; exit 1 where something differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.model.compare", description=__doc__)
    parser.add_argument("scenarios", type=Path)
    parser.add_argument("observed", type=Path)
    given = parser.parse_args(arguments)
    status = 0
    with given.scenarios.open() as scenarios, given.observed.open() as observed:
        for line, seen in zip(scenarios, observed, strict=False):
            scenario, found = json.loads(line), json.loads(seen)
            found = found.get("observed", found)
            wrong = differences(simulate(scenario).observed, found)
            if wrong:
                status = 1
                why = explaining(scenario, found) or sorted(simulate(scenario).touched)
                report = {"name": scenario["name"], "differs": wrong, "readings": why}
                sys.stdout.write(json.dumps(report) + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main())

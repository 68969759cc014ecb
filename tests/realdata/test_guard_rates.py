"""The built-in guard over labelled claims about recorded tool output."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from harness import Fact
from harness.guards import check_support

_FILE = Path(__file__).parents[3] / "shared" / "data" / "holmesgpt" / "claims.jsonl"


def accepted(file: Path = _FILE) -> Counter[tuple[str, bool]]:
    """How many claims of each label the guard accepts and refuses."""
    claims = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return Counter(
        (
            claim["label"],
            check_support([claim["claim"]], [Fact(claim["evidence"], "output")]).supported,
        )
        for claim in claims
    )


@pytest.mark.skipif(not _FILE.is_file(), reason=f"the labelled claims are not here: {_FILE}")
def test_the_rates_that_the_documentation_states() -> None:
    """At most one unsupported claim in twenty is accepted, and at least half of the supported."""
    found = accepted()
    unsupported = found["UNSUPPORTED", True], found["UNSUPPORTED", False]
    supported = found["SUPPORTED", True], found["SUPPORTED", False]
    assert min(sum(unsupported), sum(supported)) > 20
    assert unsupported[0] / sum(unsupported) <= 0.05
    assert supported[0] / sum(supported) >= 0.5


if __name__ == "__main__":
    for (label, verdict), count in sorted(accepted(Path(sys.argv[1])).items()):
        print(f"{label:<12} {'accepted' if verdict else 'refused':<9} {count}")  # noqa: T201

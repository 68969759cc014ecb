"""The parts that scenarios are played with, as a user may use them alone."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from harness.errors import InvalidArgumentError
from harness.testing import Script, VirtualClock
from harness.testing._schema import MalformedScenarioError
from harness.testing.scenario import load_scenario


def test_a_script_is_strict() -> None:
    """A call too many and a step too few are errors that say the numbers."""
    script = Script([1, ValueError("x"), lambda value: value + 1])
    assert script(7) == 1
    with pytest.raises(AssertionError, match="1 calls of a script of 3 steps"):
        script.assert_finished()
    with pytest.raises(ValueError, match="x"):
        script(7)
    assert script(7) == 8
    script.assert_finished()
    with pytest.raises(AssertionError, match="call 4 of a script of 3 steps"):
        script(7)
    with pytest.raises(AssertionError, match="4 calls of a script of 3 steps"):
        script.assert_finished()


def test_a_script_may_repeat_its_last_step() -> None:
    """Then more calls than steps are fine."""
    script = Script(["a", "b"], repeat_last=True)
    assert [script() for _ in range(4)] == ["a", "b", "b", "b"]
    script.assert_finished()
    with pytest.raises(AssertionError, match="call 1 of a script of 0 steps"):
        Script([], repeat_last=True)()


@pytest.mark.parametrize("start", [datetime(2026, 1, 1), "now", None])  # noqa: DTZ001  a naive one
def test_a_virtual_clock_starts_in_utc(start: Any) -> None:
    """A naive time, or none, is refused."""
    with pytest.raises(InvalidArgumentError, match="start"):
        VirtualClock(start)


@pytest.mark.parametrize("milliseconds", [-1, float("nan")])
def test_virtual_time_only_passes(milliseconds: float) -> None:
    """It never goes back."""
    clock = VirtualClock()
    with pytest.raises(InvalidArgumentError, match="milliseconds"):
        clock.advance(milliseconds)
    assert clock.monotonic() == 0


@pytest.mark.parametrize(
    ("data", "key", "text"),
    [
        ({"agent": [{"raise": "UnicodeDecodeError"}]}, "raise", "cannot be raised with a message"),
        ({"agent": [{"draft": {"conclusion": None}, "message": "x"}]}, "message", "raise"),
        ({"tools": {"t": [{"projection_fails": False}]}}, "projection_fails", "is not true"),
        ({"expect": {"invocations": [["logs"]]}}, "invocations", "is no [tool, status"),
    ],
)
def test_a_malformed_part_is_named(data: dict[str, Any], key: str, text: str) -> None:
    """The key, and what is wrong with it."""
    with pytest.raises(MalformedScenarioError) as caught:
        load_scenario({"name": "odd", **data})
    assert key in caught.value.key
    assert text in str(caught.value)

"""An attempt for a host object that is called without a run."""

from __future__ import annotations

from harness._lifecycle import Lifecycle
from harness._seam import Attempt
from harness._states import Component

__all__ = ["lone_attempt"]


def lone_attempt(component: Component) -> Attempt:
    """
    Give the first attempt of a run that has no deadline and is not cancelled.

    Args:
        component: Who is asked.
    """
    # a clock that stands at 0.0
    return Attempt(component, 1, Lifecycle(None), float)

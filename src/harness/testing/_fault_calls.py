"""The account of one call outside, as a fault plan keeps it."""

from __future__ import annotations

from typing import Any

from harness.testing._fault_words import Fault

__all__ = ["Call"]


class Call:
    """
    One call that was made, or whose place a fault took.

    Attributes:
        number: The n-th call of the plan, from 1.
        site: Where it went.
        place: Site and its n-th call, as in an injection.
        arguments: What it was given.
        fault: The fault that was injected, or ``None``.
        began: The latest that the clock had ever said when it was made; ``None`` before that.
        cancelled: Whether the plan's token was cancelled by then.
        last: The number of the last call that was made before it ended: its own, or of one that was
            made while it was under way.
        returned: Whether it returned.
        value: What it returned.
        error: What it raised.
    """

    __slots__ = (
        "arguments",
        "began",
        "cancelled",
        "error",
        "fault",
        "last",
        "number",
        "place",
        "returned",
        "site",
        "value",
    )

    def __init__(  # noqa: PLR0913  what is known when it is made
        self,
        number: int,
        site: str,
        place: str,
        arguments: tuple[Any, ...],
        began: float | None,
        cancelled: bool,  # noqa: FBT001
    ) -> None:
        self.number = number
        self.site = site
        self.place = place
        self.arguments = arguments
        self.began = began
        self.cancelled = cancelled
        self.last = number
        self.fault: Fault | None = None
        self.returned = False
        self.value: Any = None
        self.error: BaseException | None = None

    def __repr__(self) -> str:
        fault = "" if self.fault is None else f"={self.fault.value}"
        return f"<call {self.number} {self.place}{fault}>"

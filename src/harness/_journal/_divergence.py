"""A step at which today's flow leaves its journal."""

from __future__ import annotations

from attrs import field, frozen

from harness._json import FrozenDict

__all__ = ["Divergence"]


@frozen
class Divergence:
    """
    A step at which the flow of today asks for something else than the journal has.

    Attributes:
        step: The number of the outward call, from 1.
        site: Where the flow goes outside, such as ``TOOL`` or ``run_store.finish``.
        expected: What the journal has, names to values.
        actual: What the flow of today asks or decides, names to values.
    """

    step: int
    site: str
    expected: FrozenDict = field(converter=FrozenDict)
    actual: FrozenDict = field(converter=FrozenDict)

    @property
    def differing(self) -> tuple[str, ...]:
        """
        The names whose values differ.
        """
        names = dict.fromkeys((*self.expected, *self.actual))
        return tuple(n for n in names if self.expected.get(n) != self.actual.get(n))

    def __str__(self) -> str:
        told = "; ".join(
            f"{name}: expected {self.expected.get(name)!r}, actual {self.actual.get(name)!r}"
            for name in self.differing
        )
        return f"step {self.step}, {self.site}: {told}"

"""What a journal is, and what goes wrong with one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol, runtime_checkable

from attrs import field, frozen

from harness._json import FrozenDict
from harness.errors import HarnessError, StoreError

__all__ = ["Divergence", "DivergenceError", "Journal", "JournalConflictError"]

_SHOWN: Final = 3


@runtime_checkable
class Journal(Protocol):
    """
    Keeps, for each run, the lines of its journal: strict JSON, in ASCII, one entry a line.

    What :meth:`append` returned from must survive the end of the process. Its lines hold evidence
    and drafts: keep them as safe, and as briefly, as the canonical records.
    """

    def append(self, run_id: str, number: int, lines: Sequence[str]) -> None:
        """
        Add lines to a run's journal: all of them, or none.

        Args:
            run_id: The run.
            number: How many lines the run must have so far.
            lines: The lines.

        Raises:
            JournalConflictError: It has another number of lines: somebody else goes on with it.
        """
        ...

    def read(self, run_id: str) -> Sequence[str]:
        """
        Read a run's lines, in order; none where the run is not known.

        Args:
            run_id: The run, compared literally.
        """
        ...

    def last_lines(self) -> Iterable[tuple[str, str]]:
        """
        Give each run with its last line, the run that was begun first at the front.
        """
        ...


class JournalConflictError(StoreError):
    """
    A journal has another number of lines than its writer thinks: another process took the run over.

    The run goes on there; here it makes no further call and publishes nothing.
    """


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


class DivergenceError(HarnessError):
    """
    A run cannot go on from its journal: the code of today would have run it differently.

    Attributes:
        run_id: The run; it is left as it was.
        divergences: Where.
    """

    def __init__(self, run_id: str, divergences: tuple[Divergence, ...]) -> None:
        super().__init__(run_id, divergences)
        self.run_id = run_id
        self.divergences = divergences

    def __str__(self) -> str:
        told = " | ".join(str(one) for one in self.divergences[:_SHOWN])
        return f"run {self.run_id!r} cannot go on from its journal: {told}"

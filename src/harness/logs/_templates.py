"""
Lines that say the same thing, as one group each: what varies is masked.

1. Lines whose unmasked text is the same are one group at once.
2. A group also takes a line of the same level and length whose first two words are the same and
   most of the others: user names and host names differ in one word. Words that tell what happened
   (``accepted`` and ``refused``) never become a variable.
3. Same lines, same groups, in the same order. The number of groups is bounded: when there is no
   room, the least severe and smallest one gives way to one that is more severe. What has no group
   is counted.
"""

from __future__ import annotations

from math import log2
from operator import add, itemgetter
from typing import TYPE_CHECKING, Final

from attrs import define, field

from harness.logs._masking import MASK, mask, tells
from harness.logs._severity import FAILURE, severity_of
from harness.logs._timeline import Timeline
from harness.logs._wording import written_stamp

if TYPE_CHECKING:
    from harness.logs._levels import Level
    from harness.logs._scan import Entry
    from harness.logs._timeline import Peak

__all__ = ["MAX_TEMPLATES", "Template", "TemplateGrouper"]

#: The most groups that are kept.
MAX_TEMPLATES: Final = 400

# Stands for a word that varies.
_WORD: Final = "<...>"

_BINS: Final = 32
_SLOTS: Final = 8
_VALUES: Final = 64
_ALIASES: Final = 4096
_CANDIDATES: Final = 32
_ALIKE: Final = 0.7

_MOST_BURST: Final = 4.0
_RARE_BONUS: Final = 3.0
# A value is usual when it is at least one in so many.
_USUAL: Final = 5

_Place = tuple["Level | None", int, tuple[str, ...]]


@define(eq=False)
class Template:
    """
    A group of lines.

    Attributes:
        tokens: Its words; masked parts are ``<*>``, words that vary ``<...>``.
        level: The level of its lines.
        severity: How much it matters, see :func:`severity_of`.
        first: The number of its first line.
        count: How many lines.
        last: The number of its last line.
        stamps: The timestamps of its first and its last line as written; empty where there is none.
        yearless: Whether they are written without a year.
        sample: Its first line.
    """

    tokens: list[str]
    level: Level | None
    severity: int
    first: int
    count: int = 0
    last: int = 0
    stamps: tuple[str, str] = ("", "")
    yearless: bool = False
    sample: str = ""
    _values: list[dict[str, int] | None] | None = field(default=None, init=False)
    _timeline: Timeline = field(factory=lambda: Timeline(_BINS), init=False)

    def covers(self, tokens: list[str]) -> bool:
        """
        Say whether a line of as many words says the same.

        Args:
            tokens: Its masked words.

        Returns:
            Whether most words are the same, and none of the others tells what happened.
        """
        differ = [pair for pair in zip(self.tokens, tokens, strict=True) if pair[0] != pair[1]]
        if len(differ) > len(tokens) * (1 - _ALIKE):
            return False
        return not any(tells(word) for pair in differ for word in pair)

    def widen(self, tokens: list[str]) -> None:
        """
        Turn the words that differ from those of another line into variables.

        Args:
            tokens: The masked words of the other line.
        """
        for at, (mine, other) in enumerate(zip(self.tokens, tokens, strict=True)):
            if mine != other:
                self.tokens[at] = _WORD
                if MASK in mine or MASK in other:
                    # From here on the n-th mask of a line is no longer that of the template.
                    self._values = None

    def add(self, entry: Entry, values: list[str]) -> None:
        """
        Count a line.

        Args:
            entry: The line.
            values: What was masked in it.
        """
        written = written_stamp(entry)
        if self.count == 0:
            self.stamps = (written, written)
            self.yearless = entry.stamp is not None and entry.stamp.yearless
            self.sample = entry.text
            self._values = [{} for _ in values[:_SLOTS]]
        self.count += 1
        self.last = entry.number
        self.stamps = (self.stamps[0], written)
        if entry.instant:
            self._timeline.add(entry.instant, entry.number)
        for at, counts in enumerate(self._values or ()):
            self._count_value(at, counts, values[at])

    def _count_value(self, at: int, counts: dict[str, int] | None, value: str) -> None:
        """
        Count what stood in a masked place; a place of too many values is given up.
        """
        if counts is not None and self._values is not None:
            counts[value] = counts.get(value, 0) + 1
            if len(counts) > _VALUES:
                self._values[at] = None

    @property
    def text(self) -> str:
        """
        The template, with what never varied in its place.
        """
        first, *rest = " ".join(self.tokens).split(MASK)
        fixed = [
            next(iter(counts)) if counts and len(counts) == 1 else MASK
            for counts in self._values or ()
        ]
        fixed += [MASK] * (len(rest) - len(fixed))
        return first + "".join(map(add, fixed, rest))

    @property
    def usual(self) -> tuple[tuple[str, int], ...]:
        """
        Values that make up a good part of what stood in a place that varies, with their counts.
        """
        found: dict[str, int] = {}
        for counts in self._values or ():
            if counts and 1 < len(counts) < self.count:
                value, count = max(counts.items(), key=itemgetter(1))
                if count * _USUAL >= self.count:
                    found.setdefault(value, count)
        return tuple(found.items())

    @property
    def peak(self) -> Peak | None:
        """
        When most of its lines came; ``None`` without timestamps.
        """
        return self._timeline.peak()

    @property
    def rank(self) -> tuple[int, float, int]:
        """
        What to sort by: what matters most comes first.
        """
        return -self.severity, -self.weight, self.first

    @property
    def weight(self) -> float:
        """
        How much it matters among those of its severity: many lines, in a burst; or a single one.
        """
        burst = min(log2(1 + self.peak.rate), _MOST_BURST) if self.peak else 0.0
        rare = _RARE_BONUS if self.count == 1 and self.severity >= FAILURE else 0.0
        return log2(1 + self.count) + burst + rare


class TemplateGrouper:
    """
    Groups the lines of one file.

    Args:
        most: The most groups that are kept.

    Attributes:
        ungrouped: How many lines have no group.
    """

    def __init__(self, most: int = MAX_TEMPLATES) -> None:
        self._most = most
        self._templates: list[Template] = []
        self._places: dict[_Place, list[Template]] = {}
        self._aliases: dict[tuple[Level | None, str], Template] = {}
        self.ungrouped = 0

    def add(self, entry: Entry) -> None:
        """
        Put a line into its group.

        Args:
            entry: The line.
        """
        masked, values = mask(entry.text, entry.stamp.end if entry.stamp else 0)
        alias = (entry.level, masked)
        template = self._aliases.get(alias)
        if template is None:
            template = self._find(entry, masked.split(" "))
            if template is None:
                self.ungrouped += 1
                return
            if len(self._aliases) >= _ALIASES:
                self._aliases.clear()
            self._aliases[alias] = template
        template.add(entry, values)

    def _find(self, entry: Entry, tokens: list[str]) -> Template | None:
        """
        Find the group of a line that is not known yet, or make one.
        """
        place = (entry.level, len(tokens), tuple(tokens[:2]))
        there = self._places.get(place, [])
        for template in there[:_CANDIDATES]:
            if template.covers(tokens):
                template.widen(tokens)
                return template
        template = Template(tokens, entry.level, severity_of(entry.level, entry.text), entry.number)
        if len(self._templates) >= self._most and not self._make_room(template.severity):
            return None
        self._templates.append(template)
        self._places.setdefault(place, []).append(template)
        return template

    def _make_room(self, severity: int) -> bool:
        """
        Give up the least of the groups, if it is less severe.
        """
        least = min(self._templates, key=lambda one: (one.severity, one.count, -one.first))
        if least.severity >= severity:
            return False
        self.ungrouped += least.count
        self._templates.remove(least)
        self._aliases = {key: one for key, one in self._aliases.items() if one is not least}
        for there in self._places.values():
            if least in there:
                there.remove(least)
        return True

    def ranked(self) -> list[Template]:
        """
        Give the groups, what matters most first.

        Returns:
            By severity, then by weight, then by first line.
        """
        return sorted(self._templates, key=lambda one: one.rank)

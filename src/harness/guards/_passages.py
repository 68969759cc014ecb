"""
The cited facts, read once: which line holds which key, how it is meant, and what stands beside it.

1. A *line* is a sentence or a line of a fact, of at most :data:`_LONGEST` tokens. A *passage* is a
   line with its neighbours in the same fact: what they say together may carry a statement.
2. Facts are read in the order of their text, so that the order in which they were cited changes
   nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Final, NamedTuple, Protocol

from harness.guards._context import Relation, Slot, find_relations, find_slots
from harness.guards._keys import Alternatives, NumberIndex, joined_key, keys_of_token
from harness.guards._kinds import HARD, UNMARKED, Kind, Negation, Token
from harness.guards._lexicon import KINDS_OF_NAME, KINDS_OF_THING
from harness.guards._marks import Mark, mark, sentences
from harness.guards._tokens import clean, fold
from harness.guards._words import keys_of, tokenize

__all__ = ["CitedFact", "Evidence", "Line", "Passage", "Seen"]

#: How many lines before and behind a line belong to its passage.
_NEIGHBOURS: Final = 3
#: How many tokens a line has at most.
_LONGEST: Final = 256
#: How many letters two words have at most that are read as one.
_JOINED: Final = 40
#: How many comparisons a check makes.
_EFFORT: Final = 5_000_000
#: How many characters of evidence are read; a fact that does not fit carries nothing.
_READ: Final = 4_000_000

#: Words of which one names another thing than the others.
_KINDS: Final = (keys_of(KINDS_OF_THING), keys_of(KINDS_OF_NAME))


class CitedFact(Protocol):
    """
    What the guard reads of a fact.
    """

    @property
    def text(self) -> str:
        """
        The evidence.
        """
        ...

    @property
    def source(self) -> str:
        """
        Where it stands.
        """
        ...


class Seen(NamedTuple):
    """
    How a key occurs in some lines.

    Attributes:
        plain: Somewhere it is not negated at all.
        stated: Somewhere it is neither possible, planned nor conditional only.
        firm: What negates it for certain, somewhere.
        loose: What may negate it, somewhere.
    """

    plain: bool = False
    stated: bool = False
    firm: Negation = UNMARKED
    loose: Negation = UNMARKED

    def joined(self, other: Seen) -> Seen:
        """
        Put the occurrences of two places together.
        """
        return Seen(
            self.plain or other.plain,
            self.stated or other.stated,
            self.firm | other.firm,
            self.loose | other.loose,
        )


class Line:
    """
    One line of a fact; only a line that a statement is compared with is read closely.

    Args:
        fact: The fact's number in the evidence.
        tokens: The line's tokens.

    Attributes:
        fact: The fact's number in the evidence.
    """

    def __init__(self, fact: int, tokens: Sequence[Token]) -> None:
        self.fact = fact
        self._tokens = tokens

    def held(self) -> set[str]:
        """
        Give the keys that the line holds.
        """
        return {key for _, key in _placed(self._tokens)}

    @cached_property
    def seen(self) -> Mapping[str, Seen]:
        """
        How each key occurs in the line.
        """
        marks = mark(self._tokens)
        seen: dict[str, Seen] = {}
        for at, key in _placed(self._tokens):
            found = _seen(marks[at])
            seen[key] = seen[key].joined(found) if key in seen else found
        return seen

    @cached_property
    def places(self) -> Mapping[str, Sequence[int]]:
        """
        Where each key stands in the line.
        """
        places: dict[str, list[int]] = {}
        for at, key in _placed(self._tokens):
            places.setdefault(key, []).append(at)
        return places

    @cached_property
    def relations(self) -> tuple[Relation, ...]:
        """
        The causes and orders that the line states.
        """
        return tuple(find_relations(self._tokens, chains=True))

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """
        The numbers and directions of the line.
        """
        return tuple(find_slots(self._tokens))

    @cached_property
    def things(self) -> frozenset[str]:
        """
        The kinds of thing that the line names.
        """
        named = {token.key for token in self._tokens if token.required}
        return frozenset().union(*(named & kinds for kinds in _KINDS))


def _seen(marked: Mark) -> Seen:
    firm, loose, hedged = marked
    return Seen(not (firm or loose), not hedged, firm, loose)


def _placed(tokens: Sequence[Token]) -> Iterator[tuple[int, str]]:
    before: tuple[int, str] | None = None
    for at, token in enumerate(tokens):
        for key in keys_of_token(token):
            yield at, key
        if token.kind is Kind.WORD and token.required:
            word = token.text.casefold()
            yield at, joined_key(word)
            if before and len(before[1]) + len(word) < _JOINED:
                yield before[0], joined_key(before[1], word)
            before = (at, word)
        else:
            before = None


class Passage:
    """
    Some neighbouring lines of one fact.

    Args:
        lines: The lines.
    """

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = lines

    def holds(self, alternatives: Alternatives) -> bool:
        """
        Tell whether one of the alternatives stands in the passage as a whole.
        """
        return any(all(self._has(key) for key in group) for group in alternatives)

    def _has(self, key: str) -> bool:
        return any(key in line.seen for line in self.lines)

    def seen(self, key: str) -> Seen:
        """
        Say how a key occurs in the passage.
        """
        found = Seen()
        for line in self.lines:
            found = found.joined(line.seen.get(key, Seen()))
        return found

    def rivals(self, thing: str) -> frozenset[str]:
        """
        Give the words of the passage that name other kinds of thing than one word does.
        """
        named = frozenset().union(*(line.things for line in self.lines))
        return named.intersection(*(kinds for kinds in _KINDS if thing in kinds)) - {thing}


class Evidence:
    """
    All cited facts.

    Args:
        facts: The facts, in any order.
    """

    def __init__(self, facts: Iterable[CitedFact]) -> None:
        self.texts: list[str] = []
        self.sources: set[str] = set()
        self._effort = _EFFORT
        self._lines: list[Line] = []
        self._where: dict[str, list[int]] = {}
        quantities = []
        for text, source in _bounded(sorted({(fact.text, fact.source) for fact in facts})):
            for sentence in sentences(tokenize(clean(text))):
                quantities += [token.quantity for token in sentence if token.quantity is not None]
                self._add(sentence)
            self.texts.append(fold(clean(text)))
            self.sources.update(_source_keys(source))
        self.numbers = NumberIndex(quantities)

    def _add(self, sentence: Sequence[Token]) -> None:
        for tokens in _cut(sentence):
            line = Line(len(self.texts), tokens)
            for key in line.held():
                self._where.setdefault(key, []).append(len(self._lines))
            self._lines.append(line)

    def count(self, alternatives: Alternatives) -> int:
        """
        Count the lines that may hold a token.

        Args:
            alternatives: The ways to find it.

        Returns:
            How many there are at most.
        """
        return sum(len(self._where.get(group[0], ())) for group in alternatives)

    def where(self, alternatives: Alternatives, most: int) -> list[int]:
        """
        Give the first lines that may hold a token.

        Args:
            alternatives: The ways to find it.
            most: How many lines are wanted.

        Returns:
            The lines' numbers, in order.
        """
        found = {
            number
            for group in alternatives
            for number in islice(self._where.get(group[0], ()), most)
        }
        return sorted(found)[:most]

    def spend(self, effort: int) -> bool:
        """
        Take comparisons from what one check may make of them.

        Args:
            effort: How many.

        Returns:
            Whether that many were left.
        """
        self._effort -= effort
        return self._effort >= 0

    def passage(self, number: int) -> Passage:
        """
        Give the passage around a line.
        """
        fact = self._lines[number].fact
        around = self._lines[max(number - _NEIGHBOURS, 0) : number + _NEIGHBOURS + 1]
        return Passage([line for line in around if line.fact == fact])


def _cut(sentence: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """
    Cut a sentence that is too long, at a mark where there is one.
    """
    start = 0
    while len(sentence) - start > _LONGEST:
        end = start + _LONGEST
        marks = (at for at in range(end, start, -1) if sentence[at - 1].kind is Kind.BREAK)
        end = next(marks, end)
        yield sentence[start:end]
        start = end
    yield sentence[start:]


def _bounded(facts: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    room = _READ
    for text, source in facts:
        room -= len(text)
        if room >= 0:
            yield text, source


def _source_keys(source: str) -> Iterator[str]:
    for token in tokenize(clean(source)):
        if token.kind in HARD and token.quantity is None:
            yield from keys_of_token(token)

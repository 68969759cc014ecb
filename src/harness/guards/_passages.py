"""
The cited facts, read once: which line holds which key, how it is meant, and what stands beside it.

1. A *line* is a sentence or a line of a fact, of at most :data:`_LONGEST` tokens. A *passage* is a
   line with its neighbours in the same fact: what they say together may carry a statement.
2. Facts are read in the order of their text, so that the order in which they were cited changes
   nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from harness.guards._context import find_relations, find_slots
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
#: How many characters of evidence are read; a fact that does not fit carries nothing.
_READ: Final = 8_000_000

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
    One line of a fact.

    Attributes:
        fact: The fact's number in the evidence.
        seen: How each key occurs in it.
        places: Where each key stands in it.
        relations: The causes and orders that it states.
        slots: Its numbers and directions.
        things: The kinds of thing that it names.
    """

    __slots__ = ("fact", "places", "relations", "seen", "slots", "things")

    def __init__(self, fact: int, tokens: Sequence[Token], marks: Sequence[Mark]) -> None:
        self.fact = fact
        self.seen: dict[str, Seen] = {}
        self.places: dict[str, list[int]] = {}
        for at, key in _placed(tokens):
            self.places.setdefault(key, []).append(at)
            seen = _seen(marks[at])
            self.seen[key] = self.seen[key].joined(seen) if key in self.seen else seen
        self.relations = tuple(find_relations(tokens, chains=True))
        self.slots = tuple(find_slots(tokens))
        self.things = frozenset(
            token.key
            for token in tokens
            if token.required and any(token.key in kinds for kinds in _KINDS)
        )


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
        marks = mark(sentence)
        for start in range(0, len(sentence), _LONGEST):
            part = slice(start, start + _LONGEST)
            line = Line(len(self.texts), sentence[part], marks[part])
            for key in line.seen:
                self._where.setdefault(key, []).append(len(self._lines))
            self._lines.append(line)

    def where(self, alternatives: Alternatives) -> list[int]:
        """
        Give the lines that hold an alternative's first key, which is its rarest.

        Args:
            alternatives: The ways to find a token.

        Returns:
            The lines' numbers, in order.
        """
        found = [self._where.get(group[0], ()) for group in alternatives]
        return sorted({number for numbers in found for number in numbers})

    def passage(self, number: int) -> Passage:
        """
        Give the passage around a line.
        """
        fact = self._lines[number].fact
        around = self._lines[max(number - _NEIGHBOURS, 0) : number + _NEIGHBOURS + 1]
        return Passage([line for line in around if line.fact == fact])


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

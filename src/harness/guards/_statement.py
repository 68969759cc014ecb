"""
One sentence of a visible text, with everything that the evidence must hold for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from harness.guards._context import find_relations
from harness.guards._keys import Alternatives, NumberIndex, joined_key, ways_to_find
from harness.guards._kinds import HARD, Kind, Token
from harness.guards._lexicon import IRREGULAR, KINDS_OF_NAME, KINDS_OF_THING, WITNESSES
from harness.guards._marks import Mark, mark
from harness.guards._words import keys_of

__all__ = ["Statement"]

#: Words that stand where a sentence names what it is about.
_SUBJECT: Final = 2
#: The least that a clause of a sentence says for itself.
_LEAST: Final = 3

_THINGS: Final = keys_of(KINDS_OF_THING)
_NAMED: Final = keys_of(KINDS_OF_NAME) | _THINGS
_WITNESSES: Final = keys_of(WITNESSES)
_FINITE: Final = frozenset(form for group in IRREGULAR for form in group.split()[1:])
_NAMING: Final = HARD - {Kind.NUMBER}
_JOINTS: Final = frozenset({Kind.LINK, Kind.BREAK})


class Statement:
    """
    A sentence, or a clause of one.

    Args:
        tokens: Its tokens.
        marks: How each of them is meant.

    Attributes:
        tokens: Its tokens.
        marks: How each of them is meant.
        needed: The positions of the tokens that say something.
        optional: Those of them that only say what kind of thing is spoken of.
    """

    __slots__ = ("marks", "needed", "optional", "tokens")

    def __init__(self, tokens: Sequence[Token], marks: Sequence[Mark] | None = None) -> None:
        self.tokens = tokens
        self.marks = mark(tokens) if marks is None else marks
        self.needed = [at for at, token in enumerate(tokens) if _says_something(token)]
        self.optional = frozenset(_optional(tokens, self.needed))

    def ways(self, at: int, numbers: NumberIndex) -> Alternatives:
        """
        Give the ways in which the evidence may hold a token.

        Args:
            at: The token's position.
            numbers: The numbers of the evidence.

        Returns:
            The alternatives; none for a quoted text.
        """
        token = self.tokens[at]
        if token.kind is Kind.QUOTE:
            return ()
        ways = ways_to_find(token, numbers)
        if token.kind is Kind.WORD:
            for pair in self._pairs(at):
                ways += ((joined_key(*pair),), (f"i:{''.join(pair)}",))
        return ways

    def _pairs(self, at: int) -> Iterator[tuple[str, ...]]:
        words = {
            place: self.tokens[place].text.casefold()
            for place in (at - 1, at, at + 1)
            if 0 <= place < len(self.tokens) and self.tokens[place].kind is Kind.WORD
        }
        yield (words[at],)
        yield from (
            (words[left], words[left + 1])
            for left in (at - 1, at)
            if left in words and left + 1 in words
        )

    def clauses(self) -> list[Statement]:
        """
        Split the sentence where one complete clause ends and another one begins.

        Returns:
            The clauses, in order; the sentence alone where it is one clause.
        """
        cuts = [0]
        for at, token in enumerate(self.tokens):
            if token.kind in _JOINTS and self._is_clause(cuts[-1], at) and self._may_cut(at):
                cuts.append(at + 1)
        if len(cuts) > 1 and not self._is_clause(cuts[-1], len(self.tokens)):
            cuts.pop()
        ends = [*cuts[1:], len(self.tokens)]
        return [
            Statement(self.tokens[start:end], self.marks[start:end])
            for start, end in zip(cuts, ends, strict=True)
        ]

    def _may_cut(self, at: int) -> bool:
        following = self.tokens[at + 1 : at + 2]
        return bool(following) and following[0].kind not in {Kind.CAUSE, Kind.ORDER, *_JOINTS}

    def _is_clause(self, start: int, end: int) -> bool:
        needed = sum(start <= at < end for at in self.needed)
        return needed >= _LEAST and any(map(_is_finite, self.tokens[start:end]))

    def sides(self) -> Iterator[tuple[Kind, str, list[int], list[int]]]:
        """
        Give the causes and orders that the sentence states.

        Yields:
            The kind, which side comes first, and the needed tokens before and behind it.
        """
        found = list(find_relations(self.tokens))
        borders = [-1, *(relation.at for relation in found), len(self.tokens)]
        for number, relation in enumerate(found):
            before, behind = borders[number], borders[number + 2]
            left = [at for at in self.needed if before < at < relation.at]
            right = [at for at in self.needed if relation.at < at < behind]
            yield relation.kind, relation.order, left, right


def _says_something(token: Token) -> bool:
    return token.required and (token.kind in HARD or token.kind is Kind.WORD)


def _is_finite(token: Token) -> bool:
    word = token.text.casefold()
    return token.kind in {Kind.AUXILIARY, Kind.HEDGE} or (
        token.kind in {Kind.WORD, Kind.LIGHT} and (word.endswith("ed") or word in _FINITE)
    )


def _optional(tokens: Sequence[Token], needed: Sequence[int]) -> Iterator[int]:
    """
    Find the words that evidence leaves out since it speaks of itself: *the pod*, *the log*.
    """
    for number, at in enumerate(needed):
        key = tokens[at].key if tokens[at].kind is Kind.WORD else ""
        beside = [*needed[max(number - 1, 0) : number], *needed[number + 1 : number + 2]]
        named = any(tokens[place].kind in _NAMING for place in beside)
        is_subject = number < _SUBJECT
        if (key in _NAMED and named) or (key in _THINGS | _WITNESSES and is_subject):
            yield at

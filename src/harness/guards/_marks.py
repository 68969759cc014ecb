"""
How each word of a sentence is meant: negated, hedged, or plainly stated.

1. A negation is *firm* on the first content word behind it, and *loose* on the next few, up to the
   next mark or joining word. Two firm negations cancel each other.
2. A word such as *failed* or *not found* is loose on the few words beside it.
3. A hedge covers what follows it, up to the same marks; a condition covers its whole sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from harness.guards._kinds import UNMARKED, Kind, Negation, Token
from harness.guards._lexicon import EXISTENCE, FAILING
from harness.guards._words import keys_of

__all__ = ["PLAIN", "Mark", "dangling", "mark", "sentences"]

#: How many content words behind a negation it may still negate.
_REACH: Final = 8
#: How many content words before *failed* it negates.
_REACH_BACK: Final = 2

_EXISTENCE: Final = keys_of(EXISTENCE) | EXISTENCE
_FAILING: Final = keys_of(FAILING)
_CONDITIONS: Final = frozenset({"if", "unless", "whether", "in case"})
_ENDS_SCOPE: Final = frozenset({Kind.BREAK, Kind.LINK, Kind.CAUSE, Kind.END})


class Mark(NamedTuple):
    """
    How a token is meant.

    Attributes:
        firm: What negates it for certain.
        loose: What may negate it.
        hedged: Whether it is possible, planned or conditional only.
    """

    firm: Negation = UNMARKED
    loose: Negation = UNMARKED
    hedged: bool = False


PLAIN: Final = Mark()


def sentences(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """
    Split tokens into sentences.

    Args:
        tokens: The tokens of a text.

    Yields:
        The tokens of each sentence, without its end; never none.
    """
    sentence: list[Token] = []
    for token in tokens:
        if token.kind is not Kind.END:
            sentence.append(token)
        elif sentence:
            yield sentence
            sentence = []
    if sentence:
        yield sentence


def mark(sentence: Sequence[Token]) -> list[Mark]:
    """
    Say for each token of a sentence how it is meant.

    Args:
        sentence: The tokens of one sentence.

    Returns:
        A mark for each of them; those of marks and stop words say nothing.
    """
    scope = _Scope(conditional=any(_is_condition(token) for token in sentence))
    marks = [scope.read(token) for token in sentence]
    words: list[int] = []
    for at, token in enumerate(sentence):
        if token.kind in _ENDS_SCOPE:
            words = []
        elif token.kind is Kind.WORD:
            backwards = _backwards(token, marks[at])
            for before in words[-_REACH_BACK:] if backwards else ():
                marks[before] = marks[before]._replace(loose=marks[before].loose | backwards)
            words.append(at)
    return marks


def dangling(sentence: Sequence[Token]) -> Token | None:
    """
    Find a negation that has no word to negate, such as a *none* at the end.

    Args:
        sentence: The tokens of one sentence.

    Returns:
        The first such negation, or ``None``.
    """
    pending: Token | None = None
    for token in sentence:
        if token.kind in _ENDS_SCOPE and pending is not None:
            return pending
        if token.kind is Kind.NEGATION and token.required:
            pending = token
        elif token.kind is Kind.WORD and token.required:
            pending = None
    return pending


def _is_condition(token: Token) -> bool:
    return token.kind is Kind.HEDGE and token.text.casefold() in _CONDITIONS


def _backwards(token: Token, marked: Mark) -> Negation:
    if token.key in _FAILING and token.required and not marked.firm:
        return Negation.FAILURE
    return marked.firm if token.key in _EXISTENCE else UNMARKED


class _Scope:
    """
    What negates and hedges the token that comes next.
    """

    def __init__(self, *, conditional: bool) -> None:
        self._conditional = conditional
        self._pending: list[Negation] = []
        self._inner: list[Negation] = []
        self._loose = UNMARKED
        self._left = 0
        self._hedged = conditional

    def read(self, token: Token) -> Mark:
        if token.kind in _ENDS_SCOPE:
            self._pending, self._inner, self._loose = [], [], UNMARKED
            self._hedged = self._conditional
        elif token.kind is Kind.NEGATION:
            self._negate(token)
        elif token.kind is Kind.HEDGE:
            self._hedged = True
        elif token.kind is Kind.LIGHT:
            self._deny_existence(token)
        elif token.kind is Kind.WORD:
            return self._word(token)
        return PLAIN

    def _negate(self, token: Token) -> None:
        negation = Negation[token.key]
        (self._pending if token.required else self._inner).append(negation)
        self._loose, self._left = self._loose | negation, _REACH

    def _deny_existence(self, token: Token) -> None:
        if self._pending and token.key in _EXISTENCE:
            self._pending[-1] = Negation.ABSENCE
            self._loose |= Negation.ABSENCE

    def _word(self, token: Token) -> Mark:
        self._deny_existence(token)
        # What negates a name does not negate the words that the name is made of.
        pending = self._pending if token.required else self._inner
        negations = [*pending, token.negated] if token.negated else pending
        self._loose = self._loose if self._left else UNMARKED
        firm = negations[-1] if len(negations) % 2 else UNMARKED
        # What is negated twice is stated, and no longer in the reach of either.
        loose = UNMARKED if negations and not firm else self._loose
        self._left = max(self._left - 1, 0)
        pending.clear()
        if token.key in _FAILING and token.required:
            self._loose, self._left = self._loose | Negation.FAILURE, max(self._left, 1)
        return Mark(firm, loose, self._hedged)

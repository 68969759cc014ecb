"""
What stands beside what in a line: the sides of a cause, the words that a number belongs to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from harness.guards._keys import keys_of_token
from harness.guards._kinds import Kind, Token
from harness.guards._lexicon import OPPOSITES
from harness.guards._words import keys_of

__all__ = ["Relation", "Slot", "family_of", "find_relations", "find_slots"]

#: How far a number or a direction reaches to the words that it belongs to.
_REACH: Final = 3

#: How much it matters which number of *20 of 25* is which.
_PART: Final = 2

_SIDES: Final = {
    word: (f"pair {number}", side)
    for number, pair in enumerate(OPPOSITES)
    for side, words in zip("+-", pair, strict=True)
    for word in keys_of(words.split())
}


class Relation(NamedTuple):
    """
    A place where a line says that its one side causes, or comes before, its other side.

    Attributes:
        kind: A cause or an order.
        order: Which side comes first: *effect first*, *cause first*, *later first*, *earlier
            first*; or a *label* such as *reason*, or a *chain* of an error and its cause.
        at: Its position among the tokens.
    """

    kind: Kind
    order: str
    at: int


class Slot(NamedTuple):
    """
    A token that could be mistaken for another one of its family, with the words it belongs to.

    Attributes:
        family: Numbers, or one pair of opposites.
        value: What tells it from the others.
        keys: The keys that it can be found under.
        context: The keys of the words beside it, nearer ones with more weight.
        at: Its position among the tokens.
    """

    family: str
    value: str
    keys: frozenset[str]
    context: dict[str, int]
    at: int


def family_of(token: Token) -> tuple[str, str] | None:
    """
    Say what a token could be mistaken for.

    Args:
        token: The token.

    Returns:
        Its family and what tells it from the others, or ``None`` where it has no family.
    """
    if token.quantity is not None:
        return "number", token.key
    return _SIDES.get(token.key) if token.kind is Kind.WORD else None


def find_relations(tokens: Sequence[Token], *, chains: bool = False) -> Iterator[Relation]:
    """
    Find the causes and orders that a sentence states.

    Args:
        tokens: The sentence.
        chains: Whether a colon counts: error messages name their cause behind one.

    Yields:
        The relations, in order.
    """
    for at, token in enumerate(tokens):
        if token.kind in {Kind.CAUSE, Kind.ORDER}:
            yield Relation(token.kind, token.key, at)
        elif chains and token.key == ":" and token.kind is Kind.BREAK:
            yield Relation(Kind.CAUSE, "chain", at)


def find_slots(tokens: Sequence[Token]) -> Iterator[Slot]:
    """
    Find the numbers and directions of a sentence, with the words that each belongs to.

    Args:
        tokens: The sentence.

    Yields:
        The slots, in order.
    """
    for at, token in enumerate(tokens):
        if family := family_of(token):
            keys, context = frozenset(keys_of_token(token)), _context(tokens, at, family[0])
            yield Slot(*family, keys, context, at)


def _context(tokens: Sequence[Token], at: int, family: str) -> dict[str, int]:
    # Behind a colon, ``size: 5`` is a value, and *exhausted: 20 of 20 in use* a clause of its own.
    is_alone = at + 1 == len(tokens) or tokens[at + 1].kind in _BOUNDS
    glue = "=:" if is_alone else "="
    context = dict(_side(tokens, range(at - 1, -1, -1), family, glue))
    # of two numbers that count the same things, one is the part and one the whole
    context |= {"of: part": _PART} if _is_total(tokens, at + 2) else {}
    context |= {"of: whole": _PART} if _is_total(tokens, at) else {}
    if at and tokens[at - 1].key == "=":
        return context
    for key, weight in _side(tokens, range(at + 1, len(tokens)), family, ""):
        context[key] = max(weight, context.get(key, 0))
    return context


def _side(
    tokens: Sequence[Token], positions: range, family: str, glue: str
) -> Iterator[tuple[str, int]]:
    left, beside = _REACH, True
    for place, at in enumerate(positions):
        token = tokens[at]
        # A mark right beside a token binds it to the word behind the mark: ``size=5``, ``size: 5``.
        if place == 0 and glue and token.key in glue:
            continue
        if positions.step > 0 and (_is_total(tokens, at) or _is_total(tokens, at + 1)):
            # *20 of 25 connections*: both numbers count the same things
            continue
        if token.kind in _BOUNDS or (family_of(token) or " ")[0] == family:
            return
        if token.kind is Kind.WORD and left:
            if positions.step > 0 and at + 1 < len(tokens) and tokens[at + 1].key in "=:":
                return
            # *5 waiters*, *size 5*: what stands right beside it belongs to it more than the rest.
            yield f"w:{token.key}", left + beside
            left -= 1
        beside = False


def _is_total(tokens: Sequence[Token], at: int) -> bool:
    """
    Tell whether a token is the second number of *20 of 25 connections*.
    """
    match tokens[max(at - 2, 0) : at + 1]:
        case [part, word, whole]:
            counted = part.quantity is not None and whole.quantity is not None
            return word.key == "of" and counted
    return False


_BOUNDS: Final = frozenset({Kind.BREAK, Kind.LINK, Kind.END})

"""
Under which keys the evidence holds a token, and which of them a statement's token may use.

1. A name of the evidence gives its segments too: ``db-1`` is found in ``db-1.prod.svc:5432``, and
   so is ``5432``. A piece of a segment is no name: ``db`` is not ``db-1``, ``prod-db`` is not
   ``prod-db-replica``. Only a suffix with digits, as a scheduler makes it, can be left out.
2. A time or date that says less is found in one that says more, never the other way round.
3. Numbers are compared by value, in the unit that the statement names. Only *about* allows for
   rounding.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from harness.guards._kinds import HARD, Kind, Quantity, Token
from harness.guards._lexicon import UNITS
from harness.guards._words import stem

__all__ = ["Alternatives", "NumberIndex", "base_of", "joined_key", "keys_of_token", "ways_to_find"]

#: How many segments of a name are names of their own.
_SEGMENTS: Final = 24
#: How many numbers of the evidence a rounded one is compared with.
_ROUNDED: Final = 32
#: How far *about* reaches: a twentieth of the number, or half a unit of its last digit.
_TOLERANCE: Final = Fraction(1, 20)

_CUTS: Final = re.compile(r"[:/@=,\\?&#]+")

#: Each alternative is a group of keys that must all be there.
Alternatives = tuple[tuple[str, ...], ...]


def _spellings() -> Mapping[tuple[str, Fraction], tuple[str, ...]]:
    found: dict[tuple[str, Fraction], tuple[str, ...]] = {}
    for name, unit in UNITS.items():
        found[unit] = (*found.get(unit, ()), name)
    return MappingProxyType(found)


_SPELLINGS: Final = _spellings()


def keys_of_token(token: Token) -> list[str]:
    """
    Give the keys under which a token of the evidence can be found.

    Args:
        token: The token.

    Returns:
        Its keys; none for a token that says nothing.
    """
    if token.kind is Kind.WORD:
        return [f"w:{token.key}"]
    if token.kind is Kind.NEGATION:
        # *failed to connect* says *failed* too.
        return [f"w:{stem(token.text.casefold().partition(' ')[0])}"]
    if token.quantity is not None:
        measured = [f"q:{_measured(token.quantity)}"] if token.quantity.unit else []
        return [f"n:{token.key}", *measured]
    if token.kind in {Kind.TIME, Kind.DATE}:
        return [f"t:{point}" for point in _points(token)]
    if token.kind in HARD and token.kind is not Kind.QUOTE:
        return [*(f"i:{name}" for name in _names(token.key)), joined_key(token.key)]
    return []


def joined_key(*words: str) -> str:
    """
    Give the key of words written together: *front end*, *front-end* and *frontend* meet.

    Args:
        words: The words, in small letters.

    Returns:
        The key.
    """
    return f"j:{stem(''.join(words).replace('-', ''))}"


def base_of(quantity: Quantity) -> tuple[str, Fraction]:
    """
    Bring a quantity to the base of its dimension.

    Args:
        quantity: A number with or without a unit.

    Returns:
        The dimension, empty without a unit, and the value in it.
    """
    if not quantity.unit:
        return "", quantity.value
    dimension, size = UNITS[quantity.unit]
    return dimension, quantity.value * size


def _measured(quantity: Quantity) -> str:
    dimension, value = base_of(quantity)
    return f"{dimension} {value}"


def _points(token: Token) -> Iterator[str]:
    key = token.key
    yield key
    if token.kind is Kind.TIME:
        # ``10:15`` and ``10:15:28`` of ``10:15:28.411``.
        yield from (key[:length] for length in (5, 8) if length < len(key))
    elif len(key) > len("MM-DD"):
        yield key[-len("MM-DD") :]


def _names(key: str) -> Iterator[str]:
    yield key
    for segment in _CUTS.split(key)[:_SEGMENTS]:
        if segment:
            yield segment
            yield from _dotted(segment)
            yield from _made(segment)


def _dotted(segment: str) -> Iterator[str]:
    labels = segment.split(".")[:_SEGMENTS]
    for at in range(1, len(labels)):
        yield labels[at - 1]
        yield ".".join(labels[:at])
        yield ".".join(labels[at:])


def _made(segment: str) -> Iterator[str]:
    """
    Read ``payment-7d9f8-x2x1z`` as one of ``payment``.
    """
    parts = segment.split("-")[:_SEGMENTS]
    for at in range(1, len(parts)):
        if not parts[at].isalpha():
            yield "-".join(parts[:at])
            return


class NumberIndex:
    """
    The numbers of the evidence by value, for statements that round.

    Args:
        quantities: All numbers of the evidence.
    """

    def __init__(self, quantities: Sequence[Quantity]) -> None:
        self._values: dict[str, list[Fraction]] = {}
        for dimension, value in sorted({base_of(quantity) for quantity in quantities}):
            self._values.setdefault(dimension, []).append(value)

    def near(self, quantity: Quantity) -> list[Fraction]:
        """
        Give the numbers that a rounded one may stand for.

        Args:
            quantity: What the statement says.

        Returns:
            Some of the evidence's numbers of the same dimension, in its base.
        """
        dimension, value = base_of(quantity)
        size = UNITS[quantity.unit][1] if quantity.unit else Fraction(1)
        reach = min(max(quantity.step * size, Fraction(0)), abs(value) * _TOLERANCE)
        values = self._values.get(dimension, [])
        return values[bisect_left(values, value - reach) : bisect_right(values, value + reach)][
            :_ROUNDED
        ]


def ways_to_find(token: Token, numbers: NumberIndex) -> Alternatives:
    """
    Give the ways in which the evidence may hold a token of a statement.

    Args:
        token: The token, no word and no quoted text.
        numbers: The numbers of the evidence.

    Returns:
        The alternatives.
    """
    if token.quantity is not None:
        return tuple(_ways_to_count(token, token.quantity, numbers))
    if token.kind is Kind.WORD:
        return ((f"w:{token.key}",), (f"i:{token.text.casefold()}",))
    if token.kind in {Kind.TIME, Kind.DATE}:
        return ((f"t:{token.key}",),)
    if token.kind in {Kind.NAME, Kind.IDENTIFIER, Kind.CODE}:
        return ((f"i:{token.key}",), (joined_key(token.key),))
    return ((f"i:{token.key}",),)


def _ways_to_count(
    token: Token, quantity: Quantity, numbers: NumberIndex
) -> Iterator[tuple[str, ...]]:
    dimension, _ = base_of(quantity)
    if quantity.unit:
        yield (f"q:{_measured(quantity)}",)
        # ``timeout_ms=5000``: the unit stands in the name.
        for name in _SPELLINGS[UNITS[quantity.unit]]:
            yield (f"n:{token.key}", f"w:{stem(name)}")
    else:
        yield (f"n:{token.key}",)
    if quantity.approximate:
        for value in numbers.near(quantity):
            yield (f"q:{dimension} {value}" if dimension else f"n:{value}",)

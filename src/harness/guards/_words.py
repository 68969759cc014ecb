"""
What words mean: stems, phrases, contractions, and numbers that several words write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from harness.guards._kinds import Kind, Negation, Quantity, Token
from harness.guards._lexicon import (
    APPROXIMATE,
    COMPARING,
    DAYS,
    EQUIVALENTS,
    IRREGULAR,
    MONTHS,
    NUMBER_WORDS,
    OPPOSITE_WORDS,
    ROLES,
    UNITS,
)
from harness.guards._tokens import date_key, lex

__all__ = ["keys_of", "stem", "tokenize"]

#: The longest suffix first; what is left of a word has at least as many letters as stated.
_SUFFIXES: Final[tuple[tuple[str, str, int], ...]] = (
    ("ations", "", 4),
    ("ation", "", 4),
    ("ingly", "", 4),
    ("ably", "", 5),
    ("able", "", 5),
    ("ions", "", 4),
    ("ing", "", 3),
    ("ied", "y", 2),
    ("ies", "y", 2),
    ("ion", "", 4),
    ("ely", "", 4),
    ("ed", "", 3),
    ("es", "", 3),
    ("ly", "", 4),
    ("s", "", 3),
    ("e", "", 3),
)
#: Endings that look like a plural and are none.
_NO_PLURAL: Final = ("ss", "us", "is")
_VOWELS: Final = frozenset("aeiouy")
#: The longest word that is stemmed; a longer one is no English.
_LONGEST: Final = 40
#: A word of so few letters stays as it is.
_SHORT: Final = 3
#: The numbers that a day and a year have.
_DAY: Final = (1, 31)
_YEAR: Final = (1900, 2999)


def _irregular() -> Mapping[str, str]:
    groups = [group.split() for group in IRREGULAR]
    return MappingProxyType({form: group[0] for group in groups for form in group})


_BASES: Final = _irregular()


def stem(word: str) -> str:
    """
    Cut a word's ending so that its forms meet: *expires*, *expired* and *expiration*.

    Args:
        word: A word in small letters.

    Returns:
        Its stem, which need be no word.
    """
    word = _BASES.get(word, word)
    if len(word) > _LONGEST or not word.isascii():
        return word
    for suffix, ending, least in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= least:
            if suffix in {"s", "es"} and word.endswith(_NO_PLURAL):
                continue
            if suffix in {"ing", "ed"} and _VOWELS.isdisjoint(word[: -len(suffix)]):
                continue
            return _undoubled(word[: len(word) - len(suffix)] + ending)
    return _undoubled(word)


def _undoubled(word: str) -> str:
    if len(word) <= _SHORT:
        return word
    doubled = word[-1] == word[-2] and word[-1] not in _VOWELS
    return word[:-1] if doubled or word[-1] == "e" else word


def _equivalents() -> Mapping[str, str]:
    groups = [[stem(word) for word in group.split()] for group in EQUIVALENTS]
    return MappingProxyType({form: group[0] for group in groups for form in group})


_SAME: Final = _equivalents()


def _key(word: str) -> str:
    stemmed = stem(word)
    return _SAME.get(stemmed, stemmed)


def keys_of(words: Iterable[str]) -> frozenset[str]:
    """
    Bring words of a list into the form of a token's key.

    Args:
        words: The words, in small letters.

    Returns:
        Their keys.
    """
    return frozenset(map(_key, words))


_OPPOSITE: Final[Mapping[str, tuple[str, Negation]]] = MappingProxyType(
    {word: (_key(base), negation) for word, (base, negation) in OPPOSITE_WORDS.items()}
)


def _longest_phrases() -> Mapping[str, int]:
    longest: dict[str, int] = {}
    for phrase in ROLES:
        words = phrase.split()
        longest[words[0]] = max(longest.get(words[0], 1), len(words))
    return MappingProxyType(longest)


_PHRASES: Final = _longest_phrases()


def tokenize(cleaned: str) -> list[Token]:
    """
    Cut a cleaned text into tokens and say what each word does.

    Args:
        cleaned: What :func:`harness.guards._tokens.clean` gave.

    Returns:
        The tokens, in order.
    """
    raw = [part for token in lex(cleaned) for part in _contracted(token)]
    found: list[Token] = []
    at = 0
    while at < len(raw):
        token = raw[at]
        if token.kind is Kind.WORD:
            taken, read = _word(raw, at)
            found.append(read)
            at += taken
        elif token.quantity is not None:
            taken, read = _quantity(raw, at)
            found.append(_approximate(read, raw[at - 1] if at else None))
            at += taken
        else:
            found.append(token)
            at += 1
    return found


def _contracted(token: Token) -> Iterator[Token]:
    """
    Read *isn't* as *is not*, and *node's* as *node*.
    """
    before, apostrophe, after = token.key.partition("'")
    if token.kind is not Kind.WORD or not apostrophe:
        yield token
    elif after == "t" and before[-1:] == "n":
        plain = {"ca": "can", "wo": "will", "sha": "shall"}.get(before[:-1], before[:-1])
        yield token._replace(key=plain)
        yield token._replace(key="not")
    else:
        yield token._replace(key=before)


def _word(raw: list[Token], at: int) -> tuple[int, Token]:
    token = raw[at]
    if dated := _dated(raw, at):
        return dated
    if token.key in NUMBER_WORDS and token.required:
        value = Fraction(NUMBER_WORDS[token.key])
        quantity = Quantity(value, Fraction(1, 2))
        number = Token(Kind.NUMBER, str(value), token.text, quantity=quantity)
        taken, read = _quantity([number, *raw[at + 1 : at + 2]], 0)
        return taken, _approximate(read, raw[at - 1] if at else None)
    for length in range(min(_PHRASES.get(token.key, 0), len(raw) - at), 0, -1):
        words = raw[at : at + length]
        phrase = " ".join(word.key for word in words)
        if phrase in ROLES and all(word.kind is Kind.WORD for word in words):
            following = raw[at + length] if at + length < len(raw) else None
            return length, _roled(words, phrase, following)
    return 1, _content(token)


def _content(token: Token) -> Token:
    if token.key in _OPPOSITE:
        key, negated = _OPPOSITE[token.key]
        return token._replace(key=key, negated=negated)
    return token._replace(key=_key(token.key))


def _roled(words: list[Token], phrase: str, following: Token | None) -> Token:
    kind, key = ROLES[phrase]
    text = " ".join(word.text for word in words)
    required = words[0].required
    if kind in {Kind.CAUSE, Kind.ORDER} and not required:
        return Token(Kind.WORD, _key(phrase), text, required=False)
    if kind is Kind.ORDER and following is not None and following.kind in _POINTS:
        # *after 30 seconds*: a word like *above*, whose opposite says something else.
        return Token(Kind.WORD, _key(phrase), text, required)
    if phrase in COMPARING and following is not None and following.quantity is not None:
        return Token(Kind.WORD, _key(COMPARING[phrase]), text, required)
    if phrase == "since" and _is_temporal(following):
        return Token(Kind.STOP, phrase, text, required)
    return Token(kind, _key(key) if kind in {Kind.WORD, Kind.LIGHT} else key, text, required)


_POINTS: Final = frozenset({Kind.NUMBER, Kind.TIME, Kind.DATE})


def _is_temporal(following: Token | None) -> bool:
    return following is not None and (
        following.kind in _POINTS or following.key in DAYS or following.key in MONTHS
    )


def _dated(raw: list[Token], at: int) -> tuple[int, Token] | None:
    """
    Read *August 3, 2024*, *Aug 3* and, from the number before it, *3 August 2024*.
    """
    month = MONTHS.get(raw[at].key)
    if month is None:
        return None
    day, *rest = raw[at + 1 : at + 4] or [raw[at]]
    if not _is_whole(day, _DAY):
        return None
    comma = bool(rest) and rest[0].key == ","
    year = next((token for token in rest[comma : comma + 1] if _is_whole(token, _YEAR)), None)
    taken = 2 if year is None else 3 + comma
    key = date_key(int(year.key) if year else None, month, int(day.key))
    return taken, Token(Kind.DATE, key, " ".join(token.text for token in raw[at : at + taken]))


def _is_whole(token: Token, bounds: tuple[int, int]) -> bool:
    quantity = token.quantity
    return (
        quantity is not None
        and not quantity.unit
        and quantity.value.denominator == 1
        and bounds[0] <= quantity.value <= bounds[1]
    )


def _quantity(raw: list[Token], at: int) -> tuple[int, Token]:
    """
    Take the unit that follows a number as a word.
    """
    number, following = raw[at], raw[at + 1] if at + 1 < len(raw) else None
    quantity = number.quantity
    if quantity is None or quantity.unit or following is None or following.kind is not Kind.WORD:
        return 1, number
    month = MONTHS.get(following.key)
    if month is not None and _is_whole(number, _DAY):
        return _day_first(raw, at, month)
    if following.key not in UNITS:
        return 1, number
    text = f"{number.text} {following.text}"
    return 2, number._replace(text=text, quantity=quantity._replace(unit=following.key))


def _day_first(raw: list[Token], at: int, month: int) -> tuple[int, Token]:
    year = raw[at + 2] if at + 2 < len(raw) and _is_whole(raw[at + 2], _YEAR) else None
    key = date_key(int(year.key) if year else None, month, int(raw[at].key))
    taken = 3 if year else 2
    return taken, Token(Kind.DATE, key, " ".join(token.text for token in raw[at : at + taken]))


def _approximate(number: Token, before: Token | None) -> Token:
    if number.quantity is None or before is None or before.key not in APPROXIMATE:
        return number
    return number._replace(quantity=number.quantity._replace(approximate=True))

"""
What an empty scope carries: that nothing was found in it, and no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from harness.guards._keys import NumberIndex, keys_of_token
from harness.guards._kinds import Kind, Negation, Token
from harness.guards._lexicon import KINDS_OF_THING, PLACES, SEARCHING, WITNESSES
from harness.guards._statement import Statement
from harness.guards._tokens import clean
from harness.guards._words import keys_of, tokenize

__all__ = ["EmptyScope"]

#: How deep a scope is read.
_DEPTH: Final = 8
#: How many words say what was looked for.
_SOUGHT: Final = 4

_SEARCHING: Final = keys_of(SEARCHING) | SEARCHING
_FREE: Final = keys_of(KINDS_OF_THING) | keys_of(WITNESSES) | _SEARCHING
_EMPTY: Final = keys_of(["empty"])
_PASSED: Final = frozenset({Kind.WORD, Kind.LIGHT, Kind.AUXILIARY, Kind.STOP})
_NOTHING: Final = Negation.ABSENCE | Negation.NOT


class EmptyScope:
    """
    A scope that was asked and held nothing.

    Args:
        scope: Its names and values, or any other value that says what was asked.
        tool: The tool that was asked.
    """

    def __init__(self, scope: object, tool: str = "") -> None:
        names, values = _texts(scope, 0)
        self._values = frozenset(_keys(values))
        self._names = frozenset(_keys([*names, tool]))

    @classmethod
    def of(cls, item: object) -> EmptyScope:
        """
        Read a scope as a run's record states it, or as bare names and values.

        Args:
            item: An object with a ``scope`` and a ``tool``, or the scope itself.

        Returns:
            The scope.
        """
        tool = getattr(item, "tool", "")
        return cls(getattr(item, "scope", item), tool if isinstance(tool, str) else "")

    def holds(self, statement: Statement, at: int) -> bool:
        """
        Tell whether a token is one of the scope's values.

        Args:
            statement: The statement.
            at: The position of a needed token.

        Returns:
            Whether it is.
        """
        ways = statement.ways(at, NumberIndex(()))
        return any(self._values.issuperset(group) for group in ways)

    def carries(self, statement: Statement) -> bool:
        """
        Tell whether a statement says that nothing was found in this scope, and nothing else.

        Args:
            statement: A sentence or clause of a visible text.

        Returns:
            Whether it does. What was sought may be named freely; where it was sought must be this
            scope, and the statement must say where.
        """
        sought = _sought(statement)
        if sought is None or any(statement.sides()):
            return False
        where = [at for at in statement.needed if at not in sought]
        places = [self.holds(statement, at) for at in where]
        return any(places) and all(
            placed or self._is_free(statement, at) for at, placed in zip(where, places, strict=True)
        )

    def _is_free(self, statement: Statement, at: int) -> bool:
        token = statement.tokens[at]
        named = any(self._names.issuperset(group) for group in statement.ways(at, NumberIndex(())))
        return token.kind is Kind.WORD and (named or token.key in _FREE)


def _sought(statement: Statement) -> frozenset[int] | None:
    """
    Find what the statement says there was nothing of, or ``None`` where it says no such thing.
    """
    tokens = statement.tokens
    negations = [at for at, token in enumerate(tokens) if token.kind is Kind.NEGATION]
    empty = any(token.key in _EMPTY for token in tokens)
    if empty and not negations:
        return frozenset()
    if len(negations) != 1 or not Negation[tokens[negations[0]].key] & _NOTHING:
        return None
    if not any(token.key in _SEARCHING for token in tokens):
        return None
    return frozenset(_object(tokens, negations[0] + 1))


def _object(tokens: Iterable[Token], start: int) -> Iterator[int]:
    """
    Read the words right behind *no*, up to the word that leads to a place.
    """
    left = _SOUGHT
    for at, token in enumerate(tokens):
        if at < start:
            continue
        if not left or token.kind not in _PASSED or token.key in PLACES:
            return
        if token.kind is Kind.WORD and token.key not in _SEARCHING:
            left -= 1
            yield at


def _texts(scope: object, depth: int) -> tuple[list[str], list[str]]:
    if depth > _DEPTH or scope is None:
        return [], []
    if isinstance(scope, Mapping):
        names = [str(name) for name in scope]
        inner = [_texts(value, depth + 1) for value in scope.values()]
    elif isinstance(scope, (list, tuple)):
        names, inner = [], [_texts(value, depth + 1) for value in scope]
    else:
        return [], [str(scope)]
    return (
        names + [name for names_, _ in inner for name in names_],
        [value for _, values in inner for value in values],
    )


def _keys(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        for token in tokenize(clean(text)):
            yield from keys_of_token(token)
            if token.kind is Kind.WORD:
                yield f"i:{token.text.casefold()}"

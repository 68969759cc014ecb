"""
The vocabulary of the lexical guard: what a token is, and how a word is negated.
"""

from __future__ import annotations

from enum import Enum, Flag, auto, unique
from fractions import Fraction
from typing import Final, NamedTuple

__all__ = ["HARD", "UNMARKED", "Kind", "Negation", "Quantity", "Token"]


@unique
class Kind(Enum):
    """
    What a token is.
    """

    #: A word that says something: it must stand in the evidence.
    WORD = "word"
    #: A verb or adverb that says nothing by itself.
    LIGHT = "light word"
    #: An article, pronoun, preposition or the like.
    STOP = "stop word"
    #: An auxiliary verb: a sign that a clause is complete.
    AUXILIARY = "auxiliary"
    #: A number, with its unit.
    NUMBER = "number"
    #: A quoted text.
    QUOTE = "quoted text"
    #: A time of day.
    TIME = "time"
    #: A date.
    DATE = "date"
    #: A path or an address with a scheme.
    PATH = "path"
    #: A host, network address, file or dotted name.
    HOST = "host"
    #: A name that a program made: it holds digits, underscores, colons or inner capitals.
    IDENTIFIER = "identifier"
    #: A name of hyphenated words.
    NAME = "name"
    #: An error code.
    CODE = "error code"
    #: A word in a script that the guard has no words of.
    FOREIGN = "foreign word"
    #: A word that negates.
    NEGATION = "negation"
    #: A word that says that something is possible, planned or conditional only.
    HEDGE = "hedge"
    #: A word that states a cause.
    CAUSE = "cause"
    #: A word that states an order in time.
    ORDER = "order"
    #: A word that joins two clauses.
    LINK = "link"
    #: A mark inside a sentence.
    BREAK = "break"
    #: The end of a sentence.
    END = "end"


#: Kinds that are compared as they stand, whatever the language.
HARD: Final = frozenset(
    {
        Kind.NUMBER,
        Kind.QUOTE,
        Kind.TIME,
        Kind.DATE,
        Kind.PATH,
        Kind.HOST,
        Kind.IDENTIFIER,
        Kind.NAME,
        Kind.CODE,
    }
)


class Negation(Flag):
    """
    How something is negated.
    """

    #: It is not so.
    NOT = auto()
    #: It was not so at any time.
    NEVER = auto()
    #: It was so before.
    NO_LONGER = auto()
    #: There is none of it.
    ABSENCE = auto()
    #: It cannot be done.
    INABILITY = auto()
    #: It must not be done.
    DENIAL = auto()
    #: It was tried and did not succeed.
    FAILURE = auto()


#: Not negated at all.
UNMARKED: Final = Negation(0)


class Quantity(NamedTuple):
    """
    The value of a number token.

    Attributes:
        value: The number as written.
        step: Half a unit of its last digit that is not zero: what rounding may have changed.
        unit: The unit in small letters, or the empty text.
        approximate: Whether the text says *about*.
    """

    value: Fraction
    step: Fraction
    unit: str = ""
    approximate: bool = False


class Token(NamedTuple):
    """
    A piece of text that means one thing.

    Attributes:
        kind: What it is.
        key: Its normalised form, equal for tokens that mean the same.
        text: As it was written.
        required: Whether the evidence must hold it; the inner words of a name need not.
        negated: What the word itself negates, such as the *un* of *unreachable*.
        quantity: The value of a number.
    """

    kind: Kind
    key: str
    text: str
    required: bool = True
    negated: Negation = UNMARKED
    quantity: Quantity | None = None

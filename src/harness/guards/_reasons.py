"""
Why a visible text is not supported.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, unique
from types import MappingProxyType
from typing import Final, NamedTuple

from harness.guards._kinds import Kind

__all__ = ["UNKNOWN", "Finding", "MismatchReason"]


@unique
class MismatchReason(Enum):
    """
    Why a visible text is not supported.
    """

    #: A number, or its unit, stands nowhere in the cited facts.
    UNKNOWN_NUMBER = "UNKNOWN_NUMBER"
    #: A quoted text stands nowhere in the cited facts.
    UNKNOWN_QUOTE = "UNKNOWN_QUOTE"
    #: A time of day stands nowhere in the cited facts.
    UNKNOWN_TIME = "UNKNOWN_TIME"
    #: A date stands nowhere in the cited facts.
    UNKNOWN_DATE = "UNKNOWN_DATE"
    #: A path or address stands nowhere in the cited facts.
    UNKNOWN_PATH = "UNKNOWN_PATH"
    #: A host or dotted name stands nowhere in the cited facts.
    UNKNOWN_HOST = "UNKNOWN_HOST"
    #: A name stands nowhere in the cited facts.
    UNKNOWN_IDENTIFIER = "UNKNOWN_IDENTIFIER"
    #: An error code stands nowhere in the cited facts.
    UNKNOWN_CODE = "UNKNOWN_CODE"
    #: A word stands nowhere in the cited facts, and no word that says the same.
    UNKNOWN_WORD = "UNKNOWN_WORD"
    #: Everything stands in the cited facts, but nowhere together.
    NOT_TOGETHER = "NOT_TOGETHER"
    #: The cited facts speak of another kind of thing.
    OTHER_THING = "OTHER_THING"
    #: The cited facts negate it, or do not negate it as the text does.
    NEGATION = "NEGATION"
    #: The cited facts call it possible, planned or conditional only.
    MODALITY = "MODALITY"
    #: The cited facts do not state this cause.
    CAUSE = "CAUSE"
    #: The cited facts do not state this order in time.
    ORDER = "ORDER"
    #: The number stands in the cited facts, but belongs to something else.
    OTHER_NUMBER = "OTHER_NUMBER"
    #: The direction stands in the cited facts, but belongs to something else.
    DIRECTION = "DIRECTION"
    #: A copy of a cited fact with another number.
    MISCOPIED = "MISCOPIED"
    #: Nothing in the text can be compared with the cited facts.
    UNCHECKABLE = "UNCHECKABLE"
    #: The visible texts are longer than the guard reads.
    TOO_LONG = "TOO_LONG"


class Finding(NamedTuple):
    """
    A reason, and what it is about.

    Attributes:
        reason: Why a statement is not carried.
        detail: The words of the text that it is about.
    """

    reason: MismatchReason
    detail: str


#: The reason for each kind of token that stands nowhere.
UNKNOWN: Final[Mapping[Kind, MismatchReason]] = MappingProxyType(
    {
        Kind.NUMBER: MismatchReason.UNKNOWN_NUMBER,
        Kind.QUOTE: MismatchReason.UNKNOWN_QUOTE,
        Kind.TIME: MismatchReason.UNKNOWN_TIME,
        Kind.DATE: MismatchReason.UNKNOWN_DATE,
        Kind.PATH: MismatchReason.UNKNOWN_PATH,
        Kind.HOST: MismatchReason.UNKNOWN_HOST,
        Kind.IDENTIFIER: MismatchReason.UNKNOWN_IDENTIFIER,
        Kind.NAME: MismatchReason.UNKNOWN_IDENTIFIER,
        Kind.CODE: MismatchReason.UNKNOWN_CODE,
        Kind.WORD: MismatchReason.UNKNOWN_WORD,
    }
)

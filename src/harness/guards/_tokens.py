"""
Pure extraction of typed tokens from text, in time that grows with its length alone.

1. The text is cut into *blobs* by one expression that never looks back. A blob is then classified
   by expressions that see that blob only, and never more than :data:`_LONGEST` of its characters.
2. Nothing is dropped for being odd: what fits no form is an identifier or a word, which the
   evidence must hold as it stands.
3. The inner words of a name (``unreachable_nodes``, ``OOMKilled``) follow it as words that need not
   be found, so that evidence can be read through its names.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Final

from harness.guards._kinds import Kind, Quantity, Token
from harness.guards._lexicon import MONTHS, UNITS

__all__ = ["clean", "date_key", "fold", "lex"]

#: The longest blob that is read as one; a longer one is cut at its punctuation.
_LONGEST: Final = 200

#: A clock shows up to this hour, and less than this minute.
_HOURS: Final = 24
_MINUTES: Final = 60

_PLAIN: Final = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201b\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-"),
        **dict.fromkeys("\u2014\u2015", " - "),
        **dict.fromkeys("\r\x0b\x0c\x85\u2028\u2029", "\n"),
    }
)
# What is not seen could hide a word: soft hyphens, joiners, direction marks and the like.
_UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0]"
)
_LEXEME: Final = re.compile(
    r"(?P<blob>[\w/~$\\.+#-](?:[\w./\\:@#%+~$-]|(?<=[0-9]),(?=[0-9])|(?<=\w)'(?=\w))*+)"
    r"|(?P<newline>\n\s*+)|(?P<mark>[^\w\s])"
)
_QUOTE: Final = re.compile(
    r"\"(?P<double>[^\"\n]{1,300}+)\"|`(?P<tick>[^`\n]{1,300}+)`|(?<!\w)'(?P<single>[^'\n]{2,300}+)'(?!\w)"
)
_CLOCK: Final = r"(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:(Z)|([+-]\d\d):?(\d\d))?"
_TIME: Final = re.compile(_CLOCK, re.ASCII | re.IGNORECASE)
_DATE: Final = re.compile(rf"(\d{{4}})([-/.])(\d\d)\2(\d\d)(?:[T_:]({_CLOCK}))?", re.ASCII)
_LOG_DATE: Final = re.compile(rf"(\d\d)/([A-Za-z]{{3}})/(\d{{4}})(?::({_CLOCK}))?", re.ASCII)
_NUMBER: Final = re.compile(
    r"(~)?([-+])?\$?(\d{1,3}(?:,\d{3})+|\d{1,25})?(?:\.(\d{1,20}))?(?:[eE]([-+]?\d{1,2}))?"
    r"(%|[^\W\d_]{1,12}(?:/s)?)?"
)
_ADDRESS: Final = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}(?::\d+|/\d+)?", re.ASCII)
_LIST: Final = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[-,/:]\d+(?:\.\d+)?)+([^\W\d_]{0,12}|%)")
_CODE: Final = re.compile(
    r"0x[0-9a-fA-F]+|[A-Z]{1,12}-?\d{2,}[A-Z]?|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"
    r"|E(?:CONN|NO|PERM|ACC|AGAIN|PIPE|TIMEDOUT|HOST|ADDR|[MN]FILE|EXIST|BUSY|IO|INVAL|NET|PROTO)"
    r"[A-Z]*"
)
_PATH: Final = re.compile(r"[a-zA-Z]:[\\/].*|\.{0,2}/.+|~/.*|.*\\.*|[a-z][a-z0-9+]*://.*")
_HYPHENED: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+")
#: Their point ends no sentence.
_ABBREVIATIONS: Final = frozenset({"e.g", "i.e"})
_PART: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[^\W\d_]+")
_CAMEL: Final = re.compile("[a-z][A-Z]|[A-Z]{2}[a-z]{2}")
_PORT: Final = re.compile(r"[:/=](\d{1,9})(?=[:/,]|$)")
_LATIN: Final = re.compile(r"[\x00-\u024f\u1e00-\u1eff\u03bc]*")


def clean(text: str) -> str:
    """
    Bring a text into one spelling: compatibility forms, quotes, dashes, nothing unseen.

    Args:
        text: Any text.

    Returns:
        The text, its letters' case as it was.
    """
    return _UNSEEN.sub("", unicodedata.normalize("NFKC", text)).translate(_PLAIN)


def fold(cleaned: str) -> str:
    """
    Make a cleaned text comparable: one space for any white space, no case.

    Args:
        cleaned: What :func:`clean` gave.

    Returns:
        The folded text.
    """
    return " ".join(cleaned.casefold().split())


def lex(cleaned: str) -> Iterator[Token]:
    """
    Cut a cleaned text into tokens, in order; words come unread, with their small letters as key.

    Args:
        cleaned: What :func:`clean` gave.

    Yields:
        The tokens. Sentences end in an ``END``, marks within them are a ``BREAK``.
    """
    quotes = {found.start(): found[found.lastgroup or 0] for found in _QUOTE.finditer(cleaned)}
    read: dict[str, tuple[Token, ...]] = {}
    for found in _LEXEME.finditer(cleaned):
        if (quote := quotes.get(found.start())) and quote.strip():
            yield Token(Kind.QUOTE, fold(quote).rstrip(".,;:!?"), quote)
        if found.lastgroup == "blob":
            blob = found[0]
            if blob not in read:
                read[blob] = tuple(_blob(blob))
            yield from read[blob]
        elif found.lastgroup == "newline":
            yield from _newline(cleaned, found.end())
        else:
            yield from _mark(cleaned, found.start())


def _newline(text: str, following: int) -> Iterator[Token]:
    # A sentence may be wrapped: a line that goes on in small letters goes on with the sentence.
    if not text[following : following + 1].islower():
        yield Token(Kind.END, "\n", "\n")


def _mark(text: str, at: int) -> Iterator[Token]:
    mark, before, following = text[at], text[at - 1 : at], text[at + 1 : at + 2]
    if mark == "\u3002" or (mark in "!?" and not following.isalnum()):
        yield Token(Kind.END, mark, mark)
    elif mark == ":" and before in {'"', "'"}:
        # The colon of a JSON object says which value a name has, as an equals sign does.
        yield Token(Kind.BREAK, "=", mark)
    elif mark == "%" and before == " " and text[at - 2 : at - 1].isdigit():
        # The unit of the number before it: *93 %*.
        yield Token(Kind.WORD, mark, mark)
    elif mark in ",;:()[]{}|<>=":
        yield Token(Kind.BREAK, mark, mark)


def _blob(blob: str) -> Iterator[Token]:
    if _is_word(blob):
        yield _word(blob)
        return
    core = blob.rstrip(".:,-+#~$\\'/") or ""
    tail = blob[len(core) :]
    core = _beheaded(core)
    if len(core) > _LONGEST:
        for piece in re.findall(r"\w+", core):
            yield from _classified(piece[:_LONGEST] if len(piece) <= _LONGEST else piece)
    elif core:
        yield from _classified(core)
    if not core:
        yield Token(Kind.BREAK, "-", blob)
    elif "." in tail and core.casefold() not in _ABBREVIATIONS:
        yield Token(Kind.END, ".", ".")
    elif ":" in tail:
        yield Token(Kind.BREAK, ":", ":")


def _beheaded(core: str) -> str:
    if core[:1] in "/~" or core.startswith(("./", "../", "\\")):
        return core
    bare = core.lstrip(".+#:-$\\")
    # The sign of a number and the point of a fraction belong to it.
    kept = core[: len(core) - len(bare)]
    if bare[:1].isdigit() and kept[-1:] in "-+.":
        return kept[-1:] + bare
    return bare


def _classified(core: str) -> Iterator[Token]:
    if len(core) > _LONGEST:
        yield Token(Kind.IDENTIFIER, core.casefold(), core)
        return
    # The last form accepts anything.
    yield from next(tokens for form in _FORMS if (tokens := form(core)) is not None)


def _word(blob: str) -> Token:
    kind = Kind.WORD if _LATIN.fullmatch(blob) else Kind.FOREIGN
    return Token(kind, blob.casefold(), blob)


def _plain(core: str) -> list[Token] | None:
    return [_word(core)] if _is_word(core.replace("'", "")) else None


def _is_camel(core: str) -> bool:
    return _CAMEL.search(core) is not None and core.casefold() not in UNITS


def _is_word(core: str) -> bool:
    return core.isalpha() and not (_is_camel(core) or _CODE.fullmatch(core))


def _date(core: str) -> list[Token] | None:
    if found := _DATE.fullmatch(core):
        key = date_key(int(found[1]), int(found[3]), int(found[4]))
    elif found := _LOG_DATE.fullmatch(core):
        key = date_key(int(found[3]), MONTHS.get(found[2].casefold(), 0), int(found[1]))
    else:
        return None
    clock = found[5] if found.re is _DATE else found[4]
    tokens = [Token(Kind.DATE, key, core)]
    return tokens + (_time(clock) or []) if clock else tokens


def date_key(year: int | None, month: int, day: int) -> str:
    """
    Write a date as a key; a date without a year is a key of its own.

    Args:
        year: The year, or ``None`` where the text leaves it out.
        month: The month.
        day: The day.

    Returns:
        The key.
    """
    return f"{month:02}-{day:02}" if year is None else f"{year:04}-{month:02}-{day:02}"


def _time(core: str) -> list[Token] | None:
    found = _TIME.fullmatch(core)
    if found is None or int(found[1]) > _HOURS or int(found[2]) >= _MINUTES:
        return None
    fraction = (found[4] or "").rstrip("0")
    key = f"{int(found[1]):02}:{found[2]}"
    key += f":{found[3]}" if found[3] else ""
    key += f".{fraction}" if fraction else ""
    zone = "utc" if found[5] or found[6] in {"+00", "-00"} else f"{found[6]}{found[7]}"
    tokens = [Token(Kind.TIME, key, core)]
    # A zone is compared like a word: *10:15 UTC* is more than *10:15*.
    return [*tokens, Token(Kind.WORD, zone, zone)] if found[5] or found[6] else tokens


def _number(core: str) -> list[Token] | None:
    found = _NUMBER.fullmatch(core)
    if found is None or not (found[3] or found[4]):
        return None
    unit = (found[6] or "").casefold()
    if unit and unit not in UNITS:
        return None
    whole, fraction = (found[3] or "0").replace(",", ""), found[4] or ""
    scale = Fraction(10) ** (int(found[5] or 0) - len(fraction))
    digits = int(whole + fraction)
    value = digits * scale * (-1 if found[2] == "-" else 1)
    quantity = Quantity(value, _half_step(digits) * scale, unit, found[1] is not None)
    return [Token(Kind.NUMBER, str(value), core, quantity=quantity)]


def _half_step(digits: int) -> Fraction:
    written = str(digits)
    zeros = len(written) - len(written.rstrip("0")) if digits else 0
    return Fraction(10**zeros, 2)


def _numbers(core: str) -> list[Token] | None:
    found = _LIST.fullmatch(core)
    if found is None or _is_address(core):
        return None
    pieces = re.split("(?<=[0-9])[-,/:]", core[: len(core) - len(found[1])])
    tokens = [_number(piece + found[1]) for piece in pieces]
    if any(token is None for token in tokens):
        return None
    return [token for found in tokens if found for token in found]


def _is_address(core: str) -> bool:
    return _ADDRESS.fullmatch(core) is not None


def _address(core: str) -> list[Token] | None:
    return [Token(Kind.HOST, core, core), *_ports(core)] if _is_address(core) else None


def _path(core: str) -> list[Token] | None:
    if not (_PATH.fullmatch(core) or core.count("/") > 1):
        return _slashed(core) if "/" in core else None
    key = core.casefold().rstrip("/") or core
    return [Token(Kind.PATH, key, core), *_parts(core), *_ports(core)]


def _slashed(core: str) -> list[Token] | None:
    """
    Read *read/write* as two words, and *nginx/web:1.2* as a name.
    """
    pieces = core.split("/")
    if all(piece.isalpha() for piece in pieces):
        return [_word(piece) for piece in pieces]
    return [Token(Kind.PATH, core.casefold(), core), *_parts(core), *_ports(core)]


def _code(core: str) -> list[Token] | None:
    if _CODE.fullmatch(core):
        return [Token(Kind.CODE, core.casefold(), core), *_parts(core)]
    return None


def _host(core: str) -> list[Token] | None:
    labels = core.split(".")
    if not ("@" in core or (len(labels) > 1 and all(labels))) or not re.search("[^\\W\\d_]", core):
        return None
    if core.casefold() in _ABBREVIATIONS:
        return [Token(Kind.STOP, core.casefold(), core)]
    return [Token(Kind.HOST, core.casefold(), core), *_parts(core), *_ports(core)]


def _name(core: str) -> list[Token] | None:
    if not _HYPHENED.fullmatch(core) or _is_camel(core):
        return None
    return [Token(Kind.NAME, core.casefold(), core), *_parts(core)]


def _identifier(core: str) -> list[Token] | None:
    return [Token(Kind.IDENTIFIER, core.casefold(), core), *_parts(core), *_ports(core)]


def _parts(core: str) -> list[Token]:
    return [
        Token(Kind.WORD, part.casefold(), part, required=False)
        for part in _PART.findall(core)
        if len(part) > 1
    ]


def _ports(core: str) -> list[Token]:
    return [
        token._replace(required=False)
        for number in _PORT.findall(core)
        for token in _number(number) or ()
    ]


#: Tried in this order; the last accepts anything.
_FORMS: Final[tuple[Callable[[str], list[Token] | None], ...]] = (
    _plain,
    _number,
    _date,
    _time,
    _address,
    _numbers,
    _path,
    _code,
    _host,
    _name,
    _identifier,
)

"""
Patterns that a caller may search for: regular expressions that cannot run away.

The engine of the standard library backtracks and cannot be interrupted. What could take a time
that grows exponentially with the line is therefore refused before it runs:

1. a repeated group that holds another quantifier of variable length, or alternatives that do not
   begin with different letters (a repeat of up to four times may hold one);
2. back-references, conditions, set operations, and flags other than ``(?i)`` at the very start;
3. more than six quantifiers without a small bound, or more than 500 characters.

What remains is polynomial: several ``.*`` in one pattern can still take long on a line that was
made for it. Lines are bounded, so this has an end, but it is not covered any further.
"""

from __future__ import annotations

import re
from math import inf
from typing import Final, NamedTuple

from attrs import define, field

from harness.errors import InvalidArgumentError

__all__ = ["MAX_PATTERN", "compile_pattern"]

#: The longest pattern, in characters.
MAX_PATTERN: Final = 500

# A repeat up to this bound multiplies what it holds by little.
_FEW: Final = 4
# A quantifier that can match this much more than it must counts as unbounded.
_MANY: Final = 16
_MOST_UNBOUNDED: Final = 6

_FLAGS: Final = re.compile(r"\(\?([aims]+)\)")
_GROUP: Final = re.compile(r"\((?:\?(?:P<\w+>|<?[=!]|i?:|>))?")
_CLASS: Final = re.compile(r"\[\^?\]?+(?:\\.|[^\]\\])*+\]")
_ESCAPE: Final = re.compile(r"\\(?:x..|u....|U.{8}|N\{[^}]*\}|.)")
_QUANTIFIER: Final = re.compile(r"(?:([*+?])|\{([0-9]*)(,?)([0-9]*)\})[?+]?")
_BRACKET: Final = re.compile(r"\\.|\[")
_CLASS_OR_ESCAPE: Final = re.compile(rf"\\.|{_CLASS.pattern}")
_SET_OPERATION: Final = re.compile(r"--|&&|~~|\|\|")

_SIMPLE: Final = "a pattern of few quantifiers, none inside a repeated group"


class _Repeat(NamedTuple):
    """
    How often something may follow itself.
    """

    least: float = 1
    most: float = 1

    @property
    def varies(self) -> bool:
        return self.least != self.most


@define
class _Group:
    """
    What was seen of a group so far.

    Attributes:
        starts: The first letter of each alternative; ``None`` where it has no certain one.
        begun: Whether the current alternative has an element.
        varies: Whether its parts can be of several lengths.
        unbounded: How many quantifiers without a small bound it holds, repeats counted in.
        repeats_risk: Whether it repeats something that is risky to repeat.
    """

    starts: list[str | None] = field(factory=list)
    begun: bool = False
    varies: bool = False
    unbounded: float = 0
    repeats_risk: bool = False

    def add(self, letter: str | None, repeat: _Repeat) -> None:
        """
        Add one element.
        """
        if not self.begun:
            self.starts.append(letter.lower() if letter and repeat.least else None)
            self.begun = True
        self.varies = self.varies or repeat.varies
        if repeat.most - repeat.least > _MANY:
            self.unbounded += 1

    def next_alternative(self) -> None:
        """
        Begin another alternative; one without any element has no certain first letter.
        """
        if not self.begun:
            self.starts.append(None)
        self.begun = False

    @property
    def is_risky(self) -> bool:
        """
        Whether a repeat of it can match one text in several ways.
        """
        several = len(self.starts) > 1
        unclear = None in self.starts or len(set(self.starts)) < len(self.starts)
        return self.varies or (several and unclear)


def compile_pattern(text: str, name: str = "pattern") -> re.Pattern[str]:
    """
    Compile a pattern that is safe to search for in bounded lines.

    Args:
        text: The regular expression; ``(?i)`` at its start ignores case.
        name: What to call it in an error.

    Returns:
        The compiled pattern. Only whether it is found means anything: ``.*`` at its ends is gone.

    Raises:
        InvalidArgumentError: It is no regular expression, too long, or could run away.
    """
    if len(text) > MAX_PATTERN:
        raise InvalidArgumentError(name, text, f"at most {MAX_PATTERN} characters")
    flags = _FLAGS.match(text)
    body = text[flags.end() :] if flags else text
    ignore_case = re.IGNORECASE if flags and "i" in flags[1] else re.NOFLAG
    try:
        _Examination(body).check()
        return re.compile(_without_ends(_literal_brackets(body)), ignore_case)
    except _RefusedError as refused:
        raise InvalidArgumentError(name, text, f"{_SIMPLE}; this one has {refused}") from None
    except (re.error, OverflowError, RecursionError) as error:
        allowed = f"a regular expression ({str(error) or type(error).__name__})"
        raise InvalidArgumentError(name, text, allowed) from None


class _RefusedError(Exception):
    """
    The pattern could run away.
    """


class _Examination:
    """
    One pass over a pattern that may be no regular expression at all: the engine says that later.
    """

    def __init__(self, body: str) -> None:
        self._body = body
        self._at = 0
        self._groups = [_Group()]

    def check(self) -> None:
        """
        Refuse the pattern where it could run away.
        """
        while self._at < len(self._body):
            self._step()
        if sum(group.unbounded for group in self._groups) > _MOST_UNBOUNDED:
            raise _RefusedError(f"more than {_MOST_UNBOUNDED} quantifiers without a small bound")

    def _step(self) -> None:
        """
        Take the next element.
        """
        sign = self._body[self._at]
        if sign == "(":
            self._open()
        elif sign == ")" and len(self._groups) > 1:
            self._at += 1
            self._close()
        elif sign == "|":
            self._at += 1
            self._groups[-1].next_alternative()
        else:
            letter = self._element(sign)
            self._groups[-1].add(letter, self._repeat())

    def _open(self) -> None:
        found = _GROUP.match(self._body, self._at)
        self._at = found.end() if found else self._at + 1
        if self._body.startswith("?", self._at):
            raise _RefusedError("a group of a kind that is not accepted")
        self._groups.append(_Group())

    def _close(self) -> None:
        """
        Judge the group that ends here by how often it is repeated.
        """
        group = self._groups.pop()
        group.next_alternative()
        repeat = self._repeat()
        if group.is_risky and repeat.most > 1:
            if repeat.most > _FEW:
                raise _RefusedError("a quantifier or unclear alternatives in a repeated group")
            if group.repeats_risk:
                raise _RefusedError("repeats of repeats of something that varies")
        parent = self._groups[-1]
        parent.add(None, repeat)
        parent.varies = parent.varies or group.is_risky
        parent.unbounded += group.unbounded * min(repeat.most, _MOST_UNBOUNDED + 1)
        parent.repeats_risk |= group.repeats_risk or (group.is_risky and repeat.most > 1)

    def _element(self, sign: str) -> str | None:
        """
        Step over one element, and give the letter that it stands for, if it is certain.
        """
        if sign == "[":
            found = _CLASS.match(self._body, self._at)
            if not found:
                raise _RefusedError("a set of characters that is not closed")
            if _SET_OPERATION.search(found[0]):
                raise _RefusedError("an operation on sets of characters")
        elif sign == "\\":
            found = _ESCAPE.match(self._body, self._at)
            if found and found[0][1] in "123456789":
                raise _RefusedError("a reference to an earlier group")
        else:
            found = None
        self._at = found.end() if found else self._at + 1
        return None if found or sign in ".^$" else sign

    def _repeat(self) -> _Repeat:
        """
        Step over a quantifier, if one follows.
        """
        found = _QUANTIFIER.match(self._body, self._at)
        if not found or found[0].startswith("{}"):
            return _Repeat()
        self._at = found.end()
        sign, least, comma, most = found.groups()
        if sign:
            return _Repeat(1 if sign == "+" else 0, 1 if sign == "?" else inf)
        least = int(least or 0)
        if not comma:
            return _Repeat(least, least)
        return _Repeat(least, int(most) if most else inf)


def _literal_brackets(body: str) -> str:
    """
    Escape a bracket inside a set, where the engine would warn of what it may mean one day.
    """

    def escaped(found: re.Match[str]) -> str:
        whole = found[0]
        inside = _BRACKET.sub(lambda part: r"\[" if part[0] == "[" else part[0], whole[1:])
        return f"[{inside}" if whole[0] == "[" else whole

    return _CLASS_OR_ESCAPE.sub(escaped, body)


def _without_ends(body: str) -> str:
    """
    Drop a leading and a trailing ``.*``: they decide nothing, and cost a factor of the length.
    """
    if found := re.match(r"\^?\.\*(?:\?|(?![*+?{]))", body):
        body = body[found.end() :]
    if found := re.search(r"(?<!\\)(?:\\\\)*(\.\*\??\$?)$", body):
        body = body[: found.start(1)]
    return body

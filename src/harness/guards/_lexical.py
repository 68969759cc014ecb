"""
The lexical guard: visible text is supported where the cited facts say the same in the same words.

The rules, each of which fails closed (section 3.7):

1. Every sentence of every visible text is judged; one that fails makes the whole case unsupported.
2. A sentence, or each complete clause of it, must be carried by one passage of one cited fact: all
   of its numbers, quoted texts, times, dates, paths, hosts, names, error codes and content words.
3. Negation, possibility, cause, order and direction must be those of the passage.
4. A cited empty scope carries only that nothing was found in it.
5. What can't be compared is not supported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from attrs import frozen

from harness._records import SemanticCase
from harness._states import SemanticVerdict
from harness.errors import InvalidArgumentError
from harness.guards._carry import carry, is_known
from harness.guards._kinds import HARD, Kind, Token
from harness.guards._lexicon import ADVICE
from harness.guards._marks import sentences
from harness.guards._passages import CitedFact, Evidence
from harness.guards._reasons import UNKNOWN, Finding, MismatchReason
from harness.guards._scopes import EmptyScope
from harness.guards._statement import Statement
from harness.guards._tokens import clean, fold
from harness.guards._words import tokenize

__all__ = ["LexicalGuard", "Mismatch", "SupportCheck", "check_support"]

#: How many characters of visible text are judged.
_VISIBLE: Final = 65_536
#: How many tokens a sentence has at most.
_SENTENCE: Final = 512
#: How many mismatches a check names.
_NAMED: Final = 32
#: How many characters of a text a mismatch quotes.
_QUOTED: Final = 200

_DIGITS: Final = re.compile(r"\d+")


@frozen
class Mismatch:
    """
    One thing in a visible text that the cited evidence does not carry.

    It is for the host's own eyes: nothing of it may become public.

    Attributes:
        reason: What is wrong.
        detail: The words that it is about.
        text: The visible text, cut after some length.
    """

    reason: MismatchReason
    detail: str
    text: str


@frozen
class SupportCheck:
    """
    What a check of visible text against cited evidence gave.

    Attributes:
        supported: Whether all of the text is carried.
        mismatches: What is not, in the order of the texts, as far as it is named.
    """

    supported: bool
    mismatches: tuple[Mismatch, ...] = ()


def check_support(
    texts: Iterable[str],
    facts: Iterable[CitedFact],
    empty_scopes: Iterable[object] = (),
    *,
    advice: Iterable[str] = (),
) -> SupportCheck:
    """
    Compare visible text with the evidence that it cites.

    Pure and deterministic: the same text and evidence give the same answer, in whatever order the
    facts come. Its work is bounded, whatever the text holds.

    Args:
        texts: Statements, such as the conclusion and the claims.
        facts: The cited facts.
        empty_scopes: The scopes of the cited records that hold nothing.
        advice: Recommendations. A sentence that asks for an action may use words of its own; its
            numbers and names must be known all the same.

    Returns:
        Whether all of it is supported, and what is not.

    Raises:
        InvalidArgumentError: A text is none, or a fact has no text and source.

    .. versionadded:: 0.1.0
    """
    checked = tuple(facts)
    for fact in checked:
        if not (isinstance(getattr(fact, "text", None), str) and hasattr(fact, "source")):
            raise InvalidArgumentError("facts", fact, "facts with a text and a source")
    return _Check(checked, empty_scopes).of(_texts("texts", texts), _texts("advice", advice))


def _texts(name: str, given: Iterable[object]) -> tuple[str, ...]:
    texts = (None,) if isinstance(given, str) else tuple(given)
    if not all(isinstance(text, str) for text in texts):
        raise InvalidArgumentError(name, given, "several texts")
    return tuple(map(str, texts))


class LexicalGuard:
    """
    A semantic guard that needs no model: it compares words, numbers and names (section 3.7).

    It is deterministic, so that an answer can be repeated, and it errs on the side of refusing. It
    has no understanding: a true conclusion in other words is refused, and words of the evidence
    that are put together wrongly can pass.

    .. versionadded:: 0.1.0
    """

    def judge(self, case: SemanticCase, attempt: object) -> SemanticVerdict:
        """
        Judge the visible text of a draft.

        Args:
            case: The visible text and what it cites.
            attempt: The attempt that this is; nothing is reported through it, since nothing is
                spent.

        Returns:
            The verdict.
        """
        del attempt
        supported = self.check(case).supported
        return SemanticVerdict.SUPPORTED if supported else SemanticVerdict.UNSUPPORTED

    def check(self, case: SemanticCase) -> SupportCheck:
        """
        Judge a draft and say why.

        Args:
            case: The visible text and what it cites.

        Returns:
            The verdict with its reasons.
        """
        texts = (case.conclusion, *case.claims)
        return check_support(texts, case.facts, case.empty_scopes, advice=case.recommendations)


class _Check:
    """
    The evidence of one check, read once.
    """

    def __init__(self, facts: Iterable[CitedFact], empty_scopes: Iterable[object]) -> None:
        facts = tuple(facts)
        self._evidence = Evidence(facts)
        self._scopes = tuple(map(EmptyScope.of, empty_scopes))
        self._verbatim = {fold(clean(fact.text)) for fact in facts}
        self._masked = set(map(_masked, self._verbatim))

    def of(self, texts: tuple[str, ...], advice: tuple[str, ...]) -> SupportCheck:
        findings: list[Mismatch] = []
        room = _VISIBLE
        for number, text in enumerate(texts + advice):
            cleaned = clean(text)
            folded = fold(cleaned)
            if folded and folded in self._verbatim:
                continue
            room -= len(folded)
            if room < 0:
                found = [Finding(MismatchReason.TOO_LONG, "")]
            else:
                found = self._judge(cleaned, folded, is_advice=number >= len(texts))
            findings += (_mismatch(finding, text) for finding in found[:_NAMED])
        if not (texts or advice):
            findings.append(Mismatch(MismatchReason.UNCHECKABLE, "", ""))
        return SupportCheck(not findings, tuple(findings[:_NAMED]))

    def _judge(self, cleaned: str, folded: str, *, is_advice: bool) -> list[Finding]:
        if _masked(folded) in self._masked:
            return [Finding(MismatchReason.MISCOPIED, folded)]
        tokens = tokenize(cleaned)
        if any(token.kind is Kind.FOREIGN for token in tokens):
            return self._foreign(folded)
        statements = [Statement(sentence) for sentence in sentences(tokens)]
        if not any(statement.needed for statement in statements):
            return [Finding(MismatchReason.UNCHECKABLE, folded)]
        if longest := max((statement.tokens for statement in statements), key=len)[_SENTENCE:]:
            return [Finding(MismatchReason.TOO_LONG, _text(longest[:_SENTENCE]))]
        judge = self._advised if is_advice else self._stated
        return [finding for statement in statements for finding in judge(statement)]

    def _foreign(self, folded: str) -> list[Finding]:
        """
        Compare what the guard has no words of as it stands.
        """
        if any(folded in text for text in self._evidence.texts):
            return []
        return [Finding(MismatchReason.UNKNOWN_QUOTE, folded)]

    def _stated(self, statement: Statement) -> list[Finding]:
        if not statement.needed or not (found := self._carried(statement)):
            return []
        clauses = statement.clauses()
        if len(clauses) == 1:
            return found
        return [finding for clause in clauses for finding in self._carried(clause)]

    def _carried(self, statement: Statement) -> list[Finding]:
        found = carry(statement, self._evidence)
        return [] if any(scope.carries(statement) for scope in self._scopes) else found

    def _advised(self, statement: Statement) -> list[Finding]:
        """
        Let an action have its own words, but no numbers, names or statements of its own.
        """
        found: list[Finding] = []
        parts = [Statement(part) for part in _parts(statement.tokens)]
        for part in (part for part in parts if part.needed):
            found += self._asked(part) if _is_advice(part.tokens) else self._stated(part)
        known = any(self._is_known(part, at) for part in parts for at in part.needed)
        if not (found or known):
            found.append(Finding(MismatchReason.UNCHECKABLE, _text(statement.tokens)))
        return found

    def _asked(self, part: Statement) -> Iterator[Finding]:
        for at in part.needed:
            token = part.tokens[at]
            if token.kind in HARD and not self._is_known(part, at):
                yield Finding(UNKNOWN[token.kind], token.text)

    def _is_known(self, part: Statement, at: int) -> bool:
        return is_known(part, self._evidence, at) or any(
            scope.holds(part, at) for scope in self._scopes
        )


def _parts(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """
    Split advice where it turns from what to do to what is said to be so.
    """
    start = 0
    for at, token in enumerate(tokens):
        if token.kind in _TURNS and at > start:
            yield tokens[start:at]
            start = at + 1
    yield tokens[start:]


_TURNS: Final = frozenset({Kind.CAUSE, Kind.LINK, Kind.BREAK})


def _is_advice(tokens: Sequence[Token]) -> bool:
    words = [token for token in tokens if token.kind is not Kind.STOP and token.kind not in _TURNS]
    return bool(words) and words[0].text.casefold() in ADVICE


def _text(tokens: Sequence[Token]) -> str:
    return " ".join(token.text for token in tokens)


def _masked(folded: str) -> str:
    return _DIGITS.sub("0", folded)


def _mismatch(finding: Finding, text: str) -> Mismatch:
    return Mismatch(finding.reason, finding.detail[:_QUOTED], text[:_QUOTED])

"""
Does a passage of the evidence carry a statement? Each question is a function that names its reason.

1. A passage must hold every needed token of the statement. Then it is asked for what the tokens
   alone don't tell: negation, possibility, causes and order, and which number belongs to what.
2. A question that can't be answered is answered with no.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from harness.guards._context import Slot, find_slots
from harness.guards._kinds import HARD, UNMARKED, Kind, Negation
from harness.guards._lexicon import KINDS_OF_NAME, KINDS_OF_THING, SATISFIED_BY
from harness.guards._marks import dangling
from harness.guards._passages import Evidence, Line, Passage, Seen
from harness.guards._reasons import UNKNOWN, Finding, MismatchReason
from harness.guards._statement import Statement
from harness.guards._words import keys_of

__all__ = ["carry", "is_known"]

#: How many passages are tried for a statement.
_TRIED: Final = 256

#: What comparing two numbers with their words costs, in comparisons of two keys.
_SLOT: Final = 8

_KINDS: Final = keys_of(KINDS_OF_THING | KINDS_OF_NAME)


class _Question:
    """
    A statement, and how the evidence may hold each of its tokens.
    """

    def __init__(self, statement: Statement, evidence: Evidence) -> None:
        self.statement = statement
        self.evidence = evidence
        self.ways = {at: statement.ways(at, evidence.numbers) for at in statement.needed}
        self.must = [at for at in statement.needed if at not in statement.optional]
        self.optional = sorted(statement.optional)
        self.words = [at for at in self.must if statement.tokens[at].kind is Kind.WORD]

    def text(self, at: int) -> str:
        return self.statement.tokens[at].text

    def negated(self, at: int) -> Negation:
        return self.statement.marks[at].firm | self.statement.marks[at].loose

    def is_known(self, at: int) -> bool:
        token = self.statement.tokens[at]
        if token.kind is Kind.QUOTE:
            return any(_has_quote(text, token.key) for text in self.evidence.texts)
        return self.is_source(at) or self.evidence.count(self.ways[at]) > 0

    def is_source(self, at: int) -> bool:
        """
        Tell whether a name is that of the place where a fact stands.
        """
        return any(self.evidence.sources.issuperset(group) for group in self.ways[at])

    def is_held(self, at: int, passage: Passage) -> bool:
        token = self.statement.tokens[at]
        if token.kind is Kind.QUOTE:
            return _has_quote(self.evidence.texts[passage.lines[0].fact], token.key)
        return passage.holds(self.ways[at]) or self.is_source(at)


def _has_quote(text: str, quote: str) -> bool:
    at = text.find(quote)
    while at >= 0:
        end = at + len(quote)
        before, behind = text[at - 1 : at] if at else "", text[end : end + 1]
        if not (_continues(before, quote[:1]) or _continues(quote[-1:], behind)):
            return True
        at = text.find(quote, at + 1)
    return False


def _continues(left: str, right: str) -> bool:
    return left.isalnum() and right.isalnum()


def carry(statement: Statement, evidence: Evidence) -> list[Finding]:
    """
    Look for a passage that carries a statement.

    Args:
        statement: A sentence or clause of a visible text.
        evidence: The cited facts.

    Returns:
        Nothing where a passage carries it; else why none does, as near to it as any came.
    """
    question = _Question(statement, evidence)
    unknown = [at for at in question.must if not question.is_known(at)]
    if unknown:
        tokens = statement.tokens
        return [Finding(UNKNOWN[tokens[at].kind], tokens[at].text) for at in unknown]
    counts = {at: evidence.count(question.ways[at]) for at in question.must}
    rarest = min((at for at in counts if counts[at]), key=counts.__getitem__, default=None)
    if rarest is None or not _says_enough(question):
        return [Finding(MismatchReason.UNCHECKABLE, _text(statement))]
    return _nearest(question, evidence.where(question.ways[rarest], _TRIED))


def is_known(statement: Statement, evidence: Evidence, at: int) -> bool:
    """
    Tell whether the evidence holds a token anywhere.

    Args:
        statement: The statement.
        evidence: The cited facts.
        at: The position of a needed token.

    Returns:
        Whether it does.
    """
    return _Question(statement, evidence).is_known(at)


def _says_enough(question: _Question) -> bool:
    """
    Tell whether a statement can be told from others: *it failed* fits everything.
    """
    tokens = question.statement.tokens
    said = [*question.must, *(at for at in question.optional if question.is_known(at))]
    return len(said) > 1 or any(tokens[at].kind in HARD for at in question.must)


def _text(statement: Statement) -> str:
    return " ".join(token.text for token in statement.tokens)


def _nearest(question: _Question, lines: list[int]) -> list[Finding]:
    best: tuple[int, Finding] | None = None
    for number in lines:
        passage = question.evidence.passage(number)
        if not question.evidence.spend(len(question.must) * len(passage.lines)):
            return [Finding(MismatchReason.TOO_LONG, _text(question.statement))]
        for step, check in enumerate(_CHECKS):
            finding = next(check(question, passage), None)
            if finding is not None:
                best = max(best, (step, finding), key=_progress) if best else (step, finding)
                break
        else:
            return []
    return [best[1]] if best else []


def _progress(found: tuple[int, Finding]) -> int:
    return found[0]


def _together(question: _Question, passage: Passage) -> Iterator[Finding]:
    for at in question.must:
        if not question.is_held(at, passage):
            yield Finding(MismatchReason.NOT_TOGETHER, question.text(at))


def _things(question: _Question, passage: Passage) -> Iterator[Finding]:
    """
    A pod is not a node: what the evidence leaves unnamed may be named, but not renamed.
    """
    tokens = question.statement.tokens
    named = frozenset(tokens[at].key for at in question.statement.needed)
    for at in question.optional:
        renamed = tokens[at].key in _KINDS and passage.rivals(tokens[at].key) - named
        if renamed and not question.is_held(at, passage):
            yield Finding(MismatchReason.OTHER_THING, question.text(at))


def _negation(question: _Question, passage: Passage) -> Iterator[Finding]:
    marks, tokens = question.statement.marks, question.statement.tokens
    seen = {at: passage.seen(f"w:{tokens[at].key}") for at in question.words}
    for at in question.optional:
        if (found := passage.seen(f"w:{tokens[at].key}")) != Seen():
            seen[at] = found
    wanted = UNMARKED
    for at, found in seen.items():
        wanted |= question.negated(at)
        if marks[at].firm and not _answer(question, at, found, marks[at].firm):
            yield Finding(MismatchReason.NEGATION, question.text(at))
        if not question.negated(at) and found.firm:
            yield Finding(MismatchReason.NEGATION, question.text(at))
    yield from _kinds_of_negation(question, seen, wanted)
    doubtful = [at for at in question.words if _negated(seen[at]) and not seen[at].plain]
    if not wanted and 2 * len(doubtful) > len(question.words):
        yield Finding(MismatchReason.NEGATION, question.text(doubtful[0]))


def _negated(seen: Seen) -> Negation:
    return seen.firm | seen.loose


def _kinds_of_negation(
    question: _Question, seen: dict[int, Seen], wanted: Negation
) -> Iterator[Finding]:
    """
    *There is no X* is more than *X cannot be listed*: each kind of negation needs one that says it.
    """
    if alone := dangling(question.statement.tokens):
        yield Finding(MismatchReason.NEGATION, alone.text)
    for kind in wanted:
        meant = [at for at in seen if question.negated(at) & kind]
        if not any(_answer(question, at, seen[at], kind) for at in meant):
            yield Finding(MismatchReason.NEGATION, question.text(meant[0]))


def _answer(question: _Question, at: int, seen: Seen, kind: Negation) -> Negation:
    """
    Give what the evidence has for one negation of a word: one negation answers one.
    """
    taken = question.negated(at) & Negation.FAILURE & ~kind
    return _negated(seen) & SATISFIED_BY[kind] & ~taken


def _modality(question: _Question, passage: Passage) -> Iterator[Finding]:
    marks, tokens = question.statement.marks, question.statement.tokens
    for at in question.words:
        seen = passage.seen(f"w:{tokens[at].key}")
        if not marks[at].hedged and seen != Seen() and not seen.stated:
            yield Finding(MismatchReason.MODALITY, question.text(at))


def _relations(question: _Question, passage: Passage) -> Iterator[Finding]:
    stated = list(question.statement.sides())
    effort = len(stated) * sum(len(line.relations) for line in passage.lines)
    if question.evidence.spend(effort * len(question.must)):
        yield from _unrelated(question, passage, stated)
    else:
        yield Finding(MismatchReason.TOO_LONG, _text(question.statement))


def _unrelated(
    question: _Question, passage: Passage, stated: list[tuple[Kind, str, list[int], list[int]]]
) -> Iterator[Finding]:
    for kind, order, left, right in stated:
        sides = [[at for at in side if at in question.must] for side in (left, right)]
        if order in {"cause first", "earlier first"}:
            sides.reverse()
        if not any(_relates(question, line, kind, order, sides) for line in passage.lines):
            reason = MismatchReason.CAUSE if kind is Kind.CAUSE else MismatchReason.ORDER
            yield Finding(reason, _text(question.statement))


def _relates(
    question: _Question, line: Line, kind: Kind, order: str, sides: list[list[int]]
) -> bool:
    one_sided = order == "label" or not all(sides)
    for relation in line.relations:
        if relation.kind is not kind or (one_sided and relation.order == "chain"):
            continue
        if one_sided and all(_stands(question, line, at, None) for side in sides for at in side):
            return True
        forwards = relation.order in {"effect first", "chain", "later first"}
        places = (range(relation.at), range(relation.at + 1, 1 << 30))
        if (
            not one_sided
            and relation.order != "label"
            and all(
                _stands(question, line, at, place)
                for side, place in zip(sides, places if forwards else places[::-1], strict=True)
                for at in side
            )
        ):
            return True
    return False


def _stands(question: _Question, line: Line, at: int, places: range | None) -> bool:
    if question.statement.tokens[at].kind is Kind.QUOTE:
        return True
    return any(all(_is_at(line, key, places) for key in group) for group in question.ways[at])


def _is_at(line: Line, key: str, places: range | None) -> bool:
    return any(places is None or place in places for place in line.places.get(key, ()))


def _slots(question: _Question, passage: Passage) -> Iterator[Finding]:
    """
    A number that stands in the evidence beside other words is the number of something else.
    """
    slots = [slot for slot in find_slots(question.statement.tokens) if slot.at in question.ways]
    others = [other for line in passage.lines for other in line.slots]
    if question.evidence.spend(_SLOT * len(slots) * len(others)):
        yield from (found for slot in slots for found in _misplaced(question, slot, others))
    else:
        yield Finding(MismatchReason.TOO_LONG, _text(question.statement))


def _misplaced(question: _Question, slot: Slot, others: list[Slot]) -> Iterator[Finding]:
    found = {key for group in question.ways[slot.at] for key in group}
    rivals = [other for other in others if other.family == slot.family]
    own = [_nearness(slot, other) for other in rivals if other.keys & found]
    nearer = [
        _nearness(slot, other)
        for other in rivals
        if not other.keys & found and other.value != slot.value
    ]
    if own and nearer and max(nearer) > max(own):
        number = slot.family == "number"
        reason = MismatchReason.OTHER_NUMBER if number else MismatchReason.DIRECTION
        yield Finding(reason, question.text(slot.at))


def _nearness(slot: Slot, other: Slot) -> int:
    return sum(weight * other.context.get(key, 0) for key, weight in slot.context.items())


_CHECKS: Final[tuple[Callable[[_Question, Passage], Iterator[Finding]], ...]] = (
    _together,
    _things,
    _negation,
    _modality,
    _relations,
    _slots,
)

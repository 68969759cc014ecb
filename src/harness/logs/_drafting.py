"""
A draft from what the log tool told: in the words of the evidence, and no cause that no line states.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import log2
from typing import Final, NamedTuple

from harness._records import CanonicalRecord
from harness._values import Citation, Claim, DiagnosisDraft, Fact
from harness.guards import check_support
from harness.logs._levels import level_of
from harness.logs._masking import mask
from harness.logs._reading import Group, Stretch, read_group, read_stretch
from harness.logs._severity import FAILURE, severity_of
from harness.logs._wording import at_level, lines

__all__ = ["Found", "find_problems", "find_stretch", "read_step", "write_draft"]

#: How many groups a report names beside those of its conclusion.
_CLAIMS: Final = 4
#: How many of the lines that were read a report copies.
_COPIED: Final = 3


class Found(NamedTuple):
    """
    A group of lines that reports a problem.

    Attributes:
        group: The group.
        citation: Where it is cited from.
        fact: The fact that says it.
    """

    group: Group
    citation: Citation
    fact: Fact

    @property
    def score(self) -> float:
        """
        How much it explains: severe, and often.
        """
        return 1.5 * self.group.severity + log2(self.group.count)


def read_step(records: Iterable[CanonicalRecord], step: str) -> list[CanonicalRecord]:
    """
    Give the answers to one step of the playbook.

    Args:
        records: What was answered so far.
        step: The view that the step asks for.

    Returns:
        Those that can be read and cited.
    """
    return [
        record
        for record in records
        if record.invocation.is_ready and record.invocation.call.arguments.get("view") == step
    ]


def find_stretch(records: Iterable[CanonicalRecord], file: str) -> Stretch | None:
    """
    Give the worst stretch of time of a file.

    Args:
        records: What was answered so far.
        file: The file's name.

    Returns:
        The stretch, or ``None`` where none stands out.
    """
    for _, fact in _cited(records, "count", file):
        if stretch := read_stretch(fact):
            return stretch
    return None


def find_problems(records: Iterable[CanonicalRecord]) -> list[Found]:
    """
    Give the groups that report a problem.

    Args:
        records: What was answered so far.

    Returns:
        The groups, the one that explains most first.
    """
    found = [
        Found(group, Citation(record.invocation_id, number, group.said or None), fact)
        for record in read_step(records, "templates")
        for number, fact in enumerate(record.facts, 1)
        if (group := read_group(fact)) and group.severity >= FAILURE
    ]
    return sorted(found, key=lambda one: -one.score)


def write_draft(records: Sequence[CanonicalRecord]) -> DiagnosisDraft:
    """
    Write down what was found.

    Args:
        records: What was answered so far.

    Returns:
        The draft; without a conclusion where no line reports a problem.
    """
    problems = find_problems(records)
    if not problems:
        return DiagnosisDraft(None)
    main = problems[0]
    worst = min(problems, key=lambda one: -one.group.severity)
    named = _named(main, worst)
    rest = [one for one in problems if one not in named]
    others = sorted(rest, key=lambda one: one is not worst)
    file = main.group.file
    claims = [
        *(Claim(_worded(one), [one.citation]) for one in others[:_CLAIMS]),
        *_counted(records, file),
        *_copied(records, file),
    ]
    return DiagnosisDraft(
        " ".join(map(_worded, named)),
        [one.citation for one in named],
        claims,
        _recommended(records, main.group),
    )


def _named(main: Found, worst: Found) -> list[Found]:
    """
    Choose what the conclusion says: what explains most, and what is worse but seldom.

    The latter may be what the rest comes from. Where the guard could not tell the two apart, the
    former stands alone.
    """
    both = [main, worst]
    said = " ".join(map(_worded, both))
    is_worse = worst.group.severity > main.group.severity
    return both if is_worse and _is_carried(said, [one.fact for one in both]) else [main]


def _worded(found: Found) -> str:
    """
    Word a group, as fully as the built-in guard can compare; else say it all as the evidence does.
    """
    wordings = _wordings(found.group) if found.group.said else ()
    carried = (text for text in wordings if _is_carried(text, [found.fact]))
    return next(carried, found.fact.text)


def _wordings(group: Group) -> Iterator[str]:
    """
    Word a group in several ways: what, how often, from when to when, and when most.

    A word in the quote may look to the guard like one about what follows, and a word before the
    quote like one about the quote: so the quote stands last, or in the middle.
    """
    where, level, said = group.where, at_level(group.level), f'"{group.said}"'
    if group.count == 1:
        texts = (f"{where} {level} says {said}", f"1 line {level} says {said}, {where}")
    else:
        many = lines(group.count)
        texts = (f"{many} {level} {where} say {said}", f"{many} {level} say {said}, {where}")
    busiest = f" T{group.stretch.text[1:]}." if group.stretch else ""
    usual = f" Among them: {group.usual}." if group.usual else ""
    for addition in dict.fromkeys((f"{busiest}{usual}", busiest, "")):
        yield from (f"In {group.file}, {text}.{addition}" for text in texts)


def _is_carried(text: str, facts: Sequence[Fact]) -> bool:
    return check_support([text], facts).supported


def _cited(
    records: Iterable[CanonicalRecord], step: str, file: str
) -> Iterator[tuple[Citation, Fact]]:
    """
    Give the facts of a step about a file, each with its citation.
    """
    for record in read_step(records, step):
        for number, fact in enumerate(record.facts, 1):
            if fact.source.rpartition(":")[0] == file:
                yield Citation(record.invocation_id, number), fact


def _counted(records: Iterable[CanonicalRecord], file: str) -> Iterator[Claim]:
    """
    State the counts of a file as they are.
    """
    for citation, fact in _cited(records, "count", file):
        yield Claim(fact.text, [citation])


def _copied(records: Iterable[CanonicalRecord], file: str) -> list[Claim]:
    """
    State the worst lines that were read of a file as they are, one of each kind.
    """
    found: dict[str, tuple[int, Claim]] = {}
    for citation, fact in _cited(records, "lines", file):
        severity = severity_of(level_of(fact.text), fact.text)
        is_note = fact.text.startswith(f"{file}: ")
        if severity >= FAILURE and not is_note:
            found.setdefault(mask(fact.text)[0], (severity, Claim(fact.text, [citation])))
    worst = sorted(found.values(), key=lambda one: -one[0])
    return [claim for _, claim in worst[:_COPIED]]


def _recommended(records: Iterable[CanonicalRecord], group: Group) -> list[str]:
    stretch = group.stretch or find_stretch(records, group.file)
    if stretch is None:
        return []
    return [f"Check {group.file} from {stretch.since} to {stretch.until}."]

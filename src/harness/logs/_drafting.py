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

__all__ = ["Found", "findfind_problems", "find_stretch", "read_step", "write_draft"]

#: How many groups a report names beside the one of its conclusion.
_CLAIMS: Final = 4
#: How many of the lines that were read a report copies.
_QUOTED: Final = 3


class Found(NamedTuple):
    """
    A group of lines, and where it is cited from.
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
    return [
        record
        for record in records
        if record.invocation.is_ready and record.invocation.call.arguments.get("view") == step
    ]


def find_stretch(records: Iterable[CanonicalRecord], file: str) -> Stretch | None:
    for record in read_step(records, "count"):
        for fact in record.facts:
            if fact.source.startswith(f"{file}:") and (stretch := read_stretch(fact)):
                return stretch
    return None


def find_problems(records: Iterable[CanonicalRecord]) -> list[Found]:
    """
    Give the groups that report a problem, the one that explains most first.
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
    Write down what was found; no conclusion where nothing was.
    """
    problems = find_problems(records)
    if not problems:
        return DiagnosisDraft(None)
    main = problems[0]
    others = problems[1 : _CLAIMS + 1]
    # What is worse but seldom may be what the rest comes from.
    worst = min(problems, key=lambda one: -one.group.severity)
    if worst.group.severity > main.group.severity and worst not in others:
        others = [worst, *others[:-1]]
    claims = [
        *(Claim(_worded(one), [one.citation]) for one in others),
        *_counted(records, main.group.file),
        *_read(records, main.group.file),
    ]
    recommendations = _recommendations(records, main.group)
    return DiagnosisDraft(_worded(main), [main.citation], claims, recommendations)


def _worded(found: Found) -> str:
    """
    Word a group: what, how often, from when to when, and when most.

    What the built-in guard cannot compare is left away, and in the end all is said as the evidence
    has it.
    """
    group = found.group
    verb = "says" if group.count == 1 else "say"
    subject = f"{lines(group.count)} {at_level(group.level)}"
    text = f'In {group.file}, {subject} {verb} "{group.said}", {group.where}.'
    most = f"{text} M{group.stretch.text[1:]}." if group.stretch else text
    usual = f"{most} Among them: {group.usual}." if group.usual else most
    for worded in (usual, most, text):
        if check_support([worded], [found.fact]).supported:
            return worded
    return found.fact.text


def _counted(records: Iterable[CanonicalRecord], file: str) -> Iterator[Claim]:
    """
    State the counts of a file as they are.
    """
    for record in read_step(records, "count"):
        for number, fact in enumerate(record.facts, 1):
            if fact.source.startswith(f"{file}:"):
                yield Claim(fact.text, [Citation(record.invocation_id, number)])


def _read(records: Iterable[CanonicalRecord], file: str) -> Iterator[Claim]:
    """
    State the worst lines that were read of a file as they are, one of each kind.
    """
    found: dict[str, tuple[int, Claim]] = {}
    for record in read_step(records, "lines"):
        for number, fact in enumerate(record.facts, 1):
            severity = severity_of(level_of(fact.text), fact.text)
            said = mask(fact.text)[0]
            is_line = fact.source.startswith(f"{file}:") and not fact.text.startswith(f"{file}: ")
            if is_line and severity >= FAILURE and said not in found:
                claim = Claim(fact.text, [Citation(record.invocation_id, number)])
                found[said] = (severity, claim)
    worst = sorted(found.values(), key=lambda one: -one[0])
    yield from (claim for _, claim in worst[:_QUOTED])


def _recommendations(records: Iterable[CanonicalRecord], group: Group) -> list[str]:
    stretch = group.stretch or find_stretch(records, group.file)
    if stretch is None:
        return []
    return [f"Check {group.file} from {stretch.since} to {stretch.until}."]

"""
What the summary facts of the log tool say, read back from their texts.

An agent sees facts only. This is the other direction of the words in :mod:`harness.logs._wording`
and of the views; a test reads back what every view writes.
"""

from __future__ import annotations

import re
from typing import Final

from attrs import frozen

from harness._values import Fact
from harness.logs._levels import Level, to_level
from harness.logs._masking import MASK
from harness.logs._severity import severity_of

__all__ = ["Group", "Overview", "Stretch", "read_group", "read_overview", "read_stretch"]

_OVERVIEW: Final = re.compile(r"[0-9]+(?: of [0-9]+ lines match| lines?): (?P<levels>[^;]*)")
_LEVEL: Final = re.compile(r"([0-9]+) (?:at level ([a-z]+)|without a level)(?:, |$)")
_STRETCH: Final = re.compile(
    r"the busiest [0-9]+ [a-z]+ had [0-9]+ lines? "
    r"from (?P<since>[^;]*?) to (?P<until>[^;]*?)(?:;|$)"
)
_WRONG: Final = re.compile("[0-9]+ lines? reports? a problem; ")
_GROUP: Final = re.compile(
    r"(?P<count>[0-9]+) lines? (?:at level (?P<level>[a-z]+)|without a level),? "
    r"(?P<where>(?:from )?line (?P<first>[0-9]+)[^;]*)(?:; they say: (?P<said>.*?))?; "
    r"(?:(?P<stretch>the busiest [^;]*); )?(?:(?P<usual>[0-9]+ lines? with .*?); )?"
    r"line (?P=first) says: (?P<sample>.*)",
    re.DOTALL,
)
# What parts a template: what it leaves open, and brackets at the head of a line. A quotation mark
# too, so that each part can be quoted.
_PARTED: Final = re.compile(rf'{re.escape(MASK)}|<\.\.\.>|"|(?<=\])(?::| -)? (?![^\[]*\])')
# The name of a class in front of a message, unless the class is the message.
_LOGGER: Final = re.compile(r"[A-Za-z_$][\w$]*(?:\.[\w$]+){2,}(?<!Exception)(?<!Error): ")
_WORD: Final = re.compile(r"(?<!\S)[A-Za-z]{2,}(?![^\s.,:;])")
_BEFORE: Final = " \t:;,=)]}-'"
_BEHIND: Final = " \t:;,=([{-'"
_QUOTED: Final = 160


@frozen
class Overview:
    """
    How many lines of which level a file has.

    Attributes:
        file: The file's name.
        levels: The levels of its lines with their counts; ``None`` for lines without a level.
    """

    file: str
    levels: tuple[tuple[Level | None, int], ...]

    @property
    def states_levels(self) -> bool:
        """
        Whether every line states its level.
        """
        return all(level is not None for level, _ in self.levels)

    @property
    def may_report_problems(self) -> bool:
        """
        Whether it has a line at warning or above, or one without a level.
        """
        return any(level is None or level >= Level.WARN for level, _ in self.levels)


@frozen
class Stretch:
    """
    The stretch of time with the most lines.

    Attributes:
        text: How the fact says it.
        since: Its begin, as it can be asked for.
        until: Its end.
    """

    text: str
    since: str
    until: str


@frozen
class Group:
    """
    Lines that say the same.

    Attributes:
        file: The file's name.
        count: How many lines.
        level: Their level.
        where: From which line to which, as the fact says it.
        said: What they have in common: the part of it that says most, as the first of them has it.
        stretch: When most of them came.
        usual: Which values often stood in them, as the fact says it; empty where none did.
        sample: The first of them, as far as the fact shows it.
    """

    file: str
    count: int
    level: Level | None
    where: str
    said: str
    stretch: Stretch | None
    usual: str
    sample: str

    @property
    def severity(self) -> int:
        """
        How much it matters; see :func:`harness.logs._severity.severity_of`.
        """
        return severity_of(self.level, self.sample)


def read_overview(fact: Fact) -> Overview | None:
    """
    Read the first fact that a count gives of a file.

    Args:
        fact: Any fact.

    Returns:
        What it says; ``None`` where it is another fact.
    """
    found = _OVERVIEW.match(_said(fact))
    if not found:
        return None
    levels = _LEVEL.findall(found["levels"])
    return Overview(_file(fact), tuple((to_level(name), int(count)) for count, name in levels))


def read_stretch(fact: Fact) -> Stretch | None:
    """
    Read the worst stretch of time that a count gives of a file.

    Args:
        fact: Any fact.

    Returns:
        What it says; ``None`` where it is another fact.
    """
    return _stretch(_said(fact)) if _WRONG.match(_said(fact)) else None


def read_group(fact: Fact) -> Group | None:
    """
    Read a fact of the view of templates.

    Args:
        fact: Any fact.

    Returns:
        What it says; ``None`` where it is another fact.
    """
    found = _GROUP.fullmatch(_said(fact))
    if not found:
        return None
    level = to_level(found["level"] or "")
    sample = found["sample"].removesuffix("...")
    return Group(
        _file(fact),
        int(found["count"]),
        level,
        found["where"],
        _common(found["said"] or sample, sample),
        _stretch(found["stretch"] or ""),
        found["usual"] or "",
        sample,
    )


def _file(fact: Fact) -> str:
    return fact.source.rpartition(":")[0]


def _said(fact: Fact) -> str:
    return fact.text.removeprefix(f"{_file(fact)}: ")


def _stretch(text: str) -> Stretch | None:
    found = _STRETCH.search(text)
    return Stretch(found[0].rstrip(";"), found["since"], found["until"]) if found else None


def _common(said: str, sample: str) -> str:
    """
    Find the part of a template that says most, as it stands in a line.
    """
    parts = [_quotable(part) for part in _PARTED.split(said)]
    return max((part for part in parts if part in sample), key=_says, default="")


def _quotable(text: str) -> str:
    """
    Shorten a part to its message, and that to whole words.
    """
    text = text.lstrip(_BEFORE)
    if logger := _LOGGER.match(text):
        text = text[logger.end() :]
    if len(text) > _QUOTED:
        text = text[:_QUOTED].rpartition(" ")[0]
    return text.rstrip(_BEHIND)


def _says(text: str) -> tuple[int, int]:
    return len(_WORD.findall(text)), len(text)

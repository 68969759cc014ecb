"""What mutmut found: mutants by module, and survivors held against their explanations."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from attrs import frozen

__all__ = [
    "EXPLANATIONS",
    "Mutation",
    "Report",
    "is_killed",
    "mutation_of",
    "read_explanations",
    "statuses",
]

EXPLANATIONS: Final = Path(__file__).with_name("survivors.json")

#: A time-out is a change that was noticed: the tests did not end as they do.
_KILLED: Final = frozenset({"killed", "timeout", "caught by type check"})
_RESULT: Final = re.compile(
    r"^\s+harness\.(?P<name>\S+__mutmut_\d+): (?P<status>.+)$", re.MULTILINE
)
_MANGLED: Final = re.compile(r"(?P<module>\w+)\.(?:x_|xǁ(?P<owner>\w+)ǁ)(?P<name>\w+)__mutmut_\d+")


@frozen(order=True)
class Mutation:
    """
    A change, told by where it is and what it does, so that it is known again after others moved.

    Attributes:
        where: ``module.function`` or ``module.Class.method``.
        line: The line as it is, without its indent.
        becomes: The line as it was changed to.
    """

    where: str
    line: str
    becomes: str

    def __str__(self) -> str:
        return f"{self.where}\n    - {self.line}\n    + {self.becomes}"


def statuses(results: str) -> dict[str, str]:
    """
    Read what ``mutmut results --all true`` prints: the status of each mutant by its name.
    """
    return {found["name"]: found["status"].strip() for found in _RESULT.finditer(results)}


def is_killed(status: str) -> bool:
    """
    Whether a mutant of that status was noticed.
    """
    return status in _KILLED


def _where(name: str) -> str:
    found = _MANGLED.fullmatch(name)
    if found is None:
        message = f"not the name of a mutant: {name!r}"
        raise ValueError(message)
    parts = (found["module"], found["owner"], found["name"])
    return ".".join(part for part in parts if part)


def mutation_of(name: str, diff: str) -> Mutation:
    """
    Read what ``mutmut show`` prints of a mutant.

    Args:
        name: The mutant's name, without the package.
        diff: Its difference in the unified form.

    Raises:
        ValueError: The name is no mutant's.
    """
    changed = {"-": list[str](), "+": list[str]()}
    for text in diff.splitlines():
        if text[:1] in changed and text[:3] not in {"---", "+++"}:
            changed[text[0]].append(text[1:].strip())
    return Mutation(_where(name), " ".join(changed["-"]), " ".join(changed["+"]))


def read_explanations(path: Path = EXPLANATIONS) -> dict[Mutation, str]:
    """
    Read why each known survivor changes nothing that anybody could notice.

    Raises:
        ValueError: An explanation says nothing, or a mutation is explained twice.
    """
    explained: dict[Mutation, str] = {}
    for group in json.loads(path.read_text(encoding="utf-8")):
        for one in group["mutations"]:
            mutation = Mutation(one["in"], one["line"], one["becomes"])
            if mutation in explained or not group["why"].strip():
                message = f"explained twice, or not at all: {mutation}"
                raise ValueError(message)
            explained[mutation] = group["why"]
    return explained


@frozen
class Report:
    """
    What became of the mutants.

    Attributes:
        found: The status of each mutant, by its name.
        survivors: The mutants that no test noticed.
        explained: The known survivors, with why.
    """

    found: Mapping[str, str]
    survivors: tuple[Mutation, ...]
    explained: Mapping[Mutation, str]

    @property
    def percent(self) -> float:
        """
        How many of the mutants were killed, of a hundred.
        """
        return 100 * sum(map(is_killed, self.found.values())) / len(self.found)

    @property
    def unexplained(self) -> list[Mutation]:
        """
        The survivors that nobody explained.
        """
        return sorted(one for one in self.survivors if one not in self.explained)

    @property
    def outdated(self) -> list[Mutation]:
        """
        The explanations of what did not survive, or is not made any more.
        """
        return sorted(set(self.explained) - set(self.survivors))

    def lines(self) -> Iterable[str]:
        """
        Tell it: a table by module, what is not explained, and explanations that are not needed.
        """
        yield f"{'module':<16}{'mutants':>9}{'killed':>9}{'survived':>10}{'percent':>9}"
        modules: dict[str, list[str]] = {}
        for name, status in self.found.items():
            modules.setdefault(name.partition(".")[0], []).append(status)
        for module, found in [*sorted(modules.items()), ("all", [*self.found.values()])]:
            killed = sum(map(is_killed, found))
            yield (
                f"{module:<16}{len(found):>9}{killed:>9}{len(found) - killed:>10}"
                f"{100 * killed / len(found):>9.1f}"
            )
        explained = len(self.survivors) - len(self.unexplained)
        yield f"{len(self.survivors)} survived, {explained} of them explained"
        yield from (f"not explained: {one}" for one in self.unexplained)
        yield from (f"explained, but did not survive: {one}" for one in self.outdated)

"""
A tool that reads log files: by time window, level and pattern (section 3.5).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, tzinfo
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from harness._tools import Parameter, check_arguments
from harness._values import ToolCall
from harness.errors import InvalidArgumentError
from harness.logs._errors import ScanStoppedError
from harness.logs._levels import LEVEL_NAMES, Level, to_level
from harness.logs._lines import MAX_LINE_BYTES, require_positive
from harness.logs._patterns import compile_pattern
from harness.logs._scan import Query, Scan
from harness.logs._views import VIEWS, LinesView, View, make_view
from harness.logs._window import TIME_FORMS, parse_window

if TYPE_CHECKING:
    from harness._seam import Attempt
    from harness._values import Fact

__all__ = ["DEFAULT_LIMIT", "MAX_LIMIT", "LogTool", "describe_scope"]

#: How many lines or templates a call shows where it does not say.
DEFAULT_LIMIT: Final = 50
#: The most that it may ask for: with the notes, within the facts that a result may have.
MAX_LIMIT: Final = 190

_PathLike = str | os.PathLike[str]


class LogTool:
    """
    Queries log files; a :class:`harness.ports.Tool`.

    A call reads each file that it is about once, in memory that does not grow with the file (a file
    without any line feed is read twice). What a call may say:

    * ``path``: one of the files, by its name; default: all of them, one after the other.
    * ``since``, ``until``: a time window, both ends included; a line without a timestamp belongs to
      the line before it.
    * ``level``: at least this severe; lines that state no level are left out.
    * ``pattern``: a regular expression that is found in the line. What could take exponential time
      is refused; what takes polynomial time is bounded by the length of a line only.
    * ``view``: ``lines`` (default) gives the lines as they are, ``templates`` groups of lines that
      say the same, what matters most first, ``count`` numbers by level and the worst stretch of
      time.
    * ``limit``: how many lines or templates; what is left away is stated.

    Args:
        paths: The files, or one file. They are opened when they are asked for.
        name: What agents call the tool.
        description: What agents read of it; default: made from the names of the files.
        zone: The zone of timestamps, and of asked times, without one.
        max_line_bytes: The longest text of a line, in UTF-8 bytes; longer lines are cut and named.

    Attributes:
        name: As given.
        description: As given or made.
        parameters: The arguments above.
        files: The files by their names: the shortest ends of their paths that differ.

    Raises:
        InvalidArgumentError: There is no file, or an argument is something else.
    """

    def __init__(
        self,
        paths: _PathLike | Iterable[_PathLike],
        *,
        name: str = "logs",
        description: str | None = None,
        zone: tzinfo = UTC,
        max_line_bytes: int = MAX_LINE_BYTES,
    ) -> None:
        self.name = _not_blank("name", name)
        require_positive("max_line_bytes", max_line_bytes)
        self.files: Mapping[str, Path] = MappingProxyType(_named(_paths(paths)))
        self.description = _description(self.files) if description is None else description
        self.parameters: Mapping[str, Parameter] = MappingProxyType(_parameters(self.files))
        self._zone = _zone(zone)
        self._max_line_bytes = max_line_bytes

    def execute(self, call: ToolCall, attempt: Attempt | None = None) -> tuple[Fact, ...]:
        """
        Answer a call; see section 3.5.

        Args:
            call: What is asked for.
            attempt: Where it is told that the run has ended; reading stops then.

        Returns:
            The facts. None where nothing was found: that scope is empty.

        Raises:
            InvalidArgumentError: An argument is not allowed.
            LogFileError: A file cannot be read to its end; ask for the others by ``path``.
            ScanStoppedError: The run has ended.
        """
        arguments = {key: value for key, value in call.arguments.items() if value is not None}
        wrong = check_arguments(self.parameters, arguments)
        if wrong is not None:
            raise InvalidArgumentError("arguments", dict(arguments), f"those declared ({wrong})")
        query = self._query(arguments)
        view = make_view(arguments.get("view", VIEWS[0]), query, _limit(arguments), self._zone)
        names = [arguments["path"]] if "path" in arguments else list(self.files)
        for name in names:
            self._read(name, query, view, attempt)
        return view.facts()

    def call(self, **arguments: Any) -> ToolCall:
        """
        Make a call whose scope says what is searched, so that an empty answer says it too.

        Args:
            **arguments: As the class says.

        Returns:
            The call.
        """
        scope = describe_scope(arguments, tuple(self.files))
        return ToolCall(self.name, scope, arguments)

    def _query(self, arguments: Mapping[str, Any]) -> Query:
        pattern = arguments.get("pattern")
        return Query(
            window=parse_window(arguments.get("since"), arguments.get("until"), self._zone),
            level=_level(arguments.get("level")),
            pattern=None if pattern is None else compile_pattern(pattern),
        )

    def _read(self, name: str, query: Query, view: View, attempt: Attempt | None) -> None:
        """
        Read one file into the view.
        """

        def check() -> None:
            if attempt is not None and attempt.is_cancelled:
                raise ScanStoppedError(scan.lines)

        scan = Scan(
            self.files[name],
            query,
            details=not isinstance(view, LinesView),
            zone=self._zone,
            max_bytes=self._max_line_bytes,
            check=check,
        )
        view.begin(name)
        for entry in scan:
            view.add(entry)
        view.end(scan)

    def __repr__(self) -> str:
        return f"LogTool({', '.join(self.files)})"


def describe_scope(arguments: Mapping[str, Any], files: Sequence[str]) -> dict[str, str]:
    """
    Say in words what a call searches, for the scope of a :class:`harness.ToolCall`.

    An empty answer is evidence of its scope, and of no more.

    Args:
        arguments: The call's arguments.
        files: The names of the tool's files.

    Returns:
        The files and what narrows the search, each under its name.
    """
    scope = {"files": str(arguments.get("path") or ", ".join(files))}
    for name in ("since", "until", "pattern"):
        if arguments.get(name) is not None:
            scope[name] = str(arguments[name])
    if arguments.get("level") is not None:
        scope["level"] = f"{arguments['level']} or more severe"
    return scope


def _not_blank(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidArgumentError(name, value, "text that is not blank")
    return value


def _zone(value: object) -> tzinfo:
    if not isinstance(value, tzinfo):
        raise InvalidArgumentError("zone", value, "a tzinfo, such as datetime.UTC")
    return value


def _paths(paths: object) -> list[Path]:
    """
    Copy the paths; one that is named twice counts once.
    """
    allowed = "a path, or an iterable of at least one path"
    if isinstance(paths, (str, os.PathLike)):
        paths = (paths,)
    if not isinstance(paths, Iterable):
        raise InvalidArgumentError("paths", paths, allowed)
    copied: list[Path] = []
    for path in paths:
        if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
            raise InvalidArgumentError("paths", path, allowed)
        copied.append(Path(path))
    if not copied:
        raise InvalidArgumentError("paths", copied, allowed)
    return list(dict.fromkeys(copied))


def _named(paths: list[Path]) -> dict[str, Path]:
    """
    Name each file by the shortest end of its path that no other one has.
    """
    names: dict[str, Path] = {}
    for path in paths:
        ends = (str(Path(*path.parts[-length:])) for length in range(1, len(path.parts) + 1))
        others = [other for other in paths if other is not path]
        names[next((end for end in ends if not _ends(others, end)), str(path))] = path
    return names


def _ends(paths: list[Path], end: str) -> bool:
    parts = Path(end).parts
    return any(path.parts[-len(parts) :] == parts for path in paths)


def _level(name: str | None) -> Level | None:
    if name is None:
        return None
    level = to_level(name)
    if level is None:
        raise InvalidArgumentError("level", name, ", ".join(LEVEL_NAMES))
    return level


def _limit(arguments: Mapping[str, Any]) -> int:
    limit = arguments.get("limit", DEFAULT_LIMIT)
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidArgumentError("limit", limit, f"1 to {MAX_LIMIT}")
    return int(limit)


def _parameters(files: Mapping[str, Path]) -> dict[str, Parameter]:
    text = Parameter(("str", "null"), required=False)
    return {
        "path": Parameter(("str", "null"), required=False, choices=(*files, None)),
        "since": text,
        "until": text,
        "level": text,
        "pattern": text,
        "view": Parameter(("str", "null"), required=False, choices=(*VIEWS, None)),
        "limit": Parameter(("int", "null"), required=False),
    }


def _description(files: Mapping[str, Path]) -> str:
    return (
        f"Searches the log files {', '.join(files)}. since and until: {TIME_FORMS}. "
        f"level: at least {', '.join(LEVEL_NAMES)}. pattern: a regular expression. "
        f"path: one of the files. view: lines, templates (groups of lines that say the same, what "
        f"matters most first) or count (numbers by level). limit: 1 to {MAX_LIMIT}."
    )

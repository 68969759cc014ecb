"""
An agent that needs no model: it follows a fixed playbook over log files.

It counts lines by level, groups those that report a problem, reads the worst stretch of time, and
drafts what it saw in the words of the evidence. It names no cause that no log line states: what it
gives is where to look, proven line by line. Where the logs report no problem it draws no
conclusion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from harness._records import CanonicalRecord
from harness._seam import Attempt
from harness._states import Progress
from harness._values import AgentTurn, ProgressStatement, ToolCall, Usage
from harness._view import AgentView
from harness.errors import InvalidArgumentError
from harness.logs._drafting import find_problems, find_stretch, read_step, write_draft
from harness.logs._reading import Overview, read_overview
from harness.logs._tool import describe_scope

__all__ = ["PlaybookAgent"]

# No model is asked: that is known, and not unknown usage.
_NOTHING: Final = Usage(0, 0)

#: How many groups are asked for of each file.
_GROUPS: Final = 12
#: How many lines of the worst stretch are read.
_LINES: Final = 20
#: How many files a batch asks about one by one.
_FILES: Final = 20
#: How many files are read in their worst stretch.
_FILES_READ: Final = 4

#: Some arguments of a call.
_Asked = dict[str, Any]
#: What a step of the playbook asks, given what is known and the names of the files.
_Ask = Callable[[Sequence[CanonicalRecord], Sequence[str]], Sequence[_Asked]]


class PlaybookAgent:
    """
    Diagnoses log files through a :class:`harness.logs.LogTool`, without a model.

    It keeps nothing between turns: what it does next follows from what it is shown, so one agent
    can serve any number of runs. Each turn states its progress (section 3.6), and the report is in
    words that the built-in guard can compare with the evidence.

    Args:
        tool: The name of the log tool.
        since: The begin of the time window; default: the request's context ``since``, if any.
        until: Its end; default: the request's context ``until``, if any.

    Raises:
        InvalidArgumentError: An argument is something else.

    .. versionadded:: 0.1.0
    """

    def __init__(
        self, tool: str = "logs", *, since: str | None = None, until: str | None = None
    ) -> None:
        self._tool = _text("tool", tool)
        self._since = None if since is None else _text("since", since)
        self._until = None if until is None else _text("until", until)

    def next_turn(self, view: AgentView, attempt: Attempt) -> AgentTurn:
        """
        Ask for what the playbook asks next, or draft.

        Args:
            view: What is known so far; where it says stop, a draft follows at once.
            attempt: Not used: nothing is spent.

        Returns:
            Calls with a statement of progress, or a draft.
        """
        del attempt
        records = [record for record in view.records if record.invocation.tool == self._tool]
        calls = () if view.stop else self._next_calls(view, records)
        if not calls:
            return AgentTurn(draft=write_draft(records), usage=_NOTHING)
        state = Progress.GAINED if view.new_facts else Progress.NO_GAIN
        progress = ProgressStatement(state, view.new_facts)
        return AgentTurn(calls, progress=progress, usage=_NOTHING)

    def _next_calls(
        self, view: AgentView, records: Sequence[CanonicalRecord]
    ) -> tuple[ToolCall, ...]:
        """
        Take the next step of the playbook that has something to ask.
        """
        names = _files(view, self._tool)
        taken = {record.invocation.call.arguments.get("view") for record in records}
        for step, ask in _STEPS:
            asked = () if step in taken else ask(records, names)
            if asked:
                window = self._window(view)
                return tuple(self._call({**window, **one, "view": step}, names) for one in asked)
        return ()

    def _window(self, view: AgentView) -> dict[str, str]:
        given = {
            "since": self._since or view.context.get("since"),
            "until": self._until or view.context.get("until"),
        }
        return {name: text for name, text in given.items() if text}

    def _call(self, arguments: Mapping[str, Any], names: Sequence[str]) -> ToolCall:
        given = {name: value for name, value in arguments.items() if value is not None}
        return ToolCall(self._tool, describe_scope(given, names), given)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidArgumentError(name, value, "text that is not blank")
    return value


def _files(view: AgentView, tool: str) -> tuple[str, ...]:
    """
    Give the names of the log tool's files; none where there is no such tool.
    """
    for info in view.tools:
        path = (info.parameters or {}).get("path") if info.name == tool else None
        if path:
            return tuple(name for name in path.choices if name is not None)
    return ()


def _count_all(_records: Sequence[CanonicalRecord], names: Sequence[str]) -> Sequence[_Asked]:
    """
    Count the lines of each file, each by itself: one that cannot be read hides no other.
    """
    if len(names) > _FILES:
        return [{}]
    return [{"path": name} for name in names]


def _group_problems(records: Sequence[CanonicalRecord], _names: object) -> Sequence[_Asked]:
    """
    Group the lines of each file that may report a problem.
    """
    return [
        {"path": _path(record), "level": _level(record), "limit": _GROUPS}
        for record in read_step(records, "count")
        if any(overview.may_report_problems for overview in _overviews(record))
    ]


def _read_the_worst(records: Sequence[CanonicalRecord], _names: object) -> Sequence[_Asked]:
    """
    Read the worst stretch of time of the group that explains most, file by file.
    """
    asked: dict[str, _Asked] = {}
    levels = {_path(record): _level(record) for record in read_step(records, "count")}
    for found in find_problems(records):
        group = found.group
        stretch = group.stretch or find_stretch(records, group.file)
        if stretch and group.file not in asked and len(asked) < _FILES_READ:
            level = levels.get(group.file, levels.get(None))
            # Without levels, the words that its lines have in common tell them from the others.
            pattern = None if level else re.escape(group.said)
            asked[group.file] = {
                "path": group.file,
                "since": stretch.since,
                "until": stretch.until,
                "level": level,
                "pattern": pattern or None,
                "limit": _LINES,
            }
    return list(asked.values())


# The playbook: what each step asks, once.
_STEPS: Final[tuple[tuple[str, _Ask], ...]] = (
    ("count", _count_all),
    ("templates", _group_problems),
    ("lines", _read_the_worst),
)


def _path(record: CanonicalRecord) -> str | None:
    path: str | None = record.invocation.call.arguments.get("path")
    return path


def _level(record: CanonicalRecord) -> str | None:
    """
    Give the level to ask for: none where lines without one could say what is wrong.
    """
    return "warn" if all(overview.states_levels for overview in _overviews(record)) else None


def _overviews(record: CanonicalRecord) -> list[Overview]:
    return [overview for fact in record.facts if (overview := read_overview(fact))]

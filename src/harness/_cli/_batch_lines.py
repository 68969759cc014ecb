"""Reads a batch file: one JSON object a line, all of them checked before anything is run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NoReturn

from attrs import frozen

from harness._cli._errors import CommandError
from harness._values import Request
from harness.errors import HarnessError, InvalidArgumentError
from harness.logs import LogFileError, LogTool, check_log
from harness.logs._window import parse_window

__all__ = ["BatchLine", "read_batch"]

_KEYS: Final = ("logs", "question", "context", "since", "until", "run_id", "conversation_id")


@frozen
class BatchLine:
    """
    One diagnosis of a batch.

    Attributes:
        number: The line's number in the file, from 1.
        tool: Reads the line's log files.
        request: What is asked.
        run_id: The id that the run is to have; ``None``: a fresh one.
    """

    number: int
    tool: LogTool
    request: Request
    run_id: str | None


class _LineError(ValueError):
    """
    What is wrong with a line.
    """


def read_batch(file: str, question: str) -> Iterator[BatchLine | str]:
    """
    Read a batch file; blank lines say nothing.

    Args:
        file: Its path.
        question: What is asked where a line does not say.

    Yields:
        Each line's diagnosis, or ``FILE:LINE: REASON`` where it is none.

    Raises:
        CommandError: The file cannot be read, or is no UTF-8 text.
    """
    reader = _Reader(question)
    try:
        with Path(file).open(encoding="utf-8", newline="\n") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    yield reader.read(number, line.strip())
                except (_LineError, HarnessError) as error:
                    yield f"{file}:{number}: {error}"
    except OSError as error:
        raise CommandError(f"--batch {file}: {error.strerror or type(error).__name__}") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"--batch {file}: is no text in UTF-8") from error


class _Reader:
    """
    Checks line after line, each log file once.
    """

    def __init__(self, question: str) -> None:
        self._question = question
        #: What is wrong with the files that were looked at; ``None`` where nothing is.
        self._files: dict[str, str | None] = {}
        self._run_ids: dict[str, int] = {}

    def read(self, number: int, line: str) -> BatchLine:
        """
        Read one line.

        Raises:
            ValueError: It is no diagnosis; says why.
        """
        data = _decoded(line)
        unknown = [key for key in data if key not in _KEYS]
        if unknown:
            raise _LineError(f"{unknown[0]!r} is no key; allowed: {', '.join(_KEYS)}")
        request = Request(
            data.get("question", self._question),
            _context(data),
            conversation_id=data.get("conversation_id"),
        )
        tool = LogTool(self._logs(data.get("logs")))
        return BatchLine(number, tool, request, self._run_id(number, data.get("run_id")))

    def _logs(self, logs: object) -> list[str]:
        paths = [logs] if isinstance(logs, str) else logs
        if not isinstance(paths, list) or not paths or not all(map(_is_path, paths)):
            raise InvalidArgumentError("logs", logs, "the path of a log file, or a list of them")
        wrong = [reason for path in paths if (reason := self._wrong(path))]
        if wrong:
            raise _LineError("; ".join(wrong))
        return paths

    def _wrong(self, path: str) -> str | None:
        if path not in self._files:
            try:
                check_log(path)
                self._files[path] = None
            except (LogFileError, ValueError) as error:
                self._files[path] = str(error)
        return self._files[path]

    def _run_id(self, number: int, run_id: object) -> str | None:
        if run_id is None:
            return None
        if not isinstance(run_id, str) or not run_id.strip():
            raise InvalidArgumentError("run_id", run_id, "text that is not blank")
        first = self._run_ids.setdefault(run_id, number)
        if first != number:
            raise _LineError(f"run_id {run_id!r} is that of line {first} too")
        return run_id


def _is_path(path: object) -> bool:
    return isinstance(path, str) and path != ""


def _context(data: dict[str, Any]) -> dict[str, str]:
    """
    Gather what is known; the window is told to the agent as a part of it.
    """
    context = data.get("context", {})
    if not isinstance(context, dict):
        raise InvalidArgumentError("context", context, "a JSON object of texts")
    context = dict(context)
    for name in ("since", "until"):
        if name not in data:
            continue
        if name in context:
            raise _LineError(f"{name!r} and context {name!r} say the same")
        context[name] = data[name]
    for name in ("since", "until"):
        if not isinstance(context.get(name, ""), str):
            raise InvalidArgumentError(name, context[name], "text")
    parse_window(context.get("since"), context.get("until"))
    return context


def _decoded(line: str) -> dict[str, Any]:
    """
    Decode a line strictly: nothing that JSON does not have, and no key twice.
    """
    try:
        data = json.loads(line, parse_constant=_no_constant, object_pairs_hook=_no_repeats)
    except RecursionError:
        raise _LineError("is nested too deep") from None
    except json.JSONDecodeError as error:
        raise _LineError(f"is no JSON: {error.msg} at character {error.colno}") from None
    if not isinstance(data, dict):
        raise _LineError(f"is no JSON object, but {type(data).__name__}")
    return data


def _no_constant(name: str) -> NoReturn:
    raise _LineError(f"is no JSON: {name} is no JSON number")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _LineError(f"{twice!r} stands twice in one object")
    return found

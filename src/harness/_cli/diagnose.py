"""``python -m harness diagnose``: diagnoses log files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from harness._cli._agent import load_agent
from harness._cli._errors import CommandError
from harness._cli._interrupt import Interrupt
from harness._cli._progress import Progress
from harness._cli._report import failures, summary, write_public
from harness._cli._status import EXIT_STATUS
from harness._cli._terminal import SafeStream
from harness._cli._watched import WatchedTool
from harness._limits import Limits
from harness._records import RunRecord
from harness._states import ReleaseOutcome
from harness._sync import Harness
from harness._values import Request
from harness.logs import LogFileError, LogTool, check_log
from harness.logs._window import parse_window
from harness.playbook import PlaybookAgent

__all__ = ["add_arguments", "run"]

_QUESTION: Final = "What went wrong?"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the command's arguments.

    Args:
        parser: The command's parser.
    """
    parser.add_argument("logs", nargs="*", metavar="LOGFILE", help="plain text or gzip")
    parser.add_argument(
        "--batch",
        metavar="FILE",
        help="many diagnoses instead, a JSON object a line: logs (a path, or a list of them) and, "
        "where wanted, question, context, since, until, run_id, conversation_id",
    )
    parser.add_argument(
        "--workers",
        metavar="N",
        type=int,
        default=4,
        help="how many of a batch are under way at the same time; default: %(default)d",
    )
    parser.add_argument("--question", metavar="Q", default=_QUESTION, help="default: %(default)r")
    parser.add_argument(
        "--context", metavar="K=V", action="append", default=[], help="what is known; repeatable"
    )
    parser.add_argument("--since", metavar="T", help="only what was logged at T or later")
    parser.add_argument("--until", metavar="T", help="only what was logged at T or earlier")
    parser.add_argument(
        "--agent",
        metavar="MODULE:FACTORY",
        help="makes your own agent; default: a playbook that needs no model",
    )
    parser.add_argument(
        "--db", metavar="FILE", help="keep the run, its records and its journal in this file"
    )
    parser.add_argument(
        "--deadline",
        metavar="SECONDS",
        type=float,
        default=Limits().deadline,
        help="how long it may take; default: %(default).0f",
    )
    parser.add_argument(
        "--json", action="store_true", help="print the run record as JSON, a line each"
    )


def run(namespace: argparse.Namespace) -> int:
    """
    Run the command.

    Args:
        namespace: The parsed arguments.

    Returns:
        0 a report, 3 a fallback, 4 a failure, 130 interrupted; of a batch the worst of its lines.

    Raises:
        HarnessError: An argument or a file cannot be used; nothing was run.
    """
    if namespace.batch is not None:
        return _batch(namespace)
    if not namespace.logs:
        raise CommandError("the following arguments are required: LOGFILE, or --batch FILE")
    request = Request(namespace.question, _context(namespace))
    _check_files(namespace.logs)
    agent = _agent(namespace)
    limits = Limits(deadline=namespace.deadline)
    progress = Progress(SafeStream.of(sys.stderr), "diagnose")
    with _stores(namespace.db) as stores:
        given = {**stores, "limits": limits}
        record = _diagnosed(request, agent, LogTool(namespace.logs), given, progress)
    _tell(record, progress, namespace.db)
    if namespace.json:
        # only here: printing a report needs no codec
        from harness.codec import record_to_json  # noqa: PLC0415

        sys.stdout.write(f"{record_to_json(record)}\n")
    else:
        sys.stdout.write(write_public(record))
    return EXIT_STATUS[record.release_outcome or ReleaseOutcome.FAILED]


def _batch(namespace: argparse.Namespace) -> int:
    """
    Run the diagnoses of a batch file.
    """
    # only here: one diagnosis needs no threads
    from harness._cli._batch import read_lines, run_lines  # noqa: PLC0415

    lines = read_lines(namespace)
    agent = _agent(namespace)
    limits = Limits(deadline=namespace.deadline)
    with _stores(namespace.db) as stores:
        return run_lines(namespace, lines, agent, {**stores, "limits": limits})


def _agent(namespace: argparse.Namespace) -> Any:
    return PlaybookAgent() if namespace.agent is None else load_agent(namespace.agent)


def _context(namespace: argparse.Namespace) -> dict[str, str]:
    """
    Gather what is known; the window is told to the agent as a part of it.
    """
    context: dict[str, str] = {}
    for item in namespace.context:
        name, separator, value = item.partition("=")
        if not separator or not name.strip():
            raise CommandError(f"--context is {item!r}; allowed: NAME=VALUE")
        if name in context:
            raise CommandError(f"--context names {name!r} twice")
        context[name] = value
    for name in ("since", "until"):
        if getattr(namespace, name) is None:
            continue
        if name in context:
            raise CommandError(f"--{name} and --context {name}=... say the same")
        context[name] = getattr(namespace, name)
    parse_window(context.get("since"), context.get("until"))
    return context


def _check_files(paths: list[str]) -> None:
    """
    Refuse what is no log file before anything is run.
    """
    if "" in paths:
        raise CommandError("LOGFILE is ''; allowed: the path of a file")
    wrong: list[str] = []
    for path in paths:
        try:
            check_log(path)
        except (LogFileError, ValueError) as error:
            wrong.append(str(error))
    if wrong:
        raise CommandError("; ".join(wrong))


@contextmanager
def _stores(db: str | None) -> Iterator[dict[str, Any]]:
    """
    Open a database file; without one all is kept in memory.

    Yields:
        The arguments of the harness.
    """
    if db is None:
        yield {}
        return
    # only here: a run in memory needs no database
    from harness.stores.journal import SqliteJournal  # noqa: PLC0415
    from harness.stores.sqlite import SqliteStores  # noqa: PLC0415

    with SqliteStores(db) as stores, SqliteJournal(db) as journal:
        yield {
            "canonical_store": stores.canonical,
            "run_store": stores.runs,
            "journal": journal,
        }


def _diagnosed(
    request: Request, agent: Any, tool: LogTool, given: dict[str, Any], progress: Progress
) -> RunRecord:
    """
    Run the diagnosis; Ctrl-C ends it, and its record is there all the same.
    """
    with Interrupt() as interrupt:
        harness = Harness(
            interrupt.around(getattr(agent, "next_turn", agent)),
            [WatchedTool(tool, progress, interrupt)],
            **given,
        )
        # what run() is made of: an interrupt comes back beside its record and is not raised
        record, _interrupt = harness._execute(  # noqa: SLF001
            request, cancel=interrupt.token, client=progress
        )
    return record


def _tell(record: RunRecord, progress: Progress, db: str | None) -> None:
    """
    Say how it ended, and where to ask why.
    """
    for line in failures(record):
        progress.say(line)
    progress.say(summary(record))
    if db is not None and record.record_saved:
        progress.say(f"why? python -m harness explain {record.run_id} --db {db}")

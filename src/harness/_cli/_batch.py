"""``python -m harness diagnose --batch FILE.jsonl``: many diagnoses, a few at the same time."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from collections.abc import Iterable, Mapping
from contextlib import closing
from functools import partial
from queue import SimpleQueue
from types import FrameType
from typing import Any, Final, Self

from attrs import frozen

from harness._cancel import CancelToken
from harness._cli._bar import Bar
from harness._cli._batch_lines import BatchLine, read_batch
from harness._cli._errors import CommandError
from harness._cli._interrupt import Interrupt
from harness._cli._report import failures, summary, write_public
from harness._cli._status import EXIT_STATUS, FAILED, INTERRUPTED
from harness._cli._terminal import SafeStream, one_line
from harness._many import Switch, finished
from harness._records import RunRecord
from harness._states import ReleaseOutcome
from harness._sync import Harness

__all__ = ["read_lines", "run_lines"]

_REASON: Final = "interrupted from the keyboard"
#: The most bad lines that are named one by one.
_NAMED: Final = 20
#: Characters of a run's public text that its row of the table shows.
_TEXT: Final = 60
_ROW: Final = "{:>5}  {:<9}  {:<24}  {:<32}  {}"


@frozen
class _Ended:
    """
    What came of a line: a record, with the interrupt behind it, or why nothing was run.
    """

    line: BatchLine
    record: RunRecord | None = None
    interrupt: BaseException | None = None
    error: Exception | None = None


def read_lines(namespace: argparse.Namespace) -> list[BatchLine]:
    """
    Read the batch file; every bad line is named on standard error.

    Args:
        namespace: The parsed arguments.

    Returns:
        The diagnoses.

    Raises:
        CommandError: A line, or an argument beside it, cannot be used; nothing was run.
    """
    for option in ("logs", "context", "since", "until"):
        if getattr(namespace, option):
            name = "LOGFILE" if option == "logs" else f"--{option}"
            raise CommandError(f"{name} and --batch exclude each other: say it in the file's lines")
    if namespace.workers < 1:
        raise CommandError(f"--workers is {namespace.workers}; allowed: a whole number from 1")
    lines: list[BatchLine] = []
    wrong: list[str] = []
    for line in read_batch(namespace.batch, namespace.question):
        if isinstance(line, str):
            wrong.append(line)
        else:
            lines.append(line)
    if wrong:
        err = SafeStream.of(sys.stderr)
        for reason in wrong[:_NAMED]:
            err.write(f"{one_line(reason)}\n")
        count = f"{len(wrong)} of {len(wrong) + len(lines)} lines"
        raise CommandError(f"--batch {namespace.batch}: {count} cannot be used; nothing was run")
    if not lines:
        raise CommandError(f"--batch {namespace.batch}: has no line that says anything")
    return lines


def run_lines(
    namespace: argparse.Namespace, lines: list[BatchLine], agent: Any, given: Mapping[str, Any]
) -> int:
    """
    Run the diagnoses of a batch, and tell each as it finishes.

    Args:
        namespace: The parsed arguments.
        lines: The diagnoses.
        agent: Makes all of them; shared between threads.
        given: The other arguments of a harness.

    Returns:
        The exit status: the worst of the lines'.
    """
    bar = Bar(SafeStream.of(sys.stderr), "diagnose", len(lines))
    told = _Told(namespace, bar)
    with _TwoPresses() as interrupt:
        stop = interrupt.token
        # the token's other half: the one who cancelled it tells so at once
        stop._join(id(bar), partial(_tell_stop, bar))  # noqa: SLF001
        switch = Switch(stop)
        run = partial(_diagnosed, agent, given, switch.token, bar)
        with closing(finished(run, iter(lines), namespace.workers, switch)) as results:
            for ended in results:
                told.take(ended)
                if ended.interrupt is not None:
                    stop.cancel(f"line {ended.line.number} was interrupted")
        stop._leave(id(bar))  # noqa: SLF001
    return told.close(len(lines))


class _TwoPresses(Interrupt):
    """
    The first Ctrl-C ends the batch once its runs have ended; the second one ends the process.

    Its thread is there beforehand: the main one may be starting a worker when it is interrupted,
    and can start no other then.
    """

    def __init__(self) -> None:
        super().__init__()
        # the one queue that a signal may interrupt anywhere
        self._presses: SimpleQueue[str | None] = SimpleQueue()
        self._listener = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Self:
        self._listener.start()
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self._presses.put(None)
        self._listener.join()

    def _listen(self) -> None:
        reason = self._presses.get()
        if reason is not None:
            self.token.cancel(reason)

    def _take(self, _number: int, _frame: FrameType | None) -> None:
        # before anybody is told: whoever presses again because of that is to be heard
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        self._presses.put(_REASON)


def _tell_stop(bar: Bar, reason: str) -> bool:
    bar.say(f"{reason}: no further line is started, what is under way ends as cancelled")
    return True


def _diagnosed(
    agent: Any, given: Mapping[str, Any], token: CancelToken, bar: Bar, line: BatchLine
) -> _Ended:
    """
    Run one line's diagnosis, in a thread.
    """
    bar.start()
    harness = Harness(agent, [line.tool], **given)
    try:
        # what run() is made of: an interrupt comes back beside its record and is not raised
        record, interrupt = harness._execute(  # noqa: SLF001
            line.request, run_id=line.run_id, cancel=token
        )
    except Exception as error:  # noqa: BLE001  one refused line is no reason to stop the others
        return _Ended(line, error=error)
    return _Ended(line, record, interrupt)


class _Told:
    """
    Tells what came of each line: rows or JSON on standard output, the rest on standard error.
    """

    def __init__(self, namespace: argparse.Namespace, bar: Bar) -> None:
        self._file: str = namespace.batch
        self._db: str | None = namespace.db
        self._as_json: bool = namespace.json
        self._bar = bar
        self._status = 0
        if not self._as_json:
            self._write([_ROW.format("LINE", "RELEASE", "CAUSE", "RUN", "TEXT")])

    def take(self, ended: _Ended) -> None:
        """
        Tell what came of a line.
        """
        where = f"{self._file}:{ended.line.number}"
        record = ended.record
        if record is None:
            status = FAILED
            self._bar.end(None, f"{where}: {ended.error}")
        else:
            outcome = record.release_outcome or ReleaseOutcome.FAILED
            status = EXIT_STATUS[outcome]
            for line in failures(record):
                self._bar.say(f"{where}: {line}")
            self._bar.end(outcome, f"{where}: {summary(record)}")
        self._status = max(self._status, status)
        write = _as_json if self._as_json else _as_row
        self._write([write(ended)])

    def close(self, total: int) -> int:
        """
        Say what came of the whole batch.

        Args:
            total: How many lines there were.

        Returns:
            The exit status.
        """
        left = total - self._bar.ended
        if left:
            self._status = INTERRUPTED
            self._bar.say(f"{left} of {total} lines were not started")
        self._bar.close()
        if self._db is not None:
            self._bar.say(f"why? python -m harness explain RUN --db {self._db}")
        return self._status

    def _write(self, lines: Iterable[str]) -> None:
        def write() -> None:
            sys.stdout.write("".join(f"{line}\n" for line in lines))
            # results are there as they finish, in a pipe too
            sys.stdout.flush()

        self._bar.around(write)


def _as_json(ended: _Ended) -> str:
    # only here: a table needs no codec
    from harness.codec import record_to_json  # noqa: PLC0415

    number = ended.line.number
    if ended.record is None:
        return json.dumps({"line": number, "error": str(ended.error)}, ensure_ascii=False)
    return f'{{"line": {number}, "record": {record_to_json(ended.record)}}}'


def _as_row(ended: _Ended) -> str:
    number, record = ended.line.number, ended.record
    if record is None:
        row = (number, "-", "REFUSED", ended.line.run_id or "-", one_line(str(ended.error)))
        return _ROW.format(*row)
    outcome, cause = record.release_outcome, record.stop_cause
    names = ("-" if one is None else one.name for one in (outcome, cause))
    first, _, _ = write_public(record).partition("\n")
    text = one_line(first)
    text = text if len(text) <= _TEXT else f"{text[: _TEXT - 3]}..."
    return _ROW.format(number, *names, one_line(record.run_id), text).rstrip()

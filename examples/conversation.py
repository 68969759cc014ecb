# noqa: INP001  scripts to be read and run, no package
"""
Log files, a database file, and a second question that builds on the first report.

    python examples/conversation.py FILE.log
"""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from harness import Harness, RunResult, explain, previous_turn
from harness.errors import NotAPreviousTurnError
from harness.logs import LogTool
from harness.playbook import PlaybookAgent
from harness.stores.sqlite import SqliteStores

LOG = """\
2024-05-04 10:00:01 INFO request served in 12 ms
2024-05-04 10:00:07 ERROR pool exhausted after 2000 ms
2024-05-04 10:00:08 ERROR pool exhausted after 2000 ms
"""


def converse(log: Path, stores: SqliteStores) -> list[RunResult]:
    """
    Ask twice in one conversation.

    Only a published report becomes a previous turn; a fallback never does.
    """
    harness = Harness(
        PlaybookAgent(),
        [LogTool(log)],
        canonical_store=stores.canonical,
        run_store=stores.runs,
    )
    first = harness.run("What went wrong?", conversation_id="c-1")
    try:
        known = [previous_turn(first.record)]
    except NotAPreviousTurnError as error:
        sys.stdout.write(f"{error}\n")
        known = []
    second = harness.run("Since when?", previous=known, conversation_id="c-1")
    return [first, second]


def main(log: Path | None = None) -> None:
    """
    Ask about a log file, look the runs up, and forget them after a month.
    """
    with TemporaryDirectory() as folder, SqliteStores(Path(folder) / "runs.db") as stores:
        if log is None:
            log = Path(folder) / "payment.log"
            log.write_text(LOG, encoding="utf-8")
        for result in converse(log, stores):
            sys.stdout.write(f"{result.text}\n")
        for record in stores.runs.runs_of("c-1"):
            sys.stdout.write(f"{record.request.question}\n{explain(record)}\n\n")
        old = datetime.now(UTC) - timedelta(days=30)
        sys.stdout.write(f"{stores.runs.delete_before(old)} runs were older than a month\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))

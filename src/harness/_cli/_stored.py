"""Records that a command reads: from a JSON file, or from a database file."""

from __future__ import annotations

from pathlib import Path

from harness._cli._errors import CommandError
from harness._records import RunRecord
from harness.errors import HarnessError

__all__ = ["find_record", "read_record"]


def find_record(run_id: str, db: str) -> RunRecord:
    """
    Find a run in a database file.

    Args:
        run_id: The run.
        db: The file; it is not made where it is missing.

    Raises:
        CommandError: There is no such run in it.
        StoreError: There is no such file, or it is no database of this library.
    """
    # only here: a record's JSON file needs no database
    from harness.stores.sqlite import SqliteRunStore  # noqa: PLC0415

    with SqliteRunStore(db, create=False) as store:
        record = store.load(run_id)
    if record is None:
        raise CommandError(f"RUN_ID: {db} has no run {run_id!r}")
    return record


def read_record(file: str) -> RunRecord:
    """
    Read a record's JSON file.

    Args:
        file: The file.

    Raises:
        CommandError: It cannot be read, or is no record.
    """
    from harness.codec import record_from_json  # noqa: PLC0415  a database reads its own

    try:
        return record_from_json(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror or type(error).__name__}") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{file}: is no text in UTF-8") from error
    except HarnessError as error:
        raise CommandError(f"{file}: {error}") from error

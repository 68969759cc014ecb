"""A journal that is read back: its entries, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from attrs import frozen

from harness._journal._codec import parse_line
from harness.errors import RecordDecodeError, SchemaVersionError

__all__ = ["SCHEMA", "Entry", "Tape", "read_entries"]

#: The version of the journal's form.
SCHEMA: Final = 1


@frozen
class Entry:
    """
    One line of a journal.

    Attributes:
        kind: What it is.
        lane: Which step of a batch it belongs to, from 1; 0 for the run itself.
        data: The whole line.
        path: Where it stands, for errors.
    """

    kind: str
    lane: int
    data: dict[str, Any]
    path: str

    def text(self, name: str) -> str:
        """
        Give a field that is text.

        Args:
            name: The field.

        Raises:
            RecordDecodeError: It is none.
        """
        value = self.data.get(name)
        if not isinstance(value, str):
            raise RecordDecodeError(f"{self.path}.{name}", value, "text")
        return value


def read_entries(lines: Sequence[str], run_id: str) -> list[Entry]:
    """
    Read a run's lines.

    Args:
        lines: The lines.
        run_id: The run, for errors.

    Raises:
        RecordDecodeError: A line is none of a journal.
        SchemaVersionError: A later version wrote it.
    """
    entries = [_entry(line, f"journal[{place}]") for place, line in enumerate(lines, 1)]
    if not entries or entries[0].kind != "run":
        first = entries[0].kind if entries else None
        raise RecordDecodeError("journal[1].k", first, "the beginning of a run")
    version = entries[0].data.get("v")
    if type(version) is not int or version < 1:
        raise RecordDecodeError("journal[1].v", version, f"1 to {SCHEMA}")
    if version > SCHEMA:
        why = f"its version is {version}, of a later release; allowed: 1 to {SCHEMA}"
        raise SchemaVersionError(f"journal of run {run_id!r}", why)
    return entries


def _entry(line: object, path: str) -> Entry:
    data = parse_line(line, path)
    kind, lane = data.get("k"), data.get("w", 0)
    if not isinstance(kind, str):
        raise RecordDecodeError(f"{path}.k", kind, "the kind of an entry")
    if type(lane) is not int or lane < 0:
        raise RecordDecodeError(f"{path}.w", lane, "the number of a step, from 1")
    return Entry(kind, lane, data, path)


class Tape:
    """
    Entries that are taken one after the other.

    Args:
        entries: The entries.
    """

    __slots__ = ("_entries", "_place")

    def __init__(self, entries: Sequence[Entry] = ()) -> None:
        self._entries = entries
        self._place = 0

    @property
    def head(self) -> Entry | None:
        """
        The next entry; ``None`` at the end.
        """
        return self._entries[self._place] if self._place < len(self._entries) else None

    def pop(self) -> None:
        """
        Go on to the next entry.
        """
        self._place += 1

    def abandon(self) -> None:
        """
        Leave what is left: from here on, today's run goes another way.
        """
        self._place = len(self._entries)

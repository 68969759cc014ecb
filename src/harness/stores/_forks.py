"""
Keeps open files from crossing a fork.

SQLite forbids a connection that was opened on one side of a fork to be used, or only closed, on the
other: its locks belong to a process. So each file is closed before the fork, on both sides of which
it is opened again when somebody needs it.
"""

from __future__ import annotations

import os
from threading import Lock
from typing import Final, Protocol
from weakref import WeakSet

__all__ = ["FORKS", "Forks", "OpenFile"]


class OpenFile(Protocol):
    """
    What must not cross a fork.
    """

    def hold(self) -> None:
        """
        Close, and let nobody open it.
        """
        ...

    def release(self) -> None:
        """
        Let it be opened again.
        """
        ...


class Forks:
    """
    The open files of this process.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._files: WeakSet[OpenFile] = WeakSet()
        self._held: list[OpenFile] = []

    def add(self, file: OpenFile) -> None:
        """
        Look after a file for as long as it exists.

        Args:
            file: The file; not open yet.
        """
        with self._lock:
            self._files.add(file)

    def before(self) -> None:
        """
        Close every file.
        """
        self._lock.acquire()
        self._held = list(self._files)
        for file in self._held:
            file.hold()

    def after(self) -> None:
        """
        Let every file be opened again, on this side of the fork.
        """
        for file in self._held:
            file.release()
        self._held = []
        self._lock.release()


#: One a process: the system's fork knows of no instance.
FORKS: Final = Forks()

if hasattr(os, "register_at_fork"):  # pragma: no branch  every system that forks has it
    os.register_at_fork(
        before=FORKS.before, after_in_parent=FORKS.after, after_in_child=FORKS.after
    )

"""What happens around the runs of the demo's other endings: silence, outages, a stop, a loss."""

from __future__ import annotations

import socket
import threading
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from typing import TYPE_CHECKING

from attrs import frozen

from harness import SemanticVerdict
from harness.demo._http import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Generator

    from harness import Attempt, CancelToken, CanonicalRecord, SemanticCase, StreamEvent
    from harness.ports import EventSink


@contextmanager
def closed_port() -> Generator[int]:
    """
    Hold a loopback port on which nobody listens.

    Yields:
        The port. Until the block ends every connection to it is refused.
    """
    with socket.socket() as held:
        held.bind((LOOPBACK, 0))
        yield int(held.getsockname()[1])


@contextmanager
def silent_port() -> Generator[int]:
    """
    Listen on a loopback port, and never answer: what a service looks like that hangs.

    Yields:
        The port.
    """
    with socket.create_server((LOOPBACK, 0)) as listening:
        yield int(listening.getsockname()[1])


@frozen
class RemoteGuard:
    """
    A semantic guard that asks a provider over HTTP.

    Attributes:
        port: The provider's loopback port.
    """

    port: int

    def judge(self, case: SemanticCase, attempt: Attempt) -> SemanticVerdict:
        """
        Ask the provider.

        Args:
            case: What to judge.
            attempt: Where to report usage.

        Returns:
            The verdict.

        Raises:
            ConnectionError: If the provider is down.
        """
        del attempt
        with closing(HTTPConnection(LOOPBACK, self.port, timeout=5)) as connection:
            connection.request("POST", "/judge", case.conclusion)
            return SemanticVerdict(connection.getresponse().read().decode())


@frozen
class Operator:
    """
    A client that watches a run, and someone beside it who cancels the run from another thread.

    Attributes:
        client: Who gets the events.
        token: What the run was given to be cancelled by.
    """

    client: EventSink
    token: CancelToken

    def send(self, event: StreamEvent) -> None:
        """
        Pass an event on; once something was collected, cancel.

        Args:
            event: The event.
        """
        self.client.send(event)
        if event.data.get("invocations"):
            stop = threading.Thread(target=self.token.cancel, args=("the operator stopped it",))
            stop.start()
            stop.join()


class SmallStore:
    """
    A store with too little room, which drops what does not fit and says nothing of it.

    Args:
        room: The most bytes of evidence that it keeps.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._kept: dict[str, CanonicalRecord] = {}

    def save(self, record: CanonicalRecord) -> None:
        """
        Keep a record, if there is room.

        Args:
            record: The record.
        """
        needed = record.invocation.byte_count
        if needed <= self._room:
            self._room -= needed
            self._kept[record.invocation_id] = record

    def load(self, invocation_id: str) -> CanonicalRecord | None:
        """
        Look for a record.

        Args:
            invocation_id: Its id.

        Returns:
            The record, or ``None`` where it was dropped.
        """
        return self._kept.get(invocation_id)

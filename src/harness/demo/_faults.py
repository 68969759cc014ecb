"""What really goes wrong in the endings other than the good one: agents, a guard, sources."""

from __future__ import annotations

import socket
import sqlite3
import threading
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from harness import AgentTurn, DiagnosisDraft, SemanticVerdict, Usage
from harness.demo._agent import state_progress
from harness.demo._http import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from harness import (
        AgentView,
        Attempt,
        CancelToken,
        CanonicalRecord,
        RepairCase,
        SemanticCase,
        StreamEvent,
    )
    from harness.ports import CanonicalStore, DiagnosisAgent, EventSink


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
class DraftingAgent:
    """
    An agent whose drafts come out wrong: another agent's, changed before they are handed in.

    Attributes:
        agent: Who investigates.
        spoil: What happens to its drafts.
    """

    agent: DiagnosisAgent
    spoil: Callable[[DiagnosisDraft], DiagnosisDraft]

    def next_turn(self, view: AgentView, attempt: Attempt) -> AgentTurn:
        """
        Take the other agent's turn.

        Args:
            view: What is known so far.
            attempt: Where to report usage.

        Returns:
            Its turn, with the draft spoiled.
        """
        turn = self.agent.next_turn(view, attempt)
        return evolve(turn, draft=self.spoil(turn.draft)) if turn.draft else turn


def misquote(draft: DiagnosisDraft) -> DiagnosisDraft:
    """
    Quote what no source says, as a model does that remembers instead of copying.

    Args:
        draft: A draft with quotes.

    Returns:
        The draft; each quote of its conclusion is followed by words of the drafter's own.
    """
    citations = [evolve(citation, quote=f"{citation.quote} or so") for citation in draft.citations]
    return evolve(draft, citations=citations)


def overreach(draft: DiagnosisDraft) -> DiagnosisDraft:
    """
    Conclude more than the cited evidence says.

    Args:
        draft: A draft with a conclusion.

    Returns:
        The draft, with a second cause that nobody observed.
    """
    invented = "The host db-7 ran out of memory after 31 failed logins."
    return evolve(draft, conclusion=f"{draft.conclusion} {invented}")


@frozen
class StuckAgent:
    """
    An agent that asks the same again and again, whatever it was answered.

    Attributes:
        agent: Who takes the first turn, and drafts when asking has to stop.
    """

    agent: DiagnosisAgent

    def next_turn(self, view: AgentView, attempt: Attempt) -> AgentTurn:
        """
        Ask what was asked in the first turn.

        Args:
            view: What is known so far.
            attempt: Where to report usage.

        Returns:
            The first turn's calls; a draft where one is required.
        """
        if view.turn == 1 or view.stop:
            return self.agent.next_turn(view, attempt)
        return AgentTurn(
            [view.records[0].invocation.call], progress=state_progress(view), usage=Usage(0, 0)
        )


class StubbornRepairer:
    """A repairer that sees nothing wrong with the draft."""

    def repair(self, case: RepairCase, attempt: Attempt) -> DiagnosisDraft:
        """
        Hand the draft in again.

        Args:
            case: The draft and what is wrong with it.
            attempt: Where to report usage.

        Returns:
            The draft as it was.
        """
        del attempt
        return case.draft


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


@frozen
class WipedStore:
    """
    A store on a database file from which another process deletes whatever was saved.

    Attributes:
        store: The store.
        path: Its database file.
    """

    store: CanonicalStore
    path: Path

    def save(self, record: CanonicalRecord) -> None:
        """
        Save a record, and lose it.

        Args:
            record: The record.
        """
        self.store.save(record)
        with closing(sqlite3.connect(self.path)) as other, other:
            tables = other.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for (table,) in tables:
                other.execute(f'DELETE FROM "{table}"')

    def load(self, invocation_id: str) -> CanonicalRecord | None:
        """
        Look for a record.

        Args:
            invocation_id: Its id.

        Returns:
            What the store still has of it.
        """
        return self.store.load(invocation_id)

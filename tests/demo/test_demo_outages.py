"""The parts of the demo that go wrong, where the endings alone don't show them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer

import pytest

from harness import (
    Attempt,
    CanonicalRecord,
    Component,
    EvidenceStatus,
    Invocation,
    InvocationStatus,
    SemanticCase,
    SemanticVerdict,
    ToolCall,
)
from harness._lifecycle import Lifecycle
from harness.demo._http import LOOPBACK
from harness.demo._outages import RemoteGuard, SmallStore

_ATTEMPT = Attempt(Component.SEMANTIC_GUARD, 1, Lifecycle(None), lambda: 0.0)


class _Judge(BaseHTTPRequestHandler):
    """A provider that answers with the last word of what it is sent."""

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text.split()[-1])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in http.server
        del format, args


@contextmanager
def _provider() -> Iterator[int]:
    with TCPServer((LOOPBACK, 0), _Judge) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        yield int(server.server_address[1])
        thread.join()


def test_a_provider_that_is_up_judges() -> None:
    """The guard sends the conclusion, and gives the verdict that comes back."""
    with _provider() as port:
        verdict = RemoteGuard(port).judge(SemanticCase("it is SUPPORTED"), _ATTEMPT)
    assert verdict is SemanticVerdict.SUPPORTED


def test_an_answer_that_is_no_verdict_is_refused() -> None:
    """Whatever else a provider says is an error and no verdict."""
    with _provider() as port, pytest.raises(ValueError, match="perhaps"):
        RemoteGuard(port).judge(SemanticCase("well perhaps"), _ATTEMPT)


def _record(invocation_id: str, byte_count: int) -> CanonicalRecord:
    row = Invocation(
        1,
        invocation_id,
        "run",
        ToolCall("logs"),
        InvocationStatus.READY,
        EvidenceStatus.EVIDENCE_FOUND,
        byte_count=byte_count,
    )
    return CanonicalRecord(row)


def test_a_small_store_keeps_what_fits() -> None:
    """What fits into the room that is left can be read back; the rest is gone without a word."""
    store = SmallStore(100)
    for name, size in (("E-1", 60), ("E-2", 41), ("E-3", 40)):
        store.save(_record(name, size))
    assert [bool(store.load(name)) for name in ("E-1", "E-2", "E-3", "E-4")] == [
        True,
        False,
        True,
        False,
    ]

"""Puts the payment service on a loopback port, and takes it off again for certain."""

from __future__ import annotations

import json
import socketserver
import sys
import threading
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from harness.demo._service import Reply

if TYPE_CHECKING:
    from collections.abc import Generator

    from harness.demo._log import LogWriter
    from harness.demo._service import PaymentService

LOOPBACK = "127.0.0.1"
_MAX_BODY = 4096
_POLL_SECONDS = 0.02


@contextmanager
def serving(service: PaymentService, log: LogWriter) -> Generator[int]:
    """
    Answer HTTP requests for the length of a ``with`` block.

    Args:
        service: What answers.
        log: Where dropped connections are written.

    Yields:
        The loopback port. After the block it is closed, and every thread that served it is done.
    """
    with ExitStack() as undo:
        server = _Server(service, log)
        undo.callback(server.server_close)
        thread = threading.Thread(
            target=server.serve_forever, args=(_POLL_SECONDS,), name="payment-service"
        )
        thread.start()
        undo.callback(thread.join)
        undo.callback(server.shutdown)
        undo.callback(service.stop)
        yield server.server_port


class _Server(ThreadingHTTPServer):
    # Joined by server_close, so that nothing of the service outlives the block.
    daemon_threads = False
    # The default of 5 makes the kernel drop the burst's connections, not the pool refuse them.
    request_queue_size = 128

    def __init__(self, service: PaymentService, log: LogWriter) -> None:
        self.service = service
        self._log = log
        super().__init__((LOOPBACK, 0), _Handler)

    def server_bind(self) -> None:
        # HTTPServer would ask the name service for the host's name: the demo is loopback only.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = LOOPBACK, int(self.server_address[1])

    def handle_error(self, request: object, client_address: object) -> None:
        # The default prints a traceback to the terminal of whoever runs the demo.
        del request, client_address
        self._log.write("WARN", "connection dropped", error=type(sys.exception()).__name__)


class _Handler(BaseHTTPRequestHandler):
    # The server that made the handler, as http.server promises, with its own type.
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride]
    # A client that falls silent can't keep the service from closing.
    timeout = 5.0

    def do_GET(self) -> None:
        self._answer(self.server.service.handle("GET", self.path, b""))

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not (length.isdecimal() and int(length) <= _MAX_BODY):
            allowed = f"Content-Length: allowed is 0 to {_MAX_BODY}"
            self._answer(Reply(HTTPStatus.BAD_REQUEST, {"error": allowed}))
            return
        self._answer(self.server.service.handle("POST", self.path, self.rfile.read(int(length))))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in http.server
        # The service writes its own log; the default writes to the terminal.
        del format, args

    def _answer(self, reply: Reply) -> None:
        body = json.dumps(reply.body).encode()
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

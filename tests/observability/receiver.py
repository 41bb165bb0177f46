"""An HTTP server that receives the requests of a monitoring program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@contextmanager
def receiving_posts(handle: Callable[[bytes, Message], None]) -> Iterator[str]:
    """Answer every POST with 200, and yield the server's URL.

    :param handle: gets the body and the headers of each request.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            handle(self.rfile.read(int(self.headers["content-length"])), self.headers)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Print nothing, so that the test's output is readable."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

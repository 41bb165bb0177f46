"""The health check distinguishes healthy from unhealthy."""

from __future__ import annotations

import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "healthy.py"
ANSWER = b'{"jsonrpc":"2.0","id":1,"result":"0x10"}'


class Answering(http.server.BaseHTTPRequestHandler):
    status = 200

    def do_GET(self) -> None:
        self._answer(b"{}" if self.path == "/livez" else b"elsewhere")

    def do_POST(self) -> None:
        self._answer(ANSWER)

    def _answer(self, body: bytes) -> None:
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(params=[200, 503])
def server(request: pytest.FixtureRequest) -> Iterator[tuple[int, int]]:
    handler = type("Handler", (Answering,), {"status": request.param})
    with http.server.HTTPServer(("127.0.0.1", 0), handler) as one:
        threading.Thread(target=one.serve_forever, daemon=True).start()
        yield one.server_port, request.param
        one.shutdown()


def healthy(kind: str, port: int) -> bool:
    command = [sys.executable, "-I", "-S", str(PROGRAM), kind, str(port)]
    return subprocess.run(command, check=False).returncode == 0


@pytest.mark.parametrize("kind", ["service", "node"])
def test_service_is_healthy_only_with_status_200(kind: str, server: tuple[int, int]) -> None:
    port, status = server

    assert healthy(kind, port) == (status == 200)


def test_service_without_a_listener_is_unhealthy() -> None:
    assert not healthy("service", 1)

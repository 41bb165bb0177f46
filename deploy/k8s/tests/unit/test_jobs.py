"""The Jobs of a cluster with addresses, errors and answers."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from swap_k8s import __main__ as jobs
from swap_k8s.readiness import read_readiness

from swap_stack.daemon import StackError


def test_password_is_added_to_an_address_without_one() -> None:
    url = jobs.with_password("postgresql://admin@db:5432/swap?sslmode=verify-full", "a/b@c")

    assert url == "postgresql://admin:a%2Fb%40c@db:5432/swap?sslmode=verify-full"


@pytest.mark.parametrize(
    "url", ["postgresql://admin:secret@db/swap", "postgresql+psycopg://admin@db/swap"]
)
def test_address_with_a_password_or_a_driver_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="postgres-admin"):
        jobs.with_password(url, "secret")


def test_missing_contracts_are_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lose() -> None:
        raise StackError("ETHEREUM_DEVNET has lost its contracts")

    monkeypatch.setitem(jobs.JOBS, ("chains",), lose)

    with pytest.raises(SystemExit, match="lost its contracts"):
        jobs.main(["chains"])


def test_missing_or_unknown_job_name_prints_the_list() -> None:
    with pytest.raises(SystemExit, match="contracts"):
        jobs.main(["unknown"])


class Unready(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(503)
        self.end_headers()
        self.wfile.write(b'{"ok": false}')

    def log_message(self, *_: object) -> None:
        pass


def test_answer_of_an_unready_service_is_printed() -> None:
    with HTTPServer(("127.0.0.1", 0), Unready) as server:
        Thread(target=server.handle_request).start()
        port = server.server_port

        assert read_readiness(port) == (False, '{"ok": false}')

    is_ready, answer = read_readiness(port)
    assert not is_ready
    assert answer.startswith(f"no answer on port {port}")

"""The sample receiver as a program, with a signing sender and a service that it reads."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, Queue
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from standardwebhooks import Webhook

SEQUENCES = {"ls_transfer_pending": 2, "completed": 3, "failed": 4}
PROGRAM = Path(__file__).parents[1] / "examples/webhook_receiver.py"
SECRET = f"whsec_{b64encode(b's' * 32).decode()}"


class Service(ThreadingHTTPServer):
    """Reports for each swap the status that a test has set, else `failed`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Reads)
        self.statuses: dict[str, str] = {}
        self.broken: dict[str, tuple[int, str]] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Reads(BaseHTTPRequestHandler):
    server: Service

    def do_GET(self) -> None:
        swap_id = self.path.partition("?")[0].removesuffix("/events").rpartition("/")[2]
        if swap_id in self.server.broken:
            return self._answer(*self.server.broken[swap_id])
        status = self.server.statuses.get(swap_id, "failed")
        content: Any = {"swap": {"status": status}}
        if self.path.endswith("/events"):
            content = [{"sequence": SEQUENCES[status], "to_status": status}]
        return self._answer(200, json.dumps({"data": content, "error": None}))

    def _answer(self, status: int, content: str) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield service
    service.shutdown()
    thread.join()
    service.server_close()


class Receiver:
    def __init__(self, service: Service, database: Path, *options: str) -> None:
        self.database = database
        self.lines: Queue[str] = Queue()
        self.process = subprocess.Popen(
            [sys.executable, str(PROGRAM), "--port", "0", "--database", str(database), *options],
            env={
                **os.environ,
                "SWAP_URL": service.url,
                "SWAP_KEY": "svc_test_1",
                "WEBHOOK_SECRET": SECRET,
            },
            stdout=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.url = f"http://127.0.0.1:{self.line().rpartition(' ')[2]}/hooks"

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line.strip())

    def line(self, within: float = 90) -> str:
        return self.lines.get(timeout=within)

    def push(self, swap_id: str, status: str, sequence: int, **changed: str) -> int:
        swap = {"id": swap_id, "status": status, "metadata": {"sequence": sequence}}
        body = json.dumps({"swap": swap, "quote": {}, "deposit_actions": []})
        at, identity = datetime.now(UTC), f"msg_{swap_id}_{sequence}"
        headers = {
            "webhook-id": identity,
            "webhook-timestamp": str(int(at.timestamp())),
            "webhook-signature": Webhook(SECRET).sign(identity, at, body),
            "webhook-event-type": f"swap.{status}",
            **changed,
        }
        return httpx.post(self.url, content=body.encode(), headers=headers).status_code

    def rows(self, query: str) -> list[Any]:
        with sqlite3.connect(self.database) as connection:
            return connection.execute(query).fetchall()

    def stop(self) -> None:
        self.process.kill()
        self._reader.join()
        self.process.communicate()  # closes the pipe


@pytest.fixture
def receiver(service: Service, tmp_path: Path) -> Iterator[Receiver]:
    receiver = Receiver(service, tmp_path / "orders.db")
    yield receiver
    receiver.stop()


class TestReceiver:
    def test_fulfils_once_with_duplicates_out_of_order(
        self, receiver: Receiver, service: Service
    ) -> None:
        service.statuses["a"] = "completed"

        assert receiver.push("a", "completed", 3) == 204
        assert receiver.line() == "fulfilled a"
        assert receiver.push("a", "completed", 3) == 204
        assert receiver.push("a", "ls_transfer_pending", 2) == 204
        service.statuses["b"] = "completed"
        assert receiver.push("b", "completed", 3) == 204

        assert receiver.line() == "fulfilled b"
        assert receiver.rows("SELECT id, sequence, status FROM swap ORDER BY id") == [
            ("a", 3, "completed"),
            ("b", 3, "completed"),
        ]

    def test_uses_the_state_of_the_service_and_not_of_the_message(
        self, receiver: Receiver, service: Service
    ) -> None:
        service.statuses["a"] = "ls_transfer_pending"

        assert receiver.push("a", "completed", 3) == 204

        with pytest.raises(Empty):
            receiver.line(within=0.5)

    def test_polls_until_the_service_confirms_and_continues_with_others(
        self, receiver: Receiver, service: Service
    ) -> None:
        service.statuses.update(a="ls_transfer_pending", b="completed", c="failed")
        # c is never fulfilled: its message stays open until a newer one.
        for swap_id in "acb":
            assert receiver.push(swap_id, "completed", 3) == 204
        assert receiver.line() == "fulfilled b"
        assert receiver.push("c", "failed", 4) == 204

        service.statuses["a"] = "completed"

        assert receiver.line() == "fulfilled a"

    def test_finds_changes_without_a_message_also_while_one_is_open(
        self, service: Service, tmp_path: Path
    ) -> None:
        service.statuses.update(a="ls_transfer_pending", b="ls_transfer_pending")
        receiver = Receiver(service, tmp_path / "orders.db", "--reconcile-seconds", "1")
        try:
            assert receiver.push("a", "completed", 3) == 204  # but is not completed yet
            assert receiver.push("b", "ls_transfer_pending", 2) == 204
            service.statuses["b"] = "completed"
            assert receiver.line() == "fulfilled b"
            service.statuses["a"] = "completed"
            assert receiver.line() == "fulfilled a"
        finally:
            receiver.stop()

    @pytest.mark.parametrize(
        "answer",
        [
            (404, '{"data": null, "error": {"code": "NOT_FOUND", "message": "", "metadata": {}}}'),
            (200, "<html>maintenance</html>"),
            (200, '{"data": null}'),
            (500, ""),
        ],
    )
    def test_goes_on_with_others_behind_one_that_fails(
        self, receiver: Receiver, service: Service, answer: tuple[int, str]
    ) -> None:
        service.statuses.update(a="completed", b="completed")
        service.broken["a"] = answer

        assert receiver.push("a", "completed", 3) == 204
        assert receiver.push("b", "completed", 3) == 204

        assert receiver.line() == "fulfilled b"
        service.broken.clear()
        assert receiver.line() == "fulfilled a"

    def test_refuses_what_is_not_genuine_and_keeps_nothing_of_it(self, receiver: Receiver) -> None:
        assert receiver.push("a", "completed", 3, **{"webhook-signature": "v1,AAAA"}) == 400
        assert receiver.rows("SELECT * FROM inbox") == []

    @pytest.mark.parametrize(
        ("length", "status"), [("-1", 411), ("many", 411), (None, 411), ("1000001", 413)]
    )
    def test_refuses_at_once_a_body_without_a_valid_length_or_above_the_maximum(
        self, receiver: Receiver, length: str | None, status: int
    ) -> None:
        connection = HTTPConnection(urlsplit(receiver.url).netloc, timeout=10)
        connection.putrequest("POST", "/hooks")
        if length is not None:
            connection.putheader("content-length", length)
        connection.endheaders()

        assert connection.getresponse().status == status
        connection.close()

    def test_goes_on_after_a_crash_with_what_it_accepted(
        self, service: Service, tmp_path: Path
    ) -> None:
        service.statuses["a"] = "ls_transfer_pending"  # so nothing is fulfilled before the crash
        first = Receiver(service, tmp_path / "orders.db")
        assert first.push("a", "completed", 3) == 204
        first.stop()
        service.statuses["a"] = "completed"

        second = Receiver(service, tmp_path / "orders.db")

        assert second.line() == "fulfilled a"
        second.stop()


@pytest.mark.parametrize(
    ("settings", "missing"),
    [
        ({}, ["SWAP_URL", "SWAP_KEY", "WEBHOOK_SECRET"]),
        (
            {"SWAP_URL": "http://127.0.0.1:1", "SWAP_KEY": "k", "WEBHOOK_SECRET": " "},
            ["WEBHOOK_SECRET"],
        ),
    ],
)
def test_receiver_names_the_missing_settings(
    tmp_path: Path, settings: dict[str, str], missing: list[str]
) -> None:
    output = refused(tmp_path, settings)

    assert output.startswith("Set ")
    assert [
        name for name in ("SWAP_URL", "SWAP_KEY", "WEBHOOK_SECRET") if name in output
    ] == missing


def test_receiver_reports_that_its_port_is_in_use(tmp_path: Path, service: Service) -> None:
    port = service.url.rpartition(":")[2]
    settings = {"SWAP_URL": service.url, "SWAP_KEY": "k", "WEBHOOK_SECRET": SECRET}

    assert refused(tmp_path, settings, port).startswith(f"Port {port} cannot be used: ")


def refused(folder: Path, settings: dict[str, str], port: str = "0") -> str:
    """Run the program with wrong settings; return its one line on stderr."""
    ended = subprocess.run(
        [sys.executable, str(PROGRAM), "--port", port, "--database", str(folder / "orders.db")],
        env={"PATH": os.environ["PATH"], **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    [sentence] = ended.stderr.splitlines()
    return sentence

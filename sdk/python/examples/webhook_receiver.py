"""A complete webhook receiver, on the standard library and SQLite.

    SWAP_URL=https://swaps.example SWAP_KEY=svc_live_… WEBHOOK_SECRET=whsec_… \\
        python webhook_receiver.py --port 8080 --database orders.db

A request is only verified and stored, which takes milliseconds. A worker does the rest. During a
rotation of the secret set both, separated by a blank.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from swap_sdk import Client, Retries
from swap_sdk.webhooks import Event, NotGenuine, verify

BODY_BYTES_MAX = 1_000_000
RECONCILE_SECONDS = 300
# The pause before a retry; it doubles each time.
PAUSE_SECONDS = 2.0
PAUSE_SECONDS_MAX = 60.0
OPEN = ("user_transfer_pending", "ls_transfer_pending", "pending_refund")

NEEDED = {
    "SWAP_URL": "the address of the service",
    "SWAP_KEY": "a secret key of your app, svc_…",
    "WEBHOOK_SECRET": "the secret of the endpoint, whsec_…; two during a rotation",
}

TABLES = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS inbox (
  id TEXT PRIMARY KEY,           -- webhook-id: a message that comes again changes nothing
  type TEXT NOT NULL,
  content TEXT NOT NULL,
  is_done INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS swap (
  id TEXT PRIMARY KEY,
  sequence INTEGER NOT NULL,     -- the highest is the newest, whenever it came
  status TEXT NOT NULL,
  is_fulfilled INTEGER NOT NULL DEFAULT 0
);
"""
ADD_MESSAGE = "INSERT OR IGNORE INTO inbox (id, type, content) VALUES (?, ?, ?)"
SAVE_STATUS = """
INSERT INTO swap (id, sequence, status) VALUES (?, ?, ?)
ON CONFLICT (id) DO UPDATE SET sequence = excluded.sequence, status = excluded.status
WHERE excluded.sequence > swap.sequence
"""


class NotYet(Exception):
    """The service does not yet report the status that its webhook reported."""


class Orders:
    """The shop's data about its swaps."""

    def __init__(self, database: Path, swaps: Client, *, reconcile_seconds: float) -> None:
        self._database = database
        self._swaps = swaps
        self._reconcile_seconds = reconcile_seconds
        self._failed: dict[str, tuple[float, float]] = {}  # the next pause, and the end of this one
        self._something_came = threading.Event()
        with self._open() as connection:
            connection.executescript(TABLES)

    def accept(self, event: Event) -> None:
        """Store a message; at the return it is on disk."""
        with self._open() as connection:
            connection.execute(ADD_MESSAGE, (event.id, event.type, json.dumps(event.content)))
        self._something_came.set()

    def work(self) -> None:
        """Process new messages and, at intervals, open swaps, forever."""
        reconciled = time.monotonic()
        while True:
            self._something_came.wait(PAUSE_SECONDS)
            self._something_came.clear()
            self._try("inbox", self.process_inbox)
            if time.monotonic() - reconciled >= self._reconcile_seconds:
                self._try("swaps", self.reconcile)
                reconciled = time.monotonic()

    def process_inbox(self) -> None:
        with self._open() as connection:
            rows = connection.execute("SELECT id, type, content FROM inbox WHERE NOT is_done")
            messages = rows.fetchall()
        for identity, *fields in messages:
            self._try(identity, self._process, identity, *fields)

    def _process(self, identity: str, kind: str, content: str) -> None:
        event = Event(identity, kind, json.loads(content))
        if event.is_about_swap:
            self._save_status(event.swap_id, event.sequence, event.payload["swap"]["status"])
        with self._open() as connection:
            connection.execute("UPDATE inbox SET is_done = 1 WHERE id = ?", (identity,))

    def reconcile(self) -> None:
        """Read open swaps: a webhook may be late, and an endpoint may have been disabled."""
        with self._open() as connection:
            marks = ",".join("?" * len(OPEN))
            rows = connection.execute(
                f"SELECT id FROM swap WHERE status IN ({marks})"
                " OR (status = 'completed' AND NOT is_fulfilled)",
                OPEN,
            ).fetchall()
        for (swap_id,) in rows:
            self._try(swap_id, self._refresh, swap_id)
        # Drop failures older than a minute: a later attempt usually succeeded. Otherwise the pause
        # starts again at two seconds.
        lately = time.monotonic() - PAUSE_SECONDS_MAX
        self._failed = {
            name: failure for name, failure in self._failed.items() if failure[1] > lately
        }

    def _refresh(self, swap_id: str) -> None:
        last = self._swaps.events(swap_id)[-1]
        self._save_status(swap_id, last["sequence"], last["to_status"])

    def _try(self, name: str, do: Callable[..., None], *about: str) -> None:
        """Run it, unless its pause after a failure has not ended.

        Failures are logged and never stop other work.
        """
        pause, due = self._failed.get(name, (PAUSE_SECONDS, 0.0))
        if time.monotonic() < due:
            return
        try:
            do(*about)
        except Exception as error:  # any error is retried: an accepted message must be processed
            print(f"later: {name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            self._failed[name] = min(2 * pause, PAUSE_SECONDS_MAX), time.monotonic() + pause
        else:
            self._failed.pop(name, None)

    def _save_status(self, swap_id: str, sequence: int, status: str) -> None:
        with self._open() as connection:
            connection.execute(SAVE_STATUS, (swap_id, sequence, status))
            newest, is_fulfilled = connection.execute(
                "SELECT status, is_fulfilled FROM swap WHERE id = ?", (swap_id,)
            ).fetchone()
        if newest == "completed" and not is_fulfilled:
            self._fulfil(swap_id)

    def _fulfil(self, swap_id: str) -> None:
        """Do an irreversible step at most once, and only if the service confirms it.

        :raises NotYet: when it does not confirm it yet.
        """
        now = self._swaps.swap(swap_id, exclude_deposit_actions=True)["swap"]["status"]
        if now != "completed":
            raise NotYet(f"{swap_id} is {now}")
        with self._open() as connection:
            marked = connection.execute(
                "UPDATE swap SET is_fulfilled = 1 WHERE id = ? AND NOT is_fulfilled", (swap_id,)
            )
        if marked.rowcount:
            print(f"fulfilled {swap_id}", flush=True)

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._database, timeout=10)


def handler(orders: Orders, secrets: Sequence[str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = self.headers.get("content-length", "")
            if not length.isdecimal():
                return self._answer(411)
            if int(length) > BODY_BYTES_MAX:
                return self._answer(413)
            body = self.rfile.read(int(length))  # the bytes as received; parsed after verification
            try:
                event = verify(body, dict(self.headers), secrets)
            except NotGenuine:
                return self._answer(400)
            orders.accept(event)
            return self._answer(204)

        def _answer(self, status: int) -> None:
            self.close_connection = self.close_connection or status in (411, 413)
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def settings() -> tuple[str, str, list[str]]:
    """Return the URL, the key and the secrets; exit with one sentence where one is missing."""
    missing = [name for name in NEEDED if not os.environ.get(name, "").strip()]
    if missing:
        sys.exit("Set " + ", ".join(f"{name} ({NEEDED[name]})" for name in missing) + ".")
    url, key, secrets = (os.environ[name].strip() for name in NEEDED)
    return url, key, secrets.split()


def main() -> None:
    parser = argparse.ArgumentParser(description="Receive webhooks of a swap service.")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--database", type=Path, default=Path("orders.db"))
    parser.add_argument("--reconcile-seconds", type=float, default=RECONCILE_SECONDS)
    options = parser.parse_args()
    once = Retries(attempts_max=1)  # failures are retried here, and delay nothing else
    url, key, secrets = settings()
    with Client(url, key, retries=once) as swaps:
        orders = Orders(options.database, swaps, reconcile_seconds=options.reconcile_seconds)
        threading.Thread(target=orders.work, daemon=True).start()
        try:
            server = ThreadingHTTPServer(("127.0.0.1", options.port), handler(orders, secrets))
        except OSError as error:
            sys.exit(f"Port {options.port} cannot be used: {error.strerror}.")
        print(f"listening on {server.server_address[1]}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()

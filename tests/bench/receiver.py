"""A webhook receiver that checks every signature and stores the time of each message."""

from __future__ import annotations

import asyncio
import base64
import hmac
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any, cast

import orjson

from tests.bench.clients import END, length_of

OK = b"HTTP/1.1 204 No Content\r\n\r\n"
REFUSED = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"
NAMES = (b"webhook-id", b"webhook-timestamp", b"webhook-signature")


class ReceivedWebhooks:
    """All received webhooks, by swap and status."""

    def __init__(self) -> None:
        self.on_webhook: Callable[[str], None] = lambda swap_id: None
        self._keys: list[bytes] = []
        self.first_at: defaultdict[str, dict[str, float]] = defaultdict(dict)
        self.copies: Counter[str] = Counter()  # messages that arrived more than once
        self.forged = 0

    def add_key(self, secret: str) -> None:
        """Accept signatures by a secret in the form that the notifier shows it."""
        self._keys.append(base64.b64decode(secret.removeprefix("whsec_")))

    def accept(self, head: bytes, body: bytes) -> bool:
        at = time.time()
        headers = _headers(head)
        if not self._is_genuine(headers, body):
            self.forged += 1
            return False
        swap: dict[str, Any] = orjson.loads(body)["swap"]
        swap_id, status = str(swap["id"]), str(swap["status"])
        if status in self.first_at[swap_id]:
            self.copies[swap_id] += 1
        else:
            self.first_at[swap_id][status] = at
            self.on_webhook(swap_id)
        return True

    def _is_genuine(self, headers: dict[bytes, bytes], body: bytes) -> bool:
        message_id, timestamp, signatures = (headers.get(name, b"") for name in NAMES)
        signed = b"%b.%b.%b" % (message_id, timestamp, body)
        wanted = {
            b"v1," + base64.b64encode(hmac.digest(key, signed, "sha256")) for key in self._keys
        }
        return not wanted.isdisjoint(signatures.split())


class _Delivery(asyncio.Protocol):
    """One connection of the notifier."""

    def __init__(self, received: ReceivedWebhooks) -> None:
        self._received = received
        self._data = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._data += data
        while (end := self._data.find(END)) >= 0:
            head = bytes(self._data[:end])
            start = end + len(END)
            length = length_of(head)
            if len(self._data) < start + length:
                return
            body = bytes(self._data[start : start + length])
            del self._data[: start + length]
            assert self._transport is not None
            self._transport.write(OK if self._received.accept(head, body) else REFUSED)


async def listen(received: ReceivedWebhooks) -> tuple[asyncio.Server, str]:
    """Return the server and its URL."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Delivery(received), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    return server, f"http://127.0.0.1:{port}/hooks"


def _headers(head: bytes) -> dict[bytes, bytes]:
    lines = (line.partition(b":") for line in head.split(b"\r\n")[1:])
    return {name.strip().lower(): value.strip() for name, _, value in lines}

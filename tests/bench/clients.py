"""A minimal HTTP/1.1 client, because the load shares the processor with the measured services."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import cycle
from typing import cast
from urllib.parse import urlsplit

import orjson

END = b"\r\n\r\n"


class Connection(asyncio.Protocol):
    """One connection that is kept open, with one request at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._data = bytearray()
        self._head = -1
        self._length = 0
        self._answered = b""  # the head of the last answer
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error or ConnectionResetError())

    def data_received(self, data: bytes) -> None:
        self._data += data
        if self._head < 0:
            self._head = self._data.find(END)
            if self._head < 0:
                return
            self._length = length_of(self._data[: self._head])
        end = self._head + len(END) + self._length
        if len(self._data) >= end:
            status = int(self._data[9:12])
            self._answered = bytes(self._data[: self._head])
            body = bytes(self._data[self._head + len(END) : end])
            self._data.clear()
            self._head = -1
            if self._answer is not None and not self._answer.done():
                self._answer.set_result((status, body))

    @property
    def is_open(self) -> bool:
        return self._transport is not None

    def tag(self) -> str:
        """Return the entity tag of the last answer."""
        return self._answered.lower().partition(b"\r\netag: ")[2].partition(b"\r\n")[0].decode()

    async def exchange(self, request: bytes) -> tuple[int, bytes]:
        assert self._transport is not None
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


class Client:
    """A few connections to one service."""

    def __init__(self, url: str, *, headers: Sequence[str] = ()) -> None:
        lines = (f"host: {urlsplit(url).netloc}", "content-type: application/json", *headers)
        self._headers = "".join(f"{line}\r\n" for line in lines)
        self._idle: list[Connection] = []
        self.spread(url)

    async def get(self, path: str) -> tuple[int, bytes]:
        return await self._request(f"GET {path} HTTP/1.1\r\n{self._headers}\r\n".encode())

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        head = f"POST {path} HTTP/1.1\r\n{self._headers}content-length: {len(body)}\r\n\r\n"
        return await self._request(head.encode() + body)

    async def _request(self, request: bytes) -> tuple[int, bytes]:
        connection = await self._connection()
        try:
            answer = await connection.exchange(request)
        except BaseException:
            connection.close()  # its answer would be read as that of the next request
            raise
        self._idle.append(connection)
        return answer

    async def _connection(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open:
                return connection
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(Connection, *next(self._addresses))
        return connection

    def spread(self, *urls: str) -> None:
        """Distribute later connections over these addresses."""
        self.close()
        parts = [urlsplit(url) for url in urls]
        self._addresses = cycle([(str(each.hostname), each.port or 80) for each in parts])

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()


class NodeRefused(RuntimeError):
    """A node answered with an error."""


class Node:
    """A node that is queried in batches."""

    def __init__(self, url: str) -> None:
        self._client = Client(url)

    async def call(self, method: str, many: Sequence[Sequence[object]]) -> list[object]:
        """
        :raises NodeRefused: when any answer is an error.
        """
        request = [
            {"jsonrpc": "2.0", "id": n, "method": method, "params": params}
            for n, params in enumerate(many)
        ]
        _, body = await self._client.post("/", orjson.dumps(request))
        answer = orjson.loads(body)
        wrong = [row["error"] for row in answer if "error" in row]
        if wrong:
            raise NodeRefused(f"{method}: {len(wrong)} of {len(many)}, first {wrong[0]}")
        return [row["result"] for row in sorted(answer, key=lambda row: row["id"])]

    async def call_one(self, method: str, *params: object) -> object:
        """
        :raises NodeRefused: when the answer is an error.
        """
        return (await self.call(method, [params]))[0]

    async def number(self, method: str, *params: object) -> int:
        return int(str(await self.call_one(method, *params)), 16)

    async def send(self, raw: Sequence[bytes]) -> None:
        """Send signed transactions in one request."""
        await self.call("eth_sendRawTransaction", [("0x" + one.hex(),) for one in raw])

    def close(self) -> None:
        self._client.close()


def length_of(head: bytes | bytearray) -> int:
    """Return the length of a message's body, from its header lines."""
    lowered = bytes(head).lower()
    at = lowered.find(b"content-length:")
    if at < 0:
        return 0
    return int(lowered[at + 15 :].split(b"\r\n", 1)[0])

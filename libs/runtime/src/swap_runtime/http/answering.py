"""Answers over HTTP that need nobody's word: a function, called as soon as a request is complete.

Where an answer is some microseconds of arithmetic, what a framework does around it (a task, an
exchange of messages, two writes) would be most of its cost. For ports that only our own processes
ask; still nothing that comes is kept without bounds, and nobody stays for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache
from http import HTTPStatus
from typing import Final, cast

import httptools
import structlog

log = structlog.get_logger()

HEAD_BYTES_MAX: Final = 16 * 1024
BODY_BYTES_MAX: Final = 64 * 1024
# From the opening of a connection, or an answer, to the next request's last byte. Longer than
# clients keep a connection that they do not use.
SILENCE_SECONDS_MAX: Final = 75.0
CONNECTIONS_MAX: Final = 1024
# Answered before anybody else is heard: clients of ours ask one thing at a time.
PIPELINED_MAX: Final = 32

# Method, path and body (None: longer than anybody's question) to status and JSON.
Answering = Callable[[str, str, bytes | None], tuple[int, bytes]]


class AnswerServer:
    """One function on one port."""

    def __init__(self, answer: Answering, host: str, port: int) -> None:
        self._answer = answer
        self._host = host
        self._port = port
        self._server: asyncio.Server | None = None
        self._connections: set[_Connection] = set()

    async def start(self) -> int:
        """Listen, and return the port.

        :raises OSError: when the port is taken.
        """
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._connected, self._host, self._port)
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Take no more requests. Every one that is complete was answered already."""
        if self._server is None:
            return
        self._server.close()
        for connection in tuple(self._connections):
            connection.close()
        await self._server.wait_closed()

    def _connected(self) -> _Connection:
        return _Connection(self._answer, self._connections)


class _Connection(asyncio.Protocol):
    def __init__(self, answer: Answering, connections: set[_Connection]) -> None:
        self._answer = answer
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport
        self._clock: asyncio.TimerHandle
        self._active_at = self._loop.time()
        self._pending = 0  # bytes since headers, a piece of body or a request last ended
        self._url = b""
        self._body = bytearray()
        self._answered = 0  # of what came in one piece

    # Of the connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._clock = self._loop.call_later(SILENCE_SECONDS_MAX, self._check_silence)
        self._connections.add(self)
        if len(self._connections) > CONNECTIONS_MAX:
            self._end(HTTPStatus.SERVICE_UNAVAILABLE)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        self._clock.cancel()

    def data_received(self, data: bytes) -> None:
        self._pending += len(data)
        self._answered = 0
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._end(HTTPStatus.BAD_REQUEST)
        if self._pending > HEAD_BYTES_MAX:
            self._end(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def pause_writing(self) -> None:
        self._transport.pause_reading()  # who takes no answers is asked for no more questions

    def resume_writing(self) -> None:
        self._transport.resume_reading()

    # Of the parser

    def on_message_begin(self) -> None:
        self._url = b""
        self._body.clear()

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_headers_complete(self) -> None:
        self._pending = 0

    def on_body(self, body: bytes) -> None:
        self._pending = 0
        if len(self._body) <= BODY_BYTES_MAX:
            self._body += body

    def on_message_complete(self) -> None:
        self._pending = 0
        if self._transport.is_closing():  # what was asked after the end is not answered
            return
        self._active_at = self._loop.time()
        self._answered += 1
        if self._answered > PIPELINED_MAX:
            self._end(HTTPStatus.TOO_MANY_REQUESTS)
            return
        path = self._url.partition(b"?")[0].decode("latin-1")
        body = bytes(self._body) if len(self._body) <= BODY_BYTES_MAX else None
        try:
            status, answer = self._answer(self._parser.get_method().decode(), path, body)
        except Exception:
            log.exception("a question could not be answered", path=path)
            self._end(HTTPStatus.INTERNAL_SERVER_ERROR)
            return
        self._transport.write(b"%b%d\r\n\r\n%b" % (_head(status), len(answer), answer))
        if not self._parser.should_keep_alive():
            self._transport.close()

    def close(self) -> None:
        """Close once everything that was answered is on its way."""
        self._transport.close()

    def _check_silence(self) -> None:
        left = self._active_at + SILENCE_SECONDS_MAX - self._loop.time()
        if left > 0:
            self._clock = self._loop.call_later(left, self._check_silence)
        else:
            self._transport.abort()

    def _end(self, status: HTTPStatus) -> None:
        if not self._transport.is_closing():
            self._transport.write(b"%b0\r\nconnection: close\r\n\r\n" % _head(status))
            self._transport.close()


@cache
def _head(status: int) -> bytes:
    words = HTTPStatus(status).phrase
    return (
        f"HTTP/1.1 {status} {words}\r\ncontent-type: application/json\r\ncontent-length: "
    ).encode()

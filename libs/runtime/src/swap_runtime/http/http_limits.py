"""HTTP for a public port: httptools, with an end to what may come around a body, and to waiting.

httptools stores a URL, headers and trailers of any length before it calls the protocol. And there
is no limit on how slowly they arrive, or how slowly an answer is read.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from swap_contracts.public.errors import ErrorCode

HEAD_BYTES_MAX: Final = 64 * 1024
# From the first byte of a request, or the opening of a connection, to the last byte of the answer.
EXCHANGE_SECONDS_MAX: Final = 60.0
END_OF_HEAD: Final = b"\r\n\r\n"
EMPTY: Final = b"content-length: 0\r\nconnection: close\r\n\r\n"
TOO_LARGE: Final = b"HTTP/1.1 431 Request Header Fields Too Large\r\n" + EMPTY
TOO_SLOW: Final = b"HTTP/1.1 408 Request Timeout\r\n" + EMPTY
TOO_BUSY: Final = b"HTTP/1.1 503 Service Unavailable\r\n" + EMPTY
# Sent before the application is called, in the envelope of all other errors.
NOT_HTTP_BODY: Final = json.dumps(
    {
        "data": None,
        "error": {
            "code": ErrorCode.VALIDATION_ERROR,
            "message": "The request is not valid HTTP",
            "metadata": {},
        },
    }
).encode()
BAD_REQUEST: Final = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%b" % (len(NOT_HTTP_BODY), NOT_HTTP_BODY)
)


class _HeadTooLarge(Exception):
    """Raised inside the parser, which then reads no further."""


class _OneWrite:
    """A transport on which the head of an answer leaves together with its body.

    The server writes them one after the other, and each would be a call of the system, a packet,
    and a client that is woken. What does not follow in the same step is not waited for.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._head = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if self._head:
            data, self._head = self._head + data, b""
        elif data.endswith(END_OF_HEAD):
            self._head = data
            self._loop.call_soon(self._flush)
            return
        self._transport.write(data)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def get_write_buffer_size(self) -> int:
        return len(self._head) + self._transport.get_write_buffer_size()

    def _flush(self) -> None:
        if self._head:
            head, self._head = self._head, b""
            self._transport.write(head)


class LimitedHttpProtocol(HttpToolsProtocol):
    """Closes a connection when its next piece of body, or the end of its request, is too far away.

    Far in bytes; or in time, if the sender, the application or the reader of the answer is slow.
    """

    # Bytes since the read in which headers, a piece of body or a request last ended.
    _pending = 0
    _is_too_large = False
    _is_receiving = False  # a request has begun and not ended
    _is_idle = False  # the last answer was given, and nothing came since
    _began_at = 0.0
    # One for many requests: it checks at the deadline of the request that set it, and sets itself
    # again.
    _clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.transport = _OneWrite(transport, self.loop)  # type: ignore[assignment]
        self._begin()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._clock is not None:
            self._clock.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_idle:
            self._begin()
        self._pending += len(data)
        super().data_received(data)
        if self._pending > HEAD_BYTES_MAX and not self.transport.is_closing():
            self._end(TOO_LARGE)

    def on_message_begin(self) -> None:
        self._is_receiving = True
        if self._is_idle:  # it arrived in one read with the end of an unread body
            self._begin()
        self._unset_keepalive_if_required()  # it may follow in the same read
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._pending = 0
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > HEAD_BYTES_MAX:  # all of it came in one read
            self._is_too_large = True
            raise _HeadTooLarge
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._pending = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._pending = 0
        self._is_receiving = False
        super().on_message_complete()
        if self._is_answered:  # before all of it was here, so that the wait for the next was ended
            self._is_idle = True
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def on_response_complete(self) -> None:
        if self.pipeline:  # what came meanwhile is the next exchange
            self._began_at = self.loop.time()
        super().on_response_complete()
        self._is_idle = self._is_answered and not self._is_receiving

    def send_400_response(self, msg: str) -> None:
        """Say what is wrong: the parser understands nothing, or was stopped by us."""
        self._end(TOO_LARGE if self._is_too_large else BAD_REQUEST)

    @property
    def _is_answered(self) -> bool:
        return self.cycle is not None and self.cycle.response_complete

    def _begin(self) -> None:
        self._is_idle = False
        self._began_at = self.loop.time()
        if self._clock is None:
            self._clock = self.loop.call_later(EXCHANGE_SECONDS_MAX, self._check_deadline)

    def _check_deadline(self) -> None:
        self._clock = None
        # An answer that waits to be taken is not over, though the application is done with it.
        if self._is_idle and not self.transport.get_write_buffer_size():
            return
        left = self._began_at + EXCHANGE_SECONDS_MAX - self.loop.time()
        if left > 0:
            self._clock = self.loop.call_later(left, self._check_deadline)
        else:
            self._end(self._closing_response())

    def _closing_response(self) -> bytes:
        """Return the answer that can still be sent; none within one, or before any request."""
        cycle = self.cycle
        is_answering = cycle is not None and cycle.response_started and not self._is_answered
        if is_answering or self.pipeline:
            return b""
        if self._is_receiving:
            return TOO_SLOW
        return b"" if cycle is None or self._is_answered else TOO_BUSY

    def _end(self, words: bytes) -> None:
        if not self.transport.get_write_buffer_size():
            self.transport.write(words)
        self.transport.close()
        if self.transport.get_write_buffer_size():
            self.transport.abort()  # who takes nothing would keep it open

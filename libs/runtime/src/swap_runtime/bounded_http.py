"""HTTP for a public port: httptools, with an end to what may come around a body.

httptools keeps a URL, headers and trailers however long they are, before anybody is asked.
"""

from __future__ import annotations

from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES_MAX: Final = 64 * 1024
REFUSAL: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\n"
    b"connection: close\r\n"
    b"\r\n"
)


class _HeadTooLarge(Exception):
    """Raised inside the parser, which then reads no further."""


class BoundedHttp(HttpToolsProtocol):
    """Closes a connection whose next piece of body, or end of a request, is too far away."""

    # Bytes since the read in which headers, a piece of body or a request last ended.
    _pending = 0
    _is_too_large = False

    def data_received(self, data: bytes) -> None:
        self._pending += len(data)
        super().data_received(data)
        if self._pending > HEAD_BYTES_MAX and not self.transport.is_closing():
            self._refuse()

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
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Say what is wrong when the parser was stopped by us."""
        if self._is_too_large:
            self._refuse()
        else:
            super().send_400_response(msg)

    def _refuse(self) -> None:
        self.transport.write(REFUSAL)
        self.transport.close()

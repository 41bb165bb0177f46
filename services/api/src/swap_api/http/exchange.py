"""One request and its answer, on plain ASGI."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl

from swap_api.domain.refusals import ApiRefusal, Invalid
from swap_api.http.json_body import decode_object
from swap_contracts.public.errors import ErrorCode

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

BODY_BYTES_MAX: Final = 65_536
QUERY_FIELDS_MAX: Final = 200
OK: Final = 200
BLANKS: Final = " \t"  # around a header, they are not part of it (RFC 9110, 5.5)

_SLASHES: Final = re.compile("/{2,}")
_JSON: Final = re.compile(r"\s*application/(?:[\w.+-]+\+)?json\s*(?:;.*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Answer:
    body: bytes
    status: int = OK
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    stream: AsyncIterator[bytes] | None = None  # instead of the body

    @classmethod
    def live(cls, stream: AsyncIterator[bytes]) -> Answer:
        """Answer with server-sent events, each when it happens."""
        kept_fresh = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return cls(b"", headers=kept_fresh, content_type="text/event-stream", stream=stream)

    @classmethod
    def of(cls, data: bytes, headers: Mapping[str, str] | None = None) -> Answer:
        """Put data that is ready into the envelope."""
        return cls(b'{"data":%b,"error":null}' % data, headers=headers or {})


class Request:
    """What a caller sent, repeated slashes of its path merged.

    The body is read only by those who ask for it.
    """

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._scope = scope
        self._receive = receive
        self._headers: dict[bytes, bytes] = dict(scope["headers"])
        self._query: list[tuple[str, str]] | None = None
        self._body: bytes | None = None
        self._object: Mapping[str, Any] | None = None
        self.path = _SLASHES.sub("/", scope["path"]) if "//" in scope["path"] else scope["path"]
        self.path_values: Mapping[str, str] = {}

    @property
    def method(self) -> str:
        """What is asked for: HEAD asks for what GET does, and is only answered without it."""
        return "GET" if self.is_head else str(self._scope["method"])

    @property
    def is_head(self) -> bool:
        return bool(self._scope["method"] == "HEAD")

    def header(self, name: str) -> str | None:
        """Return a header without the blanks around it, which the parser leaves behind it."""
        value = self._headers.get(name.encode())
        return None if value is None else value.decode("latin-1").strip(BLANKS)

    def lines(self, name: str) -> str:
        """Return a header to which whoever passed the request on may have added its own line."""
        key = name.encode()
        return ",".join(
            text.decode("latin-1") for known, text in self._scope["headers"] if known == key
        )

    @property
    def peer(self) -> str:
        """The address at the other end of the connection: perhaps a proxy's."""
        client = self._scope.get("client")
        return "" if client is None else str(client[0])

    @property
    def query(self) -> list[tuple[str, str]]:
        """
        :raises Invalid: when it has too many parts.
        """
        if self._query is None:
            text = self._scope["query_string"].decode("latin-1")
            try:
                self._query = (
                    parse_qsl(text, keep_blank_values=True, max_num_fields=QUERY_FIELDS_MAX)
                    if text
                    else []
                )
            except ValueError:
                raise Invalid(f"The query has more than {QUERY_FIELDS_MAX} parts") from None
        return self._query

    async def gone(self) -> None:
        """Return when the client has gone away. For who sends a body nobody reads."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def json_body(self) -> bytes:
        """Return the body, still to be parsed.

        :raises ApiRefusal: when it is too large, or says that it is no JSON.
        """
        if self._body is None:
            self._body = await self._read_body()
        return self._body

    async def json_object(self) -> Mapping[str, Any]:
        """Return the members of the body, numbers as they were written.

        :raises ApiRefusal: when it is not a JSON object, or is too large.
        """
        if self._object is None:
            self._object = decode_object(await self.json_body())
        return self._object

    async def _read_body(self) -> bytes:
        content_type = self.header("content-type")
        if content_type and not _JSON.fullmatch(content_type):
            raise ApiRefusal(
                ErrorCode.UNSUPPORTED_MEDIA_TYPE, "Send the body as JSON, as application/json"
            )
        length = self.header("content-length") or ""
        if length.isdecimal() and int(length) > BODY_BYTES_MAX:
            raise _too_large()
        parts = bytearray()
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise Invalid("The body ended before it was complete")
            parts += message.get("body", b"")
            if len(parts) > BODY_BYTES_MAX:
                raise _too_large()
            if not message.get("more_body", False):
                return bytes(parts)


def _too_large() -> ApiRefusal:
    return ApiRefusal(
        ErrorCode.PAYLOAD_TOO_LARGE, f"The body is larger than {BODY_BYTES_MAX} bytes"
    )

"""What a caller sent: Starlette's request, with what this interface reads of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

from starlette import requests
from starlette.exceptions import HTTPException

from swap_api.http.json_body import decode_object
from swap_api.model.refusals import ApiRefusal, Invalid
from swap_contracts.public.errors import ErrorCode
from swap_runtime.http.request_body import body_of

BODY_BYTES_MAX: Final = 65_536
QUERY_FIELDS_MAX: Final = 200
BLANKS: Final = " \t"  # around a header, they are not part of it (RFC 9110, 5.5)

_JSON: Final = re.compile(r"\s*application/(?:[\w.+-]+\+)?json\s*(?:;.*)?", re.IGNORECASE)


class Request(requests.Request):
    """One object for all parts that serve a request: the query and the body are read once."""

    _json_body: bytes | None = None
    _json_object: Mapping[str, Any] | None = None

    @property
    def path(self) -> str:
        """The path as it is sent, without `root_path` and the query."""
        path: str = self.scope["path"]
        return path

    def header(self, name: str) -> str | None:
        """Return a header without the blanks around it, which the parser leaves behind it."""
        value = self.headers.get(name)
        return None if value is None else value.strip(BLANKS)

    @property
    def peer(self) -> str:
        """The address at the other end of the connection: perhaps a proxy's."""
        return "" if self.client is None else self.client.host

    @cached_property
    def query(self) -> list[tuple[str, str]]:
        """
        :raises Invalid: when it has too many parts.
        """
        parts = self.query_params.multi_items()
        if len(parts) > QUERY_FIELDS_MAX:
            raise Invalid(f"The query has more than {QUERY_FIELDS_MAX} parts")
        return parts

    @property
    def received_body(self) -> bytes | None:
        """The body, where something has read it."""
        return self._json_body

    async def json_body(self) -> bytes:
        """Return the body, still to be parsed.

        :raises ApiRefusal: when it is too large, or its content type is not JSON.
        """
        if self._json_body is None:
            self._json_body = await self._read_body()
        return self._json_body

    async def json_object(self) -> Mapping[str, Any]:
        """Return the members of the body, numbers as they were written.

        :raises ApiRefusal: when it is not a JSON object, or is too large.
        """
        if self._json_object is None:
            self._json_object = decode_object(await self.json_body())
        return self._json_object

    async def _read_body(self) -> bytes:
        content_type = self.header("content-type")
        if content_type and not _JSON.fullmatch(content_type):
            raise ApiRefusal(
                ErrorCode.UNSUPPORTED_MEDIA_TYPE, "Send the body as JSON, as application/json"
            )
        try:
            return await body_of(self, bytes_max=BODY_BYTES_MAX)
        except HTTPException:
            raise ApiRefusal(
                ErrorCode.PAYLOAD_TOO_LARGE, f"The body is larger than {BODY_BYTES_MAX} bytes"
            ) from None
        except requests.ClientDisconnect:
            raise Invalid("The body ended before it was complete") from None

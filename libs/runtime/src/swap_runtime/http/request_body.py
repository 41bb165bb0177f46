"""Reads the body of a request up to a bound."""

from __future__ import annotations

from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request


async def body_of(request: Request, *, bytes_max: int) -> bytes:
    """Return the body.

    :raises HTTPException: 413, as soon as it is known to be larger than `bytes_max`.
    :raises ClientDisconnect: when the client went away before the end of it.
    """
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > bytes_max:
        raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > bytes_max:
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    return bytes(body)

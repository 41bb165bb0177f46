"""Conditional answers: 304 for callers that have the current one."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from starlette.responses import Response

from swap_api.http.requests import Request
from swap_api.http.responses import data_response

NOT_MODIFIED: Final = 304
TAG_BYTES: Final = 12
# Only the client stores it, and it revalidates every time.
REVALIDATED: Final = "private, no-cache"


def conditional(request: Request, data: bytes) -> Response:
    """Return the data, or 304 if the caller has it."""
    tag = f'"{blake2b(data, digest_size=TAG_BYTES).hexdigest()}"'
    headers = {"etag": tag, "cache-control": REVALIDATED}
    known = request.header("if-none-match")
    if known is not None and _names(known, tag):
        return Response(status_code=NOT_MODIFIED, headers=headers)
    return data_response(data, headers)


def _names(known: str, tag: str) -> bool:
    """Return whether a list of tags has this one; a proxy may have marked it as weak."""
    tags = (one.strip().removeprefix("W/") for one in known.split(","))
    return any(one in (tag, "*") for one in tags)

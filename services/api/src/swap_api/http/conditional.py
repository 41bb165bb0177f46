"""Answers that need not be sent again to who has them already."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from swap_api.http.exchange import Answer, Request

NOT_MODIFIED: Final = 304
TAG_BYTES: Final = 12
# Kept by whoever asked and nobody in between, and asked for anew every time.
KEPT: Final = "private, no-cache"


def conditional(request: Request, data: bytes) -> Answer:
    """Return what is asked for, or only that it is what the caller has."""
    tag = f'"{blake2b(data, digest_size=TAG_BYTES).hexdigest()}"'
    headers = {"etag": tag, "cache-control": KEPT}
    known = request.header("if-none-match")
    if known is not None and _names(known, tag):
        return Answer(b"", NOT_MODIFIED, headers)
    return Answer.of(data, headers)


def _names(known: str, tag: str) -> bool:
    """Tell whether a list of tags has this one; what came through a proxy may be marked weak."""
    tags = (one.strip().removeprefix("W/") for one in known.split(","))
    return any(one in (tag, "*") for one in tags)

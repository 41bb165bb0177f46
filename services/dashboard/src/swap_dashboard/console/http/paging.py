"""Where a list of the console goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.requests import Request

DIGITS_MAX: Final = 18  # every id is a bigint


def before_of(request: Request) -> Mapping[str, str]:
    """Return the query for rows before the id of the address; none where it has no id."""
    text = request.query_params.get("before", "")
    is_id = text.isascii() and text.isdecimal() and len(text) <= DIGITS_MAX
    return {"before": text} if is_id else {}

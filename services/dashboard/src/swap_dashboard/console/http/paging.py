"""Where a list of the console goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

from starlette.requests import Request

DIGITS_MAX: Final = 18  # every id is a bigint
PAGE_SIZE: Final = 50
# Parameters that name the last row of the previous page; each list has some of them.
PLACE: Final = ("after", "after_at", "after_id", "after_address", "after_network")


def before_of(request: Request) -> Mapping[str, str]:
    """Return the query for rows before the id of the address; none where it has no id."""
    text = request.query_params.get("before", "")
    is_id = text.isascii() and text.isdecimal() and len(text) <= DIGITS_MAX
    return {"before": text} if is_id else {}


def page_query(request: Request, *, prefix: str = "") -> Mapping[str, str]:
    """Return the query for one page of a list, from the place in the address on.

    :param prefix: of the names of the list's place, on a page with several lists.
    """
    return {"limit": str(PAGE_SIZE), **_place_of(request, prefix)}


def next_page(
    request: Request,
    content: Mapping[str, Any],
    *,
    prefix: str = "",
    others: Mapping[str, str] | None = None,
) -> str:
    """Return the address of the following rows; empty where none follow.

    :param content: the answer with the rows, and with the query of the following ones.
    :param others: what else the address has, as the place of another list of the page.
    """
    following = content.get("next")
    if not following:
        return ""
    place = {f"{prefix}{name}": value for name, value in following.items() if value}
    return f"{request.url.path}?{urlencode({**(others or {}), **place})}"


def place_in_address(request: Request, prefix: str) -> Mapping[str, str]:
    """Return the place of a list as it is in the address."""
    return {f"{prefix}{name}": value for name, value in _place_of(request, prefix).items()}


def _place_of(request: Request, prefix: str) -> Mapping[str, str]:
    found = {name: request.query_params.get(f"{prefix}{name}", "") for name in PLACE}
    return {name: value for name, value in found.items() if value}

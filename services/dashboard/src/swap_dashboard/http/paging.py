"""Lists by pages, where the api has no other way through them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from starlette.requests import Request

from swap_dashboard.ports import Answered

DIGITS_MAX: Final = 5


@dataclass(frozen=True, slots=True)
class Page:
    """Where the pages around this one are."""

    before: str | None
    after: str | None
    before_text: str = "Newer"

    @classmethod
    def of(
        cls,
        path: str,
        number: int,
        answered: Answered,
        filters: Mapping[str, str] | None = None,
    ) -> Page:
        """
        :param filters: what the addresses of the other pages say, too.
        """

        def link(page: int) -> str:
            return f"{path}?{urlencode({**(filters or {}), 'page': page})}"

        return cls(
            link(number - 1) if number > 1 else None,
            link(number + 1) if answered.has_more else None,
        )

    @classmethod
    def behind(cls, path: str, after: str, listed: Answered) -> Page:
        """Return the pages around one of a list whose pages begin behind a row.

        :param after: the row that this page begins behind; empty on the first one.
        """
        following = None
        if listed.has_more:
            following = f"{path}?{urlencode({'starting_after': listed.data[-1]['id']})}"
        return cls(path if after else None, following, "Newest")


def page_of(request: Request) -> int:
    """Return the number of the address; the first where it is none."""
    text = request.query_params.get("page", "")
    is_number = text.isascii() and text.isdecimal() and len(text) <= DIGITS_MAX
    return max(1, int(text)) if is_number else 1


def filtered_link(path: str, filters: Mapping[str, Any], **more: str) -> str:
    """Return the link to a list with its filters, from the first row on by default."""
    shown = {**filters, "starting_after": "", **more}
    return f"{path}?{urlencode({k: v for k, v in shown.items() if v}, doseq=True)}"

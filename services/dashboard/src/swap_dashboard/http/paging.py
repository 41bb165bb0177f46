"""Pages of lists, and the links between them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from starlette.requests import Request

from swap_dashboard.ports import ApiAnswer

PLACE: Final = re.compile(r"[A-Za-z0-9_-]{1,400}")


@dataclass(frozen=True, slots=True)
class Page:
    """Where the pages around this one are."""

    before: str | None
    after: str | None
    before_text: str = "Newer"

    @classmethod
    def behind(
        cls, path: str, after: str, listed: ApiAnswer, filters: Mapping[str, str] | None = None
    ) -> Page:
        """Return the pages around one of a list whose pages begin behind a place.

        :param after: the place that this page begins behind; empty on the first one.
        :param filters: what the addresses of the other pages say, too.
        """
        known = filters or {}
        first = filtered_link(path, known) if known else path
        following = None
        if listed.has_more:
            place = listed.next or listed.data[-1]["id"]
            following = filtered_link(path, known, starting_after=str(place))
        return cls(first if after else None, following, "Newest")


def place_of(request: Request) -> str:
    """Return the place that the address names; empty where it is none."""
    text = request.query_params.get("starting_after", "")
    return text if PLACE.fullmatch(text) else ""


def filtered_link(path: str, filters: Mapping[str, Any], **more: str) -> str:
    """Return the link to a list with its filters, from the first row on by default."""
    shown = {**filters, "starting_after": "", **more}
    return f"{path}?{urlencode({k: v for k, v in shown.items() if v}, doseq=True)}"

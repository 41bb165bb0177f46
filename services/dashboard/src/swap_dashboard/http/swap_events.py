"""A swap's events: as the api streams them, and as a timeline."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from itertools import pairwise, zip_longest
from typing import Any, Final

from starlette.requests import Request

from swap_dashboard.http.rendering import to_moment
from swap_dashboard.ports import ApiRefused, ApiUnavailable

EVENT_ID: Final = re.compile(r"\d{1,18}")


def last_event_id(request: Request) -> str:
    """Return which event a browser has read last; empty where it names none."""
    last = request.headers.get("last-event-id", "")
    return last if EVENT_ID.fullmatch(last) else ""


async def until_stream_ends(events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Pass events on until the api ends its stream, or goes away."""
    try:
        async for piece in events:
            yield piece
    except (ApiUnavailable, ApiRefused):
        return  # the browser comes again


def timeline_of(events: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the events, and how long each state lasted until the next event.

    An event has no cause where it is older than the causes, or the api than this dashboard.
    """
    spans = [to_moment(after["at"]) - to_moment(before["at"]) for before, after in pairwise(events)]
    return [
        {**event, "moved": is_move(event), "cause": event.get("cause"), "lasted": lasted}
        for event, lasted in zip_longest(events, spans)
    ]


def is_move(event: Mapping[str, Any]) -> bool:
    """Whether the swap got another status."""
    return bool(event["type"] != "swap.updated")

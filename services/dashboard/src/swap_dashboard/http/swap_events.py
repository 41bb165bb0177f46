"""A swap's events: as the api streams them, and as a timeline."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from itertools import pairwise, zip_longest
from typing import Any, Final

from starlette.requests import Request

from swap_dashboard.http.rendering import to_moment
from swap_dashboard.ports import ApiAway, ApiRefused

EVENT_ID: Final = re.compile(r"\d{1,18}")
# Who made a swap move, by its statuses before and after. Moves that the service, a user and an
# operator can all cause are not here: the api does not say which of them did.
ACTORS: Final[Mapping[tuple[str | None, str], str]] = {
    (None, "user_transfer_pending"): "the app",
    ("user_transfer_pending", "ls_transfer_pending"): "the user's deposit",
    ("user_transfer_pending", "expired"): "the service, at the deadline",
    ("ls_transfer_pending", "user_transfer_pending"): "the network, by a reorg",
    ("ls_transfer_pending", "completed"): "the service's payout",
    ("pending_refund", "refunded"): "the service's refund",
}


def last_event_id(request: Request) -> str:
    """Return which event a browser has read last; empty where it names none."""
    last = request.headers.get("last-event-id", "")
    return last if EVENT_ID.fullmatch(last) else ""


async def until_away(events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Pass events on until the api ends its stream, or goes away."""
    try:
        async for piece in events:
            yield piece
    except (ApiAway, ApiRefused):
        return  # the browser comes again


def timeline_of(events: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the events with who acted, and how long each state lasted until the next event."""
    spans = [to_moment(after["at"]) - to_moment(before["at"]) for before, after in pairwise(events)]
    return [
        {**event, "moved": is_move(event), "actor": actor_of(event), "lasted": lasted}
        for event, lasted in zip_longest(events, spans)
    ]


def actor_of(event: Mapping[str, Any]) -> str | None:
    """Return who caused an event; None where the api does not say it."""
    return ACTORS.get((event["from_status"], event["to_status"]))


def is_move(event: Mapping[str, Any]) -> bool:
    """Whether the swap got another status."""
    return bool(event["type"] != "swap.updated")

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
# What moved a swap, by its statuses before and after. Who did it is not known: anybody may pay, and
# a key's holder, a member or an operator may send the request. A move that has several causes is
# not here.
CAUSES: Final[Mapping[tuple[str | None, str], str]] = {
    (None, "user_transfer_pending"): "a request to the API",
    ("user_transfer_pending", "ls_transfer_pending"): "a confirmed deposit",
    ("user_transfer_pending", "expired"): "the end of the time for a deposit",
    ("ls_transfer_pending", "user_transfer_pending"): "a reorg of the deposit",
    ("pending_refund", "user_transfer_pending"): "a reorg of the deposit",
    ("ls_transfer_pending", "completed"): "a confirmed payout",
    ("failed", "pending_refund"): "a refund address",
    ("pending_refund", "refunded"): "a confirmed refund",
}


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
    """Return the events with their causes, and how long each state lasted until the next event."""
    spans = [to_moment(after["at"]) - to_moment(before["at"]) for before, after in pairwise(events)]
    return [
        {**event, "moved": is_move(event), "cause": cause_of(event), "lasted": lasted}
        for event, lasted in zip_longest(events, spans)
    ]


def cause_of(event: Mapping[str, Any]) -> str | None:
    """Return what caused an event; None where its statuses do not say it."""
    return CAUSES.get((event["from_status"], event["to_status"]))


def is_move(event: Mapping[str, Any]) -> bool:
    """Whether the swap got another status."""
    return bool(event["type"] != "swap.updated")

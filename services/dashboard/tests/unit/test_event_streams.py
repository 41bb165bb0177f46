"""A stream ends as soon as the browser's right to it is gone."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from itertools import count
from typing import Any

from swap_dashboard.http.event_streams import open_stream
from swap_dashboard.http.stream_slots import StreamSlots


async def endless() -> AsyncGenerator[bytes, None]:
    for number in count(1):
        yield b"%d " % number


async def test_stream_ends_and_releases_its_slot_once_the_right_is_revoked() -> None:
    slots, rights, sent = StreamSlots(per_holder=1), iter([True, True, False]), []

    async def is_permitted() -> bool:
        return next(rights)

    async def send(message: Any) -> None:
        sent.append(message.get("body", b""))

    stream = await open_stream(endless(), slots, "ada", is_permitted=is_permitted)
    await stream({"type": "http", "asgi": {"spec_version": "2.4"}}, _never, send)

    assert b"".join(sent) == b"1 2 3 "
    assert slots.take("ada")  # the slot is given back


async def _never() -> Any:
    raise AssertionError("nothing is read of the browser")

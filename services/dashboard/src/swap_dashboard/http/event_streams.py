"""Event streams of the api, passed on to browsers.

The api checks the right to a stream when it is opened, and ends it after half a minute. The
browser's right is checked before each piece: the api sends one at least every five seconds.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from swap_dashboard.http.stream_slots import StreamSlots
from swap_dashboard.http.swap_events import until_stream_ends

PermissionCheck = Callable[[], Awaitable[bool]]


class TooManyStreams(Exception):
    """As many event streams are open as may be, of one payer or in all."""


class EventStream(StreamingResponse):
    """Events as they come, until the api ends its stream or the browser's right to it is gone.

    Then its slot is released.
    """

    def __init__(
        self,
        first: bytes,
        events: AsyncGenerator[bytes, None],
        release: Callable[[], None],
        is_permitted: PermissionCheck | None,
    ) -> None:
        super().__init__(_from_first(first, events, is_permitted), media_type="text/event-stream")
        self._events = events
        self._release = release

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Not in the generator: it is never started for a browser that left before.
        try:
            await super().__call__(scope, receive, send)
        finally:
            try:
                await self._events.aclose()
            finally:
                self._release()


async def open_stream(
    events: AsyncGenerator[bytes, None],
    slots: StreamSlots,
    holder: str,
    *,
    is_permitted: PermissionCheck | None = None,
) -> EventStream:
    """Take a slot and pass events on.

    The first piece is read before the answer begins, so that a refusal has its own status.

    :param holder: who holds the slot: an address, or an account.
    :param is_permitted: checks the right to the stream before each piece; None where the api's
        check is the only one.
    :raises TooManyStreams: when no slot is left.
    :raises ApiRefused: when the api refuses.
    :raises ApiUnavailable: when it does not answer.
    """
    if not slots.take(holder):
        raise TooManyStreams

    def release() -> None:
        slots.release(holder)

    try:
        first = await anext(events, b"")
    except BaseException:
        release()
        raise
    return EventStream(first, events, release, is_permitted)


async def _from_first(
    first: bytes, events: AsyncIterator[bytes], is_permitted: PermissionCheck | None
) -> AsyncIterator[bytes]:
    yield first
    async for piece in until_stream_ends(events):
        if is_permitted is not None and not await is_permitted():
            return
        yield piece

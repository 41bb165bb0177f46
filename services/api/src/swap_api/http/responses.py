"""Responses of ready bytes, in the envelope that every answer has."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Final

from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

LIVE: Final = "text/event-stream"
# With a content type that is given here, Starlette adds no charset: these are always UTF-8.
EVENT_STREAM: Final = {
    "content-type": LIVE,
    "cache-control": "no-store",
    "x-accel-buffering": "no",
}

# Set by answers that show a credential, so that they never depend on the default of the others.
NO_STORE: Final = {"cache-control": "no-store"}


class JsonResponse(Response):
    """JSON that is bytes already."""

    media_type = "application/json"


class EventStreamResponse(StreamingResponse):
    """Server-sent events, each when it happens."""

    def __init__(self, events: AsyncIterator[bytes]) -> None:
        super().__init__(events, headers=EVENT_STREAM)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "HEAD":  # the stream may have no end
            self.body_iterator = _each(())
        await super().__call__(scope, receive, send)


class CollectedResponse:
    """What an application sends, kept until it is known whether the client gets it."""

    def __init__(self) -> None:
        self._messages: list[Message] = []

    async def __call__(self, message: Message) -> None:
        self._messages.append(message)

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self._messages)

    async def send_to(self, send: Send) -> None:
        for message in self._messages:
            await send(message)

    def response(self) -> Response:
        """Return it as a response that has not been sent."""
        start = self._messages[0]
        response = Response(self.body, start["status"])
        response.raw_headers = list(start["headers"])
        return response


def data_response(data: bytes, headers: Mapping[str, str] | None = None) -> JsonResponse:
    """Put data that is ready into the envelope."""
    return JsonResponse(b'{"data":%b,"error":null}' % data, headers=headers)


async def _each(events: Iterable[bytes]) -> AsyncIterator[bytes]:
    for event in events:
        yield event

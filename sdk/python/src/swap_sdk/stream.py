"""A swap's events as they happen: server-sent events, line by line."""

from __future__ import annotations

import json
from typing import Any, Final, cast

import httpx

from swap_sdk.models import SwapEvent

ACCEPT: Final = "text/event-stream"
# The service ends a stream after some time; a client reconnects with its last event's id.
COME_AGAIN_SECONDS: Final = 1.0
# A stream carries a line at least every ten seconds.
TIMEOUT: Final = httpx.Timeout(10.0, read=30.0)


class EventReader:
    """Reads one swap's events, each once."""

    def __init__(self, after: int) -> None:
        self.last = after

    def headers(self) -> dict[str, str]:
        return {"Accept": ACCEPT, "Last-Event-ID": str(self.last)}

    def read(self, line: str) -> SwapEvent | None:
        """Return the event of a line; None where it has none, or a repeated one."""
        if not line.startswith("data:"):
            return None
        event: Any = json.loads(line.removeprefix("data:"))
        if event["sequence"] <= self.last:
            return None
        self.last = event["sequence"]
        return cast(SwapEvent, event)

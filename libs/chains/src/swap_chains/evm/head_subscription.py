"""A node's word over WebSocket that there is a new head: a wake-up, never the truth."""

from __future__ import annotations

import asyncio
from typing import Final

import aiohttp
import orjson

from swap_chains.evm.rpc import Backoff

_SUBSCRIBE: Final = orjson.dumps(
    {"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": ["newHeads"]}
).decode()


async def wake_on_heads(
    url: str, session: aiohttp.ClientSession, wake_event: asyncio.Event
) -> None:
    """Set `news` at every new head, for ever. A lost connection only means to wait for polls."""
    backoff = Backoff(0.2, 15.0)
    failures = 0
    while True:
        try:
            async with session.ws_connect(url, heartbeat=20.0) as socket:
                await socket.send_str(_SUBSCRIBE)
                async for message in socket:
                    if message.type is aiohttp.WSMsgType.TEXT:
                        failures = 0
                        wake_event.set()
        except (aiohttp.ClientError, TimeoutError, OSError):
            pass
        await asyncio.sleep(backoff.seconds(failures))
        failures += 1

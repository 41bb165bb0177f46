"""Swaps, refusals and page views: the dashboards' data of a stack in use."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from typing import Final

import httpx

from tests.e2e.outside import Outside, Route, new_address
from tests.plugins.stack import Stack

ROUTES: Final = (
    Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.1"),
    Route("BASE_DEVNET", "ETH", "POLYGON_DEVNET", "POL", "0.01"),
)
REFUSED: Final = Route("BASE_DEVNET", "DAI", "POLYGON_DEVNET", "POL", "20")  # `stack.CLOSED`
PAUSE_SECONDS: Final = 1.0


@asynccontextmanager
async def traffic(stack: Stack, outside: Outside) -> AsyncIterator[None]:
    """Use the stack while the context is open."""
    pages = [str(stack.description[site]["url"]) for site in ("dashboard", "console")]
    task = asyncio.create_task(_use(outside, pages))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _use(outside: Outside, pages: list[str]) -> None:
    partner = outside.partner()
    async with httpx.AsyncClient(timeout=10, verify=False) as client:
        while True:
            for route in ROUTES:
                await outside.swap(route)
                await partner.get("/quote", **asdict(route))
                body = {**asdict(REFUSED), "destination_address": new_address()}
                await partner.ask("POST", "/swaps", json=body)
                for page in pages:
                    await client.get(f"{page}/sign-in")
                await asyncio.sleep(PAUSE_SECONDS)

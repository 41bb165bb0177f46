"""Wait until the money that was sent to the Treasuries can be quoted."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import aiohttp

from swap_stack.daemon import StackError
from swap_stack.waiting import last_problem

READY_SECONDS = 60.0
POLL_SECONDS = 0.1
TIMEOUT = aiohttp.ClientTimeout(total=5)


async def wait_until_quoted(stack: Mapping[str, Any]) -> None:
    """Ask for a swap into every token of every network, as a partner would.

    :raises StackError: with the last refusal, when there is no quote in a minute.
    """
    networks = stack["networks"]
    async with aiohttp.ClientSession(timeout=TIMEOUT) as session:
        for source, destination in zip(networks, [*networks[1:], networks[0]], strict=True):
            for token in destination["tokens"]:
                query = {
                    "source_network": source["name"],
                    "source_token": source["tokens"][0]["symbol"],
                    "destination_network": destination["name"],
                    "destination_token": token["symbol"],
                }
                find_refusal = partial(_refusal, session, stack, query)
                refusal = await last_problem(find_refusal, within=READY_SECONDS, every=POLL_SECONDS)
                if refusal:
                    raise StackError(f"{token['symbol']} on {destination['name']}: {refusal}")


async def _refusal(
    session: aiohttp.ClientSession, stack: Mapping[str, Any], query: Mapping[str, str]
) -> str | None:
    """Return why there is no quote for a small amount, or None where there is one."""
    headers = {"X-SVC-APIKEY": stack["partners"][0]["api_key"]}
    url = f"{stack['gateway']['url']}/api/v2/limits"
    async with session.get(url, params=query, headers=headers) as answer:
        limits = await answer.json()
        if limits.get("error"):
            return str(limits["error"]["message"])
    amount = str(limits["data"]["min_amount"])
    url = f"{stack['gateway']['url']}/api/v2/quote"
    async with session.get(url, params={**query, "amount": amount}, headers=headers) as answer:
        error = (await answer.json()).get("error")
        return str(error["message"]) if error else None

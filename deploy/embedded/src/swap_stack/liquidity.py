"""Wait until the money that was sent to the Treasuries can be quoted."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from swap_sdk import ApiError, AsyncClient
from swap_sdk.calls import Route
from swap_stack.daemon import StackError
from swap_stack.waiting import last_problem

READY_SECONDS = 60.0
POLL_SECONDS = 0.1


async def wait_until_quoted(stack: Mapping[str, Any]) -> None:
    """Ask for a swap into every token of every network, as a partner would.

    :raises StackError: with the last refusal, when there is no quote in a minute.
    """
    networks = stack["networks"]
    async with AsyncClient(stack["gateway"]["url"], stack["partners"][0]["api_key"]) as client:
        for source, destination in zip(networks, [*networks[1:], networks[0]], strict=True):
            for token in destination["tokens"]:
                route: Route = {
                    "source_network": source["name"],
                    "source_token": source["tokens"][0]["symbol"],
                    "destination_network": destination["name"],
                    "destination_token": token["symbol"],
                }
                find_refusal = partial(_refusal, client, route)
                refusal = await last_problem(find_refusal, within=READY_SECONDS, every=POLL_SECONDS)
                if refusal:
                    raise StackError(f"{token['symbol']} on {destination['name']}: {refusal}")


async def _refusal(client: AsyncClient, route: Route) -> str | None:
    """Return why there is no quote for a small amount, or None where there is one."""
    try:
        limits = await client.limits(**route)
        await client.quote(amount=str(limits["min_amount"]), **route)
    except ApiError as refusal:
        return refusal.message
    return None

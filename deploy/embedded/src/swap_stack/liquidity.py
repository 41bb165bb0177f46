"""Wait until the money that was sent to the Treasuries can be quoted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from swap_sdk import ApiError, AsyncClient
from swap_sdk.calls import Route
from swap_stack.daemon import StackError
from swap_stack.waiting import last_problem

READY_SECONDS = 180.0
POLL_SECONDS = 0.1


async def wait_until_quoted(stack: Mapping[str, Any]) -> None:
    """Ask for a swap into every token of every network, as a partner would.

    :raises StackError: with the last refusal, when a quote is missing after three minutes.
    """
    async with AsyncClient(stack["gateway"]["url"], stack["partners"][0]["api_key"]) as client:
        find = partial(_first_refusal, client, _routes(stack["networks"]))
        refusal = await last_problem(find, within=READY_SECONDS, every=POLL_SECONDS)
    if refusal:
        raise StackError(refusal)


def _routes(networks: Sequence[Mapping[str, Any]]) -> list[Route]:
    """Return a route into every token, each from the network before its own."""
    return [
        {
            "source_network": source["name"],
            "source_token": source["tokens"][0]["symbol"],
            "destination_network": destination["name"],
            "destination_token": token["symbol"],
        }
        for source, destination in zip(networks, [*networks[1:], networks[0]], strict=True)
        for token in destination["tokens"]
    ]


async def _first_refusal(client: AsyncClient, waiting: list[Route]) -> str | None:
    """Take the routes away that are quoted, and return why the first of the others is not."""
    while waiting:
        if refusal := await _refusal(client, waiting[0]):
            token, network = waiting[0]["destination_token"], waiting[0]["destination_network"]
            return f"{token} on {network}: {refusal}"
        waiting.pop(0)
    return None


async def _refusal(client: AsyncClient, route: Route) -> str | None:
    """Return why there is no quote for a small amount, or None where there is one."""
    try:
        limits = await client.limits(**route)
        await client.quote(amount=str(limits["min_amount"]), **route)
    except ApiError as refusal:
        return refusal.message
    return None

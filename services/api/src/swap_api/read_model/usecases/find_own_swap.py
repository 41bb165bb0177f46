from __future__ import annotations

from uuid import UUID

from swap_api.model.keys import Caller
from swap_api.model.refusals import NotFound
from swap_api.read_model.store.swaps import PostgresSwaps
from swap_api.read_model.swaps import StoredSwap


async def find_own_swap(swaps: PostgresSwaps, caller: Caller, swap_id: UUID) -> StoredSwap:
    """Return a swap of the caller's app: the one place that separates tenants by id.

    :raises NotFound: for an unknown id and for one of another tenant alike.
    """
    stored = await swaps.find(swap_id)
    if stored is None or stored.app_id != caller.app_id:
        raise NotFound
    return stored

from __future__ import annotations

from uuid import UUID

from swap_api.management.decide.listing import Row
from swap_api.management.usecases.manage_webhooks import ManageWebhooks
from swap_api.model.keys import Caller
from swap_api.model.members import Actor
from swap_api.read_model.store.swaps import PostgresSwaps
from swap_api.read_model.usecases.find_own_swap import find_own_swap


class ListSwapMessages:
    """List the webhook messages about a swap of an app's."""

    def __init__(self, swaps: PostgresSwaps, manage_webhooks: ManageWebhooks) -> None:
        self._swaps = swaps
        self._webhooks = manage_webhooks

    async def __call__(self, caller: Caller, swap_id: UUID, *, actor: Actor) -> list[Row]:
        """
        :param caller: the app, as its own secret key would be.
        :raises NotFound: for an unknown id and for another app's alike.
        """
        await find_own_swap(self._swaps, caller, swap_id)
        return await self._webhooks.messages_of_swap(caller.app_id, swap_id, actor=actor)

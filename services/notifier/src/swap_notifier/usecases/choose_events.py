from __future__ import annotations

from uuid import UUID

from swap_notifier import observe
from swap_notifier.adapters.endpoints import PostgresEndpoints
from swap_notifier.domain.endpoints import Endpoint


class ChooseEvents:
    """Change which events are sent to an endpoint; messages that exist stay."""

    def __init__(self, endpoints: PostgresEndpoints) -> None:
        self._endpoints = endpoints

    async def __call__(
        self, endpoint_id: UUID, *, wants_updates: bool, wants_notices: bool
    ) -> Endpoint | None:
        """Return the endpoint as it is then; None for an unknown one."""
        changed = await self._endpoints.choose_events(
            endpoint_id, wants_updates=wants_updates, wants_notices=wants_notices
        )
        if changed is not None:
            observe.endpoint_changed(endpoint_id, "events chosen")
        return changed

"""Lists endpoints, and what was sent about a swap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from swap_notifier.domain.endpoints import Endpoint
from swap_notifier.ports import Endpoints, Messages


class ListSent:
    def __init__(self, endpoints: Endpoints, messages: Messages) -> None:
        self._endpoints = endpoints
        self._messages = messages

    async def endpoints(self, app_id: UUID | None) -> Sequence[Endpoint]:
        return await self._endpoints.list_endpoints(app_id)

    async def messages(self, swap_id: UUID) -> Sequence[Mapping[str, Any]]:
        return await self._messages.list_of_swap(swap_id)

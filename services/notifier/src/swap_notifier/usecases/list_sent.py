"""Lists endpoints, and what was sent: about a swap, to an endpoint, in every attempt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from swap_notifier.adapters.endpoints import PostgresEndpoints
from swap_notifier.adapters.messages import PostgresMessages
from swap_notifier.domain.endpoints import Endpoint
from swap_notifier.domain.listing import MessagePage, Window


class ListSent:
    def __init__(self, endpoints: PostgresEndpoints, messages: PostgresMessages) -> None:
        self._endpoints = endpoints
        self._messages = messages

    async def endpoints(self, app_id: UUID | None) -> Sequence[Endpoint]:
        return await self._endpoints.list_endpoints(app_id)

    async def endpoint(self, endpoint_id: UUID) -> Endpoint | None:
        return await self._endpoints.find(endpoint_id)

    async def message(self, message_id: str) -> Mapping[str, Any] | None:
        return await self._messages.find(message_id)

    async def of_swap(self, swap_id: UUID, *, app_id: UUID | None) -> Sequence[Mapping[str, Any]]:
        """
        :param app_id: the app of the messages; None for an operator.
        """
        return await self._messages.list_of_swap(swap_id, app_id=app_id)

    async def figures(self, app_id: UUID, *, since: datetime) -> Sequence[Mapping[str, Any]]:
        """Return for each endpoint of an app how many messages got through since then."""
        return await self._messages.count(app_id, since=since)

    async def of_endpoint(
        self,
        endpoint_id: UUID,
        window: Window,
        *,
        since: datetime,
        until: datetime | None = None,
        undelivered_only: bool,
        delivered_only: bool = False,
        oldest_first: bool = False,
    ) -> MessagePage | None:
        """Return a part of what was sent to it; None for an unknown endpoint."""
        return await self._messages.list_of_endpoint(
            endpoint_id,
            window,
            since=since,
            until=until,
            undelivered_only=undelivered_only,
            delivered_only=delivered_only,
            oldest_first=oldest_first,
        )

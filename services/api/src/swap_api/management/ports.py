"""What managing organizations needs from the outside."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from swap_api.management.decide.bounds import Bound
from swap_api.management.decide.listing import Part, Row, Window


class WebhookEndpoints(Protocol):
    """Webhook endpoints, which the notifier keeps.

    Every method raises Unavailable when it does not answer in time.
    """

    async def list_all(self, app_id: UUID) -> Sequence[Row]: ...

    async def find(self, endpoint_id: UUID) -> Row:
        """
        :raises NotFound: when there is no such endpoint.
        """
        ...

    async def add(self, app_id: UUID, settings: Row, *, bound: Bound | None) -> Row:
        """
        :raises ApiRefusal: when the address is not allowed, the app is at its bound of endpoints,
            or an operator disabled one with the same URL.
        """
        ...

    async def order(self, endpoint_id: UUID, what: str, details: Row) -> Row:
        """Have something done with an endpoint: `events`, `rotate`, `disable`, `enable`, `remove`,
        `test` or `replay`.

        :raises ApiRefusal: when it cannot be done.
        """
        ...

    async def replay(self, endpoint_id: UUID, message_id: str) -> Row:
        """Have one message of an endpoint sent again.

        :raises NotFound: when it has no such message, or is disabled.
        """
        ...

    async def messages(self, endpoint_id: UUID, filters: Row, window: Window) -> Part:
        """
        :raises NotFound: when there is no such endpoint.
        :raises Invalid: when the window begins at no place of this list.
        """
        ...

    async def message(self, endpoint_id: UUID, message_id: str) -> Row:
        """Return one message with its body and its latest attempts.

        :raises NotFound: when the endpoint has no such message.
        """
        ...

    async def figures(self, app_id: UUID, *, since: datetime) -> Sequence[Row]:
        """Return for each endpoint of an app how many of its messages got through since then."""
        ...

    async def messages_of_swap(self, app_id: UUID, swap_id: UUID) -> Sequence[Row]:
        """Return an app's messages about a swap, oldest first; none where it has none."""
        ...

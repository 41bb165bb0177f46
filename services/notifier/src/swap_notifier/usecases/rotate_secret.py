"""Gives an endpoint a new secret; the old one goes on beside it for a while."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from swap_notifier import observe
from swap_notifier.adapters.endpoints import PostgresEndpoints
from swap_notifier.domain.endpoints import OVERLAP, SECRET_BYTES, to_secret
from swap_runtime.clock import Clock


class RotateSecret:
    def __init__(
        self, endpoints: PostgresEndpoints, *, clock: Clock, random_bytes: Callable[[int], bytes]
    ) -> None:
        self._endpoints = endpoints
        self._clock = clock
        self._random_bytes = random_bytes

    async def __call__(self, endpoint_id: UUID) -> str | None:
        """Return the new secret, which is never shown again; None for an unknown endpoint."""
        secret = to_secret(self._random_bytes(SECRET_BYTES))
        now = self._clock()
        if not await self._endpoints.rotate(
            endpoint_id, secret=secret, at=now, until=now + OVERLAP
        ):
            return None
        observe.endpoint_changed(endpoint_id, "secret rotated")
        return secret

"""Disables, enables and removes endpoints, by order of their owner or an operator."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from swap_notifier import observe
from swap_notifier.adapters.endpoints import PostgresEndpoints
from swap_notifier.domain.outcomes import DisabledReason
from swap_runtime.clock import Clock

By = Literal[DisabledReason.OPERATOR, DisabledReason.OWNER]


class SwitchEndpoints:
    def __init__(self, endpoints: PostgresEndpoints, *, clock: Clock) -> None:
        self._endpoints = endpoints
        self._clock = clock

    async def disable(self, endpoint_id: UUID, *, by: By = DisabledReason.OPERATOR) -> bool:
        """Send nothing more there; False for an unknown endpoint."""
        reason = DisabledReason(by)
        is_done = await self._endpoints.disable(endpoint_id, reason=reason, at=self._clock())
        if is_done:
            observe.endpoint_disabled(endpoint_id, reason)
        return is_done

    async def enable(self, endpoint_id: UUID, *, by: By = DisabledReason.OPERATOR) -> bool:
        """Send there what happens from now on; False for an unknown endpoint.

        :raises DisabledByOperator: when an operator disabled it and its owner orders it.
        """
        undoes = by is DisabledReason.OPERATOR
        is_done = await self._endpoints.enable(
            endpoint_id, at=self._clock(), undoes_operator=undoes
        )
        if is_done:
            observe.endpoint_changed(endpoint_id, "enabled")
        return is_done

    async def remove(self, endpoint_id: UUID, *, by: By = DisabledReason.OPERATOR) -> bool:
        """Hide it; False for an unknown endpoint.

        :raises DisabledByOperator: when an operator disabled it and its owner orders it.
        """
        undoes = by is DisabledReason.OPERATOR
        is_done = await self._endpoints.remove(
            endpoint_id, reason=DisabledReason(by), at=self._clock(), undoes_operator=undoes
        )
        if is_done:
            observe.endpoint_changed(endpoint_id, "removed")
        return is_done

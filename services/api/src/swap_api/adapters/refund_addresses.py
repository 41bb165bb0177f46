"""Refund addresses: the first one stays and is published to the settler."""

from __future__ import annotations

from uuid import UUID

from swap_api.adapters import statements
from swap_runtime.messaging.outbox import Outgoing, add_to_outbox
from swap_runtime.postgres.database import Engine, reading, transaction


class PostgresRefundAddresses:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def source_network(self, app_id: UUID, swap_id: UUID) -> str | None:
        values = {"app_id": app_id, "id": swap_id}
        async with reading(self._engine) as connection:
            network: str | None = await connection.scalar(statements.SOURCE_NETWORK, values)
        return network

    async def of_swap(self, swap_id: UUID) -> str | None:
        async with reading(self._engine) as connection:
            address: str | None = await connection.scalar(
                statements.REFUND_ADDRESS, {"id": swap_id}
            )
        return address

    async def set_first(self, swap_id: UUID, address: str, outgoing: Outgoing) -> bool:
        values = {"id": swap_id, "refund_address": address.lower()}
        async with transaction(self._engine) as connection:
            if (await connection.execute(statements.SET_REFUND_ADDRESS, values)).changed:
                add_to_outbox(connection, [outgoing])
                return True
            known = await connection.scalar(statements.REFUND_ADDRESS, {"id": swap_id})
        return bool(known == address.lower())

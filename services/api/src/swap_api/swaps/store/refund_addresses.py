"""Refund addresses: the first one stays and is published to the settler."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from swap_runtime.messaging.outbox import Outgoing, add_to_outbox
from swap_runtime.postgres.database import Engine, reading, transaction
from swap_runtime.postgres.sql import sql

# Shown at once; the settler's message follows and is the same for the first one.
SET_REFUND_ADDRESS: Final = sql("""
UPDATE swap SET refund_address = :refund_address WHERE id = :id AND refund_address IS NULL
""")
REFUND_ADDRESS: Final = sql("SELECT refund_address FROM swap WHERE id = :id")


class PostgresRefundAddresses:
    """Reads the refund addresses of swaps."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def of_swap(self, swap_id: UUID) -> str | None:
        """Return the refund address of a swap, None while it is unset.

        :raises Unavailable: when Postgres is away.
        """
        async with reading(self._engine) as connection:
            address: str | None = await connection.scalar(REFUND_ADDRESS, {"id": swap_id})
        return address

    async def set_first(self, swap_id: UUID, address: str, outgoing: Outgoing) -> bool:
        """Set the address and add the message; False when there is another one.

        The same one again is no news.
        """
        values = {"id": swap_id, "refund_address": address.lower()}
        async with transaction(self._engine) as connection:
            if (await connection.execute(SET_REFUND_ADDRESS, values)).changed:
                add_to_outbox(connection, [outgoing])
                return True
            known = await connection.scalar(REFUND_ADDRESS, {"id": swap_id})
        return bool(known == address.lower())

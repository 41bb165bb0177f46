"""Deposit addresses that swaps have, on Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from swap_api.call_batching import CallBatcher
from swap_runtime.postgres.database import Engine, reading
from swap_runtime.postgres.sql import sql

OWN_ADDRESSES: Final = sql("""
SELECT deposit_address FROM swap WHERE deposit_address = ANY(CAST(:addresses AS text[]))
""")

Addresses = Sequence[str]


class PostgresOwnAddresses:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._asking: CallBatcher[Addresses, frozenset[str]] = CallBatcher(
            self._ask, batch_max=128, concurrent_batches_max=2
        )

    async def among(self, addresses: Sequence[str]) -> frozenset[str]:
        """Return which of the addresses, in lower case, are deposit addresses of swaps.

        :raises Unavailable: when Postgres is away.
        """
        return await self._asking(addresses)

    async def _ask(self, batch: Sequence[Addresses]) -> Sequence[frozenset[str] | Exception]:
        wanted = sorted({address for addresses in batch for address in addresses})
        async with reading(self._engine) as connection:
            own = set(await connection.scalars(OWN_ADDRESSES, {"addresses": wanted}))
        return [frozenset(own.intersection(addresses)) for addresses in batch]

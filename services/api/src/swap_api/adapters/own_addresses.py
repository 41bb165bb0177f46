"""Deposit addresses that swaps have, on Postgres."""

from __future__ import annotations

from collections.abc import Sequence

from swap_api.adapters import statements
from swap_api.adapters.call_batching import CallBatcher
from swap_runtime.postgres.database import Engine, reading

Addresses = Sequence[str]


class PostgresOwnAddresses:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._asking: CallBatcher[Addresses, frozenset[str]] = CallBatcher(
            self._ask, batch_max=128, concurrent_batches_max=2
        )

    async def among(self, addresses: Sequence[str]) -> frozenset[str]:
        return await self._asking(addresses)

    async def _ask(self, batch: Sequence[Addresses]) -> Sequence[frozenset[str] | Exception]:
        wanted = sorted({address for addresses in batch for address in addresses})
        async with reading(self._engine) as connection:
            own = set(await connection.scalars(statements.OWN_ADDRESSES, {"addresses": wanted}))
        return [frozenset(own.intersection(addresses)) for addresses in batch]

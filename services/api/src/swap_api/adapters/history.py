"""A swap's past, read from the settler's published views."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

from swap_api.adapters import statements
from swap_api.adapters.call_batching import CallBatcher
from swap_api.lookup_ports import Posting, SwapEvent
from swap_runtime.postgres.database import Engine, reading


class PostgresHistory:
    """Live streams of many swaps share one lookup."""

    def __init__(self, engine: Engine, *, batch_max: int = 256) -> None:
        self._engine = engine
        self._reading: CallBatcher[UUID, Sequence[SwapEvent]] = CallBatcher(
            self._read, batch_max=batch_max
        )

    async def events(self, swap_id: UUID) -> Sequence[SwapEvent]:
        return await self._reading(swap_id)

    async def postings(self, swap_id: UUID) -> Sequence[Posting]:
        async with reading(self._engine) as connection:
            rows = await connection.execute(statements.POSTINGS, {"id": swap_id})
        return [
            Posting(
                transaction_id=row.transaction_id,
                reason=row.reason,
                at=row.at,
                network=row.network,
                block_number=row.block_number,
                account=row.account,
                asset_network=row.asset_network,
                asset_token=row.asset_token,
                base_units=int(row.base_units),
            )
            for row in rows
        ]

    async def _read(self, ids: Sequence[UUID]) -> Sequence[Sequence[SwapEvent] | Exception]:
        found: dict[UUID, list[SwapEvent]] = defaultdict(list)
        async with reading(self._engine) as connection:
            for row in await connection.execute(statements.EVENTS, {"ids": list(set(ids))}):
                event = SwapEvent(row.sequence, row.from_status, row.to_status, row.at)
                found[row.swap_id].append(event)
        return [found[swap_id] for swap_id in ids]

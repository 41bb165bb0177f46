"""A swap's past, read from the settler's published views."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final
from uuid import UUID

import psycopg

from swap_api.call_batching import CallBatcher
from swap_api.swaps.decide.history import Posting, QuoteRevision, SwapEvent, in_order
from swap_contracts.quoting import Quote
from swap_runtime.postgres.database import Engine, read_alone
from swap_runtime.postgres.sql import sql

# As JSON, the cause is null while the settler's view has no such column yet: the api may run
# before the settler has migrated.
EVENTS: Final = sql("""
SELECT swap_id, sequence, from_status, to_status, at, to_jsonb(event) ->> 'cause' AS cause
FROM settler.swap_event AS event
WHERE swap_id = ANY(CAST(:ids AS uuid[])) ORDER BY swap_id, sequence
""")
POSTINGS: Final = sql("""
SELECT transaction_id, reason, at, network, block_number, account, asset_network, asset_token,
       base_units
FROM settler.swap_posting WHERE swap_id = :id ORDER BY at, transaction_id, n
""")
QUOTES: Final = sql("""
SELECT revision, CAST(quote AS text) AS quote
FROM settler.swap_quote WHERE swap_id = :id ORDER BY revision
""")


class PostgresHistory:
    """Live streams of many swaps share one lookup."""

    def __init__(self, engine: Engine, *, batch_max: int = 256) -> None:
        self._engine = engine
        self._reading: CallBatcher[UUID, Sequence[SwapEvent]] = CallBatcher(
            self._read, batch_max=batch_max
        )

    async def events(self, swap_id: UUID) -> Sequence[SwapEvent]:
        """Return everything that happened so far, the oldest first.

        :raises Unavailable: when Postgres is away.
        """
        return await self._reading(swap_id)

    async def postings(self, swap_id: UUID) -> Sequence[Posting]:
        """Return everything booked so far, the oldest first.

        :raises Unavailable: when Postgres is away.
        """
        rows = await read_alone(self._engine, POSTINGS, {"id": swap_id})
        return in_order(
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
        )

    async def quotes(self, swap_id: UUID) -> Sequence[QuoteRevision]:
        """Return the quotes of a swap, the first one first.

        There are none before the settler has the swap, and before its migrations have run.

        :raises Unavailable: when Postgres is away.
        """
        try:
            rows = await read_alone(self._engine, QUOTES, {"id": swap_id})
        except (psycopg.errors.UndefinedTable, psycopg.errors.InsufficientPrivilege):
            return []
        return [_to_revision(row.revision, Quote.model_validate_json(row.quote)) for row in rows]

    async def _read(self, ids: Sequence[UUID]) -> Sequence[Sequence[SwapEvent] | Exception]:
        found: dict[UUID, list[SwapEvent]] = defaultdict(list)
        for row in await read_alone(self._engine, EVENTS, {"ids": list(set(ids))}):
            event = SwapEvent(row.sequence, row.from_status, row.to_status, row.at, row.cause)
            found[row.swap_id].append(event)
        return [found[swap_id] for swap_id in ids]


def _to_revision(revision: int, quote: Quote) -> QuoteRevision:
    return QuoteRevision(
        revision=revision,
        source_network=quote.source.network,
        source_token=quote.source.token,
        source_decimals=quote.source.decimals,
        destination_decimals=quote.destination.decimals,
        requested_base_units=int(quote.requested_base_units),
        receive_base_units=int(quote.receive_base_units),
        min_receive_base_units=int(quote.min_receive_base_units),
        service_fee_base_units=int(quote.service_fee_base_units),
        blockchain_fee_base_units=int(quote.blockchain_fee_base_units),
        total_fee_base_units=int(quote.total_fee_base_units),
    )

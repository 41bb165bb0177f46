"""The read model of swaps on Postgres. Reads that come together share one indexed lookup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from swap_api.call_batching import CallBatcher
from swap_api.model.listing import SwapFilter
from swap_api.read_model.store.listing import count_statement, page_statement, states_statement
from swap_api.read_model.store.rows import (
    SHOWN,
    SWAP_ARRAYS,
    SWAP_COLUMNS,
    hash_rows,
    swap_row,
    to_compared,
    to_stored,
)
from swap_api.read_model.swaps import StoredSwap, SwapPage, SwapRow, SwapState
from swap_runtime.messaging.inbox import mark_seen
from swap_runtime.postgres.columns import columns
from swap_runtime.postgres.database import Engine, read_alone, reading, transaction
from swap_runtime.postgres.sql import sql

# By the swap alone: an index of the app's swaps may be taken for both.
SOURCE_NETWORK: Final = sql("""
SELECT source_network FROM (
  SELECT source_network, app_id FROM swap WHERE id = :id) AS found
WHERE app_id = :app_id
""")
UPSERT_SWAPS: Final = sql(
    f"""
INSERT INTO swap ({SWAP_COLUMNS})
SELECT * FROM unnest({SWAP_ARRAYS})
ON CONFLICT (id) DO UPDATE SET
  sequence = excluded.sequence, status = excluded.status, is_unpaid = excluded.is_unpaid,
  source_address = coalesce(excluded.source_address, swap.source_address),
  refund_address = coalesce(excluded.refund_address, swap.refund_address),
  expires_at = excluded.expires_at,
  document = excluded.document,
  gaps = excluded.gaps, action = excluded.action, step_status = excluded.step_status,
  gasless = excluded.gasless,
  deposit_address = coalesce(excluded.deposit_address, swap.deposit_address),
  closed_at = excluded.closed_at, value_usd_micros = excluded.value_usd_micros
WHERE excluded.sequence > swap.sequence
"""
)
ADD_HASHES: Final = sql("""
INSERT INTO transaction_hash (app_id, hash, swap_id)
SELECT DISTINCT * FROM unnest(
  CAST(:app_id AS uuid[]), CAST(:hash AS text[]), CAST(:swap_id AS uuid[])) AS new
ORDER BY 1, 2, 3
ON CONFLICT DO NOTHING
""")
# How far a swap is here and at the settler: what is between them is on its way. A scalar, so that
# each is looked up by its key.
COMPARED: Final = """
s.sequence, (SELECT sequence FROM settler.swap_told WHERE swap_id = s.id) AS decided"""
FIND_SWAPS: Final = sql(
    f"SELECT {SHOWN}, {COMPARED} FROM swap AS s WHERE id = ANY(CAST(:ids AS uuid[]))",
)
FIND_BY_HASH: Final = sql(
    f"""
SELECT DISTINCT ON (t.app_id, t.hash) t.app_id, t.hash, s.id, s.expires_at, s.document, s.gaps,
       s.action, s.step_status, s.gasless, {COMPARED}
FROM unnest(CAST(:app_id AS uuid[]), CAST(:hash AS text[])) AS wanted(app_id, hash)
JOIN transaction_hash AS t USING (app_id, hash) JOIN swap AS s ON s.id = t.swap_id
ORDER BY t.app_id, t.hash, s.created_at DESC
""",
)
# Two statements: the index does not serve IS NOT DISTINCT FROM. The second requires the index's
# order, so that no other index is used, which would read all of the app's swaps.
COUNT_UNPAID_OF_CLIENT: Final = sql("""
SELECT count(*) FROM (
  SELECT FROM swap WHERE app_id = :app_id AND client = :client AND is_unpaid
  LIMIT :up_to) AS counted
""")
COUNT_UNPAID_OF_APP: Final = sql("""
SELECT count(*) FROM (
  SELECT FROM swap WHERE app_id = :app_id AND client IS NULL AND is_unpaid
  ORDER BY client LIMIT :up_to) AS counted
""")
COUNT_OPEN_ADDRESSES: Final = sql("""
SELECT count(*) FROM (
  SELECT FROM swap WHERE source_network = :network AND is_unpaid AND deposit_address IS NOT NULL
  ORDER BY source_network LIMIT :up_to) AS counted
""")
COUNT_OPEN_ADDRESSES_OF_APP: Final = sql("""
SELECT count(*) FROM (
  SELECT FROM swap WHERE source_network = :network AND app_id = :app_id AND is_unpaid
    AND deposit_address IS NOT NULL
  ORDER BY source_network, app_id LIMIT :up_to) AS counted
""")

HashQuestion = tuple[UUID, str]
FoundSwap = StoredSwap | None
NamedParties = tuple[UUID, StoredSwap]


class PostgresSwaps:
    def __init__(
        self, engine: Engine, *, batch_max: int = 64, concurrent_batches_max: int = 2
    ) -> None:
        self._engine = engine
        self._finding: CallBatcher[UUID, FoundSwap] = CallBatcher(
            self._find_batch, batch_max=batch_max, concurrent_batches_max=concurrent_batches_max
        )
        self._finding_by_hash: CallBatcher[HashQuestion, NamedParties | None] = CallBatcher(
            self._find_batch_by_hash,
            batch_max=batch_max,
            concurrent_batches_max=concurrent_batches_max,
        )

    async def find(self, swap_id: UUID) -> StoredSwap | None:
        return await self._finding(swap_id)

    async def find_by_hash(self, app_id: UUID, transaction_hash: str) -> NamedParties | None:
        """Return the app's newest swap that has the transaction."""
        return await self._finding_by_hash((app_id, transaction_hash.lower()))

    async def source_network(self, app_id: UUID, swap_id: UUID) -> str | None:
        """Return the source network of a swap; None when the app has no such swap."""
        values = {"app_id": app_id, "id": swap_id}
        async with reading(self._engine) as connection:
            network: str | None = await connection.scalar(SOURCE_NETWORK, values)
        return network

    async def list_page(self, wanted: SwapFilter) -> SwapPage:
        async with reading(self._engine) as connection:
            statements = page_statement(wanted), count_statement(wanted)
            rows, [(total,)] = await connection.ask(*statements)
        shown = tuple(to_stored(row) for row in rows[: wanted.page_size])
        return SwapPage(shown, int(total), has_more=len(rows) > wanted.page_size)

    async def list_states(self, wanted: SwapFilter) -> Sequence[SwapState]:
        """Return the ids and statuses of one page.

        :raises Unavailable: when Postgres is away.
        """
        rows = await read_alone(self._engine, *states_statement(wanted))
        return [SwapState(row.id, row.status) for row in rows]

    async def count(self, app_id: UUID, client: str | None, *, up_to: int) -> int:
        """Return how many swaps of the caller wait for money, counted up to a bound."""
        values: dict[str, object] = {"app_id": app_id, "up_to": up_to}
        statement = COUNT_UNPAID_OF_APP
        if client is not None:
            statement, values["client"] = COUNT_UNPAID_OF_CLIENT, client
        async with reading(self._engine) as connection:
            return int(await connection.scalar(statement, values) or 0)

    async def count_addresses(self, network: str, app_id: UUID | None, *, up_to: int) -> int:
        """Return how many deposit addresses of an app, or of all, wait for money on a network."""
        values: dict[str, object] = {"network": network, "up_to": up_to}
        statement = COUNT_OPEN_ADDRESSES
        if app_id is not None:
            statement, values["app_id"] = COUNT_OPEN_ADDRESSES_OF_APP, app_id
        async with reading(self._engine) as connection:
            return int(await connection.scalar(statement, values) or 0)

    async def _find_batch(self, ids: Sequence[UUID]) -> Sequence[FoundSwap | Exception]:
        rows = await read_alone(self._engine, FIND_SWAPS, {"ids": list(set(ids))})
        found = {row.id: to_compared(row) for row in rows}
        return [found.get(swap_id) for swap_id in ids]

    async def _find_batch_by_hash(
        self, questions: Sequence[HashQuestion]
    ) -> Sequence[NamedParties | Exception | None]:
        wanted = list(dict.fromkeys(questions))
        values = {"app_id": [app for app, _ in wanted], "hash": [name for _, name in wanted]}
        rows = await read_alone(self._engine, FIND_BY_HASH, values)
        found = {(row.app_id, row.hash): (row.id, to_compared(row)) for row in rows}
        return [found.get(question) for question in questions]


class PostgresReadModel:
    """The read model: swaps as the settler publishes them."""

    def __init__(self, engine: Engine, *, consumer: str) -> None:
        self._engine = engine
        self._consumer = consumer

    async def apply(self, message_ids: Sequence[UUID], rows: Sequence[SwapRow]) -> None:
        """Save what is newer than what is there; one transaction, one statement per table."""
        hashes = [found for row in rows for found in hash_rows(row)]
        # Sorted, so that two batches with the same swaps do not deadlock.
        ordered = sorted((swap_row(row) for row in rows), key=lambda row: str(row["id"]))
        async with transaction(self._engine) as connection:
            await mark_seen(connection, self._consumer, message_ids)
            if ordered:
                connection.post(UPSERT_SWAPS, columns(ordered))
            if hashes:
                connection.post(ADD_HASHES, columns(hashes))

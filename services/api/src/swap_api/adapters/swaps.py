"""The read model of swaps on Postgres. Reads that come together share one indexed lookup."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from swap_api.adapters import statements
from swap_api.adapters.call_batching import CallBatcher
from swap_api.adapters.listing import PLANNED_FOR_VALUES, count_statement, page_statement
from swap_api.adapters.rows import hash_rows, swap_row, to_compared, to_stored
from swap_api.domain.listing import SwapFilter
from swap_api.ports import StoredSwap, SwapPage, SwapRow
from swap_runtime.messaging.inbox import mark_seen
from swap_runtime.postgres.columns import columns
from swap_runtime.postgres.database import Engine, reading, transaction

HashQuestion = tuple[UUID, str]
Found = StoredSwap | None
NamedParties = tuple[UUID, StoredSwap]


class PostgresSwaps:
    def __init__(
        self, engine: Engine, *, batch_max: int = 64, concurrent_batches_max: int = 2
    ) -> None:
        self._engine = engine
        self._finding: CallBatcher[UUID, Found] = CallBatcher(
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
        return await self._finding_by_hash((app_id, transaction_hash.lower()))

    async def list_page(self, wanted: SwapFilter) -> SwapPage:
        async with transaction(self._engine) as connection:
            connection.post(PLANNED_FOR_VALUES)
            statements = page_statement(wanted), count_statement(wanted)
            rows, [(total,)] = await connection.ask(*statements)
        shown = tuple(to_stored(row) for row in rows[: wanted.page_size])
        return SwapPage(shown, int(total), has_more=len(rows) > wanted.page_size)

    async def count(self, app_id: UUID, client: str | None, *, up_to: int) -> int:
        values: dict[str, object] = {"app_id": app_id, "up_to": up_to}
        statement = statements.COUNT_UNPAID_OF_APP
        if client is not None:
            statement, values["client"] = statements.COUNT_UNPAID_OF_CLIENT, client
        async with reading(self._engine) as connection:
            return int(await connection.scalar(statement, values) or 0)

    async def count_addresses(self, network: str, app_id: UUID | None, *, up_to: int) -> int:
        values: dict[str, object] = {"network": network, "up_to": up_to}
        statement = statements.COUNT_OPEN_ADDRESSES
        if app_id is not None:
            statement, values["app_id"] = statements.COUNT_OPEN_ADDRESSES_OF_APP, app_id
        async with reading(self._engine) as connection:
            return int(await connection.scalar(statement, values) or 0)

    async def _find_batch(self, ids: Sequence[UUID]) -> Sequence[Found | Exception]:
        async with reading(self._engine) as connection:
            rows = await connection.execute(statements.FIND_SWAPS, {"ids": list(set(ids))})
            found = {row.id: to_compared(row) for row in rows}
        return [found.get(swap_id) for swap_id in ids]

    async def _find_batch_by_hash(
        self, questions: Sequence[HashQuestion]
    ) -> Sequence[NamedParties | Exception | None]:
        wanted = list(dict.fromkeys(questions))
        values = {"app_id": [app for app, _ in wanted], "hash": [name for _, name in wanted]}
        async with reading(self._engine) as connection:
            rows = await connection.execute(statements.FIND_BY_HASH, values)
            found = {(row.app_id, row.hash): (row.id, to_compared(row)) for row in rows}
        return [found.get(question) for question in questions]


class PostgresReadModel:
    """The read model: swaps as the settler publishes them."""

    def __init__(self, engine: Engine, *, consumer: str) -> None:
        self._engine = engine
        self._consumer = consumer

    async def apply(self, message_ids: Sequence[UUID], rows: Sequence[SwapRow]) -> None:
        hashes = [found for row in rows for found in hash_rows(row)]
        # Sorted, so that two batches with the same swaps do not deadlock.
        ordered = sorted((swap_row(row) for row in rows), key=lambda row: str(row["id"]))
        async with transaction(self._engine) as connection:
            await mark_seen(connection, self._consumer, message_ids)
            if ordered:
                connection.post(statements.UPSERT_SWAPS, columns(ordered))
            if hashes:
                connection.post(statements.ADD_HASHES, columns(hashes))

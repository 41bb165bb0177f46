"""The read model of swaps on Postgres. Reads that come together share one indexed lookup.

What the settler has decided may be on its way here while a webhook tells it already. A read of
that swap waits for it, so that whoever reads after a webhook sees what it said.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple, TypeVar
from uuid import UUID

from swap_api import observe
from swap_api.adapters import statements
from swap_api.adapters.gathering import Gathering
from swap_api.adapters.listing import PLANNED_FOR_VALUES, count_statement, page_statement
from swap_api.adapters.rows import hash_rows, swap_row, to_stored
from swap_api.domain.listing import SwapFilter
from swap_api.ports import StoredSwap, SwapPage, SwapRow
from swap_runtime.columns import columns
from swap_runtime.database import Engine, reading, transaction
from swap_runtime.inbox import mark_seen
from swap_runtime.sql import Row

HashQuestion = tuple[UUID, str]
Question = TypeVar("Question")
# Seconds between looks at what is on its way: within them it usually comes, and after them what is
# stored is shown, so that who reads is answered also while nothing arrives.
LOOKS: Final = (0.02, 0.03, 0.05, 0.1, 0.2, 0.6)
WAITING_MAX: Final = 256


class Seen(NamedTuple):
    """One look at a swap."""

    id: UUID
    stored: StoredSwap
    is_behind: bool


class PostgresSwaps:
    def __init__(
        self,
        engine: Engine,
        *,
        batch_max: int = 64,
        flights_max: int = 2,
        waiting_max: int = WAITING_MAX,
    ) -> None:
        """
        :param waiting_max: how many may wait for what is on its way. The next are shown what is
            stored, so that a topic that is away takes no place from reads of anything else.
        """
        self._engine = engine
        self._free = waiting_max
        self._finding: Gathering[UUID, Seen | None] = Gathering(
            self._find_batch, batch_max=batch_max, flights_max=flights_max
        )
        self._finding_by_hash: Gathering[HashQuestion, Seen | None] = Gathering(
            self._find_batch_by_hash, batch_max=batch_max, flights_max=flights_max
        )

    async def find(self, swap_id: UUID) -> StoredSwap | None:
        seen = await self._up_to_date(self._finding, swap_id)
        return seen and seen.stored

    async def find_by_hash(
        self, app_id: UUID, transaction_hash: str
    ) -> tuple[UUID, StoredSwap] | None:
        question = app_id, transaction_hash.lower()
        seen = await self._up_to_date(self._finding_by_hash, question)
        return seen and (seen.id, seen.stored)

    async def list_page(self, wanted: SwapFilter) -> SwapPage:
        async with transaction(self._engine) as connection:
            connection.post(PLANNED_FOR_VALUES)
            asked = page_statement(wanted), count_statement(wanted)
            rows, [(total,)] = await connection.ask(*asked)
        shown = tuple(to_stored(row) for row in rows[: wanted.page_size])
        return SwapPage(shown, int(total), has_more=len(rows) > wanted.page_size)

    async def count(self, app_id: UUID, client: str | None, *, up_to: int) -> int:
        values: dict[str, object] = {"app_id": app_id, "up_to": up_to}
        statement = statements.COUNT_UNPAID_OF_APP
        if client is not None:
            statement, values["client"] = statements.COUNT_UNPAID_OF_CLIENT, client
        async with reading(self._engine) as connection:
            return int(await connection.scalar(statement, values) or 0)

    async def _up_to_date(
        self, look: Callable[[Question], Awaitable[Seen | None]], question: Question
    ) -> Seen | None:
        seen = await look(question)
        if seen is None or not seen.is_behind:
            return seen
        if self._free:
            self._free -= 1
            try:
                for pause in LOOKS:
                    await asyncio.sleep(pause)
                    seen = await look(question)
                    if seen is None or not seen.is_behind:
                        return seen
            finally:
                self._free += 1
        observe.shown_behind()
        return seen

    async def _find_batch(self, ids: Sequence[UUID]) -> Sequence[Seen | Exception | None]:
        async with reading(self._engine) as connection:
            rows = await connection.execute(statements.FIND_SWAPS, {"ids": list(set(ids))})
            found = {row.id: _seen(row) for row in rows}
        return [found.get(swap_id) for swap_id in ids]

    async def _find_batch_by_hash(
        self, questions: Sequence[HashQuestion]
    ) -> Sequence[Seen | Exception | None]:
        wanted = list(dict.fromkeys(questions))
        values = {"app_id": [app for app, _ in wanted], "hash": [name for _, name in wanted]}
        async with reading(self._engine) as connection:
            rows = await connection.execute(statements.FIND_BY_HASH, values)
            found = {(row.app_id, row.hash): _seen(row) for row in rows}
        return [found.get(question) for question in questions]


def _seen(row: Row) -> Seen:
    return Seen(row.id, to_stored(row), bool(row.is_behind))


class PostgresReadModel:
    """What the settler says about swaps, saved for reading."""

    def __init__(self, engine: Engine, *, consumer: str) -> None:
        self._engine = engine
        self._consumer = consumer

    async def apply(self, message_ids: Sequence[UUID], rows: Sequence[SwapRow]) -> None:
        hashes = [found for row in rows for found in hash_rows(row)]
        # Sorted, so that two batches with the same swaps wait for each other.
        ordered = sorted((swap_row(row) for row in rows), key=lambda row: str(row["id"]))
        async with transaction(self._engine) as connection:
            await mark_seen(connection, self._consumer, message_ids)
            if ordered:
                connection.post(statements.UPSERT_SWAPS, columns(ordered))
            if hashes:
                connection.post(statements.ADD_HASHES, columns(hashes))

"""The quoter's transaction on Postgres: the inbox and everything that its consumers write.

A posted statement is sent with the next one that is awaited, or with the commit.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from uuid import UUID

from swap_quoter.adapters import statements
from swap_quoter.adapters.rows import ROUTE_COLUMNS, completion_row
from swap_quoter.domain.completions import Completion
from swap_quoter.domain.market import InventoryUpdate
from swap_runtime.messaging.inbox import mark_seen
from swap_runtime.postgres.columns import columns
from swap_runtime.postgres.database import Engine, Transaction, transaction


class PostgresWork:
    """One open transaction."""

    def __init__(self, connection: Transaction, consumer: str) -> None:
        self._connection = connection
        self._consumer = consumer

    async def mark_seen(self, message_ids: Sequence[UUID]) -> frozenset[UUID]:
        return await mark_seen(self._connection, self._consumer, message_ids)

    async def save_inventory(self, updates: Sequence[InventoryUpdate]) -> None:
        """Save updates that are newer than the stored ones.

        :param updates: one per asset.
        """
        self._connection.post(statements.SAVE_INVENTORY, columns([asdict(one) for one in updates]))
        self._connection.wake(statements.MARKET_CHANGED)

    async def save_completions(self, completions: Sequence[Completion], *, window: int) -> None:
        """Add the completions and average the newest `window` of each of their routes."""
        post = self._connection.post
        rows = columns([completion_row(completion) for completion in completions])
        routes = {name: rows[name] for name in ROUTE_COLUMNS}
        post(statements.LOCK_ROUTES, routes)
        post(statements.ADD_COMPLETIONS, rows)
        post(statements.TRIM_AND_AVERAGE, {**routes, "window": window})
        self._connection.wake(statements.MARKET_CHANGED)


class PostgresUnitOfWork:
    """Opens a PostgresWork for one transaction."""

    def __init__(self, engine: Engine, *, consumer: str) -> None:
        self._engine = engine
        self._consumer = consumer

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[PostgresWork]:
        async with transaction(self._engine) as connection:
            yield PostgresWork(connection, self._consumer)

"""The quoter's transaction on Postgres: the inbox and everything that its consumers write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from swap_quoter.adapters import statements
from swap_quoter.adapters.rows import ROUTE_COLUMNS, completion_row
from swap_quoter.domain.completions import Completion
from swap_quoter.domain.market import InventoryUpdate
from swap_runtime.messaging.unit_of_work import ConsumerWork, UnitOfWork
from swap_runtime.postgres.columns import columns


class PostgresWork(ConsumerWork):
    """One open transaction on the quoter's schema."""

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


class PostgresUnitOfWork(UnitOfWork[PostgresWork]):
    _opens = PostgresWork

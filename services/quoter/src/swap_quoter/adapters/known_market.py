"""Reads what the messages taught."""

from __future__ import annotations

from collections.abc import Mapping

from swap_quoter.adapters import statements
from swap_quoter.adapters.rows import to_available, to_average
from swap_quoter.domain.market import AssetKey, RouteKey
from swap_runtime.postgres.database import Engine, reading


class PostgresKnownMarket:
    """What was read from messages and outlasts the process."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def read(self) -> tuple[Mapping[AssetKey, int], Mapping[RouteKey, int]]:
        """Return what can be paid out of each asset, and how long each route takes."""
        async with reading(self._engine) as connection:
            inventory, averages = await connection.ask(
                (statements.INVENTORY, {}), (statements.COMPLETION_AVERAGES, {})
            )
        return dict(map(to_available, inventory)), dict(map(to_average, averages))

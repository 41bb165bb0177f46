"""Reads what the messages taught."""

from __future__ import annotations

from collections.abc import Mapping

from swap_quoter.adapters import statements
from swap_quoter.adapters.rows import to_available, to_average
from swap_quoter.domain.market import AssetKey, RouteKey
from swap_runtime.database import Engine, reading


class PostgresKnownMarket:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def inventory(self) -> Mapping[AssetKey, int]:
        async with reading(self._engine) as connection:
            rows = await connection.execute(statements.INVENTORY)
            return dict(to_available(row) for row in rows)

    async def completion_milliseconds(self) -> Mapping[RouteKey, int]:
        async with reading(self._engine) as connection:
            rows = await connection.execute(statements.COMPLETION_AVERAGES)
            return dict(to_average(row) for row in rows)

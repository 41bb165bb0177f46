"""Where payouts are stopped, read from the settler's view."""

from __future__ import annotations

import psycopg

from swap_api.adapters import statements
from swap_runtime.database import Engine, reading
from swap_runtime.errors import Unavailable


class PostgresPayoutStops:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def current(self) -> frozenset[str]:
        try:
            async with reading(self._engine) as connection:
                return frozenset(await connection.scalars(statements.STOPPED_NETWORKS))
        except (psycopg.errors.UndefinedTable, psycopg.errors.InsufficientPrivilege) as error:
            raise Unavailable("the settler shows no stops yet") from error

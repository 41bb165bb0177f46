"""Where payouts are stopped, read from the views of the settler and of the watcher."""

from __future__ import annotations

from typing import Final

import psycopg

from swap_runtime.errors import Unavailable
from swap_runtime.postgres.database import Engine, reading
from swap_runtime.postgres.sql import Statement, sql

STOPPED_NETWORKS: Final = sql("SELECT network FROM settler.stopped_network")
CLOSED_NETWORKS: Final = sql("SELECT network FROM settler.closed_network")
STOPPED_SOURCES: Final = sql("SELECT network FROM settler.stopped_source")
HALTED_NETWORKS: Final = sql("SELECT network FROM chain_watcher.halted_network")


class PostgresPayoutStops:
    """Where nothing is paid to, and for."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def current(self) -> frozenset[str]:
        """Return the networks on which nothing is paid for now; `*` is all of them.

        :raises Unavailable: when it is unknown.
        """
        return await self._networks(STOPPED_NETWORKS)

    async def sources(self) -> frozenset[str]:
        """Return the networks with deposits that are not paid for now.

        :raises Unavailable: when it is unknown.
        """
        return await self._networks(STOPPED_SOURCES)

    async def closed(self) -> frozenset[str]:
        """Return the networks from and to which no new swap is taken; the rest are paid.

        :raises Unavailable: when it is unknown.
        """
        return await self._networks(CLOSED_NETWORKS)

    async def halted(self) -> frozenset[str]:
        """Return the halted networks: nothing is paid there, nor for deposits from there.

        :raises Unavailable: when it is unknown.
        """
        return await self._networks(HALTED_NETWORKS)

    async def _networks(self, statement: Statement) -> frozenset[str]:
        try:
            async with reading(self._engine) as connection:
                return frozenset(await connection.scalars(statement))
        except (psycopg.errors.UndefinedTable, psycopg.errors.InsufficientPrivilege) as error:
            raise Unavailable("not every stop is shown yet") from error

"""Where payouts are stopped, read from the views of the settler and of the watcher."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import psycopg

from swap_runtime.errors import Unavailable
from swap_runtime.postgres.database import Engine, reading
from swap_runtime.postgres.sql import sql


class Stop(StrEnum):
    """What is stopped on a network."""

    DESTINATION = "destination"  # payouts to it; `*` is every network
    SOURCE = "source"  # payouts for deposits from it
    HALT = "halt"  # both
    CLOSURE = "closure"  # new swaps from it and to it; those that exist are paid


STOPPED: Final = {
    Stop.DESTINATION: sql("SELECT network FROM settler.stopped_network"),
    Stop.SOURCE: sql("SELECT network FROM settler.stopped_source"),
    Stop.HALT: sql("SELECT network FROM chain_watcher.halted_network"),
    Stop.CLOSURE: sql("SELECT network FROM settler.closed_network"),
}


class PostgresPayoutStops:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def networks(self, stop: Stop) -> frozenset[str]:
        """Return the networks with a stop.

        :raises Unavailable: when it is unknown.
        """
        try:
            async with reading(self._engine) as connection:
                return frozenset(await connection.scalars(STOPPED[stop]))
        except (psycopg.errors.UndefinedTable, psycopg.errors.InsufficientPrivilege) as error:
            raise Unavailable("not every stop is shown yet") from error

"""Closed networks, on Postgres: the api reads them in the views of stopped networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from swap_runtime.operators.operator_log import log_order
from swap_runtime.postgres.database import Engine, read_alone, transaction
from swap_runtime.postgres.sql import sql
from swap_settler.model.store.order_changes import change_by_order
from swap_settler.records import Record, to_record

CLOSURES: Final = sql("""
SELECT network, closed_at AS at, closed_by AS by, closed_because AS reason FROM network_closure
WHERE opened_at IS NULL ORDER BY network
""")
CLOSE: Final = sql("""
INSERT INTO network_closure (network, closed_by, closed_because) VALUES (:network, :by, :reason)
ON CONFLICT (network) WHERE opened_at IS NULL DO NOTHING
""")
OPEN: Final = sql("""
UPDATE network_closure SET opened_at = now(), opened_by = :by, opened_because = :reason
WHERE network = :network AND opened_at IS NULL
""")


class PostgresClosures:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def list_closures(self) -> Sequence[Record]:
        """Return those that hold."""
        return [to_record(row) for row in await read_alone(self._engine, CLOSURES)]

    async def close(self, network: str, *, by: str, reason: str) -> bool:
        """Close a network. False if it was closed."""
        async with transaction(self._engine) as connection:
            values = {"network": network, "by": by, "reason": reason}
            is_new = (await connection.execute(CLOSE, values)).changed > 0
            await log_order(connection)
        return is_new

    async def open(self, network: str, *, by: str, reason: str) -> bool:
        """Open it again. False if it was open."""
        values = {"network": network, "by": by, "reason": reason}
        return await change_by_order(self._engine, OPEN, values)

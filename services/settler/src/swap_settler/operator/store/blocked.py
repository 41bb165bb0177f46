"""Who must not be paid, by an operator's word, on Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import SQLColumnExpression, bindparam, func, literal_column, select, tuple_
from sqlmodel import col

from swap_runtime.operators.operator_log import log_order
from swap_runtime.postgres.database import Engine, read_alone, transaction
from swap_runtime.postgres.models import statement_of
from swap_runtime.postgres.sql import sql
from swap_settler.operator.store.models import BlockedAddressTable
from swap_settler.records import Record, to_record

# An address that is blocked on all networks comes before it on one.
_NETWORK: Final = func.coalesce(col(BlockedAddressTable.network), literal_column("''"))
_COLUMNS: Final[Sequence[SQLColumnExpression[Any]]] = (
    col(BlockedAddressTable.address),
    col(BlockedAddressTable.network),
    col(BlockedAddressTable.blocked_at).label("at"),
    col(BlockedAddressTable.blocked_by).label("by"),
    col(BlockedAddressTable.blocked_because).label("reason"),
    col(BlockedAddressTable.address).label("after_address"),
    _NETWORK.label("after_network"),
)
_STANDING: Final = select(*_COLUMNS).where(col(BlockedAddressTable.lifted_at).is_(None))
LISTED: Final = statement_of(
    _STANDING.where(
        col(BlockedAddressTable.address) >= bindparam("after_address"),  # for the index
        tuple_(col(BlockedAddressTable.address), _NETWORK)
        > tuple_(bindparam("after_address"), bindparam("after_network")),
    )
    .order_by(col(BlockedAddressTable.address), _NETWORK)
    .limit(bindparam("limit"))
)
FIND: Final = statement_of(
    _STANDING.where(
        col(BlockedAddressTable.address) == bindparam("address"),
        bindparam("network") == _NETWORK,
    )
)
BLOCK: Final = sql("""
INSERT INTO blocked_address (address, network, blocked_by, blocked_because)
SELECT address, :network, :by, :reason FROM unnest(CAST(:addresses AS text[])) AS new(address)
ON CONFLICT (address, network) WHERE lifted_at IS NULL DO NOTHING
""")
LIFT: Final = sql("""
UPDATE blocked_address SET lifted_at = now(), lifted_by = :by, lifted_because = :reason
WHERE address = ANY(CAST(:addresses AS text[]))
    AND network IS NOT DISTINCT FROM CAST(:network AS text) AND lifted_at IS NULL
""")
# Processes with the list in memory detect the change.
CHANGED: Final = sql("UPDATE blocked_list SET version = version + 1 WHERE id = 1")


class PostgresBlocked:
    """Who must not be paid, by an operator's word."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def list_blocked(
        self, *, after: tuple[str, str] = ("", ""), limit: int
    ) -> Sequence[Record]:
        """
        :param after: only what follows this address, on this network; "" for all networks.
        """
        values = {"after_address": after[0], "after_network": after[1], "limit": limit}
        return [to_record(row) for row in await read_alone(self._engine, LISTED, values)]

    async def find_blocked(self, address: str, network: str | None) -> Record | None:
        """
        :param network: None where it is blocked on all networks.
        """
        values = {"address": address, "network": network or ""}
        row = (await read_alone(self._engine, FIND, values)).one_or_none()
        return None if row is None else to_record(row)

    async def block(
        self, addresses: Sequence[str], network: str | None, *, by: str, reason: str
    ) -> int:
        """Return how many were not on the list."""
        values = {"addresses": list(addresses), "network": network, "by": by, "reason": reason}
        async with transaction(self._engine) as connection:
            added = (await connection.execute(BLOCK, values)).changed
            await connection.execute(CHANGED)
            await log_order(connection)
        return added

    async def lift(
        self, addresses: Sequence[str], network: str | None, *, by: str, reason: str
    ) -> int:
        """Return how many were on it."""
        values = {"addresses": list(addresses), "network": network, "by": by, "reason": reason}
        async with transaction(self._engine) as connection:
            lifted = (await connection.execute(LIFT, values)).changed
            await connection.execute(CHANGED)
            await log_order(connection)
        return lifted

"""The stored deposit addresses, read without a lock."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from swap_chain_watcher.adapters import statements
from swap_chain_watcher.domain.deposit_addresses import DueAddresses, Target
from swap_runtime.postgres.database import Engine, read_alone


class PostgresTargets:
    """The stored deposit addresses of all networks."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def new(self, network: str, *, limit: int) -> Sequence[Target]:
        """Return the addresses that wait to be taken up."""
        values = {"network": network, "limit": limit}
        rows = await read_alone(self._engine, statements.NEW_TARGETS, values)
        return [Target(row.network, row.address, row.since) for row in rows]

    async def list_active(self, network: str, *, after: int) -> Sequence[tuple[int, str]]:
        """Return the followed addresses with their positions, from behind a position on."""
        values = {"network": network, "after": after}
        rows = await read_alone(self._engine, statements.ACTIVE_TARGETS, values)
        return [(row.position, row.address) for row in rows]

    async def load_due(
        self,
        network: str,
        *,
        young_since: datetime,
        young_max: int,
        old_before: datetime,
        old_max: int,
    ) -> DueAddresses:
        """Return the newest of the young addresses, and of the old ones those counted longest ago.

        :param young_since: addresses assigned after it are young.
        :param old_before: old addresses are due if they were counted before it.
        """
        values = {
            "network": network,
            "young_since": young_since,
            "young_max": young_max,
            "old_before": old_before,
            "old_max": old_max,
        }
        rows = list(await read_alone(self._engine, statements.DUE_ADDRESSES, values))
        young = [row for row in rows if row.age == "young"]
        return DueAddresses(
            young=tuple(row.address for row in young),
            old=tuple(row.address for row in rows if row.age == "old"),
            has_new=any(row.age == "new" for row in rows),
            young_since=rows[0].young_since if rows else young_since,
            uncounted=frozenset(row.address for row in young if not row.is_counted),
        )

"""What waits to be paid, and what covers it, on Postgres. Only open rows are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

from swap_runtime.postgres.database import Engine, read_alone
from swap_runtime.postgres.sql import Statement, sql
from swap_settler.operator.decide.backlog import (
    Backlog,
    BacklogKind,
    Cover,
    OpenSwaps,
    Side,
)
from swap_settler.records import ListPlace, Record, place_values, to_dataclass, to_record

# Deposits of swaps that have their money and no end yet. Each swap's deposits are looked up:
# a join may read all deposits.
UNSETTLED: Final = sql("""
SELECT swap.source_network AS network, count(*) AS waiting,
       extract(epoch FROM now() - min(deposit.heard_at)) AS seconds
FROM (SELECT id, source_network FROM swap
    WHERE status IN ('ls_transfer_pending', 'pending_refund')) AS swap
CROSS JOIN LATERAL (
    SELECT heard_at FROM deposit WHERE swap_id = swap.id AND is_booked) AS deposit
GROUP BY swap.source_network
""")
# Two queries, each with the condition of one partial index: no index has all three statuses, so
# that one query reads all swaps.
OPEN_SWAPS: Final = sql("""
SELECT status, count(*) AS open, extract(epoch FROM now() - min(created_at)) AS seconds
FROM swap WHERE status = 'user_transfer_pending' GROUP BY status
UNION ALL
SELECT status, count(*), extract(epoch FROM now() - min(created_at))
FROM swap WHERE status IN ('ls_transfer_pending', 'pending_refund') GROUP BY status
""")
# A refund waits for its fee as a row of `refund_due`, and then for its payment to be final.
REFUNDS: Final = sql("""
SELECT network, count(*) AS waiting, extract(epoch FROM now() - min(since)) AS seconds
FROM (
    SELECT network, since FROM refund_due
    UNION ALL
    SELECT network, created_at FROM intent
    WHERE kind = 'refund' AND state IN ('reserved', 'assigned', 'broadcast', 'mined')) AS refund
GROUP BY network
""")
# Those that the counts above are made of, on one network.
DEPOSIT_ITEMS: Final = sql("""
SELECT swap.id AS swap_id, deposit.id AS deposit_id, heard_at AS since,
       heard_at AS after_at, deposit.id AS after_id
FROM (SELECT id FROM swap WHERE status IN ('ls_transfer_pending', 'pending_refund')
    AND source_network = :network) AS swap
CROSS JOIN LATERAL (
    SELECT id, heard_at FROM deposit WHERE swap_id = swap.id AND is_booked) AS deposit
WHERE (heard_at, deposit.id) > (
    coalesce(CAST(:after_at AS timestamptz), '-infinity'), CAST(:after_id AS uuid))
ORDER BY heard_at, deposit.id LIMIT :limit
""")
REFUND_ITEMS: Final = sql("""
SELECT swap_id, deposit_id, since, since AS after_at, id AS after_id
FROM (
    -- A leg has one refund that is due.
    SELECT coalesce(deposit_id, swap_id) AS id, since, swap_id, deposit_id
    FROM refund_due WHERE network = :network
    UNION ALL
    SELECT id, created_at, swap_id, deposit_id FROM intent
    WHERE network = :network
        AND kind = 'refund' AND state IN ('reserved', 'assigned', 'broadcast', 'mined')) AS refund
WHERE (since, id) > (
    coalesce(CAST(:after_at AS timestamptz), '-infinity'), CAST(:after_id AS uuid))
ORDER BY since, id LIMIT :limit
""")
COVERS: Final = sql("""
SELECT inventory.network, inventory.token, held_base_units, owed_base_units, asked.treasury,
    snapshot.balance AS treasury_base_units, snapshot.block_number
FROM unnest(CAST(:networks AS text[]), CAST(:treasuries AS text[])) AS asked(network, treasury)
JOIN inventory ON inventory.network = asked.network
LEFT JOIN LATERAL (
    SELECT balance, block_number FROM balance_snapshot
    WHERE (network, address, token) = (asked.network, asked.treasury, inventory.token)
    ORDER BY block_number DESC LIMIT 1) AS snapshot ON true
""")


# Only the Treasury's custody can be paid out. An operator asks for one asset at a time.
ACCOUNTS: Final = sql("""
SELECT id, kind, address, swap_id, deposit_id, app_id, CAST(:sign AS int) * balance AS base_units,
       id AS after FROM account
WHERE network = :network AND token = :token AND balance <> 0 AND id > :after
    AND kind = ANY(CAST(:kinds AS text[])) AND coalesce(holder, 'treasury') = 'treasury'
ORDER BY id LIMIT :limit
""")


class PostgresBacklogs:
    """What waits to be paid, and what covers it. Locks nothing."""

    def __init__(self, engine: Engine, *, treasuries: Mapping[str, str]) -> None:
        """
        :param treasuries: addresses by network.
        """
        self._engine = engine
        self._values = {"networks": list(treasuries), "treasuries": list(treasuries.values())}

    async def find_unsettled(self) -> Sequence[Backlog]:
        """Return the booked deposits of swaps without an end, by source network."""
        return await self._backlogs(UNSETTLED)

    async def refunds(self) -> Sequence[Backlog]:
        """Return the refunds that are not final, by network."""
        return await self._backlogs(REFUNDS)

    async def list_items(
        self, kind: BacklogKind, network: str, *, after: ListPlace | None, limit: int
    ) -> Sequence[Record]:
        """Return those of one network that wait, the oldest first: a deposit, or a refund before or
        after its payment is ordered. A refund of the main leg has no deposit.

        :param after: only what follows this place.
        """
        statement = DEPOSIT_ITEMS if kind is BacklogKind.DEPOSITS else REFUND_ITEMS
        values = {"network": network, **place_values(after), "limit": limit}
        return [to_record(row) for row in await read_alone(self._engine, statement, values)]

    async def open_swaps(self) -> Sequence[OpenSwaps]:
        """Return the swaps without an end, by status; a status without any is absent."""
        rows = await read_alone(self._engine, OPEN_SWAPS)
        return [OpenSwaps(r.status, r.open, timedelta(seconds=int(r.seconds))) for r in rows]

    async def covers(self) -> Sequence[Cover]:
        """Return what is held and owed of each asset, and what the Treasury had of it."""
        return [
            to_dataclass(Cover, row) for row in await read_alone(self._engine, COVERS, self._values)
        ]

    async def accounts(
        self, network: str, token: str, side: Side, *, after: int, limit: int
    ) -> Sequence[Record]:
        """Return the accounts with a balance that are a side of an asset's cover, the oldest first.

        :param after: only those with a higher id.
        """
        values = {
            "network": network,
            "token": token,
            "kinds": [kind.value for kind in side.kinds],
            "sign": side.sign,
            "after": after,
            "limit": limit,
        }
        return [to_record(row) for row in await read_alone(self._engine, ACCOUNTS, values)]

    async def _backlogs(self, statement: Statement) -> Sequence[Backlog]:
        rows = await read_alone(self._engine, statement)
        return [Backlog(r.network, r.waiting, timedelta(seconds=int(r.seconds))) for r in rows]

"""What reorgs have taken after it was paid for, and where that stopped payments, on Postgres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from swap_runtime.postgres.database import Engine, read_alone, transaction
from swap_runtime.postgres.sql import sql
from swap_settler.model.store.order_changes import change_by_order
from swap_settler.operator.decide.signer import Stop
from swap_settler.operator.store.stops import lift_statement
from swap_settler.records import ListPlace, Record, place_values, to_record

BY: Final = "the loss budget"
# In millionths of a dollar, at the price of the swap's quote, rounded up. What is mined again after
# it was lost is no loss; what was lost before a stop was lifted is forgiven.
COUNTED_LOSSES: Final = sql("""
SELECT network, ceil(sum(greatest(net, 0))) AS usd_micros,
    (SELECT max(past.id) FROM source_stop AS past
        WHERE past.network = of_leg.network AND past.lifted_at IS NOT NULL) AS last_lifted
FROM (
    SELECT account.network, account.id, sum(posting.base_units
        * CAST(swap.quote ->> 'source_usd_e18' AS numeric)
        / power(CAST(10 AS numeric), swap.source_decimals + 12)) AS net
    FROM (
        SELECT id, swap_id, at FROM ledger_transaction
        WHERE kind IN ('lost', 'recovered', 'refuel_lost') AND at > now() - :span) AS entry
    -- Each for its own: joined, all that was ever lost might be read.
    CROSS JOIN LATERAL (
        SELECT * FROM posting WHERE transaction_id = entry.id) AS posting
    CROSS JOIN LATERAL (SELECT * FROM account WHERE id = posting.account_id) AS account
    JOIN swap ON swap.id = entry.swap_id
    WHERE account.kind = 'loss'
        AND NOT EXISTS (SELECT FROM source_stop AS lifted
            WHERE lifted.network = account.network AND lifted.lifted_at >= entry.at)
    GROUP BY account.network, account.id) AS of_leg
GROUP BY network
""")
STOPS: Final = sql("""
SELECT network, stopped_at, stopped_because FROM source_stop
WHERE lifted_at IS NULL ORDER BY network
""")
# This waits for a concurrent lift, and the following statements read it.
HOLD: Final = sql("""
SELECT id FROM source_stop WHERE network = :network AND lifted_at IS NULL FOR UPDATE
""")
# Not for what was forgiven after it was counted.
STOP: Final = sql("""
INSERT INTO source_stop (network, stopped_because)
SELECT :network, :because WHERE NOT EXISTS (SELECT FROM source_stop AS past
    WHERE past.network = :network AND past.lifted_at IS NOT NULL
        AND past.id > coalesce(CAST(:last_lifted AS bigint), 0))
ON CONFLICT (network) WHERE lifted_at IS NULL DO NOTHING
""")
LIFT: Final = lift_statement("source_stop")

ENTRIES: Final = sql("""
SELECT entry.kind, entry.at, entry.swap_id, account.network, account.token, posting.base_units,
    entry.at AS after_at, entry.id AS after_id
FROM (
    SELECT id, kind, swap_id, at FROM ledger_transaction
    WHERE kind IN ('lost', 'recovered', 'refuel_lost')
        AND (at, id) < (coalesce(CAST(:after_at AS timestamptz), 'infinity'),
            CAST(:after_id AS uuid))
    ORDER BY at DESC, id DESC LIMIT :limit) AS entry
JOIN posting ON posting.transaction_id = entry.id
JOIN account ON account.id = posting.account_id
-- One posting of each.
WHERE account.kind = 'loss' ORDER BY entry.at DESC, entry.id DESC
""")


@dataclass(frozen=True, slots=True)
class CountedLoss:
    """What counts still of what reorgs of a network have taken, in millionths of a dollar."""

    usd_micros: int
    last_lifted: int | None  # the stop that was lifted last when it was counted


class PostgresLosses:
    """What reorgs have taken after it was paid for, and where that stopped payments."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def counted_losses(self, span: timedelta) -> Mapping[str, CountedLoss]:
        """Return it by network: what counts still, of so long."""
        rows = await read_alone(self._engine, COUNTED_LOSSES, {"span": span})
        return {row.network: CountedLoss(int(row.usd_micros), row.last_lifted) for row in rows}

    async def list_stops(self) -> Sequence[Stop]:
        rows = await read_alone(self._engine, STOPS)
        return [Stop(r.network, r.stopped_at, BY, r.stopped_because) for r in rows]

    async def list_entries(self, *, after: ListPlace | None, limit: int) -> Sequence[Record]:
        """Return the newest postings first; negative where a loss was found again.

        :param after: only what follows this place.
        """
        values = {**place_values(after), "limit": limit}
        return [to_record(row) for row in await read_alone(self._engine, ENTRIES, values)]

    async def stop(self, network: str, *, because: str, last_lifted: int | None) -> bool:
        """Have nothing paid any more for what came from there.

        False if it was so, or if a later stop than `last_lifted` was lifted: it is forgiven.
        """
        async with transaction(self._engine) as connection:
            await connection.execute(HOLD, {"network": network})
            values = {"network": network, "because": because, "last_lifted": last_lifted}
            return (await connection.execute(STOP, values)).changed > 0

    async def lift(
        self, network: str, *, by: str, reason: str, stopped_at: datetime | None = None
    ) -> bool:
        """False if it was not stopped.

        :param stopped_at: only the stop that began then; None: whichever is on.
        """
        values = {"network": network, "by": by, "reason": reason, "stopped_at": stopped_at}
        return await change_by_order(self._engine, LIFT, values)

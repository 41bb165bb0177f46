"""The kill switch, on Postgres: every process reads it where it keeps what it signed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from swap_runtime.errors import Unavailable
from swap_runtime.operators.operator_log import log_order
from swap_runtime.postgres.database import Engine, read_alone, transaction
from swap_runtime.postgres.sql import Statement, sql
from swap_settler.model.store.order_changes import change_by_order
from swap_settler.operator.decide.signer import EVERYWHERE, Stop
from swap_settler.records import to_dataclass

ROUND_TIMEOUT: Final = timedelta(seconds=1)
BY_THE_WATCHER: Final = "the chain-watcher"


def lift_statement(table: str) -> Statement:
    """Return SQL that lifts the stop of a network; of one that began at another time, nothing."""
    return sql(f"""
UPDATE {table} SET lifted_at = now(), lifted_by = :by, lifted_because = :reason
WHERE network = :network AND lifted_at IS NULL
    AND (CAST(:stopped_at AS timestamptz) IS NULL OR stopped_at = :stopped_at)
""")


STOPS: Final = sql("""
SELECT network, stopped_at AS at, stopped_by AS by, stopped_because AS reason FROM payout_stop
WHERE lifted_at IS NULL ORDER BY network
""")
HALTS: Final = sql("""
SELECT network, halted_at, reason FROM chain_watcher.halted_network ORDER BY network
""")
STOP: Final = sql("""
INSERT INTO payout_stop (network, stopped_by, stopped_because) VALUES (:network, :by, :reason)
ON CONFLICT (network) WHERE lifted_at IS NULL DO UPDATE SET stopped_at = excluded.stopped_at
RETURNING xmax = 0 AS is_new
""")
LIFT: Final = lift_statement("payout_stop")
WAIT_AT_MOST: Final = sql("SELECT set_config('statement_timeout', :milliseconds, true)")
# What keeps signed bytes holds its lane's lease from before it reads the switch until it commits.
ROUNDS: Final = sql(f"""
SELECT lease.name FROM signer
JOIN lease ON lease.name = 'lane:' || signer.network || ':' || signer.address
WHERE signer.network = :network OR :network = '{EVERYWHERE}'
ORDER BY lease.name FOR UPDATE OF lease
""")


class PostgresStops:
    """The kill switch: while it is on for a network, or for all, nothing is signed there."""

    def __init__(self, engine: Engine, *, patience: timedelta = ROUND_TIMEOUT) -> None:
        self._engine = engine
        self._patience = patience

    async def list_stops(self) -> Sequence[Stop]:
        """Return those that are on."""
        return [to_dataclass(Stop, row) for row in await read_alone(self._engine, STOPS)]

    async def list_halts(self) -> Sequence[Stop]:
        """Return the networks that the watcher halted, which stops them as well."""
        rows = await read_alone(self._engine, HALTS)
        return [Stop(r.network, r.halted_at, BY_THE_WATCHER, r.reason) for r in rows]

    async def stop(self, network: str, *, by: str, reason: str) -> bool:
        """Switch on: what reads it from now on signs no more. False if it was on.

        A stop that is ordered again gets a new beginning, so that an order to lift the earlier one
        has no effect. The first operator and reason stay.
        """
        async with transaction(self._engine) as connection:
            values = {"network": network, "by": by, "reason": reason}
            is_new: bool = await connection.scalar(STOP, values)
            await log_order(connection)
        return is_new

    async def rounds_have_ended(self, network: str) -> bool:
        """Wait for those that had read it before it was on; False when one takes too long."""
        milliseconds = str(int(self._patience / timedelta(milliseconds=1)))
        try:
            async with transaction(self._engine) as connection:
                await connection.execute(WAIT_AT_MOST, {"milliseconds": milliseconds})
                await connection.execute(ROUNDS, {"network": network})
        except Unavailable:
            return False
        return True

    async def lift(
        self, network: str, *, by: str, reason: str, stopped_at: datetime | None = None
    ) -> bool:
        """Switch off. False if it was not on.

        :param stopped_at: only the stop that began then; None: whichever is on.
        """
        values = {"network": network, "by": by, "reason": reason, "stopped_at": stopped_at}
        return await change_by_order(self._engine, LIFT, values)

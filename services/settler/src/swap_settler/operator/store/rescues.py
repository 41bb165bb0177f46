"""What came to our addresses and no swap has, on Postgres."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from swap_chains.ports import ReportedTransfer
from swap_runtime.operators.operator_log import log_order
from swap_runtime.postgres.columns import columns
from swap_runtime.postgres.database import Engine, read_alone, transaction
from swap_runtime.postgres.sql import sql
from swap_settler.operator.decide.rescues import ReturnOrder
from swap_settler.records import to_dataclass

ADDRESSES: Final = sql("""
SELECT address, sequence_number FROM deposit_address
WHERE network = :network AND address = ANY(CAST(:addresses AS text[]))
""")
UNMATCHED_DEPOSITS: Final = sql("""
SELECT deposit.token, deposit.to_address, deposit.base_units, deposit.state,
       deposit.quarantine_reason, account.id AS claimable_id
FROM deposit LEFT JOIN account ON account.kind = 'suspense'
    AND (account.network, account.token, account.deposit_id)
        = (deposit.network, deposit.token, deposit.id)
    AND account.swap_id IS NULL AND account.balance <> 0
WHERE deposit.network = :network AND deposit.transaction_hash = :hash AND deposit.swap_id IS NULL
ORDER BY deposit.id
""")
ORDER_COLUMNS: Final = """
id, network, transaction_hash, token, from_address, to_address, base_units, returned_to,
ordered_by AS by, ordered_because AS reason, at
"""
ORDERED: Final = sql(f"""
SELECT {ORDER_COLUMNS} FROM rescued_token
WHERE network = :network AND transaction_hash = :hash ORDER BY id
""")
NEWEST: Final = sql(f"""
SELECT {ORDER_COLUMNS} FROM rescued_token
WHERE id < coalesce(CAST(:before AS bigint), 9223372036854775807) ORDER BY id DESC LIMIT :limit
""")
LOCK: Final = sql("""
SELECT pg_advisory_xact_lock(hashtextextended('settler.rescue ' || CAST(:hash AS text), 0))
""")
ORDER: Final = sql("""
INSERT INTO rescued_token (network, transaction_hash, token, from_address, to_address, base_units,
    returned_to, ordered_by, ordered_because)
SELECT :network, :hash, token, from_address, to_address, base_units, :returned_to, :by, :reason
FROM unnest(CAST(:token AS text[]), CAST(:from_address AS text[]), CAST(:to_address AS text[]),
    CAST(:base_units AS numeric[])) AS new(token, from_address, to_address, base_units)
""")


@dataclass(frozen=True, slots=True)
class UnmatchedDeposit:
    """A deposit that no swap has."""

    token: str
    to_address: str
    base_units: int
    state: str
    quarantine_reason: str | None
    claimable_id: int | None  # of the balance that waits for its owner


class PostgresRescues:
    """What came to our addresses and no swap has."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def deposit_addresses(
        self, network: str, addresses: Collection[str]
    ) -> Mapping[str, int]:
        """Return the numbers of the swaps with deposit addresses among these."""
        values = {"network": network, "addresses": list(addresses)}
        rows = await read_alone(self._engine, ADDRESSES, values)
        return {row.address: row.sequence_number for row in rows}

    async def unmatched_deposits(
        self, network: str, transaction_hash: str
    ) -> Sequence[UnmatchedDeposit]:
        values = {"network": network, "hash": transaction_hash}
        rows = await read_alone(self._engine, UNMATCHED_DEPOSITS, values)
        return [to_dataclass(UnmatchedDeposit, row) for row in rows]

    async def find_ordered(self, network: str, transaction_hash: str) -> Sequence[ReturnOrder]:
        """Return what was ordered of a transaction before, oldest first."""
        values = {"network": network, "hash": transaction_hash}
        return [
            to_dataclass(ReturnOrder, r) for r in await read_alone(self._engine, ORDERED, values)
        ]

    async def newest(self, *, before: int | None, limit: int) -> Sequence[ReturnOrder]:
        """Return what was ordered of all transactions, newest first.

        :param before: only orders with a lower id.
        """
        values = {"before": before, "limit": limit}
        return [
            to_dataclass(ReturnOrder, r) for r in await read_alone(self._engine, NEWEST, values)
        ]

    async def order(
        self,
        network: str,
        transaction_hash: str,
        transfers: Sequence[ReportedTransfer],
        *,
        returned_to: str,
        by: str,
        reason: str,
        require_unchanged: Callable[[Sequence[ReturnOrder]], None],
    ) -> None:
        """Store an order, with its row of the log.

        :param require_unchanged: raises when the earlier orders of the transaction are others than
            this order is based on. No order of the same transaction commits between the two.
        """
        rows = [
            {
                "token": one.token,
                "from_address": one.from_address,
                "to_address": one.to_address,
                "base_units": str(one.base_units),
            }
            for one in transfers
        ]
        order = {"returned_to": returned_to, "by": by, "reason": reason}
        values = {"network": network, "hash": transaction_hash, **columns(rows), **order}
        async with transaction(self._engine) as connection:
            await connection.execute(LOCK, {"hash": transaction_hash})
            place = {"network": network, "hash": transaction_hash}
            ordered = await connection.execute(ORDERED, place)
            require_unchanged([to_dataclass(ReturnOrder, row) for row in ordered])
            await connection.execute(ORDER, values)
            await log_order(connection)

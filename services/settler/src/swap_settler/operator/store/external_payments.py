"""Payments with ids that external transactions spent at the Treasury, on Postgres."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from uuid import UUID

from swap_runtime.messaging.unit_of_work import UnitOfWork
from swap_runtime.operators.operator_log import log_order
from swap_runtime.postgres.columns import columns
from swap_runtime.postgres.sql import sql
from swap_settler.model.chain_facts import PayoutFact
from swap_settler.model.ledger.inventory import AssetKey
from swap_settler.model.store import statements, swap_statements
from swap_settler.model.store.unit_of_work import PostgresWork
from swap_settler.operator.decide.claims import Claimable
from swap_settler.paying.decide.slots import Owners
from swap_settler.recovery.decide.recovery import PaymentId
from swap_settler.recovery.store import proof_statements

# By what was booked when it was final: see model/ledger/ledger.py.
UNRECONCILED: Final = sql("""
SELECT wanted.paid_id FROM unnest(CAST(:paid_ids AS text[])) AS wanted(paid_id)
WHERE EXISTS (SELECT FROM ledger_transaction WHERE dedupe_key
    = concat_ws('/', 'payout_unexplained', CAST(:network AS text), wanted.paid_id,
        CAST(:hash AS text)))
""")
# What a restored ledger has no intent of: see operator/usecases/order_forgotten.py.
FORGOTTEN: Final = sql("""
WITH found AS MATERIALIZED (
    SELECT id, swap_id FROM retained_hold
    WHERE network = :network AND paid_id = ANY(CAST(:paid_ids AS numeric[]))
        AND released_at IS NULL AND intent_id IS NULL
)
SELECT DISTINCT network, paid_id, kind, swap_id, deposit_id FROM retained_hold
WHERE paid_id IS NOT NULL AND released_at IS NULL
    AND (id IN (SELECT id FROM found) OR swap_id IN (SELECT swap_id FROM found))
ORDER BY network, paid_id
""")
# Each part has an index: of a swap's accounts, and of one without a swap.
CLAIMABLE_OF: Final = sql("""
SELECT id, -balance AS base_units FROM account
WHERE swap_id = CAST(:swap_id AS uuid) AND kind = 'claimable' AND balance <> 0
    AND (network, token) = (:network, :token)
    AND deposit_id IS NOT DISTINCT FROM CAST(:deposit_id AS uuid)
UNION ALL
SELECT id, -balance FROM account
WHERE CAST(:swap_id AS uuid) IS NULL AND kind = 'suspense' AND network = :network
    AND token = :token AND swap_id IS NULL AND deposit_id = CAST(:deposit_id AS uuid)
    AND balance <> 0
""")
ADD_EXTERNAL_PAYMENTS: Final = sql("""
INSERT INTO taken_payment (
    intent_id, network, paid_id, transaction_hash, block_number, block_hash, token, to_address,
    base_units, outcome, named_by, named_because)
SELECT new.*, :by, :reason FROM unnest(
    CAST(:intent_id AS uuid[]), CAST(:network AS text[]), CAST(:paid_id AS numeric[]),
    CAST(:transaction_hash AS text[]), CAST(:block_number AS bigint[]),
    CAST(:block_hash AS text[]), CAST(:token AS text[]), CAST(:to_address AS text[]),
    CAST(:base_units AS numeric[]), CAST(:outcome AS text[])) AS new
ON CONFLICT (intent_id) DO NOTHING -- what was left is told once
""")
# See settling/decide/payouts.py: when a payment got its nonce, only the lane and this write.
SET_SLOT_TIME: Final = sql("""
UPDATE intent SET slot_at = new.at
FROM unnest(CAST(:intent_id AS uuid[]), CAST(:at AS timestamptz[])) AS new(intent_id, at)
WHERE intent.id = new.intent_id AND intent.slot_at IS NULL
""")


class ReconciledEnd(StrEnum):
    """What becomes of such a payment."""

    MADE = "made"  # as it was ordered
    FAILED = "failed"  # its id was spent on something else: its money is claimable
    LEFT = "left"  # people settle it


@dataclass(frozen=True, slots=True)
class ExternalPayment:
    """A payment with an id that an external transaction spent at the Treasury."""

    intent_id: UUID
    swap_id: UUID | None
    log: PayoutFact
    end: ReconciledEnd


class PostgresExternalPaymentWork(PostgresWork):
    """A transaction in which an operator reconciles such payments."""

    async def payments_of(self, network: str, paid_ids: Collection[int]) -> Owners:
        """Return the live payments that have these ids at the Treasury. Locks nothing."""
        ids = [str(paid_id) for paid_id in paid_ids]
        values = {"networks": [network] * len(ids), "paid_ids": ids}
        rows = await self._connection.execute(swap_statements.PAID_BY, values)
        return {row.id: row.swap_id for row in rows}

    async def forgotten_payments(
        self, network: str, paid_ids: Collection[int]
    ) -> Sequence[PaymentId]:
        """Return the payments with these ids that an ended recovery found. They are of swaps and of
        deposits without one, with all others found of the same swaps. Locks nothing.
        """
        values = {"network": network, "paid_ids": [str(paid_id) for paid_id in paid_ids]}
        rows = await self._connection.execute(FORGOTTEN, values)
        return [
            PaymentId(network, int(row.paid_id), row.kind, row.swap_id, deposit_id=row.deposit_id)
            for row in rows
        ]

    async def claimable_of(
        self, asset: AssetKey, *, swap_id: UUID | None, deposit_id: UUID | None
    ) -> Claimable | None:
        """Return what is claimable of a swap on a leg, or of a deposit without a swap.

        Its swap or key is held.
        """
        network, token = asset
        of = {"network": network, "token": token, "swap_id": swap_id, "deposit_id": deposit_id}
        row = (await self._connection.execute(CLAIMABLE_OF, of)).one_or_none()
        if row is None:
            return None
        return Claimable(row.id, network, token, swap_id, deposit_id, int(row.base_units))

    async def find_unreconciled(
        self, network: str, transaction_hash: str, paid_ids: Collection[int]
    ) -> frozenset[int]:
        """Return the ids that the transaction paid and that are booked as nothing explains them."""
        ids = [str(paid_id) for paid_id in paid_ids]
        values = {"network": network, "hash": transaction_hash, "paid_ids": ids}
        return frozenset(map(int, await self._connection.scalars(UNRECONCILED, values)))

    async def add_external_payments(
        self, payments: Sequence[ExternalPayment], *, by: str, reason: str
    ) -> None:
        """Keep what took each id, and who named it and why. Before the flush."""
        rows = [
            {
                "intent_id": one.intent_id,
                "network": one.log.network,
                "paid_id": str(one.log.paid_id),
                "transaction_hash": one.log.transaction_hash,
                "block_number": one.log.block_number,
                "block_hash": one.log.block_hash,
                "token": one.log.token,
                "to_address": one.log.to_address,
                "base_units": str(one.log.base_units),
                "outcome": one.end.value,
            }
            for one in payments
        ]
        self._connection.post(ADD_EXTERNAL_PAYMENTS, {**columns(rows), "by": by, "reason": reason})
        order = {
            "network": [row["network"] for row in rows],
            "paid_id": [r["paid_id"] for r in rows],
        }
        self._connection.post(
            proof_statements.RELEASE_EXPLAINED, {**order, "by": by, "reason": reason}
        )
        await log_order(self._connection)
        alive = [one for one in payments if one.end is not ReconciledEnd.FAILED]
        if alive:
            times = [{"intent_id": one.intent_id, "at": one.log.block_time} for one in alive]
            self._connection.post(SET_SLOT_TIME, columns(times))
            # A nonce that waits for its bytes gets a no-op; as theirs it would never be sent again.
            ids = [one.intent_id for one in alive]
            self._connection.post(statements.LEAVE_UNSIGNED, {"ids": ids})


class PostgresExternalPaymentUnitOfWork(UnitOfWork[PostgresExternalPaymentWork]):
    _opens = PostgresExternalPaymentWork

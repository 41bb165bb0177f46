"""Recoveries and what they have proven, on Postgres."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from swap_chains.evm.codec import intent_id
from swap_domain.catalogue import NATIVE
from swap_runtime.operators.operator_log import log_order
from swap_runtime.postgres.columns import columns
from swap_runtime.postgres.database import Engine, read_alone, reading, transaction
from swap_runtime.postgres.sql import Row, sql
from swap_settler.model.store.holds import HELD, held_swap
from swap_settler.model.store.order_changes import change_by_order
from swap_settler.model.swap import IntentKind
from swap_settler.paying.store import lane_statements
from swap_settler.records import ListPlace, Record, place_values, to_dataclass, to_record
from swap_settler.recovery.decide.recovery import (
    Findings,
    HeldSwap,
    NetworkProof,
    PaymentId,
    Proofs,
    Recovery,
    RecoveryEnd,
    RetainedHold,
    SignerProof,
    UncomparedNetwork,
    UnexplainedPayment,
)
from swap_settler.recovery.store import proof_statements

UNCOMPARED: Final = sql("""
SELECT unnest(uncompared) AS network, began_at AS since FROM incarnation
WHERE id = (SELECT max(id) FROM incarnation) ORDER BY network
""")
# The open one, or the newest that has ended. Run every second: it reads nothing but recoveries.
SHOWN: Final = sql("""
SELECT recovery.id, cause, reason, began_at, evidence, ended_at, ended_by, ended_because
FROM recovery ORDER BY ended_at IS NULL DESC, id DESC LIMIT 1
""")
# Each reads all payments that wait: for reports, and for operators.
_HELD_INTENTS: Final = f"FROM intent WHERE state = 'reserved' AND {HELD}"
_HELD_REFUNDS: Final = f"FROM refund_due WHERE {held_swap('refund_due.swap_id')}"
COUNT_HELD: Final = sql(f"""
SELECT (SELECT count(*) {_HELD_INTENTS}) + (SELECT count(*) {_HELD_REFUNDS})
""")
# Those that the count above is made of. The amount of a refund that is due is not known yet.
LIST_HELD: Final = sql(f"""
SELECT since, kind, network, token, base_units, swap_id, deposit_id, app_id,
       since AS after_at, id AS after_id
FROM (
    SELECT id, created_at AS since, kind, network, token, base_units, swap_id, deposit_id, app_id
    {_HELD_INTENTS}
    UNION ALL
    -- A leg has one refund that is due.
    SELECT coalesce(deposit_id, swap_id), since, 'refund', network,
           (SELECT source_token FROM swap WHERE swap.id = refund_due.swap_id),
           CAST(NULL AS numeric), swap_id, deposit_id, CAST(NULL AS uuid)
    {_HELD_REFUNDS}) AS held
WHERE (since, id) > (
    coalesce(CAST(:after_at AS timestamptz), '-infinity'), CAST(:after_id AS uuid))
ORDER BY since, id LIMIT :limit
""")
FINISH: Final = sql("""
UPDATE recovery SET ended_at = now(), ended_by = :by, ended_because = :reason
WHERE id = :id AND ended_at IS NULL AND evidence = :evidence
""")
# As model/ledger/ledger.py names what it books: the network, the id and the transaction.
UNEXPLAINED: Final = sql("""
WITH booked AS (
    SELECT DISTINCT split_part(paid.dedupe_key, '/', 2) AS network,
           CAST(split_part(paid.dedupe_key, '/', 3) AS numeric) AS paid_id,
           split_part(paid.dedupe_key, '/', 4) AS transaction_hash
    FROM account JOIN posting ON posting.account_id = account.id
    JOIN ledger_transaction AS paid ON paid.id = posting.transaction_id
    WHERE account.kind = 'payout_suspense' AND paid.kind = 'payout_unexplained')
SELECT * FROM booked WHERE NOT EXISTS (SELECT FROM taken_payment AS told
    WHERE (told.network, told.paid_id, told.transaction_hash)
        = (booked.network, booked.paid_id, booked.transaction_hash))
ORDER BY network, paid_id
""")


CLAIM = IntentKind.CLAIM.value


class PostgresRecoveries:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def find(self) -> Recovery | None:
        """Return the open one, or the last that has ended. Queried every second."""
        row = (await read_alone(self._engine, SHOWN)).one_or_none()
        return row and Recovery(
            id=row.id,
            cause=row.cause,
            reason=row.reason,
            began_at=row.began_at,
            evidence=row.evidence,
            ended=row.ended_at and RecoveryEnd(row.ended_at, row.ended_by, row.ended_because),
        )

    async def list_uncompared(self) -> Sequence[UncomparedNetwork]:
        """Return the networks on which older payments are held until two providers answer."""
        rows = await read_alone(self._engine, UNCOMPARED)
        return [to_dataclass(UncomparedNetwork, row) for row in rows]

    async def count_held(self) -> int:
        """Return how many payments and refunds wait for its end, or for a retained hold."""
        async with reading(self._engine) as connection:
            return int(await connection.scalar(COUNT_HELD) or 0)

    async def list_held(self, *, after: ListPlace | None, limit: int) -> Sequence[Record]:
        """Return the payments and refunds that wait for it, the oldest first.

        :param after: only what follows this place.
        """
        values = {**place_values(after), "limit": limit}
        return [to_record(row) for row in await read_alone(self._engine, LIST_HELD, values)]

    async def list_unexplained(self) -> Sequence[UnexplainedPayment]:
        """Return what the Treasuries paid, and neither an attempt nor an operator explains."""
        rows = await read_alone(self._engine, UNEXPLAINED)
        return [to_dataclass(UnexplainedPayment, row) for row in rows]

    async def held_swaps(self, before: datetime, *, after: UUID, limit: int) -> Sequence[HeldSwap]:
        """Return swaps that may still be paid out, or sent back, by id.

        They are older, or an older deposit was attached to them.
        """
        values = {"before": before, "after": after, "limit": limit}
        rows = await read_alone(self._engine, proof_statements.HELD_SWAPS, values)
        return [_to_held_swap(row) for row in rows]

    async def standalone_payments(self) -> Sequence[PaymentId]:
        """Return payments of no swap that wait, or that an operator may order."""
        async with reading(self._engine) as connection:
            rows, deposits = await connection.ask(
                (proof_statements.STANDALONE, {}), (proof_statements.DEPOSITS, {})
            )
        ordered = [
            PaymentId(row.network, int(row.paid_id), row.kind, intent_id=row.id) for row in rows
        ]
        claims = [
            PaymentId(
                row.network,
                intent_id(row.id, CLAIM, f"{row.id}/{row.network}/{row.token}"),
                CLAIM,
                deposit_id=row.id,
            )
            for row in deposits
        ]
        return [*ordered, *claims]

    async def finish(self, id: int, found: Findings, *, by: str, reason: str) -> bool:
        """End it, and go on holding what was found; False if it has ended or has new evidence."""
        values = {"id": id, "by": by, "reason": reason, "evidence": found.evidence}
        async with transaction(self._engine) as connection:
            if not (await connection.execute(FINISH, values)).changed:
                return False
            if found.paid:
                rows = [_retained_row(one) for one in found.paid]
                connection.post(proof_statements.RETAIN_PAID, {"id": id, **columns(rows)})
            if found.has_unknown:
                values = {"id": id, "native": NATIVE}
                connection.post(proof_statements.RETAIN_DEPOSITS, values)
            await log_order(connection)  # nothing, where it ends by itself
        return True

    async def retained_holds(self) -> Sequence[RetainedHold]:
        rows = await read_alone(self._engine, proof_statements.RETAINED)
        return [to_dataclass(RetainedHold, row) for row in rows]

    async def release(self, id: int, *, by: str, reason: str) -> bool:
        """Hold a deposit no longer; False where a payment was made, or it is released."""
        values = {"id": id, "by": by, "reason": reason}
        return await change_by_order(self._engine, proof_statements.RELEASE, values)


class PostgresRecoveryProofs:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def find(self, id: int, networks: Collection[str]) -> Proofs:
        of = sorted(networks)
        read = [(lane_statements.LEDGER_PASSED, {"network": network}) for network in of]
        async with reading(self._engine) as connection:
            noted, signers, halted, *passed = await connection.ask(
                (proof_statements.HEADS, {"id": id}),
                (proof_statements.SIGNERS, {"id": id}),
                (proof_statements.HALTED, {}),
                *read,
            )
        heads = {row.network: int(row.number) for row in noted}
        in_doubt = {row.network for row in halted}
        read_to = {
            network: None if network in in_doubt else _number(found.one_or_none())
            for network, found in zip(of, passed, strict=True)
        }
        return Proofs(
            tuple(NetworkProof(n, heads.get(n), number) for n, number in read_to.items()),
            tuple(to_dataclass(SignerProof, row, without=["is_opened"]) for row in signers),
        )

    async def are_counted(self, before: datetime, networks: Collection[str]) -> bool:
        """Whether the coins at each older deposit address were counted since."""
        async with reading(self._engine) as connection:
            values = {"before": before, "networks": sorted(networks)}
            return bool(await connection.scalar(proof_statements.ARE_COUNTED, values))

    async def uncounted_addresses(
        self, before: datetime, networks: Collection[str]
    ) -> Mapping[str, int]:
        """Return how many older deposit addresses were not counted since, by network."""
        values = {"before": before, "networks": sorted(networks)}
        rows = await read_alone(self._engine, proof_statements.UNCOUNTED, values)
        return {row.network: row.addresses for row in rows}

    async def note_heads(self, recovery: Recovery, heads: Mapping[str, int]) -> None:
        """Keep up to where each network has to be read."""
        rows = [{"network": network, "number": number} for network, number in heads.items()]
        values = {"id": recovery.id, "evidence": recovery.evidence, **columns(rows)}
        async with transaction(self._engine) as connection:
            connection.post(proof_statements.NOTE_HEADS, values)


def _number(row: Row | None) -> int | None:
    return None if row is None else int(row.final_number)


def _to_held_swap(row: Row) -> HeldSwap:
    known = zip(row.networks, map(int, row.paid_ids), strict=True)
    return HeldSwap(
        id=row.id,
        source=(row.source_network, row.source_token),
        destination=(row.destination_network, row.destination_token),
        deposits=tuple(row.deposit_ids),
        known=frozenset(known),
    )


def _retained_row(one: PaymentId) -> dict[str, object]:
    return {
        "swap_id": one.swap_id,
        "intent_id": one.intent_id,
        "deposit_id": one.deposit_id,
        "kind": one.kind,
        "network": one.network,
        "paid_id": str(one.paid_id),
    }

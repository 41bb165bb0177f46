"""What a lane keeps of its signer, on Postgres."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Final
from uuid import UUID

from swap_chains.evm.gasless import DEPOSIT_WITH_PERMIT
from swap_chains.ports import Fees, SignedTransaction
from swap_runtime.postgres.columns import columns
from swap_runtime.postgres.database import Engine, Transaction, read_alone, reading, transaction
from swap_runtime.postgres.leases import require_epoch
from swap_runtime.postgres.sql import Row, Rows, Statement, sql
from swap_settler.model.store.counted_outflow import release_outflow
from swap_settler.model.store.holds import OPEN
from swap_settler.paying import observe
from swap_settler.paying.decide.caps import WithheldPayment
from swap_settler.paying.decide.lane import Group, Payment, Slot
from swap_settler.paying.decide.replacing import OpenSlot
from swap_settler.paying.decide.slots import Attempt, Due, OpenAttempt, UnsignedSlots, fitting
from swap_settler.paying.store import lane_statements as statements
from swap_settler.paying.store import outflow_statements as outflow
from swap_settler.paying.store.outflow import admit_payments, queue_for_outflow

DEFERRED_PAUSE: Final = timedelta(seconds=30)

# Beside the oldest and the newest, which may contain only sweeps. By ids, which are hashes: the
# first of them are as good as any, and an index has them in order.
FIRST_PAID: Final = sql("""
SELECT paid_id FROM intent
WHERE network = :network AND state <> 'dead' AND state = 'confirmed' AND paid_id IS NOT NULL
ORDER BY network, paid_id LIMIT 10
""")


@dataclass(frozen=True, slots=True)
class LaneName:
    """Which lane: the sender of one (network, signer)."""

    network: str
    signer: str

    @property
    def lease(self) -> str:
        return f"lane:{self.network}:{self.signer}"

    @property
    def values(self) -> dict[str, object]:
        return {"network": self.network, "signer": self.signer}


def hand_out(
    connection: Transaction,
    lane: LaneName,
    carried: Mapping[int, Sequence[UUID]],
    *,
    at: datetime | None = None,
) -> None:
    """Put intents on the next nonces of a lane that is locked.

    :param at: when the caps counted them; None: now.
    """
    pairs = [
        {"nonce": nonce, "intent_id": intent_id}
        for nonce, intent_ids in carried.items()
        for intent_id in intent_ids
    ]
    connection.post(statements.TAKE_NONCES, {**lane.values, "count": len(carried)})
    connection.post(statements.ADD_SLOTS, {**lane.values, "nonces": list(carried)})
    connection.post(statements.ADD_SLOT_INTENTS, {**lane.values, **columns(pairs)})
    ids = [pair["intent_id"] for pair in pairs]
    connection.post(statements.ASSIGN_INTENTS, {"ids": ids, "at": at})


class PostgresLaneStore:
    """What one lane keeps of its signer on its network. Each method is one transaction."""

    def __init__(self, engine: Engine, lane: LaneName) -> None:
        self._engine = engine
        self._lane = lane

    async def open_signer(self, nonce: int) -> int | None:
        """Begin at `nonce` if the signer is new; return the next nonce that will be handed out.

        None where it is new and the database was not compared with the network yet: it may be
        forgotten.
        """
        async with transaction(self._engine) as connection:
            await connection.execute(statements.ADD_SIGNER, self._values(nonce=nonce))
            found = await connection.execute(statements.LOCK_SIGNER, self._values())
            row = found.one_or_none()
        return None if row is None else int(row.next_nonce)

    async def halt(self, reason: str) -> None:
        """Halt for what a chain has and the ledger has not; a recovery begins."""
        async with transaction(self._engine) as connection:
            await connection.execute(statements.HALT_SIGNER, self._values(reason=reason))
            self._begin_recovery(connection, reason)

    async def paid_sample(self) -> Sequence[int]:
        """Return ids of final payments of the network: the oldest, the newest and others."""
        async with reading(self._engine) as connection:
            values: dict[str, object] = {"network": self._lane.network}
            some, first = await connection.ask(
                (statements.OLDEST_AND_NEWEST_PAID, values), (FIRST_PAID, values)
            )
        return sorted({int(row.paid_id) for row in (*some, *first)})

    async def halt_for(self, nonces: Collection[int], reason: str) -> None:
        """Halt for nonces that nothing explains, unless something has explained all of them.

        A recovery begins: the ledger may have forgotten what used them. A reason that the halt has
        already begins nothing again.
        """
        async with transaction(self._engine) as connection:
            values = self._values(reason=reason, nonces=list(nonces))
            is_new = (await connection.execute(statements.HALT_FOR, values)).changed > 0
            if is_new:  # once: a later round would make newer swaps older than the recovery
                self._begin_recovery(connection, reason)

    def _begin_recovery(self, connection: Transaction, reason: str) -> None:
        """Say where: it holds payments on all networks, and its signer is one of many."""
        named = f"signer {self._lane.signer} of {self._lane.network} halted: {reason}"
        connection.post(OPEN, {"cause": "evidence", "reason": named, "at": None})

    async def due(self, *, limit: int) -> Due:
        """Return the payments that are due, the longest waiting first.

        Of the queued payments, only those that may be next.
        """
        async with reading(self._engine) as connection:
            of_network = {"network": self._lane.network}
            values = {**of_network, "limit": limit, "permit": DEPOSIT_WITH_PERMIT}
            first, due, [out], signer, sent = await connection.ask(
                (outflow.HEADS, of_network),
                (statements.WAITING, values),
                (statements.IN_FLIGHT, self._values(first=0)),
                (statements.NEXT_NONCE, self._values()),
                (outflow.ON_ITS_WAY, of_network),
            )
        heads = [_to_queued_payment(row) for row in first]
        known = {payment.intent_id for payment in heads}
        payments = [*heads, *(_due(row) for row in due if row.id not in known)]
        on_its_way = {row.token: int(row.base_units) for row in sent}
        return Due(payments, out.slots, signer[0].next_nonce if signer else None, on_its_way)

    async def queue_payments(self, withheld: Sequence[WithheldPayment]) -> None:
        """Let payments wait for the Treasury's own limit, in the order they were made."""
        async with transaction(self._engine) as connection:
            queue_for_outflow(connection, withheld)

    async def in_flight(self, *, first: int = 0) -> int:
        """Return how many slots from a nonce on are in no block that was reported."""
        return int((await self._read(statements.IN_FLIGHT, first=first)).one().slots)

    async def unproven_payments(self, addresses: Collection[str]) -> Mapping[str, int]:
        """Return how many payments this signer sent that no block is known to have paid."""
        rows = await self._read(statements.UNPROVEN, addresses=list(addresses))
        return {row.to_address: row.payments for row in rows}

    async def assign(
        self, groups: Sequence[Group], *, signed: Sequence[Attempt] = (), epoch: int
    ) -> Sequence[Slot]:
        """Hand out one nonce per group, in order; nothing for a signer that is halted, or stopped.

        A payment that was put back meanwhile is left out of its group. So is one that a cap does
        not allow: it is queued. Of what was signed already, what fits is stored.

        :raises LeaseLost: when another lane has taken over.
        """
        async with transaction(self._engine) as connection:
            ids = [payment.intent_id for group in groups for payment in group]
            locked, caps, [signer] = await require_epoch(
                connection,
                self._lane.lease,
                epoch,
                (statements.LOCK_INTENTS, {"ids": ids}),
                (outflow.LOCK_CAPS, {"network": self._lane.network}),
                (statements.LOCK_SIGNER, self._values()),
            )
            if not signer.may_sign:
                return ()
            free = {row.id for row in locked}
            decision = await admit_payments(connection, self._lane.network, free, caps)
            payable = [tuple(p for p in group if p.intent_id in decision.leave) for group in groups]
            slots = [
                Slot(signer.next_nonce + n, group)
                for n, group in enumerate(group for group in payable if group)
            ]
            if slots:
                carried = {slot.nonce: [p.intent_id for p in slot.payments] for slot in slots}
                hand_out(connection, self._lane, carried, at=decision.at)
                self._add_attempts(connection, fitting(signed, slots))
        observe.payments_withheld(self._lane.network, decision.withheld)
        if left_out := [id for id in ids if id not in free]:
            # Otherwise they would be the first again, and have the places of what may leave.
            await self.defer_payments(left_out, pause=DEFERRED_PAUSE)
        return slots

    async def unsigned_slots(self, *, epoch: int) -> UnsignedSlots:
        """Return the slots nothing was signed for, with the payments on them that still live.

        Those of payments that a recovery holds are left to no-ops.

        :raises LeaseLost: when another lane has taken over.
        """
        async with transaction(self._engine) as connection:
            put_back, rows, [unsigned] = await require_epoch(
                connection,
                self._lane.lease,
                epoch,
                (statements.PUT_BACK_HELD, self._values()),
                (statements.UNSIGNED_SLOTS, self._values()),
                (statements.HAS_UNSIGNED, self._values()),
            )
            if put_back:  # it counts under its caps when it gets another slot
                release_outflow(connection, [row.id for row in put_back])
        payable = [
            Slot(nonce, tuple(_payment(row) for row in of_slot if row.id is not None))
            for nonce, of_slot in groupby(rows, key=lambda row: int(row.nonce))
        ]
        return UnsignedSlots(payable, unsigned.has_any)

    async def has_unsigned_slots(self) -> bool:
        """Whether there are any, of payments or sweeps, signed for now or not."""
        return bool((await self._read(statements.HAS_UNSIGNED)).one().has_any)

    async def store_attempts(self, attempts: Sequence[Attempt], *, epoch: int) -> Sequence[Attempt]:
        """Store the attempts with a slot that still contains exactly what they were signed for.

        None for a signer that is halted, or stopped.

        :raises LeaseLost: when another lane has taken over.
        """
        async with transaction(self._engine) as connection:
            nonces = [attempt.transaction.nonce for attempt in attempts]
            live: dict[int, set[UUID]] = {nonce: set() for nonce in nonces}
            signed, [signer] = await require_epoch(
                connection,
                self._lane.lease,
                epoch,
                (statements.LOCK_SIGNED, self._values(nonces=nonces)),
                (statements.SIGNER, self._values()),
            )
            if not signer.may_sign:
                return ()
            for row in signed:
                live[row.nonce].add(row.id)
            stored = [a for a in attempts if live[a.transaction.nonce] == a.intents]
            self._add_attempts(connection, stored)
        return stored

    def _add_attempts(self, connection: Transaction, attempts: Sequence[Attempt]) -> None:
        if attempts:
            rows = [_attempt_row(attempt) for attempt in attempts]
            connection.post(statements.ADD_ATTEMPTS, self._values(**columns(rows)))

    async def open_slots(self, *, lowest: int) -> Sequence[OpenSlot]:
        """Return signed slots that are in no reported block. They are the one with the lowest
        nonce, and later ones with a payment for a deposit that a reorg removed.
        """
        async with reading(self._engine) as connection:
            rows = await connection.execute(statements.OPEN_SIGNED, self._values(lowest=lowest))
            nonces = [row.nonce for row in rows]
            carried: dict[int, list[Payment]] = {nonce: [] for nonce in nonces}
            if nonces:
                values = self._values(nonces=nonces)
                for row in await connection.execute(statements.PAYMENTS_ON, values):
                    carried[row.nonce].append(to_payment_or_sweep(row))
        return [_open_slot(row, tuple(carried[row.nonce])) for row in rows]

    async def store_replacement(self, attempt: Attempt, *, epoch: int) -> bool:
        """Store an attempt for a slot that has others, while none of its payments is in a block.

        It carries exactly the slot's live payments, or nothing.
        None is kept for a signer that is halted, or stopped.

        :raises LeaseLost: when another lane has taken over.
        """
        nonce = attempt.transaction.nonce
        async with transaction(self._engine) as connection:
            carried, [signer] = await require_epoch(
                connection,
                self._lane.lease,
                epoch,
                (statements.LOCK_REPLACED, self._values(nonce=nonce)),
                (statements.SIGNER, self._values()),
            )
            live = {row.id for row in carried if row.state in ("assigned", "broadcast")}
            is_mined = len(live) < len(carried)
            is_same = attempt.is_cancel or attempt.intents == live
            if not signer.may_sign or is_mined or not is_same:
                return False
            self._add_attempts(connection, [attempt])
        return True

    async def defer_payments(self, intent_ids: Sequence[UUID], *, pause: timedelta) -> None:
        """Let payments wait that nothing is held against."""
        async with transaction(self._engine) as connection:
            values = {"ids": list(intent_ids), "pause": pause}
            await connection.execute(statements.QUEUE, values)

    async def find_unmined(
        self, *, older_than: timedelta, limit: int
    ) -> Sequence[SignedTransaction]:
        """Return attempts in no reported block that were never sent, or not for a while."""
        rows = await self._read(statements.UNMINED, older_than=older_than, limit=limit)
        return [SignedTransaction(r.transaction_hash, bytes(r.raw), r.nonce) for r in rows]

    async def signed_for(self, *, below: int) -> Sequence[OpenAttempt]:
        """Return the attempts on open slots below a nonce."""
        rows = await self._read(statements.OPEN_SLOTS, below=below, limit=1000)
        return [OpenAttempt(r.nonce, r.transaction_hash, r.is_cancel) for r in rows]

    async def payments_on(self, nonces: Collection[int]) -> Sequence[Payment]:
        """Return the payments on these slots that no reported block has."""
        rows = await self._read(statements.PAYMENTS_ON, nonces=list(nonces))
        return [to_payment_or_sweep(row) for row in rows]

    async def relays_on(self, nonces: Collection[int]) -> Mapping[Payment, int]:
        """Return the gasless deposits on these slots that are not over, each with its nonce."""
        rows = await self._read(statements.RELAYS_ON, nonces=list(nonces))
        return {_payment(row): row.nonce for row in rows}

    async def is_network_halted(self) -> bool:
        """Whether the watcher saw what is final there change: nothing is concluded from it then."""
        return bool((await self._read(statements.HALTED)).one().is_halted)

    async def ledger_passed(self) -> int | None:
        """Return the last block that the ledger has completely, and store it.

        None while a message of the watcher up to its last final block is not processed.
        """
        values: dict[str, object] = {"network": self._lane.network}
        async with transaction(self._engine) as connection:
            number = await connection.scalar(statements.LEDGER_PASSED, values)
            if number is not None:
                cursor = {**values, "number": number}
                await connection.execute(statements.MOVE_LEDGER_CURSOR, cursor)
        return None if number is None else int(number)

    async def signer_balance(self, token: str) -> int:
        """Return the balance of this lane's signer in the ledger."""
        values = {"address": self._lane.signer, "token": token}
        return int((await self._read(statements.SIGNER_BALANCE, **values)).one().balance)

    async def oldest_unpaid(self) -> timedelta:
        """Return how long the oldest payment of the network waits to be final."""
        waited = (await self._read(statements.OLDEST_UNPAID)).one()
        return timedelta(seconds=int(waited.seconds))

    async def _read(self, statement: Statement, **values: Any) -> Rows:
        return await read_alone(self._engine, statement, self._values(**values))

    def _values(self, **more: Any) -> dict[str, Any]:
        return {**self._lane.values, **more}


def _payment(row: Row) -> Payment:
    return Payment(
        intent_id=row.id,
        swap_id=row.swap_id,
        paid_id=int(row.paid_id or 0),
        token=row.token,
        to_address=row.to_address,
        base_units=int(row.base_units),
        failures=row.failures,
        goes_alone=row.goes_alone or row.call_data is not None,
        payer=row.payer,
        call_data=None if row.call_data is None else bytes(row.call_data),
    )


def to_payment_or_sweep(row: Row) -> Payment:
    """Return what a slot carries, or will."""
    return replace(_payment(row), sweep_of=row.sweep_of)


def _due(row: Row) -> Payment:
    reverts = int(row.recipient_reverts)
    return replace(_payment(row), created_at=row.created_at, recipient_reverts=reverts)


def _to_queued_payment(row: Row) -> Payment:
    queue = {"is_queued": row.is_queued, "is_too_large": row.is_too_large}
    return replace(_due(row), **queue)


def _open_slot(row: Row, payments: Group) -> OpenSlot:
    return OpenSlot(
        nonce=row.nonce,
        fees=Fees(int(row.max_fee_per_gas), int(row.max_priority_fee_per_gas)),
        is_cancel=row.is_cancel,
        signed_for=row.signed_for,
        assigned_for=row.assigned_for,
        payments=payments,
        is_unfounded=row.is_unfounded,
    )


def _attempt_row(attempt: Attempt) -> Mapping[str, object]:
    return statements.ATTEMPT_COLUMNS.row(
        attempt.transaction,
        max_fee_per_gas=str(attempt.fees.max_fee_per_gas),
        max_priority_fee_per_gas=str(attempt.fees.max_priority_fee_per_gas),
        is_cancel=attempt.is_cancel,
    )

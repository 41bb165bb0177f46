"""The settler's transaction on Postgres: one statement for the inbox, then one per table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from swap_domain.catalogue import NATIVE
from swap_runtime.messaging.inbox import mark_and_ask
from swap_runtime.messaging.outbox import Outgoing, add_to_outbox
from swap_runtime.messaging.unit_of_work import ConsumerWork, UnitOfWork
from swap_runtime.operators.operator_log import log_order
from swap_runtime.postgres.columns import columns
from swap_runtime.postgres.database import Question, Transaction
from swap_runtime.postgres.sql import Rows, Statement
from swap_settler.model.changes import Changes
from swap_settler.model.ledger.inventory import AssetKey, Inventory, assets_moved
from swap_settler.model.ports import OpenedDeposits, OpenedPayouts, OpenedRequests, PaymentKey
from swap_settler.model.store import (
    bookings,
    holds,
    statements,
    swap_statements,
    work_queue_statements,
)
from swap_settler.model.store.channels import REQUOTE_DUE, lane_channel
from swap_settler.model.store.counted_outflow import release_outflow
from swap_settler.model.store.inventory_news import inventory_news
from swap_settler.model.store.loading import questions, to_intents, to_swaps
from swap_settler.model.store.rows import (
    completion_due_rows,
    deposit_row,
    evidence_row,
    halt_rows,
    refund_due_row,
    requote_due_rows,
    swap_row,
    to_deposit,
    to_inventory,
    transition_row,
)
from swap_settler.model.store.swap_statements import BY_ID, BY_KEY, HELD_BY_KEY, INVENTORY_BY_KEY
from swap_settler.model.store.sweeps import PostgresSweepWork
from swap_settler.model.store.table_columns import Values
from swap_settler.model.store.treasury_withdrawals import PostgresWithdrawalWork
from swap_settler.model.swap import Deposit, Intent, IntentState, Swap
from swap_settler.model.work_due import WorkDue, work_due

CONSUMER: Final = "settler"  # the service with the inbox that marks a message as done: its own


class PostgresWork(PostgresSweepWork, PostgresWithdrawalWork, ConsumerWork):
    """Each statement reads what was committed before it began. So reads after the lock on the keys
    include the changes of its previous holder.
    """

    def __init__(self, connection: Transaction, consumer: str) -> None:
        super().__init__(connection, consumer)
        self._inventory: dict[AssetKey, Inventory] = {}
        self._freed: list[UUID] = []  # payments that did not leave, and wait for another nonce

    async def open_deposits(
        self,
        message_ids: Sequence[UUID],
        *,
        keys: Collection[str],
        deposit_ids: Collection[UUID],
        assets: Collection[AssetKey] = (),
    ) -> OpenedDeposits:
        held = {"keys": sorted(keys), "deposit_ids": sorted(deposit_ids)}
        questions_asked = [(statements.LOCK_KEYS, held), *questions(BY_KEY, held)] if keys else []
        loaded = slice(1, len(questions_asked))
        if keys:
            questions_asked.append((HELD_BY_KEY, held))
        if assets:
            came = {"networks": [n for n, _ in assets], "tokens": [t for _, t in assets]}
            questions_asked.append((INVENTORY_BY_KEY, {**held, **came, "native": NATIVE}))
        fresh, found = await self._mark_and_ask(message_ids, *questions_asked)
        swaps = to_swaps(found[loaded]) if keys else ()
        if assets:
            self._inventory |= {(row.network, row.token): to_inventory(row) for row in found[-1]}
        waiting = frozenset(row.id for row in found[loaded.stop]) if keys else frozenset()
        return OpenedDeposits(fresh, {swap.match_key: swap for swap in swaps}, waiting)

    async def open_payouts(
        self, message_ids: Sequence[UUID], *, payments: Collection[PaymentKey]
    ) -> OpenedPayouts:
        values = {
            "networks": [network for network, _ in payments],
            "paid_ids": [str(paid_id) for _, paid_id in payments],
        }
        fresh, [paid] = await self._mark_and_ask(message_ids, (swap_statements.PAID_BY, values))
        live = [((row.network, int(row.paid_id)), row) for row in paid]
        return OpenedPayouts(
            fresh,
            owners={key: row.swap_id for key, row in live if row.swap_id is not None},
            standalone_intents={key: row.id for key, row in live if row.swap_id is None},
        )

    async def open_requests(
        self,
        message_ids: Sequence[UUID],
        *,
        keys: Collection[str],
        swap_ids: Collection[UUID],
        deposit_ids: Collection[UUID],
    ) -> OpenedRequests:
        held, waiting = {"keys": sorted(keys)}, {"ids": sorted(deposit_ids)}
        fresh, [_, known, came] = await self._mark_and_ask(
            message_ids,
            (statements.LOCK_KEYS, held),
            (BY_ID.swaps, {"ids": sorted(swap_ids)}),
            (swap_statements.UNMATCHED, {**held, **waiting}),
        )
        # Most requests begin swaps: of those there is nothing more to load.
        swaps = await self._with_related_rows(known)
        deposits = {row.id: to_deposit(row) for row in came}
        return OpenedRequests(fresh, {swap.id: swap for swap in swaps}, deposits)

    async def lock_swaps_by_id(self, ids: Collection[UUID]) -> Mapping[UUID, Swap]:
        if not ids:
            return {}
        found = await self._connection.ask(*questions(BY_ID, {"ids": sorted(ids)}))
        return {swap.id: swap for swap in to_swaps(found)}

    async def lock_keys(self, keys: Collection[str]) -> None:
        """Hold the keys until the end: they order a swap's creation and its deposits."""
        if keys:
            self._connection.post(statements.LOCK_KEYS, {"keys": sorted(keys)})

    async def lock_expiring(self, now: datetime, *, limit: int) -> Sequence[Swap]:
        values = {"consumer": self._consumer, "now": now, "limit": limit, "native": NATIVE}
        return await self._load(swap_statements.LOCK_EXPIRING, values)

    async def swaps_with_lapsed(self, now: datetime, *, limit: int) -> Sequence[UUID]:
        values = {"now": now, "limit": limit}
        return list(await self._connection.scalars(statements.LAPSED, values))

    async def reverted_relays(self, signers: Collection[str]) -> Mapping[str, int]:
        values = {"signers": list(signers)}
        rows = await self._connection.execute(statements.REVERTED_RELAYS, values)
        return {row.payer: row.reverted for row in rows}

    async def unmatched_deposits(
        self, ids: Collection[UUID], match_keys: Collection[str]
    ) -> Mapping[UUID, Deposit]:
        if not ids and not match_keys:
            return {}
        values = {"ids": sorted(ids), "keys": sorted(match_keys)}
        rows = await self._connection.execute(swap_statements.UNMATCHED, values)
        return {row.id: to_deposit(row) for row in rows}

    async def store_attachment(self, deposit_id: UUID, *, by: str, because: str) -> None:
        values = {"id": deposit_id, "by": by, "because": because}
        self._connection.post(statements.ADD_ATTACHMENT, values)
        await log_order(self._connection)  # nothing, where the sender himself attached it

    async def live_standalone_intents(self, deposit_ids: Collection[UUID]) -> Mapping[UUID, UUID]:
        if not deposit_ids:
            return {}
        values = {"deposit_ids": sorted(deposit_ids)}
        rows = await self._connection.execute(swap_statements.LIVE_STANDALONE_INTENTS, values)
        return {row.deposit_id: row.id for row in rows}

    async def lock_standalone_intents(self, ids: Collection[UUID]) -> Mapping[UUID, Intent]:
        if not ids:
            return {}
        of_these = sorted(ids)
        found, tried = await self._connection.ask(
            (swap_statements.LOCK_STANDALONE_INTENTS, {"ids": of_these}),
            (swap_statements.ATTEMPTS, {"intent_ids": of_these}),
        )
        return {intent.id: intent for intent in to_intents(found, tried)}

    async def lock_inventory(self, assets: Collection[AssetKey]) -> Mapping[AssetKey, Inventory]:
        missing = sorted(set(assets) - set(self._inventory))
        if missing:
            values = {
                "networks": [network for network, _ in missing],
                "tokens": [token for _, token in missing],
            }
            self._connection.post(statements.ADD_INVENTORY, values)
            rows = await self._connection.execute(statements.LOCK_INVENTORY, values)
            self._inventory |= {(row.network, row.token): to_inventory(row) for row in rows}
        return {asset: self._inventory[asset] for asset in assets}

    async def drop_refunds_due(self, ids: Sequence[int]) -> None:
        self._connection.post(work_queue_statements.DROP_REFUNDS_DUE, {"ids": list(ids)})

    async def settle_requotes_due(
        self, done: Sequence[UUID], again: Sequence[UUID], *, pause: timedelta
    ) -> None:
        if done:
            self._connection.post(work_queue_statements.DROP_REQUOTES_DUE, {"ids": list(done)})
        if again:
            values = {"ids": list(again), "pause": pause}
            self._connection.post(work_queue_statements.POSTPONE_REQUOTES, values)

    async def lock_overdue(self, now: datetime, *, limit: int) -> Sequence[Swap]:
        return await self._load(work_queue_statements.LOCK_OVERDUE, {"now": now, "limit": limit})

    async def refuels_in_doubt(self, swap_ids: Collection[UUID]) -> Collection[UUID]:
        values = {"ids": list(swap_ids)}
        return list(await self._connection.scalars(work_queue_statements.REFUELS_IN_DOUBT, values))

    async def drop_completions_due(self, ids: Sequence[UUID]) -> None:
        self._connection.post(work_queue_statements.DROP_COMPLETIONS_DUE, {"ids": list(ids)})

    async def flush(self, changes: Sequence[Changes], outgoing: Sequence[Outgoing]) -> None:
        # The last word per row: changes come in the order of their messages.
        swaps = [(c, c.swap) for c in changes if c.swap is not None]
        deposits = {d.id: deposit_row(d) for c in changes for d in c.deposits}
        intents = {i.id: statements.INTENT_COLUMNS.row(i) for c in changes for i in c.intents}
        saved = {s.id: swap_row(s) for _, s in swaps}
        # One row per signature: of several of one swap in a batch, each keeps its own end.
        signed = {
            (swap.id, known.submission): statements.AUTHORIZATION_COLUMNS.row(
                known, swap_id=swap.id
            )
            for _, swap in swaps
            if (known := swap.authorization) is not None
        }
        # Dead rows first: an index allows one live intent of a payment.
        in_order = sorted(intents.values(), key=lambda row: row["state"] != "dead")
        dead = [row["id"] for row in in_order if row["state"] == "dead"]
        self._save(statements.UPSERT_SWAPS, saved.values())
        self.add_targets(changes)
        self._save(statements.ADD_TRANSITIONS, [transition_row(c, s) for c, s in swaps])
        self._save(statements.UPSERT_DEPOSITS, deposits.values())
        self._save(statements.UPSERT_INTENTS, in_order)
        for intent in (i for c in changes for i in c.intents if i.state is IntentState.RESERVED):
            self._connection.wake(lane_channel(intent.network))
        self._save(statements.UPSERT_AUTHORIZATIONS, signed.values())
        if dead:
            self._connection.post(statements.PROVE_DEAD, {"ids": dead})
            self._connection.post(statements.LEAVE_UNSIGNED, {"ids": dead})
        self._save_due(work_due(changes))
        news = await self._book(changes)
        if freed := [*dead, *self._freed]:
            release_outflow(self._connection, freed)
        self._save(statements.HALT_SIGNERS, halt_rows(changes))
        if found := evidence_row(changes):
            self._connection.post(holds.OPEN, found)
        add_to_outbox(self._connection, [*outgoing, *news])

    def _save_due(self, due: WorkDue) -> None:
        self._save(
            work_queue_statements.ADD_REFUNDS_DUE, [refund_due_row(one) for one in due.refunds]
        )
        if due.requotes:
            self._save(work_queue_statements.ADD_REQUOTES_DUE, requote_due_rows(due))
            self._connection.wake(REQUOTE_DUE)
        self._save(work_queue_statements.ADD_COMPLETIONS_DUE, completion_due_rows(due))

    async def _book(self, changes: Sequence[Changes]) -> Sequence[Outgoing]:
        """Book, and return the messages about the inventory."""
        booking = [c for c in changes if c.ledger]
        if not booking:
            return ()
        entries = [entry for c in booking for entry in c.ledger]
        touched = await self.lock_inventory(assets_moved(entries))
        moved = bookings.move_inventory(self._connection, tuple(touched.values()), entries)
        self._inventory |= {(row.network, row.token): row for row in moved}
        bookings.book(self._connection, entries)
        self.add_sweeps_due(entries)
        return inventory_news(moved, booking[-1])

    def _save(self, statement: Statement, rows: Collection[Values]) -> None:
        if rows:
            self._connection.post(statement, columns(list(rows)))

    async def _load(self, statement: Statement, values: Mapping[str, Any]) -> Sequence[Swap]:
        """Load the swaps that a statement finds and locks."""
        return await self._with_related_rows(await self._connection.execute(statement, values))

    async def _with_related_rows(self, rows: Rows) -> Sequence[Swap]:
        if not rows:
            return ()
        _, *rest = questions(BY_ID, {"ids": [row.id for row in rows]})
        return to_swaps([rows, *await self._connection.ask(*rest)])

    async def _mark_and_ask(
        self, message_ids: Sequence[UUID], *questions: Question
    ) -> tuple[frozenset[UUID], Sequence[Rows]]:
        return await mark_and_ask(self._connection, self._consumer, message_ids, *questions)


class PostgresUnitOfWork(UnitOfWork[PostgresWork]):
    _opens = PostgresWork

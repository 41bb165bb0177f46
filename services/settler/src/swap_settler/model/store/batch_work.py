"""How a settler's transaction takes a batch of messages, on Postgres.

Each statement sees what was committed before it began, so what is read after the keys are held is
what whoever held them has left.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from swap_domain.catalogue import NATIVE
from swap_runtime.messaging.inbox import mark_and_ask
from swap_runtime.postgres.database import Question, Transaction
from swap_runtime.postgres.sql import Rows, Statement
from swap_settler.model.ledger.inventory import AssetKey, Inventory
from swap_settler.model.ports import OpenedDeposits, OpenedPayouts, OpenedRequests, PaymentKey
from swap_settler.model.store import statements, swap_statements
from swap_settler.model.store.loading import questions, to_swaps
from swap_settler.model.store.rows import to_deposit, to_inventory
from swap_settler.model.store.swap_statements import BY_ID, BY_KEY, HELD_BY_KEY, INVENTORY_BY_KEY
from swap_settler.model.swap import Swap


class PostgresBatchWork:
    """The part of the unit of work that takes batches, and loads swaps."""

    _connection: Transaction
    _consumer: str
    _inventory: dict[AssetKey, Inventory]

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
        fresh, found = await self._marked(message_ids, *questions_asked)
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
        fresh, [paid] = await self._marked(message_ids, (swap_statements.PAID_BY, values))
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
        fresh, [_, known, came] = await self._marked(
            message_ids,
            (statements.LOCK_KEYS, held),
            (BY_ID.swaps, {"ids": sorted(swap_ids)}),
            (swap_statements.UNMATCHED, {**held, **waiting}),
        )
        # Most requests begin swaps: of those there is nothing more to load.
        swaps = await self._with_the_rest(known)
        deposits = {row.id: to_deposit(row) for row in came}
        return OpenedRequests(fresh, {swap.id: swap for swap in swaps}, deposits)

    async def lock_swaps_by_id(self, ids: Collection[UUID]) -> Mapping[UUID, Swap]:
        if not ids:
            return {}
        found = await self._connection.ask(*questions(BY_ID, {"ids": sorted(ids)}))
        return {swap.id: swap for swap in to_swaps(found)}

    async def _load(self, statement: Statement, values: Mapping[str, Any]) -> Sequence[Swap]:
        """Load the swaps that a statement finds and locks."""
        return await self._with_the_rest(await self._connection.execute(statement, values))

    async def _with_the_rest(self, rows: Rows) -> Sequence[Swap]:
        if not rows:
            return ()
        _, *rest = questions(BY_ID, {"ids": [row.id for row in rows]})
        return to_swaps([rows, *await self._connection.ask(*rest)])

    async def _marked(
        self, message_ids: Sequence[UUID], *questions: Question
    ) -> tuple[frozenset[UUID], Sequence[Rows]]:
        return await mark_and_ask(self._connection, self._consumer, message_ids, *questions)

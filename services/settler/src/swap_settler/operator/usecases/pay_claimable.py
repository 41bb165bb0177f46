"""Pays a balance that waits for its owner, once, to the address an operator was given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from swap_chains.evm.codec import intent_id
from swap_domain.catalogue import Catalogue
from swap_runtime.clock import Clock
from swap_runtime.errors import RequestRefused
from swap_settler.model import observe_changes
from swap_settler.model.changes import Changes
from swap_settler.model.ledger.inventory import AssetKey
from swap_settler.model.messages.message_mapping import MAIN_LEG
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.model.swap import Intent, IntentKind
from swap_settler.operator import observe
from swap_settler.operator.decide.claims import Claimable, NotClaimable, pay, pay_unmatched_deposit
from swap_settler.operator.ports import Prices
from swap_settler.operator.store.claims import PostgresClaimUnitOfWork, PostgresClaimWork
from swap_settler.operator.usecases.dollar_value import dollar_value
from swap_settler.operator.usecases.recipients import recipient_of
from swap_settler.settling.usecases.settle_deposits import key_of


@dataclass(frozen=True, slots=True)
class PaymentOrder:
    """The operator's order: the listed balance, the recipient, and the reason."""

    balance_id: int  # of a claimable balance, or of a partner fee
    # A claimable balance is paid whole, as listed; of a partner fee it may be a part.
    base_units: int
    to_address: str
    by: str
    reason: str


class PayClaimable:
    """Write the intent under the lock of every other use of the money; the lane sends it."""

    def __init__(
        self,
        unit_of_work: PostgresClaimUnitOfWork,
        *,
        catalogue: Catalogue,
        clock: Clock,
        swap_messages: SwapMessages,
        prices: Prices,
    ) -> None:
        self._unit_of_work = unit_of_work
        self._catalogue = catalogue
        self._clock = clock
        self._swap_messages = swap_messages
        self._prices = prices

    async def __call__(self, order: PaymentOrder) -> Intent:
        """Return the payment that waits for the sender lane.

        :raises RequestRefused: when the balance is another than was listed, or cannot be paid.
        """
        try:
            change = await self._pay(order)
        except NotClaimable as error:
            raise RequestRefused(str(error)) from error
        observe_changes.changes_committed([change])
        [intent] = change.intents
        observe.claim_ordered(intent, by=order.by, reason=order.reason)
        return intent

    async def _pay(self, order: PaymentOrder) -> Changes:
        prices, now = await self._prices.current(), self._clock()
        async with self._unit_of_work() as work:
            listed = await work.claimable(order.balance_id)
            if listed is None:
                raise RequestRefused(f"nothing is claimable as {order.balance_id}")
            to_address = recipient_of(self._catalogue, listed.network, order.to_address)
            if listed.swap_id is not None:
                change = await self._of_swap(work, order, listed.swap_id, to_address)
            else:
                change = await self._pay_unmatched_deposit(work, order, listed, to_address, prices)
            await work.flush([change], self._swap_messages.outgoing([change], at=now))
            [intent] = change.intents
            await work.store_order(intent.id, by=order.by, reason=order.reason)
        return change

    async def _of_swap(
        self, work: PostgresClaimWork, order: PaymentOrder, swap_id: UUID, to_address: str
    ) -> Changes:
        swap = (await work.lock_swaps_by_id({swap_id}))[swap_id]
        what = await self._lock_claimable(work, order)
        now, paid_id = self._clock(), _paid_id(what)
        return pay(what, swap, to_address=to_address, at=now, paid_id=paid_id)

    async def _pay_unmatched_deposit(
        self,
        work: PostgresClaimWork,
        order: PaymentOrder,
        listed: Claimable,
        to_address: str,
        prices: Mapping[AssetKey, int],
    ) -> Changes:
        [deposit] = (await work.unmatched_deposits({listed.owner}, ())).values()
        await work.lock_keys({key_of(deposit)})
        what = await self._lock_claimable(work, order)
        if await work.live_standalone_intents({deposit.id}):
            raise RequestRefused("it is paid, or on its way")
        asset = (what.network, what.token)
        return pay_unmatched_deposit(
            what,
            deposit,
            to_address=to_address,
            at=self._clock(),
            paid_id=_paid_id(what),
            may_match_for=self._may_match_for,
            usd_micros=dollar_value(self._catalogue, prices, asset, what.base_units),
        )

    async def _lock_claimable(self, work: PostgresClaimWork, order: PaymentOrder) -> Claimable:
        what = await work.claimable(order.balance_id)
        if what is None or what.base_units != order.base_units:
            held = 0 if what is None else what.base_units
            raise RequestRefused(f"it holds {held} now, not {order.base_units}: list it again")
        return what

    @property
    def _may_match_for(self) -> timedelta:
        return self._catalogue.swap_lifetime


def _paid_id(what: Claimable) -> int:
    leg = MAIN_LEG if what.deposit_id is None else str(what.deposit_id)
    asset = f"{leg}/{what.network}/{what.token}"
    return intent_id(what.owner, IntentKind.CLAIM.value, asset)

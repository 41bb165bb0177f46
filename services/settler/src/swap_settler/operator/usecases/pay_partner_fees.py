"""Pays an app its fees, or a part of them, once. An operator's order names amount and address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from swap_chains.evm.codec import intent_id
from swap_domain.catalogue import Catalogue
from swap_runtime.clock import Clock
from swap_runtime.errors import RequestRefused
from swap_settler.model.changes import Changes
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.model.swap import Intent, IntentKind
from swap_settler.operator import observe
from swap_settler.operator.decide.partner_fees import PartnerFee, pay
from swap_settler.operator.ports import Prices
from swap_settler.operator.store.partner_fees import PostgresFeeUnitOfWork, PostgresFeeWork
from swap_settler.operator.usecases.dollar_value import dollar_value
from swap_settler.operator.usecases.pay_claimable import PaymentOrder
from swap_settler.operator.usecases.recipients import recipient_of


class PayPartnerFees:
    """Write the intent under the lock of the balance; the lane sends it."""

    def __init__(
        self,
        unit_of_work: PostgresFeeUnitOfWork,
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

    async def list_owed(self, *, after: int | None = None, limit: int) -> Sequence[PartnerFee]:
        """
        :param after: only those behind the fee with this id, by app, network and token.
        """
        async with self._unit_of_work() as work:
            return await work.fees(after=after, limit=limit)

    async def find_owed(self, id: int) -> PartnerFee | None:
        """Return what is owed; None where nothing is."""
        async with self._unit_of_work() as work:
            return await work.find_fee(id)

    async def __call__(self, order: PaymentOrder) -> Intent:
        """Return the payment that waits for the sender lane.

        :raises RequestRefused: when less than that is owed, or it cannot be paid now.
        """
        change = await self._pay(order)
        [intent] = change.intents
        observe.partner_fee_ordered(intent, by=order.by, reason=order.reason)
        return intent

    async def _pay(self, order: PaymentOrder) -> Changes:
        prices, now = await self._prices.current(), self._clock()
        async with self._unit_of_work() as work:
            fee = await self._lock_fee(work, order)
            to_address = recipient_of(self._catalogue, fee.network, order.to_address)
            asset = (fee.network, fee.token)
            change = pay(
                fee,
                to_address=to_address,
                at=now,
                paid_id=_paid_id(fee),
                usd_micros=dollar_value(self._catalogue, prices, asset, fee.base_units),
            )
            await work.flush([change], self._swap_messages.outgoing([change], at=now))
            [intent] = change.intents
            await work.store_order(intent.id, by=order.by, reason=order.reason)
        return change

    async def _lock_fee(self, work: PostgresFeeWork, order: PaymentOrder) -> PartnerFee:
        """Return what is to be paid. What else is owed, as of swaps since, stays so."""
        asset = await work.asset_of_fee(order.balance_id)
        if asset is not None:
            # Before the account: the order of locks in the README.
            await work.lock_inventory({asset})
        fee = await work.lock_fee(order.balance_id)
        owed = 0 if fee is None else fee.base_units
        if fee is None or not 0 < order.base_units <= owed:
            raise RequestRefused(f"it holds {owed} now, not {order.base_units}: list it again")
        if fee.is_on_its_way:
            raise RequestRefused("an earlier payment of it is on its way: wait until it is final")
        return replace(fee, base_units=order.base_units)


def _paid_id(fee: PartnerFee) -> int:
    """Derive the id from the total paid before.

    A restored database that lacks the last payment derives the same id, which the Treasury refuses.
    """
    leg = f"{fee.network}/{fee.token}/{fee.paid_base_units}"
    return intent_id(fee.app_id, IntentKind.PARTNER_FEE.value, leg)

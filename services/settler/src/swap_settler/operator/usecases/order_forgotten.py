"""Orders payments again that a restored ledger has forgotten, in the transaction that ends them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from swap_contracts.tracing import trace_id_of
from swap_domain.catalogue import Catalogue
from swap_runtime.clock import Clock
from swap_runtime.errors import RequestRefused
from swap_settler.model.batch_state import BatchState
from swap_settler.model.chain_facts import PayoutFact
from swap_settler.model.changes import Changes
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.model.swap import Deposit, Intent, IntentKind, Swap
from swap_settler.operator.decide.claims import NotClaimable, pay, pay_unmatched_deposit
from swap_settler.operator.decide.forgotten_payments import (
    CAUSE,
    NotAllowed,
    end_for_claim,
    free_leg,
    free_refuel,
    is_of_source,
    move_last_deposits_off,
    order_output,
    order_refund,
)
from swap_settler.operator.store.external_payments import PostgresExternalPaymentWork
from swap_settler.paying.decide.slots import Owners
from swap_settler.recovery.decide.recovery import HeldSwap, PaymentId
from swap_settler.recovery.usecases.payment_ids import LegPayment, leg_payments
from swap_settler.settling.usecases.refund_costs import refund_cost

Key = tuple[str, int]  # the network, and the id at its Treasury


class OrderForgotten:
    """Bring each leg to where its payment was made, and order that payment.

    The swap, or the key of the deposit, is locked: nothing else settles the leg meanwhile.
    """

    def __init__(self, *, catalogue: Catalogue, clock: Clock, swap_messages: SwapMessages) -> None:
        self._catalogue = catalogue
        self._clock = clock
        self._swap_messages = swap_messages

    async def __call__(
        self,
        work: PostgresExternalPaymentWork,
        batch_state: BatchState,
        forgotten: Sequence[PaymentId],
        deposits: Mapping[UUID, Deposit],
        logs: Mapping[int, PayoutFact],
    ) -> Owners:
        """Return the intents that were ordered, saved, with their swaps.

        :param forgotten: what was found of these swaps, also by other transactions.
        :param deposits: those without a swap that were paid.
        :raises RequestRefused: when a swap or deposit cannot have the payment.
        """
        ordered: dict[UUID, UUID | None] = {}
        spent = {(one.network, one.paid_id) for one in forgotten}
        for one in forgotten:
            log = logs.get(one.paid_id)
            if log is None or log.network != one.network:
                continue  # it was made by another transaction
            try:
                if one.swap_id is not None:
                    swap = batch_state.swaps[one.swap_id]
                    intent = await self._of_swap(work, batch_state, swap, log, spent)
                else:
                    intent = await self._of_deposit(work, batch_state, one, deposits, log)
            except (NotAllowed, NotClaimable) as error:
                owner = one.swap_id or one.deposit_id
                raise RequestRefused(f"payment {one.paid_id} of {owner}: {error}") from error
            ordered |= {} if intent is None else {intent.id: intent.swap_id}
        return ordered

    async def _of_swap(
        self,
        work: PostgresExternalPaymentWork,
        batch_state: BatchState,
        swap: Swap,
        log: PayoutFact,
        spent: Collection[Key],
    ) -> Intent | None:
        key = (log.network, log.paid_id)
        if any((i.network, i.paid_id) == key for i in swap.intents.values()):
            return None  # the ledger has it
        found = {(p.id.network, p.id.paid_id): p for p in leg_payments(_to_held(swap))}
        payment = found[key]
        paid_alone = {p.leg for key, p in found.items() if key in spent and p.leg is not None}
        match payment.kind:
            case IntentKind.REFUND:
                self._free(batch_state, swap, payment, log, paid_alone)
                change = self._refund(batch_state.swaps[swap.id], payment, log)
            case IntentKind.CLAIM:
                self._free(batch_state, swap, payment, log, paid_alone)
                change = await self._claim(work, batch_state, swap.id, payment, log)
            case IntentKind.OUTPUT:
                change = order_output(swap, log, at=self._clock())
            case _:
                raise NotAllowed("explain its output first")
        return await self._save(work, batch_state, change, trace_id=trace_id_of(swap.id))

    def _free(
        self,
        batch_state: BatchState,
        swap: Swap,
        payment: LegPayment,
        log: PayoutFact,
        paid_alone: Collection[UUID],
    ) -> None:
        """Bring a leg to where a refund or claim of it can be ordered."""
        at, leg, trace_id = self._clock(), payment.leg, trace_id_of(swap.id)
        if not is_of_source(swap, payment.asset):
            batch_state.add(free_refuel(swap, at=at), trace_id=trace_id)
            return
        if leg is None:
            later = move_last_deposits_off(swap, log.base_units, paid_alone=paid_alone, at=at)
            batch_state.add(later, trace_id=trace_id)
        freed = free_leg(batch_state.swaps[swap.id], leg, payment.kind, at=at)
        batch_state.add(freed, trace_id=trace_id)
        if payment.kind is IntentKind.CLAIM:
            batch_state.add(
                end_for_claim(batch_state.swaps[swap.id], leg, at=at), trace_id=trace_id
            )

    def _refund(self, swap: Swap, payment: LegPayment, log: PayoutFact) -> Changes:
        network = self._catalogue.network(log.network)
        # What a rollup charges for bytes has no bound in the catalogue.
        is_bounded = network.l1_data_fee is None
        most = refund_cost(network, swap, fee=network.max_fee_per_gas, data_fee=0)
        most_cost = most if is_bounded else None
        return order_refund(swap, payment.leg, log, at=self._clock(), most_cost=most_cost)

    async def _claim(
        self,
        work: PostgresExternalPaymentWork,
        batch_state: BatchState,
        swap_id: UUID,
        payment: LegPayment,
        log: PayoutFact,
    ) -> Changes:
        await save_new(work, batch_state, self._swap_messages, self._clock)
        what = await work.claimable_of(payment.asset, swap_id=swap_id, deposit_id=payment.leg)
        if what is None:
            raise NotAllowed("nothing is claimable there: explain its other payments first")
        swap = batch_state.swaps[swap_id]
        change = pay(what, swap, to_address=log.to_address, at=self._clock(), paid_id=log.paid_id)
        return change.with_cause(CAUSE)

    async def _of_deposit(
        self,
        work: PostgresExternalPaymentWork,
        batch_state: BatchState,
        one: PaymentId,
        deposits: Mapping[UUID, Deposit],
        log: PayoutFact,
    ) -> Intent | None:
        assert one.deposit_id is not None, "what no swap has is of a deposit"
        if await work.live_standalone_intents({one.deposit_id}):
            return None  # the ledger has it
        deposit = deposits.get(one.deposit_id)
        if deposit is None:
            raise NotAllowed("it has a swap now")
        asset = (deposit.network, deposit.token)
        what = await work.claimable_of(asset, swap_id=None, deposit_id=deposit.id)
        if what is None:
            raise NotAllowed("it is not final yet: wait")
        change = pay_unmatched_deposit(
            what,
            deposit,
            to_address=log.to_address,
            at=self._clock(),
            paid_id=log.paid_id,
            may_match_for=timedelta(0),
            usd_micros=None,  # it left before this order, and counts in no cap
        )
        return await self._save(work, batch_state, change, trace_id=str(deposit.id))

    async def _save(
        self,
        work: PostgresExternalPaymentWork,
        batch_state: BatchState,
        change: Changes,
        *,
        trace_id: str,
    ) -> Intent:
        batch_state.add(change, trace_id=trace_id)
        await save_new(work, batch_state, self._swap_messages, self._clock)
        [intent] = change.intents
        return intent


async def save_new(
    work: PostgresExternalPaymentWork,
    batch_state: BatchState,
    swap_messages: SwapMessages,
    clock: Clock,
) -> None:
    """Save what was added since the last call: one transaction may save more than once."""
    if changes := batch_state.take_unsaved():
        await work.flush(changes, swap_messages.outgoing(changes, at=clock()))


def _to_held(swap: Swap) -> HeldSwap:
    source, destination = swap.terms.source, swap.terms.destination
    return HeldSwap(
        id=swap.id,
        source=(source.network, source.token),
        destination=(destination.network, destination.token),
        deposits=tuple(swap.deposits),
        known=frozenset(),
    )

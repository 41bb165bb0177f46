"""Applies `payout.changed.v1` to payments: lock and load, decide each, write all at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from swap_contracts.envelope import Envelope
from swap_contracts.payouts import PayoutChanged
from swap_domain.catalogue import NATIVE
from swap_runtime.clock import Clock
from swap_settler.model import observe_changes
from swap_settler.model.batch_state import BatchState
from swap_settler.model.chain_facts import FactState, PayoutFact
from swap_settler.model.ledger.inventory import AssetKey
from swap_settler.model.messages.message_mapping import MessageMapper, refuel_id_of
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.model.ports import OpenedPayouts, UnitOfWork
from swap_settler.model.swap import Intent, Swap
from swap_settler.settling.decide.payouts import decide
from swap_settler.settling.ports import PayoutWork

Payment = tuple[str, int | None, str]  # network, payment id, token


class SettlePayouts:
    """Apply facts about payments by our Treasuries, one transaction per batch."""

    def __init__(
        self,
        unit_of_work: UnitOfWork[PayoutWork],
        *,
        clock: Clock,
        mapper: MessageMapper,
        swap_messages: SwapMessages,
    ) -> None:
        self._unit_of_work = unit_of_work
        self._clock = clock
        self._mapper = mapper
        self._swap_messages = swap_messages

    async def __call__(self, messages: Sequence[Envelope[PayoutChanged]]) -> None:
        async with self._unit_of_work() as work:
            opened = await work.open_payouts(
                [message.message_id for message in messages],
                payments={(m.body.network, int(m.body.intent_id)) for m in messages},
            )
            new_messages = [message for message in messages if message.message_id in opened.fresh]
            batch_state = await self._apply(work, new_messages, opened)
        observe_changes.changes_committed(batch_state.changes)

    async def _apply(
        self, work: PayoutWork, messages: Sequence[Envelope[PayoutChanged]], opened: OpenedPayouts
    ) -> BatchState:
        now: datetime = self._clock()
        payouts = [(message.trace_id, self._mapper.payout(message.body)) for message in messages]
        keys = {(p.network, p.paid_id) for _, p in payouts}
        owners = {key: swap for key, swap in opened.owners.items() if key in keys}
        standalone = {
            key: intent for key, intent in opened.standalone_intents.items() if key in keys
        }
        swaps = await work.lock_swaps_by_id(set(owners.values()))
        standalone_intents = await work.lock_standalone_intents(set(standalone.values()))
        ordered = _ordered_payments(swaps.values(), standalone_intents.values())
        assets = {asset for _, payout in payouts for asset in self._assets(payout, ordered)}
        inventory = await work.lock_inventory(
            assets.union(*map(_assets_of_outcome, swaps.values()))
        )
        batch_state = BatchState(swaps, inventory, standalone_intents=standalone_intents)
        for trace_id, payout in payouts:
            key = (payout.network, payout.paid_id)
            owner = owners.get(key)
            swap = None if owner is None else batch_state.swaps[owner]
            change = decide(
                swap,
                payout,
                at=now,
                treasury=self._treasury(payout, ordered),
                standalone_intent=batch_state.standalone_intents.get(standalone[key])
                if key in standalone
                else None,
                refuel_id=None if swap is None else refuel_id_of(swap),
            )
            batch_state.add(change, trace_id=trace_id)
        await self._swap_messages.flush(work, batch_state.changes, at=now)
        return batch_state

    def _treasury(self, payout: PayoutFact, ordered: Collection[Payment]) -> str | None:
        """Return where the token is held; None for a token that is not booked here.

        A payment that was ordered is booked although its token has left the catalogue since.
        """
        if (payout.network, payout.paid_id, payout.token) in ordered:
            return self._mapper.treasury_of(payout.network)
        return self._mapper.treasury(payout.network, payout.token)

    def _assets(self, payout: PayoutFact, ordered: Collection[Payment]) -> set[AssetKey]:
        if payout.state is FactState.SEEN or self._treasury(payout, ordered) is None:
            return set()
        return {(payout.network, payout.token)}


def _ordered_payments(swaps: Iterable[Swap], standalone: Iterable[Intent]) -> set[Payment]:
    intents = [intent for swap in swaps for intent in swap.intents.values()]
    return {(intent.network, intent.paid_id, intent.token) for intent in (*intents, *standalone)}


def _assets_of_outcome(swap: Swap) -> set[AssetKey]:
    """Return the assets that the end of a payment may move beside its own: a loss, a refuel."""
    source, destination = swap.terms.source, swap.terms.destination
    coin = {(destination.network, NATIVE)} if swap.quote.refuel is not None else set()
    return {(source.network, source.token)} | coin

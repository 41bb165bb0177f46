"""From a refund that is due to a payment that waits for the sender lane."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from swap_chains.errors import ChainError
from swap_chains.ports import ChainReader
from swap_contracts.tracing import trace_id_of
from swap_domain.catalogue import Network
from swap_runtime.clock import Clock
from swap_runtime.crashpoint import crashpoint
from swap_settler.model import observe_changes
from swap_settler.model.batch_state import BatchState
from swap_settler.model.ledger.inventory import AssetKey
from swap_settler.model.messages.message_mapping import refund_id_of
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.model.ports import UnitOfWork
from swap_settler.model.swap import Swap
from swap_settler.settling import observe
from swap_settler.settling.decide.refunds import (
    abandon_refund,
    has_address,
    is_covered,
    is_worth,
    start,
)
from swap_settler.settling.ports import DataFee, DueRefund, DueRefunds, RefundWork
from swap_settler.settling.usecases.refund_costs import refund_cost

# What is to be sent back may stand at its deposit address still.
SWEEP_PAUSE: Final = timedelta(seconds=1)


class StartRefunds:
    """Compute the due refunds of one network, with the chain's present fee.

    The fee is read before the transaction begins. While no node reports it, refunds wait. They also
    wait for the sweep of their amount. A refund that waits too long is claimable, so that its swap
    ends.
    """

    def __init__(
        self,
        unit_of_work: UnitOfWork[RefundWork],
        *,
        refunds: DueRefunds,
        chain: ChainReader,
        network: Network,
        clock: Clock,
        swap_messages: SwapMessages,
        patience: timedelta = timedelta(hours=2),
        data_fee: DataFee | None = None,
        limit: int = 200,
    ) -> None:
        self._unit_of_work = unit_of_work
        self._refunds = refunds
        self._chain = chain
        self._network = network
        self._clock = clock
        self._swap_messages = swap_messages
        self._patience = patience
        self._data_fee = data_fee
        self._limit = limit

    async def __call__(self) -> bool:
        """Do one batch and return whether there may be more."""
        due = await self._refunds.due(self._network.name, limit=self._limit)
        if not due:
            return False
        try:
            max_fee = (await self._chain.fees()).max_fee_per_gas
            data_fee = 0 if self._data_fee is None else await self._data_fee.upper_bound()
        except ChainError as error:
            observe.refunds_wait(self._network.name, len(due), str(error))
            await self._abandon_overdue([one for one in due if one.waited >= self._patience])
            return False
        crashpoint("settler.before_refund")
        fee = min(max_fee, self._network.max_fee_per_gas)
        await self._start(due, fee=fee, data_fee=data_fee)
        return len(due) == self._limit

    async def _abandon_overdue(self, overdue: Sequence[DueRefund]) -> None:
        ended = [one for one in overdue if one.leg is None]
        if not ended:
            return
        now = self._clock()
        async with self._unit_of_work() as work:
            swaps = await work.lock_swaps_by_id({one.swap_id for one in ended})
            batch_state = BatchState(swaps, {})
            for swap in swaps.values():
                batch_state.add(abandon_refund(swap, at=now), trace_id=trace_id_of(swap.id))
            await work.drop_refunds_due([one.id for one in ended])
            await self._swap_messages.flush(work, batch_state.changes, at=now)
        observe_changes.changes_committed(batch_state.changes)

    async def _start(self, due: Sequence[DueRefund], *, fee: int, data_fee: int) -> None:
        now = self._clock()
        async with self._unit_of_work() as work:
            swaps = await work.lock_swaps_by_id({one.swap_id for one in due})
            unswept = [swap for swap in swaps.values() if has_address(swap)]
            inventory = await work.lock_inventory({_source(swap) for swap in unswept})
            batch_state = BatchState(swaps, inventory)
            waiting: list[int] = []
            for one in due:
                swap = batch_state.swaps[one.swap_id]
                cost = refund_cost(self._network, swap, fee=fee, data_fee=data_fee)
                if self._waits_for_a_sweep(batch_state, one, cost=cost):
                    if one.leg is not None or one.waited < self._patience:
                        waiting.append(one.id)
                        continue
                    change = abandon_refund(swap, at=now)
                else:
                    paid_id = refund_id_of(swap, one.leg)
                    change = start(swap, one.leg, at=now, cost=cost, paid_id=paid_id)
                batch_state.add(change, trace_id=trace_id_of(swap.id))
            await work.drop_refunds_due([one.id for one in due if one.id not in waiting])
            await work.postpone_refunds(waiting, pause=SWEEP_PAUSE)
            await self._swap_messages.flush(work, batch_state.changes, at=now)
        observe_changes.changes_committed(batch_state.changes)

    def _waits_for_a_sweep(self, batch_state: BatchState, one: DueRefund, *, cost: int) -> bool:
        """Whether it is worth sending, and stands where it cannot be sent from."""
        swap = batch_state.swaps[one.swap_id]
        available = batch_state.available(swap.terms.source)
        is_here = not has_address(swap) or is_covered(swap, one.leg, available=available)
        return not is_here and is_worth(swap, one.leg, cost=cost)


def _source(swap: Swap) -> AssetKey:
    return swap.terms.source.network, swap.terms.source.token

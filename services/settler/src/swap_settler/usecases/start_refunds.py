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
from swap_settler import observe
from swap_settler.domain.inventory import AssetKey
from swap_settler.domain.refunds import give_up, has_address, is_covered, is_worth, start
from swap_settler.domain.swap import Swap
from swap_settler.ports import DataFee, DueRefund, DueRefunds, UnitOfWork
from swap_settler.usecases.announcing import Announcer
from swap_settler.usecases.facts import refund_id_of
from swap_settler.usecases.folding import Folding
from swap_settler.usecases.refund_costs import refund_cost

# What is to be sent back may stand at its deposit address still.
SWEEP_PAUSE: Final = timedelta(seconds=1)


class StartRefunds:
    """Work out what is due on one network, with the fee that the chain asks for now.

    The fee is asked for before the transaction begins. While no node tells it, refunds wait, and
    so they do for the sweep of what they send; what a swap waits for too long is claimable, so
    that it comes to an end.
    """

    def __init__(
        self,
        unit_of_work: UnitOfWork,
        *,
        refunds: DueRefunds,
        chain: ChainReader,
        network: Network,
        clock: Clock,
        announcer: Announcer,
        patience: timedelta = timedelta(hours=2),
        data_fee: DataFee | None = None,
        limit: int = 200,
    ) -> None:
        self._unit_of_work = unit_of_work
        self._refunds = refunds
        self._chain = chain
        self._network = network
        self._clock = clock
        self._announcer = announcer
        self._patience = patience
        self._data_fee = data_fee
        self._limit = limit

    async def __call__(self) -> bool:
        """Do one batch and return whether there may be more."""
        due = await self._refunds.due(self._network.name, limit=self._limit)
        if not due:
            return False
        try:
            asked = (await self._chain.fees()).max_fee_per_gas
            data_fee = 0 if self._data_fee is None else await self._data_fee.upper_bound()
        except ChainError as error:
            observe.refunds_wait(self._network.name, len(due), str(error))
            await self._give_up([one for one in due if one.waited >= self._patience])
            return False
        crashpoint("settler.before_refund")
        fee = min(asked, self._network.max_fee_per_gas)
        await self._start(due, fee=fee, data_fee=data_fee)
        return len(due) == self._limit

    async def _give_up(self, overdue: Sequence[DueRefund]) -> None:
        ended = [one for one in overdue if one.leg is None]
        if not ended:
            return
        now = self._clock()
        async with self._unit_of_work() as work:
            swaps = await work.lock_swaps_by_id({one.swap_id for one in ended})
            folding = Folding(swaps, {})
            for swap in swaps.values():
                folding.add(give_up(swap, at=now), trace_id=trace_id_of(swap.id))
            await work.drop_refunds_due([one.id for one in ended])
            await work.flush(folding.changes, self._announcer.outgoing(folding.changes, at=now))
        observe.changed(folding.changes)

    async def _start(self, due: Sequence[DueRefund], *, fee: int, data_fee: int) -> None:
        now = self._clock()
        async with self._unit_of_work() as work:
            swaps = await work.lock_swaps_by_id({one.swap_id for one in due})
            unswept = [swap for swap in swaps.values() if has_address(swap)]
            inventory = await work.lock_inventory({_source(swap) for swap in unswept})
            folding = Folding(swaps, inventory)
            waiting: list[int] = []
            for one in due:
                swap = folding.swaps[one.swap_id]
                cost = refund_cost(self._network, swap, fee=fee, data_fee=data_fee)
                if self._waits_for_a_sweep(folding, one, cost=cost):
                    if one.leg is not None or one.waited < self._patience:
                        waiting.append(one.id)
                        continue
                    change = give_up(swap, at=now)
                else:
                    paid_id = refund_id_of(swap, one.leg)
                    change = start(swap, one.leg, at=now, cost=cost, paid_id=paid_id)
                folding.add(change, trace_id=trace_id_of(swap.id))
            await work.drop_refunds_due([one.id for one in due if one.id not in waiting])
            await work.postpone_refunds(waiting, pause=SWEEP_PAUSE)
            await work.flush(folding.changes, self._announcer.outgoing(folding.changes, at=now))
        observe.changed(folding.changes)

    def _waits_for_a_sweep(self, folding: Folding, one: DueRefund, *, cost: int) -> bool:
        """Whether it is worth sending, and stands where it cannot be sent from."""
        swap = folding.swaps[one.swap_id]
        available = folding.available(swap.terms.source)
        is_here = not has_address(swap) or is_covered(swap, one.leg, available=available)
        return not is_here and is_worth(swap, one.leg, cost=cost)


def _source(swap: Swap) -> AssetKey:
    return swap.terms.source.network, swap.terms.source.token

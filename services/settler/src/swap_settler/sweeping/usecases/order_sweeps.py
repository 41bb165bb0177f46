"""From money at deposit addresses to intents that empty them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from swap_chains.errors import ChainError
from swap_chains.ports import ChainReader
from swap_domain.catalogue import Network
from swap_runtime.clock import Clock
from swap_runtime.crashpoint import crashpoint
from swap_settler.model.changes import Changes
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork
from swap_settler.model.treasury import DueSweep
from swap_settler.sweeping import observe
from swap_settler.sweeping.decide.sweeps import sweep_intent
from swap_settler.sweeping.store.due_sweeps import PostgresDueSweeps


class OrderSweeps:
    """Order the sweeps of one network that are worth their gas, or that an operator ordered.

    Prices are those of the swap's quote. The fee is read before the transaction begins. What is not
    worth it waits: gas gets cheaper, or more comes.
    """

    def __init__(
        self,
        unit_of_work: PostgresUnitOfWork,
        *,
        sweeps: PostgresDueSweeps,
        chain: ChainReader,
        network: Network,
        clock: Clock,
        again_after: timedelta,
        uneconomic_pause: timedelta = timedelta(hours=1),
        limit: int = 200,
    ) -> None:
        """
        :param again_after: the pause while a sweep of the address is in flight.
        :param uneconomic_pause: the pause while a sweep is not worth its gas.
        """
        self._unit_of_work = unit_of_work
        self._sweeps = sweeps
        self._chain = chain
        self._network = network
        self._clock = clock
        self._again_after = again_after
        self._uneconomic_pause = uneconomic_pause
        self._limit = limit

    async def __call__(self) -> bool:
        """Do one batch and return whether there may be more."""
        if not await self._sweeps.has_due(self._network.name):
            return False
        try:
            max_fee = (await self._chain.fees()).max_fee_per_gas
        except ChainError as error:
            observe.sweeps_wait(self._network.name, str(error))
            return False
        crashpoint("settler.before_order_sweep")
        return await self._order(min(max_fee, self._network.max_fee_per_gas), self._clock())

    async def _order(self, fee: int, now: datetime) -> bool:
        treasury = self._network.contracts.treasury
        async with self._unit_of_work() as work:
            due = await work.lock_due_sweeps(self._network.name, limit=self._limit)
            non_empty = [one for one in due if one.base_units > 0]
            in_flight = [one for one in non_empty if one.is_out]
            to_order = [one for one in non_empty if not one.is_out and self._is_worth(one, fee)]
            ordered: dict[UUID, DueSweep] = {}
            changes: list[Changes] = []
            for one in to_order:
                intent = sweep_intent(one, treasury=treasury, at=now)
                ordered[intent.id] = one
                changes.append(Changes(intents=(intent,)))
            await work.flush(changes, ())
            await work.order_sweeps(ordered)
            uneconomic = _without(non_empty, [*in_flight, *to_order])
            done = _without(due, [*in_flight, *uneconomic])  # empty, or ordered now
            await work.drop_or_postpone_due(done, in_flight, pause=self._again_after)
            await work.drop_or_postpone_due((), uneconomic, pause=self._uneconomic_pause)
        unpriced = [one for one in uneconomic if one.decimals is None]
        observe.sweeps_unpriced(self._network.name, unpriced)
        observe.sweeps_ordered(self._network.name, len(to_order), waiting=len(uneconomic))
        return len(due) == self._limit

    def _is_worth(self, due: DueSweep, fee: int) -> bool:
        native, gas = self._network.native, self._network.gas
        return due.is_worth(
            gas=gas.sweep_native if due.token == native.address else gas.sweep_erc20,
            max_fee_per_gas=fee,
            native_decimals=native.decimals,
        )


def _without(due: Sequence[DueSweep], others: Sequence[DueSweep]) -> Sequence[DueSweep]:
    excluded = {(one.address, one.token) for one in others}
    return [one for one in due if (one.address, one.token) not in excluded]

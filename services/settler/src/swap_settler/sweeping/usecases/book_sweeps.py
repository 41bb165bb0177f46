"""Final sweeps move custody in the ledger, regardless of their sender."""

from __future__ import annotations

from swap_domain.catalogue import Network
from swap_runtime.clock import Clock
from swap_runtime.crashpoint import crashpoint
from swap_settler.model import observe_changes
from swap_settler.model.changes import Changes
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork
from swap_settler.sweeping.decide.sweeps import address_key, bookable, quarantined_deposit
from swap_settler.sweeping.store.due_sweeps import PostgresDueSweeps


class BookSweeps:
    """Book final sweeps of one network, and confirm the stored ones once they are booked.

    A sweep from an address without a swap belongs to no swap until one has the address. Anyone can
    sweep addresses: networks do not wait for each other, and no sweep waits for another.
    """

    def __init__(
        self,
        unit_of_work: PostgresUnitOfWork,
        *,
        sweeps: PostgresDueSweeps,
        network: Network,
        clock: Clock,
        limit: int = 200,
    ) -> None:
        self._unit_of_work = unit_of_work
        self._sweeps = sweeps
        self._network = network
        self._clock = clock
        self._limit = limit

    async def __call__(self) -> bool:
        """Do one batch and return whether there may be more."""
        network, treasury = self._network.name, self._network.contracts.treasury
        if not await self._sweeps.has_unbooked(network):
            return False
        async with self._unit_of_work() as work:
            addresses_without_swap = await work.addresses_without_swap(network, limit=self._limit)
            await work.lock_keys({address_key(place) for place in addresses_without_swap})
            final = await work.lock_unbooked_sweeps(network, limit=self._limit)
            booked, entries = bookable(
                final, treasury=treasury, addresses_without_swap=addresses_without_swap
            )
            now = self._clock()
            quarantined = tuple(
                quarantined_deposit(one, at=now) for one in final if booked.get(one.id)
            )
            change = Changes(deposits=quarantined, ledger=entries)
            if booked:
                await work.flush([change], ())
                await work.mark_swept_booked(booked)
                crashpoint("settler.before_book_sweep")
            await work.confirm_sweeps(network)
        observe_changes.changes_committed([change])
        return bool(booked) and len(final) == self._limit

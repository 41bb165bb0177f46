from __future__ import annotations

from datetime import timedelta
from typing import Final

from swap_runtime.clock import Clock
from swap_settler.model.changes import Changes
from swap_settler.model.ports import UnitOfWork
from swap_settler.sweeping import observe
from swap_settler.sweeping.decide.withdrawals import book
from swap_settler.sweeping.ports import Withdrawals, WithdrawalWork

# Facts of earlier blocks have arrived by then; after that an operator must investigate.
LATE_AFTER: Final = timedelta(minutes=10)


class BookWithdrawals:
    """Book what the owner took out, and is final, once the ledger has what was taken."""

    def __init__(
        self,
        unit_of_work: UnitOfWork[WithdrawalWork],
        *,
        withdrawals: Withdrawals,
        clock: Clock,
        limit: int = 200,
    ) -> None:
        self._unit_of_work = unit_of_work
        self._withdrawals = withdrawals
        self._clock = clock
        self._limit = limit

    async def __call__(self) -> bool:
        """Do one batch and return whether there may be more."""
        if not await self._withdrawals.has_unbooked():
            observe.withdrawals_unbooked(0, is_late=False)
            return False
        async with self._unit_of_work() as work:
            final = await work.lock_unbooked_withdrawals(limit=self._limit)
            inventory = await work.lock_inventory({one.asset for one in final})
            booking = book(final, inventory)
            if booking.done:
                await work.flush([Changes(ledger=booking.entries)], ())
                await work.mark_withdrawals_booked([one.id for one in booking.done])
        for one in booking.done:
            observe.inventory_withdrawn(one.network, one.token, one.to_address, one.base_units)
        for asset in booking.indebted:
            observe.inventory_indebted(*asset)
        now = self._clock()
        is_late = any(now - one.block_time > LATE_AFTER for one in booking.short)
        observe.withdrawals_unbooked(len(booking.short), is_late=is_late)
        return len(booking.done) == self._limit

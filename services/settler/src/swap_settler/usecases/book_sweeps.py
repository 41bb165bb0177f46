"""What is swept and final moves in the ledger, whoever had it swept."""

from __future__ import annotations

from collections.abc import Mapping

from swap_runtime.crashpoint import crashpoint
from swap_settler.domain.changes import Changes
from swap_settler.domain.sweeps import address_key, bookable
from swap_settler.ports import DueSweeps, UnitOfWork


class BookSweeps:
    """Book final sweeps, and confirm ours once their bookings are made.

    What came from an address that no swap has is nobody's, until a swap has it.
    """

    def __init__(
        self,
        unit_of_work: UnitOfWork,
        *,
        sweeps: DueSweeps,
        treasuries: Mapping[str, str],
        limit: int = 200,
    ) -> None:
        self._unit_of_work = unit_of_work
        self._sweeps = sweeps
        self._treasuries = dict(treasuries)
        self._limit = limit

    async def __call__(self) -> bool:
        """Do one batch and return whether there may be more."""
        if not await self._sweeps.has_unbooked():
            return False
        async with self._unit_of_work() as work:
            strangers = await work.strangers(limit=self._limit)
            await work.lock_keys({address_key(place) for place in strangers})
            final = await work.lock_unbooked_sweeps(limit=self._limit)
            booked, entries = bookable(final, treasuries=self._treasuries, strangers=strangers)
            if booked:
                await work.flush([Changes(ledger=entries)], ())
                await work.mark_swept_booked(booked)
                crashpoint("settler.before_book_sweep")
            await work.confirm_sweeps()
        return len(final) == self._limit

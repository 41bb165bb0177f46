from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from swap_api.domain.keys import Caller
from swap_api.domain.refusals import ApiRefusal
from swap_api.ports import Clock, UnpaidSwaps
from swap_contracts.public.errors import ErrorCode

COUNT_FRESH_FOR: Final = timedelta(seconds=1)
REMEMBERED_MAX: Final = 10_000

Who = tuple[UUID, str | None]


@dataclass(slots=True)
class _Known:
    number: int = 0
    counted_at: datetime | None = None
    counting: asyncio.Lock = field(default_factory=asyncio.Lock)


class CapUnpaidSwaps:
    """Keep the swaps of one caller that wait for money in bounds.

    What is counted stands for a second, and this process adds its own creations to it: replicas
    together may let a second's worth more through. Unpaid swaps reserve nothing.
    """

    def __init__(
        self,
        unpaid: UnpaidSwaps,
        *,
        clock: Clock,
        publishable_max: int,
        secret_max: int,
        is_lifted: bool,
    ) -> None:
        self._unpaid = unpaid
        self._clock = clock
        self._publishable_max = publishable_max
        self._secret_max = secret_max
        self._is_lifted = is_lifted
        self._known: OrderedDict[Who, _Known] = OrderedDict()

    async def __call__(self, caller: Caller, client: str | None) -> None:
        """Count one more.

        :raises ApiRefusal: when it is one too many.
        """
        if self._is_lifted or caller.allowances.is_lifted:
            return
        default = self._publishable_max if caller.is_publishable else self._secret_max
        at_most = caller.allowances.pending_swaps or default
        known = await self._count((caller.app_id, client), at_most)
        if known.number >= at_most:
            raise ApiRefusal(
                ErrorCode.TOO_MANY_PENDING_SWAPS,
                f"No more than {at_most} swaps may wait for their deposit; let some end first",
                headers={"retry-after": "60"},
            )
        known.number += 1

    async def _count(self, who: Who, at_most: int) -> _Known:
        known = self._known.setdefault(who, _Known())
        self._known.move_to_end(who)
        while len(self._known) > REMEMBERED_MAX:
            self._known.popitem(last=False)
        async with known.counting:  # by the first of those who come together, for all of them
            if not self._is_fresh(known):
                known.number = await self._unpaid.count(*who, up_to=at_most)
                known.counted_at = self._clock()
            return known

    def _is_fresh(self, known: _Known) -> bool:
        counted_at = known.counted_at
        return counted_at is not None and self._clock() - counted_at <= COUNT_FRESH_FOR

from __future__ import annotations

from uuid import UUID

from swap_api.model.keys import Caller
from swap_api.model.refusals import ApiRefusal
from swap_api.read_model.store.swaps import PostgresSwaps
from swap_api.swaps.usecases.recent_counts import RecentCounts
from swap_contracts.public.errors import ErrorCode
from swap_runtime.clock import Clock

UnpaidGroup = tuple[UUID, str | None]


class CapUnpaidSwaps:
    """Keep the swaps of one caller that wait for money in bounds. They reserve nothing."""

    def __init__(
        self,
        unpaid: PostgresSwaps,
        *,
        clock: Clock,
        publishable_max: int,
        secret_max: int,
        is_lifted: bool,
    ) -> None:
        async def count(who: UnpaidGroup, up_to: int) -> int:
            return await unpaid.count(*who, up_to=up_to)

        self._counts = RecentCounts(count, clock=clock)
        self._publishable_max = publishable_max
        self._secret_max = secret_max
        self._is_lifted = is_lifted

    async def __call__(self, caller: Caller, client: str | None) -> None:
        """Count one more.

        :raises ApiRefusal: when it is one too many.
        """
        if self._is_lifted or caller.allowances.is_lifted:
            return
        default = self._publishable_max if caller.is_publishable else self._secret_max
        at_most = caller.allowances.pending_swaps or default
        if not await self._counts.admit((caller.app_id, client), at_most=at_most):
            raise ApiRefusal(
                ErrorCode.TOO_MANY_PENDING_SWAPS,
                f"No more than {at_most} swaps may wait for their deposit; let some end first",
                headers={"retry-after": "60"},
            )

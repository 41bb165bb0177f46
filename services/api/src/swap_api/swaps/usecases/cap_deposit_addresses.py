from __future__ import annotations

from uuid import UUID

from swap_api.model.keys import Caller
from swap_api.model.refusals import ApiRefusal
from swap_api.read_model.store.swaps import PostgresSwaps
from swap_api.swaps.usecases.recent_counts import RecentCounts
from swap_contracts.public.errors import ErrorCode
from swap_runtime.clock import Clock

CapScope = tuple[str, UUID | None]  # a network, and an app or all of them


class CapDepositAddresses:
    """Bound the deposit addresses that wait for money: a watcher counts the coins of each.

    A publishable key is public, and its clients are as many as an attacker has addresses. So an app
    has a bound, and all apps on one network have another.
    """

    def __init__(
        self,
        unpaid: PostgresSwaps,
        *,
        clock: Clock,
        per_app: int,
        per_network: int,
        is_lifted: bool,
    ) -> None:
        async def count(scope: CapScope, up_to: int) -> int:
            return await unpaid.count_addresses(*scope, up_to=up_to)

        self._counts = RecentCounts(count, clock=clock)
        self._per_app = per_app
        self._per_network = per_network
        self._is_lifted = is_lifted

    async def __call__(self, caller: Caller, network: str) -> None:
        """Count one more.

        :raises ApiRefusal: when it is one too many.
        """
        if self._is_lifted or caller.allowances.is_lifted:
            return
        if not await self._counts.admit((network, caller.app_id), at_most=self._per_app):
            raise _too_many(f"of one app may wait for money on {network}", self._per_app)
        if not await self._counts.admit((network, None), at_most=self._per_network):
            raise _too_many(f"may wait for money on {network}", self._per_network)


def _too_many(which: str, at_most: int) -> ApiRefusal:
    return ApiRefusal(
        ErrorCode.TOO_MANY_PENDING_SWAPS,
        f"No more than {at_most} deposit addresses {which}; let some swaps end first, or fund this "
        "one in another way",
        headers={"retry-after": "60"},
    )

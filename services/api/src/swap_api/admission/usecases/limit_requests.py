from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from uuid import UUID

from swap_api.admission.decide.rate_limits import Count, Kind, Quota, Rates
from swap_api.admission.ports import Counters
from swap_api.model.keys import Allowances, Caller
from swap_api.model.refusals import ApiRefusal
from swap_contracts.public.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class QuotaState:
    """Where the caller stands, as the rate-limit headers say it."""

    limit: int
    remaining: int
    reset_seconds: int


class RateLimited(ApiRefusal):
    def __init__(self, quota_state: QuotaState) -> None:
        super().__init__(
            ErrorCode.RATE_LIMITED,
            f"Too many requests; try again in {quota_state.reset_seconds} seconds",
            headers={"retry-after": str(quota_state.reset_seconds)},
        )
        self.quota_state = quota_state


class LimitRequests:
    """Count a request and say where its caller stands."""

    def __init__(self, counters: Counters, rates: Rates, *, is_lifted: bool) -> None:
        self._counters = counters
        self._rates = rates
        self._is_lifted = is_lifted

    async def __call__(
        self, caller: Caller, address: str, kind: Kind, *, weight: int = 1
    ) -> QuotaState:
        """
        :raises RateLimited: when it is one too many.
        """
        if self._is_lifted or caller.allowances.is_lifted:
            most = self._rates.ceiling(kind, caller.allowances)
            return _full_quota(self._rates.at_once(most))
        return await self._count(self._rates.quotas(caller, address, kind, weight=weight))

    async def of_link(
        self, swap_id: UUID, address: str, kind: Kind, *, weight: int = 1
    ) -> QuotaState:
        """Count a request with the right token of a swap's pay link.

        :raises RateLimited: when it is one too many.
        """
        if self._is_lifted:
            return self._unlimited_quota(kind)
        return await self._count(self._rates.link_quotas(swap_id, address, kind, weight=weight))

    async def of_wrong_link(self, address: str) -> QuotaState:
        """Count a request with a wrong token of a pay link.

        :raises RateLimited: when it is one too many.
        """
        if self._is_lifted:
            return self._unlimited_quota(Kind.READ)
        return await self._count(self._rates.wrong_link_quotas(address))

    def _unlimited_quota(self, kind: Kind) -> QuotaState:
        return _full_quota(self._rates.at_once(self._rates.ceiling(kind, Allowances())))

    async def _count(self, quotas: Sequence[Quota]) -> QuotaState:
        counts = await self._counters.add(quotas)
        lowest = min(counts, key=lambda count: count.remaining)
        over = [count for count in counts if count.is_over]
        if over:
            raise RateLimited(_quota_state(max(over, key=lambda count: count.reset_after)))
        return _quota_state(lowest)


def _quota_state(count: Count) -> QuotaState:
    seconds = max(ceil(count.reset_after.total_seconds()), 1)
    return QuotaState(count.quota.limit, count.remaining, seconds)


def _full_quota(limit: int) -> QuotaState:
    return QuotaState(limit, limit, 0)

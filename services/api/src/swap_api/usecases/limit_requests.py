from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from swap_api.domain.keys import Caller
from swap_api.domain.rate_limits import Count, Kind, Rates
from swap_api.domain.refusals import ApiRefusal
from swap_api.ports import Counters
from swap_contracts.public.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the caller stands, as the rate-limit headers say it."""

    limit: int
    remaining: int
    reset_seconds: int


class RateLimited(ApiRefusal):
    def __init__(self, standing: Standing) -> None:
        super().__init__(
            ErrorCode.RATE_LIMITED,
            f"Too many requests; try again in {standing.reset_seconds} seconds",
            headers={"retry-after": str(standing.reset_seconds)},
        )
        self.standing = standing


class LimitRequests:
    """Count a request and say where its caller stands."""

    def __init__(self, counters: Counters, rates: Rates, *, is_lifted: bool) -> None:
        self._counters = counters
        self._rates = rates
        self._is_lifted = is_lifted

    async def __call__(
        self, caller: Caller, address: str, kind: Kind, *, weight: int = 1
    ) -> Standing:
        """
        :raises RateLimited: when it is one too many.
        """
        if self._is_lifted or caller.allowances.is_lifted:
            most = self._rates.ceiling(kind, caller.allowances)
            return _untouched(self._rates.at_once(most))
        quotas = self._rates.quotas(caller, address, kind, weight=weight)
        counts = await self._counters.add(quotas)
        tightest = min(counts, key=lambda count: count.remaining)
        over = [count for count in counts if count.is_over]
        if over:
            raise RateLimited(_standing(max(over, key=lambda count: count.reset_after)))
        return _standing(tightest)


def _standing(count: Count) -> Standing:
    seconds = max(ceil(count.reset_after.total_seconds()), 1)
    return Standing(count.quota.limit, count.remaining, seconds)


def _untouched(limit: int) -> Standing:
    return Standing(limit, limit, 0)

"""How many requests a caller may make.

A quota refills continuously: so much at once, and then one more whenever its interval has passed.
There is no window with an edge to exploit. A caller without quota waits for one request's refill,
not for a window's end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

from swap_api.model.keys import Allowances, Caller

MINUTE: Final = timedelta(minutes=1)


class Kind(StrEnum):
    """What a request costs its caller."""

    READ = "read"
    PRICE = "price"
    CREATE = "create"


@dataclass(frozen=True, slots=True)
class Quota:
    """What one counter lets through."""

    key: str
    limit: int  # at once
    interval: timedelta  # until one more may come
    weight: int = 1  # what this request counts

    @property
    def cost(self) -> timedelta:
        """What this request takes: at most everything, or it could never be made."""
        return min(self.weight * self.interval, self.whole)

    @property
    def whole(self) -> timedelta:
        """How long nothing has to come until all of it is there again."""
        return self.limit * self.interval


@dataclass(frozen=True, slots=True)
class Count:
    """Where a quota stands after a request."""

    quota: Quota
    spent: timedelta  # how long it takes until all of it is there again
    is_over: bool

    @property
    def remaining(self) -> int:
        return (self.quota.whole - self.spent) // self.quota.interval

    @property
    def reset_after(self) -> timedelta:
        """How long until all of it is there again or, where nothing is left, one such request."""
        if self.remaining and not self.is_over:
            return self.spent
        return self.spent + self.quota.cost - self.quota.whole


def admit(quotas: Sequence[Quota], spent: Sequence[timedelta]) -> Sequence[Count]:
    """Judge one request by what is spent: it counts in all of the quotas, or in none."""
    judged = [
        (quota, before, before + quota.cost > quota.whole)
        for quota, before in zip(quotas, spent, strict=True)
    ]
    is_refused = any(is_over for _, _, is_over in judged)
    return [
        Count(quota, before if is_refused else before + quota.cost, is_over)
        for quota, before, is_over in judged
    ]


@dataclass(frozen=True, slots=True)
class Rates:
    """The deployment's rule: requests a minute of one client, and what an app may in clients."""

    reads: int = 1200
    prices: int = 120
    creates: int = 30
    ceiling_factor: int = 100
    burst_minutes: int = 2  # so many minutes' worth may come at once

    def of(self, kind: Kind, allowances: Allowances) -> int:
        match kind:
            case Kind.READ:
                return allowances.reads or self.reads
            case Kind.PRICE:
                return allowances.prices or self.prices
            case Kind.CREATE:
                return allowances.creates or self.creates

    def ceiling(self, kind: Kind, allowances: Allowances) -> int:
        return self.of(kind, allowances) * (allowances.ceiling_factor or self.ceiling_factor)

    def at_once(self, rate: int) -> int:
        return rate * self.burst_minutes

    def quotas(
        self, caller: Caller, address: str, kind: Kind, *, weight: int = 1
    ) -> Sequence[Quota]:
        """Return the counters of a request; the first one is in its headers.

        All users of a web page share its publishable key, so they are distinguished by their
        addresses. The ceiling limits the app as a whole.
        """
        allowances = caller.allowances
        most = self._quota(f"{caller.app_id}/{kind}", self.ceiling(kind, allowances), weight)
        if not caller.is_publishable:
            return (most,)
        key = f"{caller.app_id}/{kind}/{address}"
        return (self._quota(key, self.of(kind, allowances), weight), most)

    def link_quotas(
        self, swap_id: UUID, address: str, kind: Kind, *, weight: int = 1
    ) -> Sequence[Quota]:
        """Return what a request with the right token of a pay link counts in.

        The ceiling is the swap's own: no holder of one link can exhaust the quota of another swap.
        """
        none = Allowances()
        return (
            self._quota(f"pay/{kind}/{address}", self.of(kind, none), weight),
            self._quota(f"pay/{swap_id}/{kind}", self.ceiling(kind, none), weight),
        )

    def wrong_link_quotas(self, address: str) -> Sequence[Quota]:
        """Return what a request with a wrong token counts in: nothing that others share.

        Anyone can send wrong tokens, so a common ceiling would refuse the payers of all tenants.
        """
        return (self._quota(f"pay/wrong/{address}", self.of(Kind.READ, Allowances()), 1),)

    def _quota(self, key: str, rate: int, weight: int) -> Quota:
        interval = max(MINUTE // rate, timedelta.resolution)
        return Quota(key, self.at_once(rate), interval, weight)

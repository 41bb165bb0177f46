"""What the quoter needs of the world, in its own words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from swap_quoter.domain.completions import Completion
from swap_quoter.domain.market import AssetKey, RouteKey, Timed


class PricesUnreadable(Exception):
    """The source gives no prices that can be understood; what was known before stays."""


class PriceSource(Protocol):
    async def find_news(self) -> Mapping[str, Timed] | None:
        """Return every price if something changed since the last call, else None.

        :raises PricesUnreadable: the next call tries again.
        """
        ...


class GasSource(Protocol):
    @property
    def network(self) -> str: ...

    async def find_max_fee_per_gas(self) -> int | None:
        """Return what a unit of gas may cost in the next blocks; None while no node answers."""
        ...


@dataclass(frozen=True, slots=True)
class InventoryNews:
    """What can be paid out of one asset, under the version that tells older news apart."""

    network: str
    token: str
    version: int
    available_base_units: int


class Work(Protocol):
    """One transaction."""

    async def mark_seen(self, message_ids: Sequence[UUID]) -> frozenset[UUID]: ...

    async def save_inventory(self, news: Sequence[InventoryNews]) -> None:
        """Keep what is newer than what is known; one entry per asset."""
        ...

    async def save_completions(self, completions: Sequence[Completion], *, window: int) -> None:
        """Add the completions and average the newest `window` of each of their routes."""
        ...


class UnitOfWork(Protocol):
    def __call__(self) -> AbstractAsyncContextManager[Work]: ...


class KnownMarket(Protocol):
    """What was learned from messages and outlives the process."""

    async def read(self) -> tuple[Mapping[AssetKey, int], Mapping[RouteKey, int]]:
        """Return what can be paid out of each asset, and how long each route takes."""
        ...

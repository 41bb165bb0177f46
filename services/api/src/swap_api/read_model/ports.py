"""The lookups of swaps and of blocks that several packages use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol
from uuid import UUID

from swap_api.model.listing import SwapFilter
from swap_api.read_model.swaps import StoredSwap, SwapPage


class Swaps(Protocol):
    async def find(self, swap_id: UUID) -> StoredSwap | None: ...

    async def find_by_hash(
        self, app_id: UUID, transaction_hash: str
    ) -> tuple[UUID, StoredSwap] | None:
        """Return the app's newest swap that has the transaction."""
        ...

    async def list_page(self, wanted: SwapFilter) -> SwapPage: ...


class Heads(Protocol):
    async def current(self) -> Mapping[str, int]:
        """Return the newest watched block of each network."""
        ...

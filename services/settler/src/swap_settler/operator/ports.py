"""Ports of operators' orders: the prices of tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from swap_settler.model.ledger.inventory import AssetKey


class Prices(Protocol):
    """What tokens are worth now."""

    async def current(self) -> Mapping[AssetKey, int]:
        """Return every fresh price, in dollars × 10^18 for one whole token.

        Empty while the quoter does not answer.
        """
        ...

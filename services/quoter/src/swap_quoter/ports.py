"""What the quoter needs of the world, in its own words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from swap_quoter.domain.market import TimedValue


class PricesUnreadable(Exception):
    """The source gives no prices that can be understood; what was known before stays."""


class PriceSource(Protocol):
    async def find_updates(self) -> Mapping[str, TimedValue] | None:
        """Return every price if something changed since the last call, else None.

        :raises PricesUnreadable: the next call tries again.
        """
        ...

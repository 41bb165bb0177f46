"""What use cases of gasless deposits need of a transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from swap_settler.model.ports import Work


class LapsedWork(Work, Protocol):
    """A transaction that ends signatures which were not relayed in time."""

    async def swaps_with_lapsed(self, now: datetime, *, limit: int) -> Sequence[UUID]:
        """Return the swaps with a signature too old to be relayed. Locks nothing."""
        ...

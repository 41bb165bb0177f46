"""What tests of the chain-watcher replace."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from swap_chain_watcher.domain.deposit_addresses import DueAddresses


class DueTargets(Protocol):
    """Which of the stored deposit addresses are counted now."""

    async def load_due(
        self,
        network: str,
        *,
        young_since: datetime,
        young_max: int,
        old_before: datetime,
        old_max: int,
    ) -> DueAddresses:
        """Return what to count now: of the young the newest, of the others some."""
        ...

"""Parts of the chain-watcher that tests replace by fakes."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from swap_chain_watcher.domain.deposit_addresses import DueAddresses


class DueTargets(Protocol):
    """Chooses the deposit addresses whose native balance is read now: coins come without a log."""

    async def load_due(
        self,
        network: str,
        *,
        young_since: datetime,
        young_max: int,
        old_before: datetime,
        old_max: int,
    ) -> DueAddresses:
        """Return the newest of the young addresses, and of the old ones those counted longest ago.

        :param young_since: addresses assigned after it are young.
        :param old_before: old addresses are due if they were counted before it.
        """
        ...

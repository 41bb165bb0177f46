"""Shows in gauges what waits for a second provider, and how full the caps of single ones are."""

from __future__ import annotations

from collections.abc import Sequence

from swap_chain_watcher import observe
from swap_chain_watcher.adapters.trust import PostgresTrust
from swap_chain_watcher.domain.policy import Policy


class ReportTrust:
    def __init__(self, trust: PostgresTrust, policies: Sequence[Policy]) -> None:
        """
        :param policies: of all networks; the first report stores their caps for other services.
        """
        self._trust = trust
        self._policies = policies
        self._has_stored = False

    async def __call__(self) -> None:
        if not self._has_stored:
            await self._trust.set_caps(self._policies)
            self._has_stored = True
        observe.deposits_withheld(await self._trust.list_withheld())
        observe.exposures_measured(await self._trust.exposures())

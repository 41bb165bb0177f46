"""Shows in gauges what waits for a second provider, and how full the caps of single ones are."""

from __future__ import annotations

from swap_chain_watcher import observe
from swap_chain_watcher.ports import Trust


class ReportTrust:
    def __init__(self, trust: Trust) -> None:
        self._trust = trust

    async def __call__(self) -> None:
        observe.withheld(await self._trust.withheld())
        observe.exposed(await self._trust.exposures())

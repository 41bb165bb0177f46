"""Reports the state of each network: for operators, and for the gauges."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from swap_chain_watcher import observe
from swap_chain_watcher.adapters.watches import PostgresWatches
from swap_chain_watcher.domain.watch import WatchPosition
from swap_chains.errors import ChainError
from swap_chains.ports import ChainReader


@dataclass(frozen=True, slots=True)
class NetworkReport:
    network: str
    head: int | None  # None: no node answers
    place: WatchPosition | None  # None: not begun

    @property
    def lag_blocks(self) -> int | None:
        if self.head is None or self.place is None:
            return None
        if self.head < self.place.finalized_number:
            return None  # a node that syncs from the start, or another chain: no report
        return max(self.head - self.place.cursor.number, 0)


class ReportNetworks:
    def __init__(
        self, watches: PostgresWatches, readers: Sequence[ChainReader], *, head_timeout: timedelta
    ) -> None:
        self._watches = watches
        self._readers = readers
        self._head_timeout = head_timeout

    async def __call__(self) -> Sequence[NetworkReport]:
        """Ask all networks at once, none for longer than `head_timeout`."""
        heads = await asyncio.gather(*(self._head(reader) for reader in self._readers))
        places = {place.network: place for place in await self._watches.list_positions()}
        reports = [
            NetworkReport(reader.network, head, places.get(reader.network))
            for reader, head in zip(self._readers, heads, strict=True)
        ]
        for report in reports:
            place = report.place
            if place is not None:  # whichever replica noticed, each shows it
                (observe.network_still_halted if place.halt else observe.network_followed)(
                    report.network
                )
            if place is not None and report.head is not None:
                observe.head_seen(
                    report.network,
                    head=report.head,
                    cursor=place.cursor.number,
                    finalized=place.finalized_number,
                )
        return reports

    async def _head(self, reader: ChainReader) -> int | None:
        try:
            async with asyncio.timeout(self._head_timeout.total_seconds()):
                return (await reader.head()).number
        except (ChainError, TimeoutError):
            return None

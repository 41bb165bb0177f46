"""Shows operators what reorgs took after it was paid for, beside the budgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from swap_settler.operator.store.losses import PostgresLosses
from swap_settler.records import Place, Record


class ListLosses:
    def __init__(
        self, losses: PostgresLosses, *, budgets: Mapping[str, int], span: timedelta
    ) -> None:
        """
        :param budgets: in millionths of a dollar, by network.
        :param span: losses count for so long.
        """
        self._losses = losses
        self._budgets = budgets
        self.span = span

    async def by_network(self) -> Sequence[Record]:
        """Return every network of the catalogue, with what counts still."""
        counted_losses = await self._losses.counted_losses(self.span)
        stopped = {stop.network for stop in await self._losses.list_stops()}
        return [
            {
                "network": network,
                "usd_micros": str(lost.usd_micros if (lost := counted_losses.get(network)) else 0),
                "budget_usd_micros": str(budget),
                "is_stopped": network in stopped,
            }
            for network, budget in sorted(self._budgets.items())
        ]

    async def entries(self, *, after: Place | None, limit: int) -> Sequence[Record]:
        """Return the newest postings of losses, also of those that count no more.

        :param after: only what follows this place.
        """
        return await self._losses.list_entries(after=after, limit=limit)

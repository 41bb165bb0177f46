"""Shows operators what reorgs took after it was paid for, beside the budgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from swap_settler.operator.decide.reports import LossEntry, LossPlace
from swap_settler.operator.store.losses import PostgresLosses


@dataclass(frozen=True, slots=True)
class NetworkLoss:
    """What counts still of one network, in millionths of a dollar."""

    network: str
    usd_micros: int
    budget_usd_micros: int
    is_stopped: bool


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

    async def by_network(self) -> Sequence[NetworkLoss]:
        """Return every network of the catalogue."""
        counted_losses = await self._losses.counted_losses(self.span)
        stopped = {stop.network for stop in await self._losses.list_stops()}
        return [
            NetworkLoss(
                network,
                counted_losses[network].usd_micros if network in counted_losses else 0,
                budget,
                network in stopped,
            )
            for network, budget in sorted(self._budgets.items())
        ]

    async def entries(self, *, after: LossPlace | None, limit: int) -> Sequence[LossEntry]:
        """Return the newest postings of losses, also of those that count no more.

        :param after: only what follows this place.
        """
        return await self._losses.list_entries(after=after, limit=limit)

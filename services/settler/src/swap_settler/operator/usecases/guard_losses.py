"""The loss budget: a network that takes back too much of what was paid for is not paid for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from swap_runtime.errors import RequestRefused
from swap_settler.operator import observe
from swap_settler.operator.decide.signer import Stop
from swap_settler.operator.store.losses import PostgresLosses
from swap_settler.records import ListPlace, Record


class GuardLosses:
    """Stop the payments for deposits of a network, until an operator resumes them."""

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

    async def __call__(self) -> None:
        """Compare once."""
        counted_losses = await self._losses.counted_losses(self.span)
        for network, budget in self._budgets.items():
            of_network = counted_losses.get(network)
            units = 0 if of_network is None else of_network.usd_micros
            observe.counted_losses(network, units)
            if of_network is None or units <= budget:
                continue
            because = f"reorgs took {_dollars(units)} within {self.span} that was paid for; "
            because += f"its budget is {_dollars(budget)}"
            last = of_network.last_lifted
            if await self._losses.stop(network, because=because, last_lifted=last):
                observe.source_stopped(network, because=because)
        await self.list_stops()

    async def list_stops(self) -> Sequence[Stop]:
        found = await self._losses.list_stops()
        observe.source_stops(self._budgets, {stop.network for stop in found})
        return found

    async def lift(
        self, network: str, *, by: str, reason: str, stopped_at: datetime | None = None
    ) -> Sequence[Stop]:
        """Return what is still stopped; what was lost until now counts no more.

        :param stopped_at: only the stop that began then; None: whichever is on.
        :raises RequestRefused: when nothing is stopped there.
        """
        if not await self._losses.lift(network, by=by, reason=reason, stopped_at=stopped_at):
            since = "" if stopped_at is None else f" since {stopped_at.isoformat()}"
            raise RequestRefused(f"payments for what comes from {network} are not stopped{since}")
        observe.source_stop_lifted(network, by=by, reason=reason)
        return await self.list_stops()

    async def by_network(self) -> Sequence[Record]:
        """Return every network of the catalogue, with what counts still beside its budget."""
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

    async def entries(self, *, after: ListPlace | None, limit: int) -> Sequence[Record]:
        """Return the newest postings of losses, also of those that count no more.

        :param after: only what follows this place.
        """
        return await self._losses.list_entries(after=after, limit=limit)


def _dollars(micros: int) -> str:
    return f"${micros // 10**6}.{micros % 10**6 // 10**4:02}"

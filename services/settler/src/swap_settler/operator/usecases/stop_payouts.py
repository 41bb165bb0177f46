"""The kill switch: an operator lets nothing be signed, on one network or on all."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from swap_runtime.errors import RequestRefused
from swap_settler.operator import observe
from swap_settler.operator.decide.signer import EVERYWHERE, Stop
from swap_settler.operator.store.stops import PostgresStops


class StopPayouts:
    """Order stops, lift them, and list them. What was signed before is still sent."""

    def __init__(self, stops: PostgresStops, *, networks: Collection[str]) -> None:
        self._stops = stops
        self._networks = networks

    async def list_all(self) -> Sequence[Stop]:
        found = await self._stops.list_stops()
        observe.stops(self._networks, {stop.network for stop in found})
        return found

    async def list_halts(self) -> Sequence[Stop]:
        """Return where the watcher saw what is final change; only there it is lifted."""
        return await self._stops.list_halts()

    async def stop(self, network: str, *, by: str, reason: str) -> bool:
        """Return whether nothing is signed from now on; False: a round that hangs is not over yet.

        If it is ordered twice, the first counts.

        :raises RequestRefused: for a network that the catalogue does not name.
        """
        self._check(network)
        if await self._stops.stop(network, by=by, reason=reason):
            observe.payouts_stopped(network, by=by, reason=reason)
        is_over = await self._stops.rounds_have_ended(network)
        if not is_over:
            observe.round_not_ended_at_stop(network)
        return is_over

    async def lift(
        self, network: str, *, by: str, reason: str, stopped_at: datetime | None = None
    ) -> Sequence[Stop]:
        """Return what is still on.

        :param stopped_at: only the stop that began then; None: whichever is on.
        :raises RequestRefused: when it is not on there.
        """
        self._check(network)
        if not await self._stops.lift(network, by=by, reason=reason, stopped_at=stopped_at):
            where = "everywhere" if network == EVERYWHERE else f"on {network}"
            since = "" if stopped_at is None else f" since {stopped_at.isoformat()}"
            raise RequestRefused(f"payouts are not stopped {where}{since}")
        observe.payout_stop_lifted(network, by=by, reason=reason)
        return await self.list_all()

    def _check(self, network: str) -> None:
        if network != EVERYWHERE and network not in self._networks:
            raise RequestRefused(f"{network} is not a network of the catalogue")

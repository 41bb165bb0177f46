from __future__ import annotations

from swap_api.model.keys import Caller
from swap_api.swaps.adapters.status_rendering import render_status
from swap_api.swaps.store.network_states import PostgresNetworkStates
from swap_domain.catalogue import Catalogue
from swap_runtime.clock import Clock


class ReportStatus:
    """Say how every network is: how far it is followed, and what can be paid there."""

    def __init__(
        self, catalogue: Catalogue, states: PostgresNetworkStates, *, clock: Clock
    ) -> None:
        self._catalogue = catalogue
        self._states = states
        self._clock = clock

    async def __call__(self, caller: Caller) -> bytes:
        """
        :raises Unavailable: when Postgres is away.
        """
        is_seen = caller.environment == self._catalogue.environment
        networks = list(self._catalogue.networks.values()) if is_seen else []
        states = await self._states.current()
        return render_status(networks, states, at=self._clock())

"""Builds what keeps a swap from being offered: payouts that are stopped, addresses not to pay."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

import aiohttp

from swap_api.swaps.store.payout_stops import PostgresPayoutStops
from swap_api.swaps.usecases.refuse_stopped_routes import RefuseStoppedRoutes
from swap_api.swaps.usecases.screen_parties import ScreenParties
from swap_domain.catalogue import Catalogue
from swap_runtime.errors import Unavailable
from swap_runtime.postgres.database import Engine
from swap_runtime.process.service import Service
from swap_runtime.screening import (
    BlockList,
    RehearsalAddresses,
    Screening,
    Screenings,
    ScreeningService,
)
from swap_runtime.settings import ScreeningSettings


@dataclass(frozen=True, slots=True)
class Guards:
    refuse_stopped_routes: RefuseStoppedRoutes
    screen_parties: ScreenParties
    blocked: BlockList

    @classmethod
    def of(
        cls,
        engine: Engine,
        catalogue: Catalogue,
        settings: ScreeningSettings | None = None,
        session: aiohttp.ClientSession | None = None,
        *,
        blocked: BlockList | None = None,
    ) -> Guards:
        """
        :param settings: of what is asked about addresses beside the operators' list.
        """
        blocked = blocked or BlockList(engine)
        rehearsals = RehearsalAddresses(environment=catalogue.environment)
        screenings: list[Screening] = [rehearsals, blocked]
        if settings is not None and settings.url and session is not None:
            screenings.append(ScreeningService(settings, session))
        screen_parties = ScreenParties(Screenings(*screenings))
        return cls(RefuseStoppedRoutes(PostgresPayoutStops(engine)), screen_parties, blocked)

    def watch(self, service: Service, interval: timedelta) -> None:
        """Look at what operators say, before anybody asks and then again and again."""
        service.on_start(self.look)
        service.every("refresh-stops", interval, self.refuse_stopped_routes.refresh)
        service.every("refresh-blocked", interval, self.blocked.refresh)

    async def look(self) -> None:
        """Look once. Where nothing is to be seen yet, the api opens and cannot tell."""
        for refresh in (self.refuse_stopped_routes.refresh, self.blocked.refresh):
            with suppress(Unavailable):
                await refresh()

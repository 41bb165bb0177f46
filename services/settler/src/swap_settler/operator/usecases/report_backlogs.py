"""Reports how long swaps, deposits and refunds wait, and whether Treasuries cover what is owed."""

from __future__ import annotations

from collections.abc import Collection

from swap_settler.operator import observe
from swap_settler.operator.store.backlogs import PostgresBacklogs


class ReportBacklogs:
    def __init__(self, backlogs: PostgresBacklogs, *, networks: Collection[str]) -> None:
        """
        :param networks: of the catalogue: each has a value also while nothing waits there.
        """
        self._backlogs = backlogs
        self._networks = networks

    async def __call__(self) -> None:
        observe.open_swaps(await self._backlogs.open_swaps())
        observe.unsettled(await self._backlogs.unsettled(), networks=self._networks)
        observe.refunds_pending(await self._backlogs.refunds(), networks=self._networks)
        observe.covers_measured(await self._backlogs.covers())

"""Shows operators what the Treasuries hold against what is owed, and what waits to be paid."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from swap_settler.operator import observe
from swap_settler.operator.decide.backlog import (
    Backlog,
    BacklogKind,
    Cover,
    Side,
)
from swap_settler.operator.store.backlogs import PostgresBacklogs
from swap_settler.records import ListPlace, Record


class ShowBalances:
    def __init__(self, backlogs: PostgresBacklogs) -> None:
        self._backlogs = backlogs

    async def covers(self) -> Sequence[Cover]:
        """Return each asset, by network and token."""
        found = await self._backlogs.covers()
        return sorted(found, key=lambda cover: (cover.network, cover.token))

    async def accounts(
        self, network: str, token: str, side: Side, *, after: int, limit: int
    ) -> Sequence[Record]:
        """Return the accounts that a side of an asset's cover is made of.

        :param after: only those with a higher id.
        """
        return await self._backlogs.accounts(network, token, side, after=after, limit=limit)

    async def list_items(
        self, kind: BacklogKind, network: str, *, after: ListPlace | None, limit: int
    ) -> Sequence[Record]:
        """Return the deposits or refunds that wait on a network.

        :param after: only what follows this place.
        """
        return await self._backlogs.list_items(kind, network, after=after, limit=limit)

    async def find_unsettled(self) -> Sequence[Backlog]:
        """Return the deposits of open swaps, by source network."""
        return await self._backlogs.find_unsettled()

    async def refunds(self) -> Sequence[Backlog]:
        """Return the refunds that are not final, by network."""
        return await self._backlogs.refunds()

    async def report(self, networks: Collection[str]) -> None:
        """Export how long swaps, deposits and refunds wait, and what covers what is owed.

        :param networks: of the catalogue: each has a value also while nothing waits there.
        """
        observe.open_swaps(await self._backlogs.open_swaps())
        observe.deposits_unsettled(await self._backlogs.find_unsettled(), networks=networks)
        observe.refunds_pending(await self._backlogs.refunds(), networks=networks)
        observe.covers_measured(await self._backlogs.covers())

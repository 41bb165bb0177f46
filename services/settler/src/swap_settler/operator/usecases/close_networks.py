"""Closes a network to new swaps, before maintenance or its removal."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from swap_runtime.errors import RequestRefused
from swap_settler.operator import observe
from swap_settler.operator.store.closures import PostgresClosures
from swap_settler.records import Record


class CloseNetworks:
    """Close a network to new swaps from or to it, and open it again.

    The api refuses such swaps; accepted swaps are paid.
    """

    def __init__(self, closures: PostgresClosures, *, networks: Collection[str]) -> None:
        self._closures = closures
        self._networks = networks

    async def list_all(self) -> Sequence[Record]:
        return await self._closures.list_closures()

    async def close(self, network: str, *, by: str, reason: str) -> None:
        """Close it; a network that is closed already stays so, with its first reason.

        :raises RequestRefused: for a network that the catalogue does not name.
        """
        if network not in self._networks:
            raise RequestRefused(f"{network} is not a network of the catalogue")
        if await self._closures.close(network, by=by, reason=reason):
            observe.network_closed(network, by=by, reason=reason)

    async def open(self, network: str, *, by: str, reason: str) -> None:
        """
        :raises RequestRefused: when it is not closed.
        """
        if not await self._closures.open(network, by=by, reason=reason):
            raise RequestRefused(f"{network} is not closed")
        observe.network_opened(network, by=by, reason=reason)

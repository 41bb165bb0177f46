"""The list of who must not be paid: an operator adds to it, and takes from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from swap_domain.catalogue import Catalogue
from swap_runtime.errors import RequestRefused
from swap_settler.operator import observe
from swap_settler.operator.store.blocked import PostgresBlocked
from swap_settler.operator.usecases.recipients import checked_address
from swap_settler.records import Record


@dataclass(frozen=True, slots=True)
class BlockOrder:
    addresses: Sequence[str]
    network: str | None  # None: on all of them
    by: str
    reason: str


class ManageBlockedAddresses:
    def __init__(self, blocked: PostgresBlocked, *, catalogue: Catalogue) -> None:
        self._blocked = blocked
        self._catalogue = catalogue

    async def list_all(self, *, after: tuple[str, str] = ("", ""), limit: int) -> Sequence[Record]:
        """
        :param after: only what follows this address, on this network; "" for all networks.
        """
        return await self._blocked.list_blocked(after=after, limit=limit)

    async def find(self, address: str, network: str | None) -> Record | None:
        """
        :param network: None where it is blocked on all networks.
        """
        return await self._blocked.find_blocked(address.lower(), network)

    async def block(self, order: BlockOrder) -> int:
        """Return how many are new. What is on its way to them already is not called back.

        :raises RequestRefused: for what is no address, or a network that the catalogue does not
            name.
        """
        addresses = self._check(order)
        added = await self._blocked.block(
            addresses, order.network, by=order.by, reason=order.reason
        )
        observe.addresses_blocked(added, order.network, by=order.by, reason=order.reason)
        return added

    async def lift(self, order: BlockOrder) -> int:
        """Return how many were on the list."""
        addresses = self._check(order)
        lifted = await self._blocked.lift(
            addresses, order.network, by=order.by, reason=order.reason
        )
        observe.address_blocks_lifted(lifted, order.network, by=order.by, reason=order.reason)
        return lifted

    def _check(self, order: BlockOrder) -> Sequence[str]:
        if order.network is not None and order.network not in self._catalogue.networks:
            raise RequestRefused(f"{order.network} is not a network of the catalogue")
        return sorted({checked_address(address).lower() for address in order.addresses})

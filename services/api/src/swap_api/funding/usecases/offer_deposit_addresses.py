from __future__ import annotations

import asyncio
from collections.abc import Set as AbstractSet

from swap_api.funding.ports import DepositAddresses
from swap_api.model.refusals import ApiRefusal
from swap_contracts.public.catalogue import PublicCatalogue
from swap_domain.catalogue import Catalogue, Network


class OfferDepositAddresses:
    """Show deposit addresses as a way in only where the factory computes them as we do.

    Until the chain was queried, and while it differs, partners see that there are none. A factory
    that was right once is right for ever.
    """

    def __init__(
        self, catalogue: Catalogue, addresses: DepositAddresses, public: PublicCatalogue
    ) -> None:
        self._waiting = {
            network.name: network
            for network in catalogue.networks.values()
            if network.contracts.deposit_addresses is not None
        }
        self._addresses = addresses
        self._public = public
        self._offered: set[str] = set()
        for name in self._waiting:
            public.offer_deposit_addresses(name, is_offered=False)

    @property
    def networks(self) -> AbstractSet[str]:
        """The networks with offered deposit addresses; it grows."""
        return self._offered

    async def refresh(self) -> None:
        """Ask every factory that has not been right yet."""
        await asyncio.gather(*(self._ask(network) for network in tuple(self._waiting.values())))

    async def _ask(self, network: Network) -> None:
        try:
            await self._addresses.verify(network)
        except ApiRefusal:
            return  # reported by the earlier check
        self._offered.add(network.name)
        self._waiting.pop(network.name, None)
        self._public.offer_deposit_addresses(network.name, is_offered=True)

"""Whether a network's Depository accepts deposits: a price for one is refused while it does not."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from swap_api import observe
from swap_api.funding.ports import Depositories
from swap_api.model.refusals import ApiRefusal, field_errors_of
from swap_contracts.public.errors import ErrorCode
from swap_domain.catalogue import Catalogue, Network
from swap_runtime.errors import Unavailable


class OfferDepository:
    """Refuse swaps through a Depository while it would revert their deposits.

    Every Depository is offered until its chain reports that it is paused or does not list our
    Treasury, and again once the chain reports otherwise. An unreachable node changes nothing.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        depositories: Depositories,
        *,
        deposit_address_networks: AbstractSet[str],
    ) -> None:
        """
        :param deposit_address_networks: where a deposit address is another way: a live set, to
            which `OfferDepositAddresses` adds networks.
        """
        self._networks = [
            network
            for network in catalogue.networks.values()
            if network.contracts.depository is not None
        ]
        self._depositories = depositories
        self._deposit_address_networks = deposit_address_networks
        self._findings: dict[str, Sequence[str]] = {}
        for network in self._networks:
            observe.depository_assumed(network.name)

    async def refresh(self) -> None:
        """Read every Depository again. The findings of a chain that does not answer stay."""
        await asyncio.gather(*(self._ask(network) for network in self._networks))

    def require(self, network: Network) -> None:
        """
        :raises ApiRefusal: while the network's Depository takes no deposits.
        """
        if not self._findings.get(network.name):
            return
        has_addresses = network.name in self._deposit_address_networks
        other = (
            "transfer directly or to a deposit address" if has_addresses else "transfer directly"
        )
        raise ApiRefusal(
            ErrorCode.UNSUPPORTED_DEPOSITORY,
            f"The Depository on {network.display_name} is closed for the moment; {other} instead",
            metadata=field_errors_of(use_depository="is closed here for the moment"),
        )

    async def _ask(self, network: Network) -> None:
        try:
            found = await self._depositories.findings(network)
        except Unavailable as error:
            observe.depository_unknown(network.name, error)
            return
        self._record(network.name, tuple(found))

    def _record(self, network: str, findings: Sequence[str]) -> None:
        if self._findings.get(network) != findings:
            self._findings[network] = findings
            observe.depository_offered(network, findings)

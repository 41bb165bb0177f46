from __future__ import annotations

import asyncio
from collections.abc import Mapping

from swap_api import observe
from swap_api.funding.ports import GaslessChains
from swap_api.model.refusals import ApiRefusal, field_errors_of
from swap_contracts.public.catalogue import PublicCatalogue
from swap_contracts.public.errors import ErrorCode
from swap_domain.catalogue import Catalogue, Network, Token
from swap_domain.gasless import Gasless
from swap_runtime.errors import Unavailable

AssetKey = tuple[str, str]


class OfferGasless:
    """Determine which tokens can be deposited by a signature, by the chains' contracts.

    The catalogue's data is used only while the chain's data is the same. Until the chain was
    queried, and while it differs, a token is not offered, and partners see this.
    """

    def __init__(
        self, catalogue: Catalogue, chains: GaslessChains, public: PublicCatalogue
    ) -> None:
        self._networks = [n for n in catalogue.networks.values() if _gasless_tokens(n)]
        self._chains = chains
        self._public = public
        self._known: dict[AssetKey, Gasless] = {}
        self._reported: dict[AssetKey, tuple[str, ...]] = {}
        for network in catalogue.networks.values():
            for token in network.tokens:
                public.offer_gasless(network.name, token.address, None)

    async def refresh(self) -> None:
        """Ask every chain again. What one does not answer stands as it was."""
        await asyncio.gather(*(self._ask(network) for network in self._networks))

    async def _ask(self, network: Network) -> None:
        try:
            found = await self._chains.findings(network)
        except Unavailable as error:
            observe.gasless_unknown(network.name, error)
            return
        for address, gasless in _gasless_tokens(network).items():
            self._take(network.name, address, gasless, tuple(found[address]))

    def standard(self, network: Network, token: Token) -> Gasless | None:
        """Return how the token is deposited by a signature now; None when it is not."""
        return self._known.get((network.name, token.address))

    def require(self, network: Network, token: Token) -> Gasless:
        """
        :raises ApiRefusal: when the token cannot be deposited by a signature now.
        """
        gasless = self.standard(network, token)
        if gasless is None:
            raise ApiRefusal(
                ErrorCode.UNSUPPORTED_GASLESS,
                f"{token.symbol} on {network.display_name} cannot be deposited by a signature; "
                "choose another funding method",
                metadata=field_errors_of(use_gasless="is not offered here"),
            )
        return gasless

    def _take(self, network: str, token: str, gasless: Gasless, findings: tuple[str, ...]) -> None:
        key = (network, token)
        if findings:
            self._known.pop(key, None)
        else:
            self._known[key] = gasless
        self._public.offer_gasless(network, token, None if findings else gasless.standard.value)
        if self._reported.get(key) != findings:
            self._reported[key] = findings
            observe.gasless_offered(network, token, findings)


def _gasless_tokens(network: Network) -> Mapping[str, Gasless]:
    standards = {token.address: network.gasless(token) for token in network.tokens}
    return {address: gasless for address, gasless in standards.items() if gasless is not None}

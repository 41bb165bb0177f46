"""Wallets with code, as nodes of two providers report them where two are configured."""

from __future__ import annotations

import aiohttp

from swap_api.funding.adapters.nodes import Nodes, open_nodes
from swap_chains.errors import ChainError
from swap_chains.evm.personal_signatures import WalletAnswer, ask_wallet
from swap_domain.catalogue import Catalogue, Network
from swap_runtime.errors import Unavailable

TIMEOUT_SECONDS = 3.0


class EvmWallets:
    def __init__(self, catalogue: Catalogue, nodes: Nodes, session: aiohttp.ClientSession) -> None:
        self._rpcs = open_nodes(catalogue, nodes, session, timeout_seconds=TIMEOUT_SECONDS)

    async def ask(
        self, network: Network, wallet: str, digest: bytes, signature: bytes
    ) -> WalletAnswer:
        try:
            return await ask_wallet(self._rpcs[network.name], wallet, digest, signature)
        except ChainError as error:
            raise Unavailable(str(error)) from error

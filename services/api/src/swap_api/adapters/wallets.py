"""Wallets with code, asked at the head through whichever node answers."""

from __future__ import annotations

import aiohttp

from swap_api.adapters.nodes import Nodes, open_nodes
from swap_chains.errors import ChainError
from swap_chains.evm.personal_signatures import has_code, is_valid
from swap_chains.evm.state import EvmState
from swap_domain.catalogue import Catalogue, Network
from swap_runtime.errors import Unavailable

TIMEOUT_SECONDS = 3.0


class EvmWallets:
    def __init__(self, catalogue: Catalogue, nodes: Nodes, session: aiohttp.ClientSession) -> None:
        opened = open_nodes(catalogue, nodes, session, timeout_seconds=TIMEOUT_SECONDS)
        self._states = {name: EvmState(rpc) for name, rpc in opened.items()}

    async def has_code(self, network: Network, wallet: str) -> bool:
        try:
            return await has_code(self._states[network.name], wallet)
        except ChainError as error:
            raise Unavailable(str(error)) from error

    async def takes(self, network: Network, wallet: str, digest: bytes, signature: bytes) -> bool:
        try:
            return await is_valid(self._states[network.name], wallet, digest, signature)
        except ChainError as error:
            raise Unavailable(str(error)) from error

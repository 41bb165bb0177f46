"""Wallets with code, asked at the head through whichever node answers."""

from __future__ import annotations

from collections.abc import Mapping

import aiohttp

from swap_chains.errors import ChainError
from swap_chains.evm.personal import has_code, is_valid
from swap_chains.evm.rpc import Rpc
from swap_chains.evm.state import EvmState
from swap_domain.catalogue import Catalogue, Network
from swap_runtime.database import forbid_open_transaction
from swap_runtime.errors import Unavailable

TIMEOUT_SECONDS = 3.0


class EvmWallets:
    def __init__(
        self,
        catalogue: Catalogue,
        nodes: Mapping[str, tuple[str, ...]],
        session: aiohttp.ClientSession,
    ) -> None:
        self._states = {
            network.name: EvmState(
                Rpc.to_urls(
                    network.name,
                    nodes.get(network.name) or network.public_nodes,
                    session,
                    timeout_seconds=TIMEOUT_SECONDS,
                    rounds=1,
                    before_call=lambda: forbid_open_transaction("rpc"),
                )
            )
            for network in catalogue.networks.values()
        }

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

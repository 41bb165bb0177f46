"""What wallets let the Depository take, read at the head through whichever node answers."""

from __future__ import annotations

from collections.abc import Mapping

import aiohttp

from swap_chains.errors import ChainError
from swap_chains.evm.codec import decode_uint, encode_allowance
from swap_chains.evm.rpc import Rpc
from swap_chains.evm.state import EvmState
from swap_chains.ports import Call
from swap_domain.catalogue import Catalogue, Network
from swap_runtime.database import forbid_open_transaction
from swap_runtime.errors import Unavailable

TIMEOUT_SECONDS = 2.0


class EvmAllowances:
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

    async def allowance(self, network: Network, token: str, *, owner: str, spender: str) -> int:
        call = Call(to=token, value=0, data=encode_allowance(owner, spender), gas_limit=0)
        try:
            [told] = await self._states[network.name].simulate([call], sender=owner)
            if not told.succeeded:
                raise Unavailable(f"{token} on {network.name} tells no allowance: {told.text}")
            return decode_uint(told.data)
        except (ChainError, ValueError) as error:
            raise Unavailable(str(error)) from error

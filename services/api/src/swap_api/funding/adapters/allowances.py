"""What wallets let the Depository take, read at the head through whichever node answers."""

from __future__ import annotations

import aiohttp

from swap_api.funding.adapters.nodes import Nodes, open_nodes
from swap_chains.errors import ChainError
from swap_chains.evm.codec import decode_uint, encode_allowance
from swap_chains.evm.state import EvmState
from swap_chains.ports import Call
from swap_domain.catalogue import Catalogue, Network
from swap_runtime.errors import Unavailable

TIMEOUT_SECONDS = 2.0


class EvmAllowances:
    def __init__(self, catalogue: Catalogue, nodes: Nodes, session: aiohttp.ClientSession) -> None:
        opened = open_nodes(catalogue, nodes, session, timeout_seconds=TIMEOUT_SECONDS)
        self._states = {name: EvmState(rpc) for name, rpc in opened.items()}

    async def allowance(self, network: Network, token: str, *, owner: str, spender: str) -> int:
        call = Call(to=token, value=0, data=encode_allowance(owner, spender), gas_limit=0)
        try:
            [result] = await self._states[network.name].simulate([call], sender=owner)
            if not result.succeeded:
                raise Unavailable(f"{token} on {network.name} tells no allowance: {result.text}")
            return decode_uint(result.data)
        except (ChainError, ValueError) as error:
            raise Unavailable(str(error)) from error

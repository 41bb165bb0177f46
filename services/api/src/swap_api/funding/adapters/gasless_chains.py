"""The chain queries of gasless deposits: read only, through any node that answers."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import TypeVar

import aiohttp

from swap_api.funding.adapters.nodes import Nodes, open_nodes
from swap_chains.errors import ChainError
from swap_chains.evm.gasless import RelayedDeposit
from swap_chains.evm.gasless_reader import GaslessDeployment, GaslessReader, SignerState
from swap_chains.ports import Simulated
from swap_domain.catalogue import Catalogue, Network
from swap_runtime.errors import Unavailable

Answer = TypeVar("Answer")
TIMEOUT_SECONDS = 3.0


class EvmGaslessChains:
    def __init__(self, catalogue: Catalogue, nodes: Nodes, session: aiohttp.ClientSession) -> None:
        opened = open_nodes(catalogue, nodes, session, timeout_seconds=TIMEOUT_SECONDS)
        self._readers = {name: GaslessReader(rpc) for name, rpc in opened.items()}

    async def findings(self, network: Network) -> Mapping[str, Sequence[str]]:
        contracts = network.contracts
        standards = {token.address: network.gasless(token) for token in network.tokens}
        if contracts.paymaster is None or contracts.depository is None:
            return {}
        deployment = GaslessDeployment(
            chain_id=network.chain_id,
            paymaster=contracts.paymaster,
            depository=contracts.depository,
            treasury=contracts.treasury,
            operators=network.signers,
            tokens={
                address: gasless for address, gasless in standards.items() if gasless is not None
            },
        )
        return await _or_unavailable(self._readers[network.name].findings(deployment))

    async def signer_state(self, network: Network, relayed: RelayedDeposit) -> SignerState:
        return await _or_unavailable(self._readers[network.name].signer_state(relayed))

    async def simulate_relay(
        self, network: Network, relayed: RelayedDeposit, signature: bytes
    ) -> Simulated:
        operator = network.signers[0]
        reader = self._readers[network.name]
        return await _or_unavailable(reader.simulate_relay(relayed, signature, operator=operator))


async def _or_unavailable(answer: Awaitable[Answer]) -> Answer:
    """
    :raises Unavailable: when no node gives a usable answer.
    """
    try:
        return await answer
    except ChainError as error:
        raise Unavailable(str(error)) from error

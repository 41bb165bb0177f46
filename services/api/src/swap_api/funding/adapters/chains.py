"""The chain queries of funding: read only, at the head, through any node that answers."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Final, TypeVar

import aiohttp

from swap_api.funding.adapters.nodes import Nodes, open_nodes
from swap_chains.errors import ChainError
from swap_chains.evm.codec import decode_uint, encode_allowance
from swap_chains.evm.depositories import depository_findings
from swap_chains.evm.gasless import RelayedDeposit
from swap_chains.evm.gasless_reader import GaslessDeployment, GaslessReader, SignerState
from swap_chains.evm.personal_signatures import WalletAnswer, ask_wallet
from swap_chains.evm.state import EvmState
from swap_chains.ports import Call, CallSimulation
from swap_domain.catalogue import Catalogue, Network
from swap_runtime.errors import Unavailable

Answer = TypeVar("Answer")
ALLOWANCE_SECONDS: Final = 2.0
ANSWER_SECONDS: Final = 3.0


class EvmGaslessChains:
    def __init__(self, catalogue: Catalogue, nodes: Nodes, session: aiohttp.ClientSession) -> None:
        opened = open_nodes(catalogue, nodes, session, timeout_seconds=ANSWER_SECONDS)
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
    ) -> CallSimulation:
        operator = network.signers[0]
        reader = self._readers[network.name]
        return await _or_unavailable(reader.simulate_relay(relayed, signature, operator=operator))


class EvmAllowances:
    """What wallets let the Depository take."""

    def __init__(self, catalogue: Catalogue, nodes: Nodes, session: aiohttp.ClientSession) -> None:
        opened = open_nodes(catalogue, nodes, session, timeout_seconds=ALLOWANCE_SECONDS)
        self._states = {name: EvmState(rpc) for name, rpc in opened.items()}

    async def allowance(self, network: Network, token: str, *, owner: str, spender: str) -> int:
        call = Call(to=token, value=0, data=encode_allowance(owner, spender), gas_limit=0)
        try:
            [result] = await self._states[network.name].simulate([call], sender=owner)
            if not result.succeeded:
                raise Unavailable(f"{token} on {network.name} returns no allowance: {result.text}")
            return decode_uint(result.data)
        except (ChainError, ValueError) as error:
            raise Unavailable(str(error)) from error


class EvmWallets:
    """Wallets with code, as nodes of two providers report them where two are configured."""

    def __init__(self, catalogue: Catalogue, nodes: Nodes, session: aiohttp.ClientSession) -> None:
        self._rpcs = open_nodes(catalogue, nodes, session, timeout_seconds=ANSWER_SECONDS)

    async def ask(
        self, network: Network, wallet: str, digest: bytes, signature: bytes
    ) -> WalletAnswer:
        return await _or_unavailable(
            ask_wallet(self._rpcs[network.name], wallet, digest, signature)
        )


class EvmDepositories:
    """Whether Depositories take deposits now."""

    def __init__(self, catalogue: Catalogue, nodes: Nodes, session: aiohttp.ClientSession) -> None:
        self._rpcs = open_nodes(catalogue, nodes, session, timeout_seconds=ANSWER_SECONDS)

    async def findings(self, network: Network) -> Sequence[str]:
        contracts = network.contracts
        assert contracts.depository is not None, "who asks has looked"
        return await _or_unavailable(
            depository_findings(
                self._rpcs[network.name],
                chain_id=network.chain_id,
                depository=contracts.depository,
                treasury=contracts.treasury,
            )
        )


async def _or_unavailable(answer: Awaitable[Answer]) -> Answer:
    """
    :raises Unavailable: when no node gives a usable answer.
    """
    try:
        return await answer
    except ChainError as error:
        raise Unavailable(str(error)) from error

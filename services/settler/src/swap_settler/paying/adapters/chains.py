"""One network's nodes, as the settler reads them and spends on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import aiohttp

from swap_chains.errors import ChainMismatch
from swap_chains.evm.check import Derivation, check_chain
from swap_chains.evm.check_roles import (
    ContractRoles,
    GovernedContract,
    UnknownOperator,
    check_roles,
)
from swap_chains.evm.keys import Key
from swap_chains.evm.reader import EvmReader
from swap_chains.evm.rpc import Rpc
from swap_chains.evm.sender import EvmSender
from swap_domain.catalogue import Network
from swap_runtime.postgres.database import forbid_open_transaction
from swap_settler.paying.observe import contracts_compared, unknown_operators


@dataclass(frozen=True, slots=True)
class Chain:
    """One network, with what reads it and what spends on it."""

    network: Network
    rpc: Rpc
    reader: EvmReader
    proofs: EvmReader  # what two providers report alike: for what is decided for good
    sender: EvmSender

    @classmethod
    def of(
        cls, network: Network, urls: tuple[str, ...], key: Key, session: aiohttp.ClientSession
    ) -> Chain:
        # A payout requests its simulation, the fees and the recipients' code at once.
        rpc = open_rpc(network, urls, session, coalesces_requests=True)
        sender = EvmSender(rpc, chain_id=network.chain_id, key=key)
        proofs = open_reader(network, open_rpc(network, urls, session), needs_two=True)
        return cls(network, rpc, open_reader(network, rpc), proofs, sender)

    async def check(self) -> None:
        """Compare the network's contracts with the catalogue.

        :raises ChainMismatch: or WrongChain, when signing here would be a mistake.
        """
        try:
            unknown = await check_contracts(self.rpc, self.network, self.sender.address)
        except ChainMismatch as error:
            contracts_compared(self.network.name, error.findings)
            raise
        contracts_compared(self.network.name, ())
        unknown_operators(self.network.name, unknown)


async def check_contracts(rpc: Rpc, network: Network, operator: str) -> Sequence[UnknownOperator]:
    """Compare the catalogue with a network's chain; return the operators it does not name.

    :param operator: the signer that has to be one.
    :raises ChainMismatch: or WrongChain, when signing there would be a mistake.
    """
    await check_chain(
        rpc,
        chain_id=network.chain_id,
        depository=network.contracts.depository,
        treasury=network.contracts.treasury,
        decimals={token.address: token.decimals for token in network.tokens},
        operator=operator,
        derivation=derivation_of(network),
    )
    return await check_roles(rpc, roles_of(network, operator))


def roles_of(network: Network, operator: str) -> ContractRoles:
    """Return the owners and roles of a network's contracts in the catalogue."""
    contracts, owners = network.contracts, network.contracts.owners

    def to_contract(name: str, address: str | None, owner: str | None) -> GovernedContract | None:
        return GovernedContract(name, address, owner) if address and owner else None

    return ContractRoles(
        treasury=to_contract("Treasury", contracts.treasury, owners.treasury),
        depository=to_contract("Depository", contracts.depository, owners.depository),
        paymaster=to_contract("Paymaster", contracts.paymaster, owners.paymaster),
        operators=frozenset(network.signers),
        operator=operator,
        receivers=frozenset({contracts.treasury, *contracts.other_receivers}),
        deposits_through=contracts.depository,
    )


def contracts_without_owner(network: Network) -> Sequence[str]:
    """Return which contracts of a network the catalogue names no owner of: their roles are not
    compared with the chain.
    """
    contracts, owners = network.contracts, network.contracts.owners
    named = {
        "Treasury": (contracts.treasury, owners.treasury),
        "Depository": (contracts.depository, owners.depository),
        "Paymaster": (contracts.paymaster, owners.paymaster),
    }
    return [name for name, (address, owner) in named.items() if address and not owner]


def derivation_of(network: Network) -> Derivation | None:
    """Return how the network's deposit addresses are computed, where it has some."""
    addresses = network.contracts.deposit_addresses
    if addresses is None:
        return None
    return Derivation(addresses.factory, addresses.init_code_hash, network.contracts.treasury)


def open_rpc(
    network: Network,
    urls: tuple[str, ...],
    session: aiohttp.ClientSession,
    *,
    coalesces_requests: bool = False,
) -> Rpc:
    """Return the client of a network's nodes: the private ones, where some are set."""
    return Rpc.to_urls(
        network.name,
        urls or network.public_nodes,
        session,
        before_call=lambda: forbid_open_transaction("rpc"),
        coalesces_requests=coalesces_requests,
        chain_id=network.chain_id,
    )


def open_reader(network: Network, rpc: Rpc, *, needs_two: bool = False) -> EvmReader:
    """
    :param needs_two: what decides for good has to be reported alike by two providers.
    """
    contracts = network.contracts
    return EvmReader(
        rpc,
        depository=contracts.depository or contracts.treasury,
        treasury=contracts.treasury,
        tokens=[token.address for token in network.tokens],
        needs_two=needs_two,
    )

"""Compares the catalogue with the chains before a release starts, as the settler's lanes do."""

from __future__ import annotations

from collections.abc import Mapping

import aiohttp

from swap_chains.evm.check import check_chain
from swap_chains.evm.check_roles import check_roles
from swap_chains.evm.rpc import open_session
from swap_domain.catalogue import Network
from swap_settler.paying.adapters.chains import derivation_of, open_rpc, roles_of


async def check_contracts(
    networks: Mapping[str, Network], nodes: Mapping[str, tuple[str, ...]]
) -> None:
    """
    :raises ChainMismatch: or WrongChain, with what differs on the first such network.
    :raises ChainUnavailable: when no node of a network answers.
    """
    session = open_session()
    try:
        for name, network in networks.items():
            for signer in network.signers:
                await _check(network, signer, nodes.get(name, ()), session)
    finally:
        await session.close()


async def _check(
    network: Network, signer: str, urls: tuple[str, ...], session: aiohttp.ClientSession
) -> None:
    rpc = open_rpc(network, urls, session)
    await check_chain(
        rpc,
        chain_id=network.chain_id,
        depository=network.contracts.depository,
        treasury=network.contracts.treasury,
        decimals={token.address: token.decimals for token in network.tokens},
        operator=signer,
        derivation=derivation_of(network),
    )
    await check_roles(rpc, roles_of(network, signer))

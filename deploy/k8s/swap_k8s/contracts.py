"""Compares the catalogue with the chains before a release starts, as the settler's lanes do."""

from __future__ import annotations

from collections.abc import Mapping

from swap_chains.evm.rpc import open_session
from swap_domain.catalogue import Network
from swap_settler.paying.adapters.chains import check_contracts, open_rpc


async def check_networks(
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
                rpc = open_rpc(network, nodes.get(name, ()), session)
                await check_contracts(rpc, network, signer)
    finally:
        await session.close()

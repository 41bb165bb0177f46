"""Compares the catalogue with the chains before a release starts, as the settler's lanes do."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from swap_chains.errors import ChainUnavailable
from swap_chains.evm.rpc import open_session
from swap_domain.catalogue import Network
from swap_settler.paying.adapters.chains import check_contracts, open_rpc


async def check_networks(
    networks: Mapping[str, Network],
    nodes: Mapping[str, tuple[str, ...]],
    *,
    reachable_only: bool = False,
) -> None:
    """
    :param reachable_only: whether a network without an answering node is passed over. A pod that
        moves to another machine starts while a provider is down.
    :raises ChainMismatch: or WrongChain, with what differs on the first such network.
    :raises ChainUnavailable: when no node of a network answers.
    """
    session = open_session()
    try:
        for name, network in networks.items():
            rpc = open_rpc(network, nodes.get(name, ()), session)
            try:
                for signer in network.signers:
                    await check_contracts(rpc, network, signer)
            except ChainUnavailable as error:
                if not reachable_only:
                    raise
                sys.stderr.write(f"{name} is not compared: {error}\n")
    finally:
        await session.close()

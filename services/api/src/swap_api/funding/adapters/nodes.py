"""The nodes of the api: one attempt at each and no second round, because a request waits."""

from __future__ import annotations

from collections.abc import Mapping

import aiohttp

from swap_chains.evm.rpc import Rpc
from swap_domain.catalogue import Catalogue
from swap_runtime.postgres.database import forbid_open_transaction

Nodes = Mapping[str, tuple[str, ...]]  # by network; the network's public ones where there are none


def open_nodes(
    catalogue: Catalogue, nodes: Nodes, session: aiohttp.ClientSession, *, timeout_seconds: float
) -> Mapping[str, Rpc]:
    """Return a client for each network of the catalogue."""
    return {
        network.name: Rpc.to_urls(
            network.name,
            nodes.get(network.name) or network.public_nodes,
            session,
            timeout_seconds=timeout_seconds,
            rounds=1,
            before_call=lambda: forbid_open_transaction("rpc"),
            chain_id=network.chain_id,
        )
        for network in catalogue.networks.values()
    }

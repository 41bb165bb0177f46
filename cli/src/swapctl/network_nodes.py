"""The nodes of each network: from SWAP_NODES, or a stack's description."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar
from urllib.parse import urlsplit

from swapctl.admin_client import RequestFailed
from swapctl.endpoints import Endpoints
from swapctl.node_rpc import NodeFailed, NodeRpc

NODES_VARIABLE: Final = "SWAP_NODES"
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class NetworkNodes:
    """The chain id of a network, where it is known, and the addresses of its nodes."""

    network: str
    chain_id: int | None
    urls: Sequence[str]

    def ask(self, question: Callable[[NodeRpc], Result]) -> Result:
        """Return the answer of the first node that answers.

        :raises RequestFailed: when no node answers.
        """
        last = "no node is configured"
        for url in self.urls:
            try:
                return question(NodeRpc(url))
            except NodeFailed as error:
                last = str(error)
        raise RequestFailed(f"no node of {self.network} answers: {last}")


def find_nodes(known: Endpoints) -> Mapping[str, NetworkNodes]:
    """Return the nodes by network; SWAP_NODES wins over a stack's description."""
    found = {
        row["name"]: NetworkNodes(row["name"], int(row["chain_id"]), list(row["rpc_urls"]))
        for row in known.stack.get("networks", ())
    }
    configured: Mapping[str, list[str]] = json.loads(known.environment.get(NODES_VARIABLE) or "{}")
    for name, urls in configured.items():
        chain_id = found[name].chain_id if name in found else None
        found[name] = NetworkNodes(name, chain_id, list(urls))
    return found


def without_key(url: str) -> str:
    """Return a node's address without path, query and login, in which providers put keys."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")

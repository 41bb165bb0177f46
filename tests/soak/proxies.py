"""The proxies of one stack: every connection of a service passes through one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest

from swap_stack.catalogue import make_catalogue
from swap_stack.infrastructure import Infrastructure
from swap_stack.partners import DEMO, Hook, make_partners
from swap_stack.parts.broker import make_broker
from swap_stack.parts.embedded_broker import EmbeddedBroker
from swap_stack.parts.kafka import Kafka
from swap_stack.settings import make_settings
from tests.plugins.stack import SETTINGS, with_corners
from tests.soak.false_nodes import FalseNode
from tests.soak.faults import DEPTHS, NODES_EACH, SERVICES, node_link
from tests.soak.links import Link, ProxyLoop

# The settings of the soak in addition to those of the end-to-end tests.
SOAK_SETTINGS: Mapping[str, str] = {
    # Reorgs are frequent here, and deposits that they remove are mined again.
    "SWAP_SETTLER__LOSS_BUDGET_USD": "100000000",
    "SWAP_CHAIN_WATCHER__SECOND_LOOK_INTERVAL": "PT3S",
}


class Proxies:
    """All links and lying nodes of a stack, created during its start."""

    def __init__(self) -> None:
        self._loop = ProxyLoop()
        self.links: dict[str, Link] = {}
        self.false_nodes: dict[str, FalseNode] = {}
        self._parts: Infrastructure | None = None
        self._nodes: dict[str, int] = {}  # the real port behind each node's link

    def close(self) -> None:
        for link in self.links.values():
            link.close()
        for false_node in self.false_nodes.values():
            false_node.close()
        self._loop.stop()

    def heal(self) -> None:
        """Forward everything unchanged."""
        for link in self.links.values():
            link.heal()
        for name, port in self._nodes.items():
            if self.links[name].target_port != port:
                self.links[name].connect_to(port)

    def route_to_false_node(self, name: str) -> None:
        """Redirect a node's link to the lying node."""
        self.links[name].connect_to(self.false_nodes[name].port)

    def route_to_node(self, name: str) -> None:
        self.links[name].connect_to(self._nodes[name])

    def is_false(self, name: str) -> bool:
        return self.links[name].target_port != self._nodes[name]

    @property
    def parts(self) -> Infrastructure:
        assert self._parts is not None
        return self._parts

    @contextmanager
    def in_between(self) -> Iterator[None]:
        """Put a proxy in each connection of a stack that starts in the block."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("swap_stack.infrastructure.make_broker", self._broker)
            patch.setattr("swap_stack.start.make_settings", self._settings)
            patch.setattr("swap_stack.start.make_partners", self._partners)
            patch.setattr("swap_stack.start.make_catalogue", _catalogue)
            yield

    def _broker(self, *arguments: Any) -> Kafka | EmbeddedBroker:
        broker = make_broker(*arguments)
        broker.advertised_port = self._link("kafka", broker.port)
        return broker

    def _settings(self, *, parts: Infrastructure, **options: Any) -> dict[str, str]:
        self._parts = parts
        made = make_settings(parts=parts, **options)
        for service in SERVICES:
            name = f"SWAP_{service.upper()}__DATABASE_URL"
            made[name] = self._through(f"postgres-{service}", made[name])
        made["SWAP_REDIS__URL"] = self._through("valkey", parts.valkey.url)
        nodes = {
            anvil.chain.network: [
                self._node(node_link(anvil.chain.network, n), anvil.rpc_url)
                for n in range(NODES_EACH)
            ]
            for anvil in parts.anvils
        }
        return {**made, **SETTINGS, **SOAK_SETTINGS, "SWAP_NODES": json.dumps(nodes)}

    def _partners(self, path: Any, operator: Any, hooks: Mapping[str, Hook]) -> Any:
        mine = hooks[DEMO]
        through = replace(mine, url=self._through("receiver", mine.url))
        return make_partners(path, operator, {**hooks, DEMO: through})

    def _node(self, name: str, url: str) -> str:
        through = self._through(name, url)
        self._nodes[name] = self.links[name].target_port
        self.false_nodes[name] = FalseNode(self._loop, url)
        self.false_nodes[name].open()
        return through

    def _through(self, name: str, url: str) -> str:
        """Return the URL with the port of a new link."""
        parts = urlsplit(url)
        assert parts.port is not None
        port = self._link(name, parts.port)
        return urlunsplit(parts._replace(netloc=parts.netloc.replace(f":{parts.port}", f":{port}")))

    def _link(self, name: str, target_port: int) -> int:
        self.links[name] = link = Link(name, self._loop, target_port)
        link.open()
        return link.port


def _catalogue(*arguments: Any) -> dict[str, Any]:
    """Return a catalogue with payouts that are final only below the depth of the soak's reorgs."""
    made = with_corners(make_catalogue(*arguments))
    deep = {"payout_confirmations": max(DEPTHS) + 1}
    return {**made, "networks": [{**network, **deep} for network in made["networks"]]}

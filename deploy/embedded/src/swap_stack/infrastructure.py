"""The parts of one stack, started together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from swap_stack.daemon import StackError
from swap_stack.database import FinalBlock
from swap_stack.keys import Secrets
from swap_stack.node import Node
from swap_stack.options import Options
from swap_stack.parts.anvil import CHAINS, Anvil
from swap_stack.parts.broker import BrokerChoice, choose_broker, make_broker
from swap_stack.parts.embedded_broker import EmbeddedBroker
from swap_stack.parts.kafka import Kafka
from swap_stack.parts.postgres import Postgres
from swap_stack.parts.valkey import Valkey
from swap_stack.places import Places
from swap_stack.ports import Ports
from swap_stack.processes import Registry

# Each starts with `start`, and may still be getting ready then.
Part = Postgres | Valkey | Kafka | EmbeddedBroker | Anvil


@dataclass(frozen=True, slots=True)
class Infrastructure:
    """What the services stand on."""

    postgres: Postgres
    valkey: Valkey
    broker: Kafka | EmbeddedBroker
    broker_choice: BrokerChoice
    anvils: tuple[Anvil, ...]

    @classmethod
    def of(
        cls, places: Places, ports: Ports, registry: Registry, secrets: Secrets, options: Options
    ) -> Infrastructure:
        choice = choose_broker(options.broker, places, options.kafka_security)
        return cls(
            Postgres(places, ports, registry, secrets.postgres_password, options.postgres_args),
            Valkey(places, ports, registry),
            make_broker(choice, places, ports, registry, secrets.kafka_passwords),
            choice,
            tuple(Anvil(chain, places, ports, registry, options.anvil_args) for chain in CHAINS),
        )


async def require_nothing_final_lost(
    nodes: Mapping[str, Node], final_blocks: Iterable[FinalBlock]
) -> None:
    """Refuse to start where a chain lost a final block. Later blocks lost are a reorg.

    :raises StackError: naming the chain.
    """
    in_full = False
    for block in final_blocks:
        node = nodes.get(block.network)
        if node is None:
            continue
        if await node.call("eth_getBlockByHash", block.hash, in_full) is None:
            raise StackError(
                f"{block.network} has lost block {block.number}, which was final: payments rely on "
                "it. `make up FRESH=1` starts from nothing."
            )

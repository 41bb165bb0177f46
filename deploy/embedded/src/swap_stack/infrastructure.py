"""The parts of one stack, started together."""

from __future__ import annotations

from dataclasses import dataclass

from swap_stack.daemon import StackError
from swap_stack.keys import Secrets
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
        choice = choose_broker(options.broker, places)
        return cls(
            Postgres(places, ports, registry, secrets.postgres_password, options.postgres_args),
            Valkey(places, ports, registry),
            make_broker(choice, places, ports, registry),
            choice,
            tuple(Anvil(chain, places, ports, registry, options.anvil_args) for chain in CHAINS),
        )


def require_nothing_lost(heads: dict[str, int], followed: dict[str, int]) -> None:
    """Refuse to go on where a chain lost blocks that were followed and paid on already.

    :raises StackError: naming the chain.
    """
    for network, number in followed.items():
        head = heads.get(network)
        if head is not None and head < number:
            raise StackError(
                f"{network} is at block {head}, but block {number} was followed already: the chain "
                "lost its latest state. `make up FRESH=1` starts from nothing."
            )

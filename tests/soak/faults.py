"""The faults and their order: every decision depends only on the seed.

Each track is one endless sequence. Tracks run in parallel, so faults of different tracks overlap;
two faults of one track never do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Final

SERVICES: Final = ("api", "quoter", "chain_watcher", "settler", "notifier")
NETWORKS: Final = ("ETHEREUM_DEVNET", "BASE_DEVNET", "POLYGON_DEVNET")
NODES_EACH: Final = 2


class Kind(StrEnum):
    # A process exits or is stopped.
    KILL_SERVICE = "kill a service"
    PAUSE_SERVICE = "pause a service"
    RESTART_SERVICE = "restart a service"
    PAUSE_BROKER = "pause the broker"
    KILL_BROKER = "kill the broker"
    PAUSE_CACHE = "pause Valkey"
    KILL_CACHE = "kill Valkey"
    CRASH_DATABASE = "crash PostgreSQL"
    PAUSE_NODE = "pause a chain's node"
    # A connection breaks.
    CUT = "cut connections"
    REFUSE = "refuse connections"
    STALL = "stall connections"
    DELAY = "delay connections"
    # A node returns wrong answers.
    UNAVAILABLE = "node answers 503"
    BUSY = "node is over its limit"
    BROKEN = "node answers broken JSON"
    HIDDEN_LOGS = "node hides logs"
    STALE_HEAD = "node reports an old head"
    SWALLOWED = "node drops a transaction that it accepted"
    LOST_ANSWERS = "node loses its answer to a transaction"
    # A chain replaces blocks.
    REORG = "reorg that keeps transactions"
    REORG_DROP = "reorg that drops transactions"


OF_PROCESSES: Final = (
    Kind.KILL_SERVICE, Kind.KILL_SERVICE, Kind.PAUSE_SERVICE, Kind.RESTART_SERVICE,
    Kind.PAUSE_BROKER, Kind.KILL_BROKER, Kind.PAUSE_CACHE, Kind.KILL_CACHE, Kind.CRASH_DATABASE,
    Kind.PAUSE_NODE,
)  # fmt: skip
OF_CONNECTIONS: Final = (Kind.CUT, Kind.REFUSE, Kind.STALL, Kind.DELAY)
FALSE_NODE_KINDS: Final = (
    Kind.UNAVAILABLE, Kind.BUSY, Kind.BROKEN, Kind.HIDDEN_LOGS, Kind.STALE_HEAD, Kind.SWALLOWED,
    Kind.LOST_ANSWERS,
)  # fmt: skip
REORGS: Final = (Kind.REORG, Kind.REORG_DROP)
LONGEST_SECONDS: Final = 6.0
DELAYS_SECONDS: Final = (0.02, 0.4)
# Below the development chains' finality of two blocks.
DEPTHS: Final = (1, 2)


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: the pause before it, its kind, its place, and its duration."""

    pause: float
    kind: Kind
    target: str
    seconds: float = 0.0
    delay: float = 0.0  # of a connection
    depth: int = 0  # of a reorg


def node_link(network: str, number: int) -> str:
    return f"node-{network}-{number}"


def list_links() -> Sequence[str]:
    """Return every connection with a proxy."""
    databases = [f"postgres-{service}" for service in SERVICES]
    nodes = [node_link(network, n) for network in NETWORKS for n in range(NODES_EACH)]
    return [*databases, "kafka", "valkey", "receiver", *nodes]


def tracks(seed: int) -> Sequence[Iterator[Fault]]:
    """Return the sequences of faults of a seed."""
    return (
        _processes(Random(f"{seed}/processes")),
        _connections(Random(f"{seed}/connections")),
        _false_node_faults(Random(f"{seed}/lies")),
        _reorgs(Random(f"{seed}/reorgs")),
    )


def _processes(random: Random) -> Iterator[Fault]:
    while True:
        kind = random.choice(OF_PROCESSES)
        service, network = random.choice(SERVICES), random.choice(NETWORKS)
        target = {
            Kind.PAUSE_BROKER: "kafka",
            Kind.KILL_BROKER: "kafka",
            Kind.PAUSE_CACHE: "valkey",
            Kind.KILL_CACHE: "valkey",
            Kind.CRASH_DATABASE: "postgres",
            Kind.PAUSE_NODE: network,
        }.get(kind, service)
        yield Fault(random.uniform(1, 5), kind, target, random.uniform(0.5, LONGEST_SECONDS))


def _connections(random: Random) -> Iterator[Fault]:
    links = list_links()
    while True:
        kind, seconds = random.choice(OF_CONNECTIONS), random.uniform(0.5, LONGEST_SECONDS)
        delay = random.uniform(*DELAYS_SECONDS) if kind is Kind.DELAY else 0.0
        yield Fault(random.uniform(0.5, 4), kind, random.choice(links), seconds, delay)


def _false_node_faults(random: Random) -> Iterator[Fault]:
    while True:
        target = node_link(random.choice(NETWORKS), random.randrange(NODES_EACH))
        seconds = random.uniform(2, LONGEST_SECONDS)
        yield Fault(random.uniform(2, 6), random.choice(FALSE_NODE_KINDS), target, seconds)


def _reorgs(random: Random) -> Iterator[Fault]:
    while True:
        kind, network = random.choice(REORGS), random.choice(NETWORKS)
        # The time until dropped transactions are sent again.
        away = random.uniform(0, 3)
        depth = random.choice(DEPTHS)
        yield Fault(random.uniform(4, 10), kind, network, away, depth=depth)

"""What the services stand on: tables, topics, contracts with money in them, a catalogue."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from aiokafka.errors import KafkaError  # type: ignore[import-untyped]
from eth_utils.address import to_checksum_address

from swap_compose.kafka import kafka_of
from swap_compose.places import APP, NODE_URLS, STACK, HostPorts
from swap_compose.secrets import database_url, superuser_url
from swap_runtime.catalogue import load_catalogue
from swap_runtime.messaging.topics import ensure_topics
from swap_runtime.postgres.migrate import migrate
from swap_stack.catalogue import (
    RunningChain,
    make_catalogue,
    measured_gas,
    write_catalogue,
    write_first_prices,
)
from swap_stack.contracts import deploy_and_fund, find_deployment
from swap_stack.database import show_to_auditor
from swap_stack.keys import DevelopmentKeys, development_keys, load_or_make
from swap_stack.node import Node
from swap_stack.parts.anvil import CHAINS, DevelopmentChain

TOPICS_SECONDS = 60
POLL_SECONDS = 0.5


def migrate_all() -> None:
    """Bring every service's schema up to date."""
    secrets = load_or_make(STACK.secrets_file)
    for migrations in sorted(APP.glob("services/*/migrations")):
        service = migrations.parent.name.replace("-", "_")
        migrate(migrations, database_url(service, secrets))


async def make_topics(environ: Mapping[str, str]) -> None:
    """Make the topics that are missing; a broker that listens may not be ready yet.

    :raises KafkaError, OSError, TimeoutError: what the broker said last, after a minute.
    """
    kafka = kafka_of("operator", load_or_make(STACK.secrets_file), environ)
    deadline = asyncio.get_running_loop().time() + TOPICS_SECONDS
    while True:
        try:
            return await ensure_topics(kafka)
        except (KafkaError, OSError, TimeoutError):
            if asyncio.get_running_loop().time() > deadline:
                raise
        await asyncio.sleep(POLL_SECONDS)


async def prepare_chains(ports: HostPorts) -> None:
    """Deploy and fund what is missing, and write the catalogue and the first prices.

    :raises StackError: when a chain has lost the contracts that were deployed on it.
    :raises NodeError: when a node refuses a request, or a transaction fails.
    """
    keys = development_keys(load_or_make(STACK.secrets_file).signer_key)
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_prepare(chain, keys, ports)) for chain in CHAINS]
    except ExceptionGroup as failed:
        # The first ended the other chains' preparation.
        raise failed.exceptions[0] from None
    chains = tuple(task.result() for task in tasks)
    write_first_prices(STACK.prices_file)
    write_catalogue(STACK.catalogue_file, make_catalogue(chains, keys, measured_gas(APP)))


async def show_invariants() -> None:
    """Make what `swapctl invariants` asks: views of the tables that the migrations made."""
    networks = load_catalogue(STACK.catalogue_file, to_checksum_address).networks
    await show_to_auditor(superuser_url(load_or_make(STACK.secrets_file)), APP, networks)


async def _prepare(
    chain: DevelopmentChain, keys: DevelopmentKeys, ports: HostPorts
) -> RunningChain:
    node, file = Node(NODE_URLS[chain.network]), STACK.deployment_file
    deployment = await find_deployment(file, chain, node)
    if deployment is None:
        deployment = await deploy_and_fund(file, APP, chain, node, keys)
    # The catalogue has the address that clients use for the node.
    return RunningChain(chain, ports.node_url(chain.network), deployment)

"""Development chains in a cluster: their contracts, the catalogue and the prices."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson
import yaml

from swap_k8s.config_maps import ConfigMaps
from swap_stack.catalogue import PRICES, RunningChain, make_catalogue, measured_gas
from swap_stack.contracts import deploy_and_fund, find_deployment
from swap_stack.files import read_json, write_json
from swap_stack.keys import DevelopmentKeys, development_keys
from swap_stack.node import Node
from swap_stack.parts.anvil import CHAINS, DevelopmentChain

# The catalogue's public nodes, for wallets outside of the cluster: local ports that
# `kubectl port-forward` opens (deploy/k8s/README.md).
FORWARDED = {
    "ETHEREUM_DEVNET": "http://127.0.0.1:28011",
    "BASE_DEVNET": "http://127.0.0.1:28012",
    "POLYGON_DEVNET": "http://127.0.0.1:28013",
}
DEPLOYMENTS = "deployments"


async def prepare_chains(
    config_maps: ConfigMaps, root: Path, urls: Mapping[str, str], signer_key: str
) -> None:
    """Deploy and fund what is missing, then write the ConfigMaps `catalogue` and `prices`.

    :param root: the checkout.
    :raises StackError: when a chain has lost the contracts that were deployed on it.
    :raises NodeError: when a node refuses a request, or a transaction fails.
    """
    keys = development_keys(signer_key)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "deployments.json"
        stored = await config_maps.find(DEPLOYMENTS)
        write_json(file, orjson.loads(stored[DEPLOYMENTS]) if stored else {})
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(_prepare(chain, urls[chain.network], keys, file, root))
                    for chain in CHAINS
                ]
        except ExceptionGroup as failed:
            # The first ended the other chains' preparation.
            raise failed.exceptions[0] from None
        finally:
            # Also after a failure: what is on a chain must not be deployed there again.
            await config_maps.apply(DEPLOYMENTS, {DEPLOYMENTS: _text(read_json(file))})
    chains = tuple(task.result() for task in tasks)
    catalogue = make_catalogue(chains, keys, measured_gas(root))
    await config_maps.apply(
        "catalogue", {"catalogue.yaml": yaml.safe_dump(catalogue, sort_keys=False)}
    )
    if await config_maps.find("prices") is None:  # a price that was changed by hand stays
        await config_maps.apply("prices", {"prices.json": _text(PRICES)})


async def _prepare(
    chain: DevelopmentChain, url: str, keys: DevelopmentKeys, file: Path, root: Path
) -> RunningChain:
    node = Node(url)
    deployment = await find_deployment(file, chain, node)
    if deployment is None:
        deployment = await deploy_and_fund(file, root, chain, node, keys)
    return RunningChain(chain, FORWARDED[chain.network], deployment)


def _text(value: object) -> str:
    return orjson.dumps(value).decode()

"""The Jobs of deploy/k8s.

python -m swap_k8s contracts|invariants|chains
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from eth_utils.address import to_checksum_address

from swap_chains.errors import ChainError
from swap_k8s.chains import prepare_chains
from swap_k8s.config_maps import ConfigMaps
from swap_k8s.contracts import check_networks
from swap_runtime.catalogue import load_catalogue
from swap_runtime.setting_files import read_variable
from swap_stack.database import show_to_auditor

APP = Path(__file__).resolve().parents[3]


def contracts() -> None:
    catalogue = load_catalogue(Path(os.environ["SWAP_CATALOGUE"]), to_checksum_address)
    asyncio.run(check_networks(catalogue.networks, _nodes()))


def invariants() -> None:
    catalogue = load_catalogue(Path(os.environ["SWAP_CATALOGUE"]), to_checksum_address)
    url = read_variable(os.environ, "ADMIN_URL")
    asyncio.run(show_to_auditor(url, APP, catalogue.networks))


def chains() -> None:
    [signer_key] = json.loads(read_variable(os.environ, "SWAP_SETTLER__SIGNER_KEYS")).values()
    urls = {network: nodes[0] for network, nodes in _nodes().items()}
    asyncio.run(prepare_chains(ConfigMaps.in_cluster(), APP, urls, signer_key))


def _nodes() -> dict[str, tuple[str, ...]]:
    given: dict[str, list[str]] = json.loads(read_variable(os.environ, "SWAP_NODES"))
    return {network: tuple(urls) for network, urls in given.items()}


JOBS: dict[str, Callable[[], None]] = {
    "contracts": contracts,
    "invariants": invariants,
    "chains": chains,
}


def main(arguments: list[str]) -> None:
    if len(arguments) != 1 or arguments[0] not in JOBS:
        sys.exit(__doc__)
    try:
        JOBS[arguments[0]]()
    except ChainError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])

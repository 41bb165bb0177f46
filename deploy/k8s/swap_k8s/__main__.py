"""The Jobs of deploy/k8s.

python -m swap_k8s contracts [--reachable]    compare the catalogue with the chains
python -m swap_k8s invariants                 make the views that the invariants read
python -m swap_k8s chains                     deploy on development chains, write the catalogue
python -m swap_k8s ready                      print what /readyz of this pod answers
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

from eth_utils.address import to_checksum_address

from swap_chains.errors import ChainError
from swap_k8s.chains import prepare_chains
from swap_k8s.config_maps import ConfigMaps
from swap_k8s.contracts import check_networks
from swap_k8s.readiness import read_readiness
from swap_runtime.catalogue import load_catalogue
from swap_runtime.setting_files import read_variable
from swap_stack.daemon import StackError
from swap_stack.database import show_to_auditor
from swap_stack.node import NodeError

APP = Path(__file__).resolve().parents[3]
INTERNAL_PORT = 8081  # of the Dockerfile


def contracts(*, reachable_only: bool = False) -> None:
    catalogue = load_catalogue(Path(os.environ["SWAP_CATALOGUE"]), to_checksum_address)
    asyncio.run(check_networks(catalogue.networks, _nodes(), reachable_only=reachable_only))


def invariants() -> None:
    catalogue = load_catalogue(Path(os.environ["SWAP_CATALOGUE"]), to_checksum_address)
    url = with_password(
        read_variable(os.environ, "ADMIN_URL"), read_variable(os.environ, "ADMIN_PASSWORD")
    )
    asyncio.run(show_to_auditor(url, APP, catalogue.networks))


def chains() -> None:
    [signer_key] = json.loads(read_variable(os.environ, "SWAP_SETTLER__SIGNER_KEYS")).values()
    urls = {network: nodes[0] for network, nodes in _nodes().items()}
    asyncio.run(prepare_chains(ConfigMaps.in_cluster(), APP, urls, signer_key))


def ready() -> None:
    """
    :raises SystemExit: with 1 when the service is not ready.
    """
    is_ready, answer = read_readiness(INTERNAL_PORT)
    sys.stdout.write(f"{answer}\n")
    sys.exit(not is_ready)


def with_password(url: str, password: str) -> str:
    """Return a PostgreSQL address with this password; it may not have one already.

    :raises ValueError: when it has one: the address is an argument of psql, which others can read.
    """
    parts = urlsplit(url)
    if parts.scheme != "postgresql" or parts.password is not None:
        raise ValueError("postgres-admin: `url` is postgresql://USER@HOST…, without a password")
    user, _, place = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user}:{quote(password, safe='')}@{place}"))


def _nodes() -> dict[str, tuple[str, ...]]:
    nodes: dict[str, list[str]] = json.loads(read_variable(os.environ, "SWAP_NODES"))
    return {network: tuple(urls) for network, urls in nodes.items()}


JOBS: dict[tuple[str, ...], Callable[[], None]] = {
    ("contracts",): contracts,
    ("contracts", "--reachable"): partial(contracts, reachable_only=True),
    ("invariants",): invariants,
    ("chains",): chains,
    ("ready",): ready,
}


def main(arguments: list[str]) -> None:
    job = JOBS.get(tuple(arguments))
    if job is None:
        sys.exit(__doc__)
    try:
        job()
    except (ChainError, NodeError, StackError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])

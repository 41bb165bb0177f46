"""The deployment as its clients see it: a description like var/stack.json of a stack."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from eth_utils.address import to_checksum_address

from swap_cluster.deployment import NAMESPACE
from swap_cluster.kubectl import get
from swap_cluster.settings import PLACES
from swap_runtime.catalogue import load_catalogue
from swap_stack.daemon import StackError
from swap_stack.keys import development_keys
from swap_stack.partners import Operator
from swap_stack.services import SERVICES, ServicePorts
from swap_stack.stack_file import describe_network

OPERATOR_TOKEN = "dev-operator-token"  # of the overlay, where its hash is
INTERNAL_PORT = 8081
CHAIN_OF = {
    "ETHEREUM_DEVNET": "anvil-ethereum",
    "BASE_DEVNET": "anvil-base",
    "POLYGON_DEVNET": "anvil-polygon",
}


class ServicesOfCluster(ServicePorts):
    """Where the services are for a client on this machine: kube-proxy serves it, too."""

    def internal_url(self, service: str) -> str:
        return f"http://{self.addresses[service.replace('_', '-')]}:{INTERNAL_PORT}"

    @property
    def addresses(self) -> Mapping[str, str]:
        found: Mapping[str, str] = json.loads((PLACES.var / "services.json").read_text())
        return found


async def describe_stack() -> dict[str, Any]:
    """Return what clients of a stack read, as var/stack.json has it; with a partner of its own."""
    ports = ServicesOfCluster(dict.fromkeys(SERVICES, INTERNAL_PORT), {})
    addresses = ports.addresses
    catalogue = load_catalogue(await _write_catalogue(addresses), to_checksum_address)
    signers = json.loads(await _secret("settler-secrets", "signer-keys"))
    keys = development_keys(next(iter(signers.values())))
    auditor = await _secret("postgres-roles", "auditor")
    networks = [describe_network(network, keys) for network in catalogue.networks.values()]
    return {
        "gateway": {"url": f"http://{addresses['api']}:8080"},
        "partners": [await asyncio.to_thread(_make_partner, Operator(ports, OPERATOR_TOKEN))],
        "networks": networks,
        "postgres": {
            "auditor_url": f"postgresql://auditor:{auditor}@{addresses['postgres']}:5432/swap"
        },
        "operator": {"token": OPERATOR_TOKEN},
    }


def _make_partner(operator: Operator) -> dict[str, Any]:
    """Make an organization with an app and a key; its webhooks would need a public address."""
    organization = operator.run("organization", "create", "demo")
    app = operator.run(
        "app", "create", "--organization", organization["id"], "--name", "demo", "--limits-lifted"
    )
    key = operator.run("key", "create", "--app", app["id"])
    return {"name": "demo", "app_id": app["id"], "api_key": key["key"], "webhook": None}


async def _write_catalogue(addresses: Mapping[str, str]) -> Path:
    """Write the catalogue with the chains' Services as public nodes."""
    data = (await get("configmap", "catalogue", "--namespace", NAMESPACE))["data"]
    catalogue = yaml.safe_load(data["catalogue.yaml"])
    for network in catalogue["networks"]:
        network["public_nodes"] = [f"http://{addresses[CHAIN_OF[network['name']]]}:8545"]
    PLACES.catalogue_file.write_text(yaml.safe_dump(catalogue, sort_keys=False))
    return PLACES.catalogue_file


async def _secret(name: str, key: str) -> str:
    """Return a value of a Secret; generated names have a hash behind them."""
    for secret in (await get("secrets", "--namespace", NAMESPACE))["items"]:
        if secret["metadata"]["name"].rpartition("-")[0] == name:
            return b64decode(secret["data"][key]).decode()
    raise StackError(f"{NAMESPACE} has no Secret {name}")

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
from swap_cluster.webhooks import HOOK, set_secret
from swap_runtime.catalogue import load_catalogue
from swap_stack.account import EMAIL, make_account
from swap_stack.daemon import StackError
from swap_stack.keys import development_keys
from swap_stack.partners import DEMO, Operator, make_partners
from swap_stack.services import SERVICES, ServicePorts
from swap_stack.stack_file import describe_network

OPERATOR_TOKEN = "dev-operator-token"  # of the overlay, where its hash is
DASHBOARD_PASSWORD = "dev-dashboard-account"
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
    """Return what clients of a stack read, as var/stack.json has it.

    The partner and the account of the dashboard are made once for each namespace.
    """
    ports = ServicesOfCluster(dict.fromkeys(SERVICES, INTERNAL_PORT), {})
    addresses = ports.addresses
    catalogue = load_catalogue(await _write_catalogue(addresses), to_checksum_address)
    signers = json.loads(await _secret("settler-secrets", "signer-keys"))
    keys = development_keys(next(iter(signers.values())))
    auditor = await _secret("postgres-roles", "auditor")
    networks = [describe_network(network, keys) for network in catalogue.networks.values()]
    return {
        "gateway": {"url": f"http://{addresses['api']}:8080"},
        "dashboard": {
            "url": f"http://{addresses['dashboard']}:8080",
            "email": EMAIL,
            "password": DASHBOARD_PASSWORD,
        },
        "partners": await _make_partners(ports),
        "networks": networks,
        "services": [{"name": name, "internal_url": ports.internal_url(name)} for name in SERVICES],
        "postgres": {
            "auditor_url": f"postgresql://auditor:{auditor}@{addresses['postgres']}:5432/swap"
        },
        "operator": {"token": OPERATOR_TOKEN},
    }


async def _make_partners(ports: ServicePorts) -> list[dict[str, Any]]:
    """Make the partner, its webhook and its member's account; an earlier call may have."""
    namespace = await get("namespace", NAMESPACE)
    file = PLACES.var / f"partners-{namespace['metadata']['uid']}.json"
    operator = Operator.of_ports(ports, OPERATOR_TOKEN)
    partners = await asyncio.to_thread(make_partners, file, operator, {DEMO: HOOK}, names=(DEMO,))
    await set_secret(partners[0]["webhook"]["secret"])
    await make_account(
        operator,
        ports.internal_url("dashboard"),
        token=OPERATOR_TOKEN,
        password=DASHBOARD_PASSWORD,
        organizations=(DEMO,),
    )
    return partners


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

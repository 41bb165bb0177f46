"""var/stack.json: what runs, for all its clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swap_domain.catalogue import Catalogue, Network
from swap_stack.database import role_url
from swap_stack.files import hold_lock, write_json
from swap_stack.infrastructure import Infrastructure
from swap_stack.keys import DevelopmentKeys, Secrets
from swap_stack.operators import describe_operators
from swap_stack.places import Places
from swap_stack.processes import Registry
from swap_stack.services import ServicePorts, ServiceProcess
from swap_stack.settings import describe_client

VERSION = 1


def describe_network(network: Network, keys: DevelopmentKeys) -> dict[str, Any]:
    """Return a network and the development keys that have money there."""
    contracts = network.contracts
    return {
        "name": network.name,
        "type": network.type,
        "chain_id": str(network.chain_id),
        "rpc_urls": list(network.public_nodes),
        "contracts": {
            "depository": contracts.depository,
            "treasury": contracts.treasury,
            "paymaster": contracts.paymaster,
            "deposit_address_factory": contracts.deposit_addresses
            and contracts.deposit_addresses.factory,
        },
        "tokens": [
            {
                "symbol": token.symbol,
                "contract": None if token.is_native else token.address,
                "decimals": token.decimals,
            }
            for token in network.tokens
        ],
        "users": [
            {"address": user.address, "private_key": user.private_key} for user in keys.users
        ],
    }


def describe(
    *,
    parts: Infrastructure,
    ports: ServicePorts,
    secrets: Secrets,
    keys: DevelopmentKeys,
    catalogue: Catalogue,
    partners: list[dict[str, Any]],
    account: Mapping[str, str] | None,
) -> dict[str, Any]:
    """Return everything but the services, whose pids change."""
    postgres = parts.postgres
    return {
        "version": VERSION,
        "about": "A development stack: every key, password and secret in this file is for this "
        "machine only.",
        "broker": parts.broker_choice.kind,
        "gateway": {"url": ports.public_url("api")},
        "dashboard": account,
        "console": {"url": ports.public_url("console")},
        "partners": partners,
        "networks": [describe_network(network, keys) for network in catalogue.networks.values()],
        "postgres": {
            "url": postgres.url("swap"),
            "auditor_url": role_url(postgres, "auditor", secrets.role_passwords["auditor"]),
            "service_urls": {
                role: role_url(postgres, role, password)
                for role, password in secrets.role_passwords.items()
                if role != "auditor"
            },
        },
        "kafka": describe_client(parts.broker.client("operator")),
        "redis": {"url": parts.valkey.url},
        "operator": {"token": secrets.operator_token},
        "operators": describe_operators(secrets),
    }


def write_stack_file(
    places: Places,
    description: Mapping[str, Any],
    services: tuple[ServiceProcess, ...],
    ports: ServicePorts,
) -> None:
    """Write it with the pids of this moment; from then on the supervisor keeps them right."""
    with hold_lock(places.stack_file):
        pids = {row.name: row.pid for row in Registry(places.processes_file).list_records()}
        rows = [
            {
                "name": service.name,
                "replica": service.replica,
                "pid": pids.get(service.key),
                "internal_url": ports.internal_url(service.name),
                "log": places.display_path(places.log(service.key)),
            }
            for service in services
        ]
        write_json(places.stack_file, {**description, "services": rows})

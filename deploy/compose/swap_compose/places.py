"""Where things are inside a container, and where they are for those outside."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from swap_stack.places import Places
from swap_stack.services import ON_KAFKA, SERVICES, ServicePorts

APP = Path(__file__).resolve().parents[3]
STACK = Places(Path("/stack"), APP)  # the volume that jobs write and services read
SERVICE_SECRETS = STACK.var / "services"  # `run.py` reads them
POSTGRES_PASSWORD = Path("/postgres-password/password")
HOST = Path("/host")  # the checkout's var/
CHECKOUT = Path("/checkout")  # a file of the checkout: its owner owns what is left on the host
RECEIVED = Path("/received/demo.jsonl")
SANDBOX_RECEIVED = Path("/received/sandbox.jsonl")
SANDBOX = Path("/sandbox")  # the volume that the sandbox alone has
INTERNAL_PORT = 8081
RECEIVER_PORT = 8090
SANDBOX_PORT = 8091
# The notifier and both receivers share one network: see docker-compose.yml.
RECEIVER_URL = f"http://127.0.0.1:{RECEIVER_PORT}/hooks"
SANDBOX_URL = f"http://127.0.0.1:{SANDBOX_PORT}/hooks"
GATEWAY_URL = "http://api:8080"
NODE_URLS = {
    "ETHEREUM_DEVNET": "http://anvil-ethereum:8545",
    "BASE_DEVNET": "http://anvil-base:8545",
    "POLYGON_DEVNET": "http://anvil-polygon:8545",
}


class InsidePorts(ServicePorts):
    """Where the services are for one another."""

    @classmethod
    def all(cls) -> InsidePorts:
        return cls(dict.fromkeys(SERVICES, INTERNAL_PORT), {})

    def internal_url(self, service: str) -> str:
        return f"http://{service.replace('_', '-')}:{self.internal[service]}"


@dataclass(frozen=True, slots=True)
class HostPorts:
    """Where everything is for a client on the host."""

    services: ServicePorts
    chains: Mapping[str, int]
    postgres: int
    kafka: int
    valkey: int

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> HostPorts:
        def port(name: str) -> int:
            return int(environ[f"PORT_{name.upper()}"])

        return cls(
            services=ServicePorts(
                {name: port(name) for name in ON_KAFKA} | {"dashboard": port("dashboard_internal")},
                {
                    "api": port("gateway"),
                    "dashboard": port("dashboard"),
                    "console": port("console"),
                },
            ),
            chains={name: port(name.removesuffix("_DEVNET")) for name in NODE_URLS},
            postgres=port("postgres"),
            kafka=port("kafka"),
            valkey=port("valkey"),
        )

    def node_url(self, network: str) -> str:
        return f"http://127.0.0.1:{self.chains[network]}"

"""The sandbox, as a part of the stack."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import orjson

from swap_stack.daemon import Daemon, is_listening
from swap_stack.places import Places
from swap_stack.ports import Ports
from swap_stack.processes import Registry


class SandboxPart(Daemon):
    """Funds the swaps of its apps, and receives their webhooks in `var/webhooks/sandbox.jsonl`."""

    def __init__(self, places: Places, ports: Ports, registry: Registry) -> None:
        super().__init__("sandbox", places, registry)
        self.port = ports.take(self.name)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def webhook_url(self) -> str:
        return f"{self.url}/hooks"

    @property
    def received(self) -> Path:
        return self.places.var / "webhooks" / "sandbox.jsonl"

    async def start_with(self, gateway: str, nodes: Mapping[str, str]) -> None:
        """Play against these; who is played for stands in var/partners.json."""
        environment = {
            "SANDBOX_GATEWAY": gateway,
            "SANDBOX_NODES": orjson.dumps(dict(nodes)).decode(),
            "SANDBOX_PARTNERS": str(self.places.partners_file),
            "SANDBOX_KEYS": str(self.places.sandbox / "keys"),
            "SANDBOX_JOURNAL": str(self.places.sandbox / "paid"),
            "SANDBOX_PORT": str(self.port),
            "RECEIVED": str(self.received),
        }
        self.spawn([sys.executable, "-m", "swap_stack.sandbox"], env=environment)

    async def probe(self) -> bool:
        return await is_listening(self.port)

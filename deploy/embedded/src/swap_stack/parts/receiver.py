"""The sample webhook receiver, as a part of the stack."""

from __future__ import annotations

import sys
from pathlib import Path

from swap_stack.daemon import Daemon, is_listening
from swap_stack.places import Places
from swap_stack.ports import Ports
from swap_stack.processes import Registry


class Receiver(Daemon):
    """Writes what it is sent to `var/webhooks/demo.jsonl`."""

    def __init__(self, places: Places, ports: Ports, registry: Registry) -> None:
        super().__init__("webhook-receiver", places, registry)
        self.port = ports.take(self.name)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hooks"

    @property
    def received(self) -> Path:
        return self.places.var / "webhooks" / "demo.jsonl"

    async def start_with(self, secret: str) -> None:
        command = [sys.executable, "-m", "swap_stack.receiver", "--port", str(self.port)]
        self.spawn(command, env={"WEBHOOK_SECRET": secret, "RECEIVED": str(self.received)})

    async def probe(self) -> bool:
        return await is_listening(self.port)

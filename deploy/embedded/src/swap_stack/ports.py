"""Free TCP ports of this machine, the same ones again after a restart where possible."""

from __future__ import annotations

import random
import socket
from contextlib import closing
from pathlib import Path

from swap_stack.files import read_json, write_json

LOWEST = 20_000
ATTEMPTS = 200


class NoFreePort(RuntimeError):
    """Two hundred ports in a row were taken."""


def is_free(port: int) -> bool:
    with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
        # Connections of an earlier listener in TIME_WAIT do not prevent a new one.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def first_ephemeral() -> int:
    """Return where the kernel's own picks for outgoing connections start."""
    return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])


class Ports:
    """Hands out one port per name and stores it.

    They are below the kernel's ephemeral range. An outgoing connection can use a port inside it
    before the server listens on it.
    """

    def __init__(self, path: Path, *, chance: random.Random | None = None) -> None:
        self._path = path
        self._chance = chance or random.Random()
        self._stored: dict[str, int] = read_json(path) or {}
        self._assigned: set[int] = set()

    def take(self, name: str) -> int:
        """Return the port that belongs to a name.

        :raises NoFreePort: when none is found.
        """
        port = self._stored.get(name)
        if port is None or port in self._assigned or not is_free(port):
            port = self._pick()
            self._stored[name] = port
            write_json(self._path, self._stored)
        self._assigned.add(port)
        return port

    def _pick(self) -> int:
        above = first_ephemeral()
        lowest, highest = (LOWEST, above) if above > LOWEST + ATTEMPTS else (LOWEST, 60_000)
        known = self._assigned | set(self._stored.values())
        for _ in range(ATTEMPTS):
            port = self._chance.randrange(lowest, highest)
            if port not in known and is_free(port):
                return port
        raise NoFreePort(f"between {lowest} and {highest}")


class PortsInUse(Ports):
    """The ports of a stack that runs: its own servers listen there, so none is free."""

    def take(self, name: str) -> int:
        """Return the port that a running part has, or one that is free for a new part.

        :raises NoFreePort: when none is found.
        """
        return self._stored[name] if name in self._stored else super().take(name)

"""Starts server programs for tests, and stops only those."""

from __future__ import annotations

import itertools
import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

START_SECONDS = 60
# Below the ports of the embedded stack, and of the kernel's connections. One of those could take a
# port before its server does. Each worker of a run has a part of its own.
LOWEST_PORT = 10_000
PORTS_OF_WORKER = 2_000
WORKERS_MAX = 5
_offsets = itertools.count(secrets.randbelow(PORTS_OF_WORKER))


def free_port() -> int:
    """Return a port on which nothing listens; the same one again only after all others."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % WORKERS_MAX
    lowest = LOWEST_PORT + worker * PORTS_OF_WORKER
    ports = (lowest + next(_offsets) % PORTS_OF_WORKER for _ in range(PORTS_OF_WORKER))
    return next(port for port in ports if _is_free(port))


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def accepts(port: int) -> bool:
    with socket.socket() as one:
        one.settimeout(0.5)
        return one.connect_ex(("127.0.0.1", port)) == 0


class Program:
    """One server program of a test: it can be started, killed, paused and restarted."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        log: Path,
        ready: Callable[[], bool],
        environment: Mapping[str, str] | None = None,
        stop_signal: int = signal.SIGTERM,
    ) -> None:
        self._command = [str(part) for part in command]
        self._log = log
        self._ready = ready
        self._environment = environment
        self._stop_signal = stop_signal
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it and wait until it is ready; do nothing while it runs."""
        if self.runs:
            return
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdout=log, stderr=log, env=self._environment
            )
        ends_at = time.monotonic() + START_SECONDS
        while not self._ready():
            if self._process.poll() is not None or time.monotonic() > ends_at:
                tail = self._log.read_text(errors="replace")[-2000:]
                raise RuntimeError(f"{self._command[0]} did not start:\n{tail}")
            time.sleep(0.02)

    def send(self, number: int) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(self._stop_signal)

    def _end(self, number: int) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(number)
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

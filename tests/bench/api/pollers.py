"""Clients that keep one connection each and poll their swap a few times a second."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import orjson

from swap_runtime.process.files import raise_file_limit
from swap_stack.partners import Operator
from swap_stack.processes import Registry
from tests.bench import machine
from tests.bench.clients import Client, Connection
from tests.bench.numbers import Spread

INTERVAL_SECONDS = 0.3
# Files that the load has open besides its connections.
SPARE_FILES = 200
SETUP_CONCURRENCY = 32
UNCHANGED = 304
TIMEOUT_SECONDS = 10.0
# These limits are never reached, but requests are counted, as for every partner.
COUNTED = ("--reads", "100000", "--creates", "100000", "--pending", "1000000")
PARTS = ("api", "postgres", "valkey", "load")


@dataclass(frozen=True, slots=True)
class PollResult:
    """The cost of answering these clients that nothing has changed."""

    clients: int
    wanted: int  # clients; fewer if the process may not open enough files
    seconds: float
    spread: Spread
    fewest: int  # polls of the client with the fewest answers
    errors: Mapping[str, int]
    processor: Mapping[str, float]  # seconds per poll, by process
    bytes_per_connection: float  # of the api

    @property
    def requested_per_second(self) -> float:
        return self.clients / INTERVAL_SECONDS

    @property
    def per_second(self) -> float:
        return self.spread.samples / self.seconds


class _Poller:
    """One client with one connection, one swap and one entity tag."""

    def __init__(self, connection: Connection, path: str, headers: str) -> None:
        self._connection = connection
        self._head = f"GET {path} HTTP/1.1\r\n{headers}"
        self._request = b""
        self.took: list[float] = []
        self.errors: Counter[str] = Counter()

    async def read(self) -> None:
        """Read without a tag, and store the tag of the answer."""
        status, body = await self._connection.exchange(f"{self._head}\r\n".encode())
        if status != 200:
            raise RuntimeError(f"read: {status} {body[:300]!r}")
        self._request = f"{self._head}if-none-match: {self._connection.tag()}\r\n\r\n".encode()

    async def poll(self, *, begin: float, end: float) -> None:
        """Poll at each interval; a late poll is not made up for."""
        due = begin
        while (now := time.perf_counter()) < end:
            if now < due:
                await asyncio.sleep(due - now)
                continue
            await self._poll_once()
            due = max(due + INTERVAL_SECONDS, time.perf_counter())

    async def _poll_once(self) -> None:
        at = time.perf_counter()
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                status, _ = await self._connection.exchange(self._request)
        except (OSError, TimeoutError, AssertionError) as error:
            self.errors[type(error).__name__] += 1
            await asyncio.sleep(INTERVAL_SECONDS)
            return
        if status == UNCHANGED:
            self.took.append(time.perf_counter() - at)
        else:
            self.errors[str(status)] += 1

    def close(self) -> None:
        self._connection.close()


class PollBench:
    """Opens the connections, runs all clients, and reads the processor time of each process."""

    def __init__(
        self, gateway_url: str, operator: Operator, registry: Registry, *, wanted: int
    ) -> None:
        self._url = gateway_url
        self._operator = operator
        self._registry = registry
        self._wanted = wanted
        self._clients = min(wanted, raise_file_limit(wanted + SPARE_FILES) - SPARE_FILES)

    async def __call__(self, body: bytes, *, seconds: float) -> PollResult:
        """
        :param body: the request that creates a swap; every client polls a different swap.
        """
        headers = f"x-svc-apikey: {self._a_key()}"
        swaps = await self._swaps(headers, body)
        pids = self._pids()
        before = machine.memory_of([pids["api"]]).resident
        pollers = await self._open(swaps, headers)
        try:
            grown = machine.memory_of([pids["api"]]).resident - before
            began, first = time.perf_counter(), machine.read(pids, time.time())
            await asyncio.gather(
                *(
                    poller.poll(
                        begin=began + INTERVAL_SECONDS * number / len(pollers), end=began + seconds
                    )
                    for number, poller in enumerate(pollers)
                )
            )
            elapsed, used = (
                time.perf_counter() - began,
                first.until(machine.read(pids, time.time())),
            )
        finally:
            for poller in pollers:
                poller.close()
        took = [sample for poller in pollers for sample in poller.took]
        spread = Spread.of(took)
        assert spread is not None, "nobody was answered"
        return PollResult(
            clients=len(pollers),
            wanted=self._wanted,
            seconds=elapsed,
            spread=spread,
            fewest=min(len(poller.took) for poller in pollers),
            errors=sum((poller.errors for poller in pollers), Counter()),
            processor={name: spent / len(took) for name, spent in used.by_process.items()},
            bytes_per_connection=grown / len(pollers),
        )

    def _a_key(self) -> str:
        """Return a key with counted requests; the keys of other phases are not counted."""
        run = self._operator.run
        partner = run("partner", "create", f"pollers of {self._clients}")
        app = run("app", "create", "--partner", partner["id"], "--name", "pollers")
        run("app", "limits", app["id"], *COUNTED)
        return str(run("key", "create", "--app", app["id"])["key"])

    async def _swaps(self, headers: str, body: bytes) -> Sequence[str]:
        gateway = Client(self._url, headers=(headers,))
        made: list[str] = []

        async def create_on() -> None:
            while len(made) < self._clients:
                made.append("")
                at = len(made) - 1
                status, answer = await gateway.post("/api/v2/swaps", body)
                if status != 200:
                    raise RuntimeError(f"create: {status} {answer[:300]!r}")
                made[at] = str(orjson.loads(answer)["data"]["swap"]["id"])

        async with asyncio.TaskGroup() as group:
            for _ in range(SETUP_CONCURRENCY):
                group.create_task(create_on())
        gateway.close()
        return made

    async def _open(self, swaps: Sequence[str], headers: str) -> list[_Poller]:
        parts, loop, waiting = urlsplit(self._url), asyncio.get_running_loop(), list(swaps)
        host, port = parts.hostname or "", parts.port or 80
        pollers: list[_Poller] = []

        async def open_on() -> None:
            while waiting:
                path = f"/api/v2/swaps/{waiting.pop()}"
                _, connection = await loop.create_connection(Connection, host, port)
                poller = _Poller(connection, path, f"host: {parts.netloc}\r\n{headers}\r\n")
                await poller.read()
                pollers.append(poller)

        async with asyncio.TaskGroup() as group:
            for _ in range(SETUP_CONCURRENCY):
                group.create_task(open_on())
        return pollers

    def _pids(self) -> dict[str, int]:
        alive = {record.name: record.pid for record in self._registry.list_alive()}
        return {"load": os.getpid(), **{n.removesuffix("-0"): p for n, p in alive.items()}}

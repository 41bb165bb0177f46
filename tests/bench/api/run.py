"""One run: the same request to the service and to programs that only answer it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
import psycopg

from swap_stack.partners import Operator
from swap_stack.places import Places
from swap_stack.processes import Registry
from tests.bench import machine
from tests.bench.api.closed_loop import Measurement, SendRequest, measure_in_turn
from tests.bench.api.plain_create import SET_KEY_HASH, TABLES
from tests.bench.api.pollers import PollBench, PollResult
from tests.bench.api.settings import Settings
from tests.bench.api.webhooks import WebhookBench, Webhooks
from tests.bench.clients import Client
from tests.bench.load import ROUTES
from tests.bench.progress import Progress
from tests.plugins.processes import free_port

RECIPIENT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
TABLE = """
DROP TABLE IF EXISTS bench_document;
CREATE TABLE bench_document (id uuid PRIMARY KEY, document bytea NOT NULL)
"""
FILL = "INSERT INTO bench_document SELECT gen_random_uuid(), %s FROM generate_series(1, 20000)"
ADD = "INSERT INTO bench_document VALUES (%s, %s)"
OK, UNCHANGED = 200, 304
FEW, MANY = 16, 64
LISTED = 20
IDLE_SHARE = 0.3  # of the machine: an idle stack uses a fifth
IDLE_WAIT_SECONDS_MAX = 60
POLLED_SECONDS_MIN = 5.0


class BenchFailed(RuntimeError):
    """An answer differs from the one that is measured."""


@dataclass(frozen=True, slots=True)
class ApiResult:
    """All measurements, by request and by responder."""

    rates: Mapping[str, Mapping[str, Measurement]]
    polled: Sequence[PollResult]
    webhooks: Webhooks
    document_bytes: int
    broker: str
    used: machine.ProcessorUse


class Run:
    def __init__(
        self, stack: Mapping[str, Any], places: Places, settings: Settings, progress: Progress
    ) -> None:
        self._stack = stack
        self._settings = settings
        self._progress = progress
        self._folder = places.var / "bench"
        self._processes_file = places.processes_file
        self._database_url = stack["postgres"]["url"].replace("+psycopg", "")
        self._bare_url = f"http://127.0.0.1:{free_port()}"
        self._bare: Client
        self._gateway: Client
        self._key = ""
        self._key_id = ""

    async def __call__(self) -> ApiResult:
        self._key_id, self._key = self._a_key()
        self._gateway = Client(self._stack["gateway"]["url"], headers=(self._key_header,))
        self._bare = Client(self._bare_url, headers=(self._key_header,))
        swap_id, swap, transaction_hash = await self._a_swap()
        quoter = Client(_quoter_url(self._stack))
        question = self._question()
        quote = await _read_body(quoter.post("/quote", question))
        await self._prepare(swap_id, swap, quote)
        process = await self._start_bare()
        await self._wait_until_idle()
        before = self._read()
        try:
            rates = {
                "read": await self._reads(swap_id, transaction_hash),
                "poll": await self._polls(swap_id),
                "list": await self._lists(),
                # After the last work of start-up, because no other measurement takes so little
                # time.
                "quote": await self._quotes(quoter, question),
                "create": await self._creates(),
            }
            await self._wait_until_idle()
            polled = [await self._polls_by(clients) for clients in self._settings.pollers]
            with self._progress.step("webhooks"):
                webhooks = await WebhookBench(
                    self._stack, self._bare_url, swap, self._settings.webhooks
                )()
            used = before.until(self._read())
        finally:
            process.terminate()
            await process.wait()
        return ApiResult(rates, polled, webhooks, len(swap), str(self._stack["broker"]), used)

    async def _wait_until_idle(self) -> None:
        """Wait until the work of start-up or of creates is done, so that it is not measured."""
        with self._progress.step("at rest"):
            for _ in range(IDLE_WAIT_SECONDS_MAX):
                before = self._read()
                await asyncio.sleep(1)
                if before.until(self._read()).busy < IDLE_SHARE:
                    return

    def _read(self) -> machine.Reading:
        roots = {r.name: r.pid for r in Registry(self._processes_file).list_alive()}
        return machine.read({**roots, "load": os.getpid()}, time.time())

    @property
    def _key_header(self) -> str:
        return f"x-svc-apikey: {self._key}"

    async def _measure_in_turn(
        self, what: str, requests: Mapping[str, SendRequest], clients: int
    ) -> Mapping[str, Measurement]:
        with self._progress.step(what):
            return await measure_in_turn(requests, clients=clients, seconds=self._settings.seconds)

    async def _quotes(self, quoter: Client, question: bytes) -> Mapping[str, Measurement]:
        query = "&".join(f"{name}={value}" for name, value in ROUTES[0].parameters.items())
        requests = {
            "quoter": lambda: _expect(quoter.post("/quote", question)),
            "gateway": lambda: _expect(self._gateway.get(f"/api/v2/quote?{query}")),
            "framework": lambda: _expect(self._bare.post("/framework/quote", question)),
            "plain": lambda: _expect(self._bare.get("/constant/quote")),
        }
        return await self._measure_in_turn("quote", requests, FEW)

    async def _reads(self, swap_id: str, transaction_hash: str) -> Mapping[str, Measurement]:
        by_hash = f"/api/v2/swaps/by_transaction_hash/{transaction_hash}"
        requests = {
            "service": lambda: _expect(self._gateway.get(f"/api/v2/swaps/{swap_id}")),
            "by hash": lambda: _expect(self._gateway.get(by_hash)),
            "framework": lambda: _expect(self._bare.get(f"/framework/swaps/{swap_id}")),
            "point read": lambda: _expect(self._bare.get(f"/point/{swap_id}")),
            "plain": lambda: _expect(self._bare.get("/constant/swap")),
        }
        return await self._measure_in_turn("read", requests, MANY)

    async def _polls(self, swap_id: str) -> Mapping[str, Measurement]:
        # These clients do not store the tag, which is in the head; any tag serves.
        known = Client(
            self._stack["gateway"]["url"], headers=(self._key_header, "if-none-match: *")
        )
        requests = {
            "service": lambda: _expect(known.get(f"/api/v2/swaps/{swap_id}"), UNCHANGED),
            "framework": lambda: _expect(self._bare.get(f"/framework/swaps/{swap_id}")),
            "plain": lambda: _expect(self._bare.get("/constant/swap")),
        }
        return await self._measure_in_turn("poll", requests, MANY)

    async def _polls_by(self, clients: int) -> PollResult:
        bench = PollBench(
            self._stack["gateway"]["url"],
            Operator.of_stack(self._stack),
            Registry(self._processes_file),
            wanted=clients,
        )
        seconds = max(self._settings.seconds, POLLED_SECONDS_MIN)
        with self._progress.step(f"poll by {clients} clients"), self._without_settler():
            return await bench(orjson.dumps(self._body()), seconds=seconds)

    async def _lists(self) -> Mapping[str, Measurement]:
        path = f"/api/v2/swaps?page_size={LISTED}"
        requests = {
            "service": lambda: _expect(self._gateway.get(path)),
            "framework": lambda: _expect(self._bare.get("/framework/swaps")),
        }
        return await self._measure_in_turn("list", requests, FEW)

    async def _creates(self) -> Mapping[str, Measurement]:
        body = orjson.dumps(self._body())
        requests = {
            "service": lambda: _expect(self._gateway.post("/api/v2/swaps", body)),
            "framework": lambda: _expect(self._bare.post("/framework/swaps", body)),
            "commit per request": lambda: _expect(self._bare.post("/commit", body)),
            "single row": lambda: _expect(self._bare.post("/single-row", body)),
        }
        with self._without_settler():
            return await self._measure_in_turn("create", requests, MANY)

    @contextmanager
    def _without_settler(self) -> Iterator[None]:
        """Stop the settler, so that swaps are not processed: `make bench` measures that part."""
        # The current processes: one that was stopped for long was restarted.
        alive = Registry(self._processes_file).list_alive()
        pids = [record.pid for record in alive if record.name.startswith("settler-")]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)

    def _a_key(self) -> tuple[str, str]:
        run = Operator.of_stack(self._stack).run
        partner = run("partner", "create", "bench")
        app = run("app", "create", "--partner", partner["id"], "--name", "b", "--limits-lifted")
        made = run("key", "create", "--app", app["id"])
        return str(made["id"]), str(made["key"])

    async def _a_swap(self) -> tuple[str, bytes, str]:
        """Create the swaps that are read and listed; the last is also found by a hash."""
        body = orjson.dumps(self._body())
        for _ in range(LISTED):
            made = await _read_body(self._gateway.post("/api/v2/swaps", body))
        swap_id, transaction_hash = orjson.loads(made)["data"]["swap"]["id"], "0x" + uuid4().hex * 2
        add = """
            INSERT INTO api.transaction_hash (app_id, hash, swap_id)
            SELECT app_id, %s, id FROM api.swap WHERE id = %s
        """
        async with await psycopg.AsyncConnection.connect(self._database_url) as connection:
            await connection.execute(add, (transaction_hash, swap_id))
        return swap_id, made, transaction_hash

    def _body(self) -> dict[str, object]:
        return {**ROUTES[0].parameters, "use_depository": True, "destination_address": RECIPIENT}

    def _question(self) -> bytes:
        networks = {network["name"]: network for network in self._stack["networks"]}
        route, native = ROUTES[0], "0x" + "0" * 40
        assert {route.source_network, route.destination_network} <= set(networks)
        return orjson.dumps(
            {
                "source_network": route.source_network,
                "source_token": native,
                "destination_network": route.destination_network,
                "destination_token": native,
                "base_units": str(10**16),
            }
        )

    async def _prepare(self, swap_id: str, swap: bytes, quote: bytes) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / "swap.json").write_bytes(swap)
        (self._folder / "quote.json").write_bytes(quote)
        async with await psycopg.AsyncConnection.connect(self._database_url) as connection:
            for statement in (*TABLE.split(";"), *TABLES.split(";")):
                await connection.execute(statement)
            await connection.execute(SET_KEY_HASH, (self._key.encode(), self._key_id))
            await connection.execute(FILL, (swap,))
            await connection.execute(ADD, (swap_id, swap))

    async def _start_bare(self) -> asyncio.subprocess.Process:
        port = self._bare_url.rpartition(":")[2]
        program = ("-m", "tests.bench.api.bare", port, self._database_url, str(self._folder))
        process = await asyncio.create_subprocess_exec(sys.executable, *program)
        async with asyncio.timeout(30):
            while True:
                try:
                    await self._bare.get("/received")
                except OSError:
                    await asyncio.sleep(0.05)  # it does not listen yet
                else:
                    return process


async def _read_body(response: Any, status: int = OK) -> bytes:
    """
    :raises BenchFailed: when the answer is a different one.
    """
    got, body = await response
    if got != status:
        raise BenchFailed(f"{got}: {body[:300]!r}")
    return bytes(body)


async def _expect(response: Any, status: int = OK) -> None:
    await _read_body(response, status)


def _quoter_url(stack: Mapping[str, Any]) -> str:
    """Return the quoter's URL from the api's environment; stack.json does not contain it."""
    [pid] = [service["pid"] for service in stack["services"] if service["name"] == "api"]
    variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    environment = dict(one.split(b"=", 1) for one in variables if b"=" in one)
    return environment[b"SWAP_API__QUOTER_URL"].decode()

"""Webhooks that the notifier sends per second, compared with senders that do nothing else."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import aiohttp
import httpx
import psycopg
from svix.webhooks import Webhook

from swap_stack.partners import Operator
from tests.bench.api.closed_loop import ROUNDS
from tests.bench.clients import Client
from tests.bench.numbers import median

SENDERS = 32
TIMEOUT_SECONDS = 120
SINGLES = 15
# Seconds of deliveries differ by a fifth, so the slowdown is a median of pairs.
PAIRS = 9
FAULTY_MESSAGES = 300  # messages for each faulty endpoint
DUE = """
INSERT INTO notifier.webhook_message (id, swap_id, endpoint_id, sequence, app_id, event_type, body,
                                      state, attempts, due_at, created_at)
SELECT 'msg_' || gen_random_uuid(), gen_random_uuid(), %(endpoint)s, 1, %(app)s, 'swap.completed',
       %(body)s, 'waiting', 0, now(), now()
FROM generate_series(1, %(number)s)
"""
NOTIFY = "SELECT pg_notify('notifier', 'bench messages_due')"
Send = Callable[[dict[str, str]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Webhooks:
    """Deliveries per second, and the latency of a single one on an idle system."""

    notifier: float
    beside_trouble: float  # share of the same endpoint's rate without faulty ones, median of pairs
    aiohttp: float
    httpx: float
    idle_p50: float


@dataclass(frozen=True, slots=True)
class _Endpoint:
    id: str
    app_id: str
    secret: str


class WebhookBench:
    def __init__(self, stack: Mapping[str, Any], bare_url: str, body: bytes, number: int) -> None:
        self._database_url = stack["postgres"]["url"].replace("+psycopg", "")
        self._run = Operator.of_stack(stack).run
        self._url = bare_url
        self._counter = Client(bare_url)
        self._body = body
        self._number = number

    async def __call__(self) -> Webhooks:
        good = self._endpoint("/hooks")
        single = [await self._deliver(good, 1) for _ in range(SINGLES)]
        await self._deliver(good, self._number)  # opens its window
        steps: list[Callable[[], Awaitable[float]]] = [
            lambda: self._rate_of(good),
            lambda: self._with_aiohttp(good),
            lambda: self._with_httpx(good),
        ]
        rates: dict[int, list[float]] = {number: [] for number in range(len(steps))}
        for turn in range(ROUNDS):
            for number in rates if turn % 2 == 0 else reversed(rates):
                rates[number].append(await steps[number]())
        shares = [await self._share_beside_faulty(good, turn) for turn in range(PAIRS)]
        alone, aio, naive = (median(rates[number]) for number in rates)
        return Webhooks(alone, median(shares), aio, naive, median(single))

    def _endpoint(self, path: str) -> _Endpoint:
        partner = self._run("partner", "create", "bench")
        app = self._run("app", "create", "--partner", partner["id"], "--name", "bench")
        made = self._run("webhook", "add", "--app", app["id"], "--url", f"{self._url}{path}")
        return _Endpoint(made["id"], app["id"], made["secret"])

    async def _rate_of(self, endpoint: _Endpoint) -> float:
        return self._number / await self._deliver(endpoint, self._number)

    async def _share_beside_faulty(self, good: _Endpoint, turn: int) -> float:
        """Measure without and with faulty endpoints, in alternating order."""
        steps = [self._rate_of, self._rate_beside_faulty]
        rates = [await step(good) for step in (steps if turn % 2 == 0 else reversed(steps))]
        alone, beside = rates if turn % 2 == 0 else reversed(rates)
        return beside / alone

    async def _rate_beside_faulty(self, good: _Endpoint) -> float:
        """Measure while one endpoint never answers and another takes ten seconds."""
        faulty = [self._endpoint(path) for path in ("/hooks/dead", "/hooks/slow")]
        for endpoint in faulty:
            await self._make_due(endpoint, FAULTY_MESSAGES)
        rate = await self._rate_of(good)
        for endpoint in faulty:
            self._run("webhook", "disable", endpoint.id)
        return rate

    async def _deliver(self, endpoint: _Endpoint, number: int) -> float:
        """Return the seconds until this many more deliveries arrived."""
        before = await self._count_received()
        began = time.perf_counter()
        await self._make_due(endpoint, number)
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while await self._count_received() < before + number:  # noqa: ASYNC110
                await asyncio.sleep(0.002)  # another process counts
        return time.perf_counter() - began

    async def _count_received(self) -> int:
        _, body = await self._counter.get("/received")
        return int(body)

    async def _make_due(self, endpoint: _Endpoint, number: int) -> None:
        values = {"endpoint": endpoint.id, "app": endpoint.app_id, "body": self._body}
        async with await psycopg.AsyncConnection.connect(self._database_url) as connection:
            await connection.execute(DUE, {**values, "number": number})
            await connection.execute(NOTIFY)

    async def _with_aiohttp(self, endpoint: _Endpoint) -> float:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=SENDERS)) as session:

            async def send(headers: dict[str, str]) -> None:
                url = f"{self._url}/hooks"
                async with session.post(url, data=self._body, headers=headers) as answer:
                    await answer.read()

            return await self._send_rate(endpoint, send, self._number)

    async def _with_httpx(self, endpoint: _Endpoint) -> float:
        limits = httpx.Limits(max_connections=SENDERS, max_keepalive_connections=SENDERS)
        async with httpx.AsyncClient(limits=limits) as client:

            async def send(headers: dict[str, str]) -> None:
                await client.post(f"{self._url}/hooks", content=self._body, headers=headers)

            return await self._send_rate(endpoint, send, self._number // 4)

    async def _send_rate(self, endpoint: _Endpoint, send: Send, number: int) -> float:
        """Sign and send, with this many in flight, and store nothing."""
        webhook, numbers = Webhook(endpoint.secret), iter(range(number))

        async def sender() -> None:
            for n in numbers:
                at = datetime.now(UTC)
                headers = {
                    "content-type": "application/json",
                    "svix-id": f"msg_{n}",
                    "svix-timestamp": str(int(at.timestamp())),
                    "svix-signature": webhook.sign(f"msg_{n}", at, self._body.decode()),
                }
                await send(headers)

        began = time.perf_counter()
        await asyncio.gather(*(sender() for _ in range(SENDERS)))
        return number / (time.perf_counter() - began)

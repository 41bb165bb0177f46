"""One notifier's parts on a real PostgreSQL and real sockets, with a clock that a test sets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from services.notifier.tests.factories import NOW, SEALING, seal_swap
from swap_contracts.swaps import SwapChanged
from swap_notifier.adapters.deliveries import PostgresDeliveries
from swap_notifier.adapters.endpoints import PostgresEndpoints
from swap_notifier.adapters.guard import guarded_connector
from swap_notifier.adapters.http_sender import HttpSender
from swap_notifier.adapters.messages import PostgresMessages
from swap_notifier.adapters.unit_of_work import PostgresUnitOfWork
from swap_notifier.domain.endpoints import Endpoint, to_secret
from swap_notifier.domain.outcomes import ClaimedMessage
from swap_notifier.domain.windows import Windows
from swap_notifier.usecases.create_messages import CreateMessages
from swap_notifier.usecases.deliver_messages import DeliverMessages
from swap_notifier.usecases.replay_messages import ReplayMessages
from swap_notifier.usecases.switch_endpoints import SwitchEndpoints
from swap_runtime.postgres.database import Engine
from swap_runtime.postgres.sql import sql
from swap_runtime.postgres.wake import Wake
from swap_runtime.process.supervision import cancel_and_wait
from tests.support.waiting import until

FAST = timedelta(milliseconds=20)
DAY = timedelta(days=1)
KEEP = 30 * DAY


class Notifier:
    """One process's parts, with a clock that a test sets."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.now = NOW
        self.endpoints = PostgresEndpoints(engine, SEALING)
        self.messages = PostgresMessages(engine)
        self.switch = SwitchEndpoints(self.endpoints, clock=self.clock)
        self.replay = ReplayMessages(self.messages, clock=self.clock)
        self.create = CreateMessages(
            PostgresUnitOfWork(engine, consumer="notifier"),
            lambda swap: f'{{"sequence":{swap.sequence}}}'.encode(),
            keep=KEEP,
            clock=self.clock,
        )

    def clock(self) -> datetime:
        return self.now

    async def endpoint(self, url: str, **members: Any) -> Endpoint:
        endpoint = Endpoint(
            **{
                "id": uuid4(),
                "app_id": uuid4(),
                "url": url,
                "environment": "test",
                "wants_updates": False,
                "wants_notices": False,
                "created_at": NOW,
                "enabled_from": NOW,
                "disabled_at": None,
                "disabled_reason": None,
                "failing_since": None,
                **members,
            }
        )
        await self.endpoints.add(endpoint, secret=to_secret(endpoint.id.bytes * 2))
        return endpoint

    async def consume(self, *swaps: SwapChanged) -> None:
        await self.create([seal_swap(swap) for swap in swaps])

    @asynccontextmanager
    async def delivering(
        self, *, seconds: float = 5, windows: Windows | None = None
    ) -> AsyncIterator[DeliverMessages]:
        """Deliver in the background, as the service does."""
        connector = guarded_connector(allow_loopback=True)
        sender = HttpSender(connector, timeout=timedelta(seconds=seconds))
        due, ended = Wake(), Wake()
        deliver = DeliverMessages(
            PostgresDeliveries(self.engine, SEALING),
            sender,
            windows or Windows(total_max=64, endpoint_max=8),
            due=due,
            ended=ended,
            attempt_timeout=timedelta(seconds=seconds),
            clock=self.clock,
            new_id=uuid4,
            randbelow=lambda _: 0,
        )

        async def rounds(work: Callable[[], Awaitable[int]], wake: Wake) -> None:
            while True:
                if not await work():
                    await wake.wait(FAST)

        tasks = [
            asyncio.create_task(rounds(deliver.begin_due, due)),
            asyncio.create_task(rounds(deliver.record_ended, ended)),
        ]
        try:
            yield deliver
        finally:
            for task in tasks:
                await cancel_and_wait(task)
            await deliver.finish()
            await sender.close()

    async def claim_and_die(self, *, seconds: int) -> Sequence[ClaimedMessage]:
        """Claim due messages, as a process that never records their outcome."""
        return await PostgresDeliveries(self.engine, SEALING).claim(
            at=self.now,
            until=self.now + timedelta(seconds=seconds),
            claim=uuid4(),
            free=9,
            allowances={},
            first_allowance=9,
        )

    async def rows(self) -> list[Any]:
        async with self.engine.connect() as connection:
            return list(
                await connection.execute(
                    sql("SELECT * FROM webhook_message ORDER BY sequence, endpoint_id")
                )
            )

    async def until(self, *states: str) -> list[Any]:
        """Wait until the messages are in these states."""

        async def are_there() -> bool:
            return sorted(row.state for row in await self.rows()) == sorted(states)

        await until(are_there, every=0.01)
        return await self.rows()

    async def until_attempted(self, number: int) -> None:
        async def are_made() -> bool:
            return sum(row.attempts for row in await self.rows()) >= number

        await until(are_made, every=0.01)

    async def find_endpoint(self, endpoint: Endpoint) -> Endpoint:
        (found,) = [e for e in await self.endpoints.list_endpoints(None) if e.id == endpoint.id]
        return found

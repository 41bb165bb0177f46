"""The measurements of one running stack: its partner, chains, load and resource use."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from swap_runtime.settings import KafkaSettings
from swap_stack.places import Places
from swap_stack.processes import Registry
from tests.bench import floors, machine
from tests.bench.clients import Client
from tests.bench.facts import Facts, Steps
from tests.bench.load import QUICK_BLOCK_SECONDS, Load, open_chain
from tests.bench.partner import open_partner
from tests.bench.profiling import profile_processes
from tests.bench.progress import Progress
from tests.bench.receiver import ReceivedWebhooks, listen
from tests.bench.settings import Settings

SETTLE_SECONDS = 3.0  # the remaining work of start-up ends before a measurement
SERVICES = ("api", "quoter", "chain_watcher", "settler", "notifier")


@dataclass(frozen=True, slots=True)
class Phase:
    """The measurements of one way of running swaps."""

    swaps: int
    seconds: float  # the time that `swaps` and `used` cover
    used: machine.ProcessorUse
    create: list[float]
    webhook: list[float]
    steps: Steps
    lifetime: list[float]
    parts: float | None = None  # the sum of a payout's parts, measured during the phase

    @property
    def per_second(self) -> float:
        return self.swaps / self.seconds


class Session:
    """Measures one stack. `open_session` creates it."""

    def __init__(
        self,
        stack: Mapping[str, Any],
        places: Places,
        settings: Settings,
        progress: Progress,
        load: Load,
    ) -> None:
        self.settings = settings
        self.progress = progress
        self.load = load
        self.gateway_url: str = stack["gateway"]["url"]
        self._stack = stack
        self._places = places
        self._facts = Facts(stack["postgres"]["url"])
        self._chains = load.chains
        self._random = Random()

    async def idle(self) -> tuple[machine.ProcessorUse, machine.Memory]:
        with self.progress.step("idle"):
            await asyncio.sleep(SETTLE_SECONDS)
            before = self._read()
            await asyncio.sleep(SETTLE_SECONDS)
            return before.until(self._read()), self.memory()

    async def measure_floors(self) -> floors.Floors:
        settings, stack = self.settings, self._stack
        with self.progress.step("floor: the broker alone"):
            kafka = KafkaSettings(**stack["kafka"])
            broker = await floors.measure_broker(kafka, settings.floor_messages)
        with self.progress.step("floor: PostgreSQL alone"):
            database = await floors.measure_database(stack["postgres"]["url"])
        with self.progress.step("floor: a node alone"):
            chain = next(iter(self._chains.values()))
            node = await floors.measure_node(chain, settings.floor_transactions)
            await asyncio.sleep(SETTLE_SECONDS)
        return floors.Floors(broker, database, node)

    async def warm_up(self) -> None:
        for _ in range(2):  # connections, caches, prepared statements
            await self.load.create()
        await self.load.wait_until_done()

    async def run_at_pace(self, name: str, swaps: int, rate: int) -> Phase:
        """Create swaps at this rate, and measure the parts of a payout meanwhile."""
        is_over = asyncio.Event()
        parts = asyncio.create_task(self._parts(is_over))
        try:
            phase = await self._run_at_pace(name, swaps, rate)
        finally:
            is_over.set()
            await asyncio.wait({parts})
        return replace(phase, parts=parts.result())

    async def _run_at_pace(self, name: str, swaps: int, rate: int) -> Phase:
        load = self.load
        already = load.done
        load.gateway.close()  # the server may close idle connections at any time
        with self.progress.bar(name, lambda: load.done - already, swaps):
            before = self._read()
            ids = await load.run_at_pace(swaps=swaps, rate=rate)
            await load.wait_until_done()
            used = before.until(self._read())
        return self._phase(ids, len(ids), used)

    async def _parts(self, is_over: asyncio.Event) -> float | None:
        chain = next(iter(self._chains.values()))
        kafka, url = KafkaSettings(**self._stack["kafka"]), self._stack["postgres"]["url"]
        return await floors.measure_parts(kafka, url, chain, until=is_over, random=self._random)

    async def run_evenly(self, name: str) -> Phase:
        """Create deposits as evenly as swaps: in small blocks, one after the other."""
        async with self._small_blocks():
            return await self.run_at_pace(name, self.settings.swaps, self.settings.rate)

    async def run_evenly_without_parts(self, name: str) -> Phase:
        """The same, without measuring parts meanwhile."""
        async with self._small_blocks():
            return await self._run_at_pace(name, self.settings.swaps, self.settings.rate)

    @asynccontextmanager
    async def _small_blocks(self) -> AsyncIterator[None]:
        chains = list(self._chains.values())
        mining = [
            asyncio.create_task(
                chain.mine_every(QUICK_BLOCK_SECONDS, after=n * QUICK_BLOCK_SECONDS / len(chains))
            )
            for n, chain in enumerate(chains)
        ]
        try:
            yield
        finally:
            for task in mining:
                task.cancel()
            await asyncio.gather(*mining, return_exceptions=True)

    async def full(self) -> Phase:
        settings, load = self.settings, self.load
        already, began = load.done, time.time()
        until = began + settings.warm_up + settings.seconds
        with self.progress.bar("full load", lambda: load.done - already, None):
            running = asyncio.create_task(
                load.run_full_load(
                    until=until,
                    under_way=settings.concurrency,
                    creators=settings.creators,
                )
            )
            await asyncio.sleep(settings.warm_up)
            before = self._read()
            with profile_processes(
                self._profiled_pids(), self._places.var.parent, settings.seconds
            ):
                await asyncio.wait({running}, timeout=until - time.time())
            after = self._read()
            ids = await running
            await load.wait_until_done()
        counted = [i for i in ids if before.at <= load.made[i].done_at < after.at]
        return self._phase(ids, len(counted), before.until(after))

    def _phase(self, ids: list[str], counted: int, used: machine.ProcessorUse) -> Phase:
        made = self.load.made
        return Phase(
            swaps=counted,
            seconds=used.wall,
            used=used,
            create=[made[i].create_seconds for i in ids],
            webhook=list(self._facts.webhook_seconds(ids, self.load.received)),
            steps=self._facts.steps(ids),
            lifetime=[made[i].done_at - made[i].created_at for i in ids if made[i].done_at],
        )

    async def faults(self) -> list[str]:
        with self.progress.step("books"):
            # The last payouts' slots close at a finalized block, and the sweep runs once more.
            await asyncio.sleep(SETTLE_SECONDS * 2)
            ids = list(self.load.made)
            faults = self._facts.faults(ids, self.load.received)
            faults += await self._facts.payment_faults(ids, self._chains, self._stack["networks"])
            return faults + self._facts.broken_invariants()

    def _read(self) -> machine.Reading:
        roots = {r.name: r.pid for r in Registry(self._places.processes_file).list_alive()}
        return machine.read({**roots, "load": os.getpid()}, time.time())

    def memory(self) -> machine.Memory:
        """Return the memory of the processes of the five services."""
        return machine.memory_of(self._service_pids())

    def _service_pids(self) -> list[int]:
        records = Registry(self._places.processes_file).list_alive()
        return [r.pid for r in records if r.name.rpartition("-")[0] in SERVICES]

    def _profiled_pids(self) -> dict[str, int]:
        wanted = {f"{name}-0" for name in self.settings.profile.split(",")}
        records = Registry(self._places.processes_file).list_alive()
        return {record.name: record.pid for record in records if record.name in wanted}


@asynccontextmanager
async def open_session(
    stack: Mapping[str, Any], places: Places, settings: Settings, progress: Progress
) -> AsyncIterator[Session]:
    """Create a partner with a webhook endpoint, the users' wallets and the load."""
    received = ReceivedWebhooks()
    server, url = await listen(received)
    partner = open_partner(stack, url)
    received.add_key(partner.secret)
    chains = {network["name"]: await open_chain(network) for network in stack["networks"]}
    gateway = Client(stack["gateway"]["url"], headers=(f"x-svc-apikey: {partner.api_key}",))
    load = Load(gateway, chains, received)
    received.on_webhook = load.record_webhook
    flushing = [asyncio.create_task(chain.flush_forever()) for chain in chains.values()]
    try:
        yield Session(stack, places, settings, progress, load)
    finally:
        for task in flushing:
            task.cancel()
        server.close()

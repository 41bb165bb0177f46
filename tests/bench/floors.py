"""The speed of the parts alone, without the service's code, measured in the same run."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from random import Random
from statistics import fmean
from typing import TypeVar

import psycopg
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer  # type: ignore[import-untyped]
from aiokafka.admin import AIOKafkaAdminClient, NewTopic  # type: ignore[import-untyped]

from swap_runtime.messaging.kafka_security import connection_options
from swap_runtime.settings import KafkaSettings
from tests.bench.load import QUICK_BLOCK_SECONDS, Chain
from tests.bench.numbers import median

TOPIC = "bench.floor.v1"
PARTITIONS = 12
PAYLOAD = os.urandom(2048).hex().encode()  # the size of a message about a swap
SAMPLES = 200
COMMITS = 300
SENDERS = 4
BATCH = 100
TRANSFER_GAS = 21_000
IN_FLIGHT = 16  # pending transactions per account that a public node accepts
SINK = "0x" + "5e" * 20


@dataclass(frozen=True, slots=True)
class Broker:
    """The broker and one client, without other load."""

    produced_per_second: float
    consumed_per_second: float
    hop_seconds: float  # from `send` to the poll that returns it


@dataclass(frozen=True, slots=True)
class Database:
    """One connection that commits one row at a time, each flushed to disk before the next."""

    commits_per_second: float
    commit_seconds: float


@dataclass(frozen=True, slots=True)
class NodeFloor:
    """One node: its rate for signed transfers in batches, and the time of a single one."""

    accepted_per_second: float
    pipelined_per_second: float  # sent one by one; the next before the last is answered
    sign_seconds: float  # one payment, by the curve's library
    send_seconds: float  # one transaction in one request


Floor = TypeVar("Floor", Broker, Database, NodeFloor)


@dataclass(frozen=True, slots=True)
class Floors:
    broker: Broker
    database: Database
    node: NodeFloor

    @property
    def payout_seconds(self) -> float:
        """Return the minimum time of a payout."""
        return sum_of_parts(
            self.database.commit_seconds,
            self.broker.hop_seconds,
            self.node.sign_seconds,
            self.node.send_seconds,
        )


@dataclass(frozen=True, slots=True)
class FloorPair:
    """The floors before and after the load, because the speed of a machine changes."""

    before: Floors
    after: Floors

    @property
    def between(self) -> Floors:
        return mean_of(self.before, self.after)


def mean_of(before: Floors, after: Floors) -> Floors:
    """Return the mean of two measurements, field by field.

    Full load runs for a fixed time, not for a number of swaps. On a machine with a changing speed,
    its result follows the mean rate.
    """
    return Floors(
        _mean(before.broker, after.broker),
        _mean(before.database, after.database),
        _mean(before.node, after.node),
    )


def _mean(one: Floor, two: Floor) -> Floor:
    return type(one)(*map(fmean, zip(astuple(one), astuple(two), strict=True)))


def sum_of_parts(commit: float, hop: float, sign: float, send: float) -> float:
    """Return the sum of a payout's parts: two commits, a delivery, a signature, a broadcast."""
    return 2 * commit + hop + sign + send


def part_pause(random: Random) -> float:
    """Return the pause until a payout's parts are measured again, about a quarter of a second.

    The caches are then in the same state as for a payout. Blocks arrive at a fixed interval. With a
    fixed pause, measurements would stay at the same offset between two blocks, or drift slowly. A
    random pause from a range as wide as the interval makes every offset equally likely.
    """
    return QUICK_BLOCK_SECONDS * (0.5 + random.random())


async def measure_broker(kafka: KafkaSettings, messages: int) -> Broker:
    await _make_topic(kafka)
    producer = AIOKafkaProducer(**connection_options(kafka), acks="all", linger_ms=0)
    consumer = AIOKafkaConsumer(TOPIC, **connection_options(kafka), auto_offset_reset="latest")
    await producer.start()
    await consumer.start()
    try:
        await consumer.seek_to_end()
        await consumer.position(next(iter(consumer.assignment())))
        hop = await _hop_seconds(producer, consumer)
        began = time.perf_counter()
        sent = [
            await producer.send(TOPIC, PAYLOAD, key=b"%d" % number) for number in range(messages)
        ]
        await producer.flush()
        await asyncio.gather(*sent)
        produced = time.perf_counter()
        received = 0
        while received < messages:
            batches = await consumer.getmany(timeout_ms=1000)
            received += sum(map(len, batches.values()))
        consumed = time.perf_counter()
    finally:
        await consumer.stop()
        await producer.stop()
    return Broker(messages / (produced - began), messages / (consumed - produced), hop)


async def measure_parts(
    kafka: KafkaSettings, url: str, chain: Chain, *, until: asyncio.Event, random: Random
) -> float | None:
    """Return the sum of a payout's parts under load; none without a sample."""
    took: list[tuple[float, float, float, float]] = []
    producer = AIOKafkaProducer(**connection_options(kafka), acks="all", linger_ms=0)
    consumer = AIOKafkaConsumer(TOPIC, **connection_options(kafka), auto_offset_reset="latest")
    await producer.start()
    await consumer.start()
    try:
        await consumer.seek_to_end()
        await consumer.position(next(iter(consumer.assignment())))
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            await connection.execute(
                "CREATE TABLE IF NOT EXISTS public.bench_parts (payload bytea NOT NULL)"
            )
            while not until.is_set():
                began = time.perf_counter()
                await connection.execute("INSERT INTO public.bench_parts VALUES (%s)", (PAYLOAD,))
                committed = time.perf_counter()
                await _send_and_receive(producer, consumer, len(took))
                received_at = time.perf_counter()
                raw = _transfer(chain, len(took))
                signed = time.perf_counter()
                await chain.node.send([raw])
                sent = time.perf_counter()
                took.append(
                    (
                        committed - began,
                        received_at - committed,
                        signed - received_at,
                        sent - signed,
                    )
                )
                with suppress(TimeoutError):
                    await asyncio.wait_for(until.wait(), part_pause(random))
    finally:
        await consumer.stop()
        await producer.stop()
    return sum_of_parts(*(median(part) for part in zip(*took, strict=True))) if took else None


async def measure_database(url: str) -> Database:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute("CREATE TABLE public.bench_floor (payload bytea NOT NULL)")
        insert = "INSERT INTO public.bench_floor VALUES (%s)"
        took = []
        for _ in range(COMMITS):
            began = time.perf_counter()
            await connection.execute(insert, (PAYLOAD,))
            took.append(time.perf_counter() - began)
        await connection.execute("DROP TABLE public.bench_floor")
    return Database(COMMITS / sum(took), median(took))


async def measure_node(chain: Chain, transactions: int) -> NodeFloor:
    alone = [_transfer(chain, number) for number in range(SAMPLES)]
    sending = []
    for raw in alone:
        began = time.perf_counter()
        await chain.node.send([raw])
        sending.append(time.perf_counter() - began)
    signed = [_transfer(chain, number) for number in range(transactions)]
    batches = [signed[at : at + BATCH] for at in range(0, len(signed), BATCH)]
    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        # Several senders in parallel, because a node queues a transaction behind the sender's last
        # one.
        for sender in range(SENDERS):
            group.create_task(_send_all(chain, batches[sender::SENDERS]))
    accepted = time.perf_counter() - began
    pipelined = await _pipelined_per_second(chain, transactions // 2)
    return NodeFloor(transactions / accepted, pipelined, _sign_seconds(chain), median(sending))


async def _pipelined_per_second(chain: Chain, transactions: int) -> float:
    """Return the rate of a bare sender: it signs and sends while answers are pending."""

    async def send_on(numbers: Iterator[int]) -> None:
        for number in numbers:
            await chain.node.send([_transfer(chain, number)])

    numbers = iter(range(transactions))
    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(IN_FLIGHT):
            group.create_task(send_on(numbers))
    return transactions / (time.perf_counter() - began)


async def _send_all(chain: Chain, batches: Sequence[Sequence[bytes]]) -> None:
    for batch in batches:
        await chain.node.send(batch)


def _transfer(chain: Chain, number: int) -> bytes:
    wallet = chain.wallets[number % len(chain.wallets)]
    return wallet.sign(SINK, value=1, gas=TRANSFER_GAS)


def _sign_seconds(chain: Chain) -> float:
    took = []
    for _ in range(SAMPLES):
        wallet = replace(chain.wallets[0])  # the copy has its own nonces
        began = time.perf_counter()
        wallet.sign(SINK, data=PAYLOAD[:132], gas=200_000)
        took.append(time.perf_counter() - began)
    return median(took)


async def _hop_seconds(producer: AIOKafkaProducer, consumer: AIOKafkaConsumer) -> float:
    took = []
    for number in range(SAMPLES):
        began = time.perf_counter()
        await _send_and_receive(producer, consumer, number)
        took.append(time.perf_counter() - began)
    return median(took)


async def _send_and_receive(
    producer: AIOKafkaProducer, consumer: AIOKafkaConsumer, number: int
) -> None:
    await producer.send(TOPIC, PAYLOAD, key=b"%d" % number)
    while not await consumer.getmany(timeout_ms=1000):
        pass


async def _make_topic(kafka: KafkaSettings) -> None:
    """Create the topic. If it exists, the broker reports that and nothing is raised."""
    admin = AIOKafkaAdminClient(**connection_options(kafka))
    await admin.start()
    try:
        await admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])
    finally:
        await admin.close()

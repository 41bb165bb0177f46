"""A number of clients for a duration; each sends the next request as soon as it has an answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from tests.bench.numbers import Spread, median

SendRequest = Callable[[], Awaitable[None]]
ROUNDS = 3  # alternating: A B, B A, A B; the median rate counts


@dataclass(frozen=True, slots=True)
class Measurement:
    per_second: float
    spread: Spread


async def measure_in_turn(
    requests: Mapping[str, SendRequest], *, clients: int, seconds: float
) -> dict[str, Measurement]:
    """Measure the targets in turn: in order, in reverse order, and in order again."""
    rates: dict[str, list[float]] = {name: [] for name in requests}
    took: dict[str, list[float]] = {name: [] for name in requests}
    for turn in range(ROUNDS):
        for name in requests if turn % 2 == 0 else reversed(list(requests)):
            await requests[name]()  # opens the connection and what is created on first use
            samples, elapsed = await _drive(requests[name], clients, seconds)
            rates[name].append(len(samples) / elapsed)
            took[name] += samples
    measured = {}
    for name in requests:
        spread = Spread.of(took[name])
        assert spread is not None
        measured[name] = Measurement(median(rates[name]), spread)
    return measured


async def _drive(send: SendRequest, clients: int, seconds: float) -> tuple[list[float], float]:
    samples: list[float] = []
    began = time.perf_counter()
    end = began + seconds

    async def client() -> None:
        while (at := time.perf_counter()) < end:
            await send()
            samples.append(time.perf_counter() - at)

    async with asyncio.TaskGroup() as group:
        for _ in range(clients):
            group.create_task(client())
    return samples, time.perf_counter() - began

"""A number of clients for a duration; each sends the next request as soon as it has an answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from tests.bench.numbers import Spread, median

Ask = Callable[[], Awaitable[None]]
ROUNDS = 3  # alternating: A B, B A, A B; the median rate counts


@dataclass(frozen=True, slots=True)
class Measured:
    per_second: float
    spread: Spread


async def side_by_side(
    asks: Mapping[str, Ask], *, clients: int, seconds: float
) -> dict[str, Measured]:
    """Measure the targets in turn: in order, in reverse order, and in order again."""
    rates: dict[str, list[float]] = {name: [] for name in asks}
    took: dict[str, list[float]] = {name: [] for name in asks}
    for turn in range(ROUNDS):
        for name in asks if turn % 2 == 0 else reversed(list(asks)):
            await asks[name]()  # opens the connection and what is created on first use
            samples, elapsed = await _drive(asks[name], clients, seconds)
            rates[name].append(len(samples) / elapsed)
            took[name] += samples
    measured = {}
    for name in asks:
        spread = Spread.of(took[name])
        assert spread is not None
        measured[name] = Measured(median(rates[name]), spread)
    return measured


async def _drive(ask: Ask, clients: int, seconds: float) -> tuple[list[float], float]:
    samples: list[float] = []
    began = time.perf_counter()
    end = began + seconds

    async def client() -> None:
        while (at := time.perf_counter()) < end:
            await ask()
            samples.append(time.perf_counter() - at)

    async with asyncio.TaskGroup() as group:
        for _ in range(clients):
            group.create_task(client())
    return samples, time.perf_counter() - began

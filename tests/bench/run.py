"""One run: floors, an even pace, full load, the floors again, and the checks at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from swap_stack.places import Places
from tests.bench import floors, machine
from tests.bench.progress import Progress
from tests.bench.session import SETTLE_SECONDS, Phase, open_session
from tests.bench.settings import Settings

ALONE = "2 swaps/s"
ALONE_RATE = 2


@dataclass(frozen=True, slots=True)
class BenchResult:
    """A whole run."""

    settings: Settings
    broker: str
    floors: floors.FloorPair
    idle: machine.Memory
    loaded: machine.Memory
    idle_used: machine.ProcessorUse
    quotes: list[float]
    alone: Phase | None
    bursts: Phase
    paced: Phase
    full: Phase | None
    swaps: int
    busy: int
    faults: list[str]


async def run(
    stack: Mapping[str, Any], places: Places, settings: Settings, progress: Progress
) -> BenchResult:
    """Run all phases on one stack."""
    async with open_session(stack, places, settings, progress) as session:
        load = session.load
        idle_used, idle = await session.idle()
        before = await session.measure_floors()
        await session.warm_up()
        alone = (
            await session.run_at_pace(ALONE, settings.alone, ALONE_RATE) if settings.alone else None
        )
        name = f"{settings.rate} swaps/s"
        bursts = await session.run_at_pace(f"{name} in bursts", settings.swaps, settings.rate)
        paced = await session.run_evenly(name)
        full = await session.full() if settings.seconds else None
        loaded = session.memory()
        with progress.step("at rest"):  # as long as before the first floors
            await asyncio.sleep(2 * SETTLE_SECONDS)
        after = await session.measure_floors()
        faults = await session.faults()
    return BenchResult(
        settings=settings,
        broker=str(stack["broker"]),
        floors=floors.FloorPair(before, after),
        idle=idle,
        loaded=loaded,
        idle_used=idle_used,
        quotes=load.quotes,
        alone=alone,
        bursts=bursts,
        paced=paced,
        full=full,
        swaps=len(load.made),
        busy=load.busy,
        faults=faults,
    )

"""A swap costs after a million swaps what it cost after ten thousand (`make test-growth`).

Two databases of one server hold a short and a long history. Operations run on both in turn, so
that a change of the machine's speed meets both. `GROWTH_SWAPS` is the longer history's length.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from typing import Any, Final

import pytest
from api_factories import a_catalogue_document, a_network

from services.settler.tests.factories import ETHEREUM, POLYGON, USDC
from tests.growth.copies import Shape, copy_samples
from tests.growth.operations import Operations
from tests.growth.world import World, make_samples, opened
from tests.plugins.invariants import QUERIES, make_views, violations
from tests.plugins.postgres import Database, PostgresServer, created_database

pytestmark = [pytest.mark.connected, pytest.mark.timeout(3600)]

SHORT: Final = int(os.environ.get("GROWTH_SHORT_SWAPS", "10000"))
LONG: Final = int(os.environ.get("GROWTH_SWAPS", "1000000"))
ROUNDS: Final = int(os.environ.get("GROWTH_ROUNDS", "60"))
WARM_UP_ROUNDS: Final = 5
RATIO_MAX: Final = 1.5
SLOW_SECONDS: Final = 5
# The same statements make both histories. Some invariants take minutes on the longer one.
AUDITED_MAX: Final = int(os.environ.get("GROWTH_AUDITED_SWAPS", SHORT))
# The views hide what the planner knows of their columns, and it would choose nested loops.
AUDIT_OPTIONS: Final = "?options=-c%20enable_nestloop%3Doff%20-c%20work_mem%3D256MB"


def report(line: str) -> None:
    """Show progress at once, whatever captures the output."""
    print(line, file=sys.__stderr__, flush=True)


@pytest.fixture
def databases(postgres_server: PostgresServer, template: Database) -> Iterator[list[Database]]:
    with (
        created_database(postgres_server, "growth_short", template.name) as short,
        created_database(postgres_server, "growth_long", template.name) as long,
    ):
        yield [short, long]


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    """The api's networks, and those of the settler's samples with their tokens."""
    document = a_catalogue_document()
    (ethereum,) = [each for each in document["networks"] if each["name"] == ETHEREUM]
    polygon = a_network(POLYGON, 31340)
    document["networks"].append(polygon)
    for network in (ethereum, polygon):
        network["tokens"].append(
            {
                "symbol": "USDT",
                "contract": USDC[network["name"]],
                "decimals": 6,
                "listing_date": "2026-01-01T00:00:00Z",
            }
        )
    path = tmp_path / "catalogue.yaml"
    path.write_text(json.dumps(document))
    return path


async def test_a_swap_costs_the_same_after_a_long_history(
    databases: list[Database], redis_url: str, catalogue: Path
) -> None:
    shapes = [Shape(SHORT), Shape(LONG)]
    async with AsyncExitStack() as stack:
        worlds = [
            await stack.enter_async_context(opened(database, redis_url, catalogue))
            for database in databases
        ]
        for world, shape in zip(worlds, shapes, strict=True):
            await _fill(world, shape)
        operations = [
            Operations(world, shape).by_name()
            for world, shape in zip(worlds, shapes, strict=True)
        ]  # fmt: skip
        medians = {name: await _compare(name, operations) for name in operations[0]}
    ratios = {name: long / short for name, (short, long) in medians.items()}
    report(_table(medians, ratios))
    assert {name: ratio for name, ratio in ratios.items() if ratio > RATIO_MAX} == {}


async def _fill(world: World, shape: Shape) -> None:
    report(f"a history of {shape.total:,} swaps, {shape.total - shape.closed:,} of them open")
    await make_samples(world)
    copy_samples(world.database.superuser_url, shape, report)
    if shape.total > AUDITED_MAX:
        return
    began = time.monotonic()
    make_views(world.database.superuser_url, {ETHEREUM: 3, POLYGON: None})
    url = world.database.url("auditor").replace("+psycopg", "") + AUDIT_OPTIONS
    for number in QUERIES:
        asked_at = time.monotonic()
        assert violations(url, [number]) == {}
        if time.monotonic() - asked_at > SLOW_SECONDS:
            report(f"         {number} took {time.monotonic() - asked_at:.0f} s")
    report(f"{time.monotonic() - began:6.0f} s  no invariant is broken")


async def _compare(name: str, operations: list[Mapping[str, Any]]) -> tuple[float, float]:
    """Return the medians of an operation on the short and on the long history, in seconds."""
    times: tuple[list[float], list[float]] = ([], [])
    gc.collect()
    for number in range(WARM_UP_ROUNDS + ROUNDS):
        order = (0, 1) if number % 2 else (1, 0)
        for which in order:
            took = await operations[which][name]()
            if number >= WARM_UP_ROUNDS:
                times[which].append(took)
    return median(times[0]), median(times[1])


def _table(medians: Mapping[str, tuple[float, float]], ratios: Mapping[str, float]) -> str:
    lines = [f"{'':34}{SHORT:>12,}{LONG:>12,}   ratio"]
    for name, (short, long) in medians.items():
        lines.append(f"{name:34}{short * 1000:9.2f} ms{long * 1000:9.2f} ms   {ratios[name]:5.2f}")
    return "\n".join(lines)

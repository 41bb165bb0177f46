"""The cost of a swap after a long history compared with ten thousand (`make test-growth`).

Two databases of one server hold a short and a long history. Operations run on both in turn, so that
a change of the machine's speed affects both. Besides the time, the pages that their statements read
are compared, because other load does not change them. `GROWTH_SWAPS` is the length of the longer
history.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

import psycopg
import pytest
from api_factories import a_catalogue_document, a_network

from services.settler.tests.factories import ETHEREUM, POLYGON, USDC
from tests.growth.copies import Shape, copy_samples
from tests.growth.operations import Operation, Operations
from tests.growth.pages import PageCount, Pages
from tests.growth.world import World, make_samples, open_world
from tests.plugins.invariants import QUERIES, make_views, violations
from tests.plugins.postgres import Database, PostgresServer, created_database

pytestmark = [pytest.mark.connected, pytest.mark.timeout(3600)]

SHORT: Final = int(os.environ.get("GROWTH_SHORT_SWAPS", "10000"))
LONG: Final = int(os.environ.get("GROWTH_SWAPS", "100000"))
ROUNDS: Final = int(os.environ.get("GROWTH_ROUNDS", "60"))
WARM_UP_ROUNDS: Final = 5
COUNTED_ROUNDS: Final = 10
SHOWS_STATEMENTS: Final = bool(os.environ.get("GROWTH_STATEMENTS"))
RATIO_MAX: Final = 1.5
SLOW_SECONDS: Final = 5
SHOWN_STATEMENTS: Final = 3  # of an operation that grew
# The views hide the statistics of their columns from the planner, which would choose nested loops.
AUDIT_OPTIONS: Final = "?options=-c%20enable_nestloop%3Doff%20-c%20work_mem%3D256MB"

SIZES: Final = """
SELECT namespace.nspname || '.' || coalesce(parent.relname, relation.relname) AS name,
       sum(pg_total_relation_size(relation.oid))::bigint AS size
FROM pg_class AS relation JOIN pg_namespace AS namespace ON namespace.oid = relation.relnamespace
LEFT JOIN pg_inherits ON inhrelid = relation.oid LEFT JOIN pg_class AS parent
  ON parent.oid = inhparent
WHERE relation.relkind = 'r' AND namespace.nspname IN ('api', 'chain_watcher', 'notifier',
  'settler') GROUP BY 1 ORDER BY 2 DESC
"""


def report(line: str) -> None:
    """Print progress immediately, although output is captured."""
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
            await stack.enter_async_context(open_world(database, redis_url, catalogue))
            for database in databases
        ]
        for world, shape in zip(worlds, shapes, strict=True):
            await _fill(world, shape)
        operations = [
            Operations(world, shape).by_name()
            for world, shape in zip(worlds, shapes, strict=True)
        ]  # fmt: skip
        pages = [Pages(database) for database in databases]
        compared = {name: await _compare(name, operations, pages) for name in operations[0]}
    report(_table(compared))
    report(_sizes(databases[1]))
    assert [line for each in compared.values() for line in each.growth] == []


async def _fill(world: World, shape: Shape) -> None:
    report(f"a history of {shape.total:,} swaps, {shape.total - shape.closed:,} of them open")
    await make_samples(world)
    copy_samples(world.database.superuser_url, shape, report)
    began = time.monotonic()
    make_views(world.database.superuser_url, {ETHEREUM: 3, POLYGON: None})
    url = world.database.url("auditor").replace("+psycopg", "") + AUDIT_OPTIONS
    for number in QUERIES:
        asked_at = time.monotonic()
        assert violations(url, [number]) == {}
        if time.monotonic() - asked_at > SLOW_SECONDS:
            report(f"         {number} took {time.monotonic() - asked_at:.0f} s")
    report(f"{time.monotonic() - began:6.0f} s  no invariant is broken")


async def _compare(
    name: str, operations: list[Mapping[str, Operation]], pages: list[Pages]
) -> ComparedOperation:
    times: tuple[list[float], list[float]] = ([], [])
    gc.collect()
    for number in range(WARM_UP_ROUNDS + ROUNDS):
        order = (0, 1) if number % 2 else (1, 0)
        for which in order:
            took = await operations[which][name]()
            if number >= WARM_UP_ROUNDS:
                times[which].append(took)
    counts = []
    for which in (0, 1):
        with pages[which].count_pages() as count:
            for _ in range(COUNTED_ROUNDS):
                await operations[which][name]()
        counts.append(count)
    return ComparedOperation(
        name,
        (median(times[0]), median(times[1])),
        # Both measurements of a round are moments apart, so other load affects both.
        median(long / short for short, long in zip(*times, strict=True)),
        (counts[0], counts[1]),
    )


@dataclass(frozen=True, slots=True)
class ComparedOperation:
    """An operation on the short and on the long history."""

    name: str
    seconds: tuple[float, float]  # the medians
    time_ratio: float  # of the same round, the median
    counts: tuple[PageCount, PageCount]

    @property
    def page_ratio(self) -> float:
        return self.counts[1].pages / self.counts[0].pages

    @property
    def growth(self) -> Sequence[str]:
        """Return what grew by more than the limit, with its statements."""
        lines = []
        if self.time_ratio > RATIO_MAX:
            lines.append(f"{self.name}: {self.time_ratio:.2f} x the time")
        if self.page_ratio > RATIO_MAX:
            lines.append(f"{self.name}: {self.page_ratio:.2f} x the pages")
        return lines

    def line(self) -> str:
        short, long = (1000 * seconds for seconds in self.seconds)
        pages = " ".join(f"{count.pages / COUNTED_ROUNDS:9.0f}" for count in self.counts)
        read = " ".join(f"{count.read / COUNTED_ROUNDS:7.1f}" for count in self.counts)
        return (
            f"{self.name:32}{short:8.2f} ms{long:8.2f} ms {self.time_ratio:5.2f}"
            f" {pages} {self.page_ratio:5.2f}  {read}"
        )

    def statements(self) -> Iterator[str]:
        """Yield the statements that read the most pages, with their pages per call."""
        ordered = sorted(self.counts[1].statements, key=lambda each: -each.pages)
        before = {each.text: each for each in self.counts[0].statements}
        for each in ordered[:SHOWN_STATEMENTS]:
            short = before.get(each.text)
            was = short.pages / short.calls if short else 0
            yield f"      {was:8.0f} -> {each.pages / each.calls:8.0f}  {each.text[:120]}"


def _table(compared: Mapping[str, ComparedOperation]) -> str:
    head = f"{'':32}{SHORT:>11,}{LONG:>11,} ratio {'pages':>9} {'pages':>9} ratio  not cached"
    lines = [head]
    for each in compared.values():
        lines.append(each.line())
        if each.growth or SHOWS_STATEMENTS:
            lines.extend(each.statements())
    return "\n".join(lines)


def _sizes(database: Database) -> str:
    """Return the size of each table of the long history per swap, with its indexes."""
    with psycopg.connect(database.superuser_url) as connection:
        rows = connection.execute(SIZES).fetchall()
    lines = [f"{size / LONG:9.0f} bytes a swap  {name}" for name, size in rows if size > 20 * LONG]
    total = sum(size for _, size in rows)
    return "\n".join([*lines, f"{total / LONG:9.0f} bytes a swap  altogether"])

"""A migrated schema, emptied before each test, and the leases for writing to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from pydantic import SecretStr
from watch_factories import NETWORK
from watch_world import World

from swap_chain_watcher.adapters.unit_of_work import lease_name
from swap_runtime.postgres.database import Engine, create_engine, transaction
from swap_runtime.postgres.leases import Lease
from swap_runtime.postgres.sql import sql
from tests.plugins.invariants import OF_THE_WATCHER, Audit
from tests.plugins.postgres import Database, emptying

TABLES = """
movement, chain_block, watch_cursor, past_halt, one_provider_cap, deposit_target, hint, outbox,
inbox, lease
"""


@pytest.fixture(scope="module")
def audit() -> Audit:
    return Audit(OF_THE_WATCHER)


@pytest.fixture(autouse=True)
def _no_invariant_is_broken(audit: Audit, request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    excused = request.node.get_closest_marker("breaks_invariants")
    audit.check(excused=excused.args if excused else ())


@pytest.fixture
def database_url(audit: Audit, database: Database, migrate_schema: Callable[[str], str]) -> str:
    audit.begin(database)
    return migrate_schema("chain_watcher")


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[Engine]:
    engine = create_engine(SecretStr(database_url), application_name="test")
    async with transaction(engine) as connection:
        await connection.execute(sql(emptying(TABLES)))
    yield engine
    await engine.dispose()


@pytest.fixture
async def epoch(engine: Engine) -> int:
    lease = Lease(engine, lease_name(NETWORK), holder="test")
    await lease.acquire()
    assert lease.epoch is not None
    return lease.epoch


@pytest.fixture
def world(engine: Engine, epoch: int) -> World:
    return World(engine, epoch)

"""A migrated schema, emptied before each test, and the leases to write to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest
from pydantic import SecretStr
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine
from watch_factories import NETWORK
from watch_world import World

from swap_chain_watcher.adapters.unit_of_work import lease_name
from swap_runtime.database import create_engine, transaction
from swap_runtime.leases import Lease

TABLES = "movement, chain_block, watch_cursor, deposit_target, outbox, inbox, lease"


@pytest.fixture
def database_url(migrated: Callable[[str], str]) -> str:
    return migrated("chain_watcher")


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    engine = create_engine(SecretStr(database_url), application_name="test")
    async with transaction(engine) as connection:
        await connection.execute(text(f"TRUNCATE {TABLES} CASCADE"))
    yield engine
    await engine.dispose()


@pytest.fixture
async def epoch(engine: AsyncEngine) -> int:
    lease = Lease(engine, lease_name(NETWORK), holder="test")
    await lease.acquire()
    assert lease.epoch is not None
    return lease.epoch


@pytest.fixture
def world(engine: AsyncEngine, epoch: int) -> World:
    return World(engine, epoch)

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest
from pydantic import SecretStr
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from swap_runtime.database import create_engine


@pytest.fixture
async def watcher(migrated: Callable[[str], str]) -> AsyncIterator[AsyncEngine]:
    """The chain-watcher's database, as the chain-watcher sees it."""
    engine = create_engine(SecretStr(migrated("chain-watcher")), application_name="test")
    async with engine.begin() as connection:
        await connection.execute(text("TRUNCATE watch_cursor, outbox"))
    yield engine
    await engine.dispose()


@pytest.fixture
async def engine(
    watcher: AsyncEngine, migrated: Callable[[str], str]
) -> AsyncIterator[AsyncEngine]:
    engine = create_engine(SecretStr(migrated("settler")), application_name="test", pool_size=10)
    async with engine.begin() as connection:
        tables = "swap, ledger_transaction, account, inventory, inbox, outbox, watermark, signer"
        tables += ", nonce_slot, parked"
        await connection.execute(text(f"TRUNCATE {tables} CASCADE"))
    yield engine
    await engine.dispose()

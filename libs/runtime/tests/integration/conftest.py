from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr

from libs.runtime.tests.fakes import make_tables
from swap_runtime.postgres.database import Engine, create_engine
from tests.plugins.postgres import Database


@pytest.fixture(scope="module")
def database(unmigrated_database: Database) -> Database:
    """These tests create the runtime's tables themselves."""
    return unmigrated_database


@pytest.fixture
def url(database: Database) -> str:
    """The settler's schema with the runtime's tables, empty."""
    url = database.url("settler")
    make_tables(url)
    return url


@pytest.fixture
async def engine(url: str) -> AsyncIterator[Engine]:
    engine = create_engine(SecretStr(url), application_name="test", pool_size=10)
    yield engine
    await engine.dispose()


@pytest.fixture
async def reader(engine: Engine, database: Database) -> AsyncIterator[Engine]:
    """Another service, which reads the settler's outbox."""
    make_tables(database.url("api"))
    reader = create_engine(SecretStr(database.url("api")), application_name="test", pool_size=10)
    yield reader
    await reader.dispose()

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest
from pydantic import SecretStr

from services.notifier.tests.process_parts import Notifier
from services.notifier.tests.sink import Sink, open_sink
from swap_runtime.postgres.database import Engine, create_engine
from swap_runtime.postgres.sql import sql
from tests.plugins.postgres import emptying

TABLES = "endpoint, webhook_message, delivery_attempt, inbox"


@pytest.fixture
async def engine(migrate_schema: Callable[[str], str]) -> AsyncIterator[Engine]:
    engine = create_engine(SecretStr(migrate_schema("notifier")), application_name="test")
    async with engine.begin() as connection:
        await connection.execute(sql(emptying(TABLES)))
    yield engine
    await engine.dispose()


@pytest.fixture
async def sink() -> AsyncIterator[Sink]:
    async with open_sink() as sink:
        yield sink


@pytest.fixture
def notifier(engine: Engine) -> Notifier:
    return Notifier(engine)

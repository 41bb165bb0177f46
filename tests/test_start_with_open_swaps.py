"""Services refuse a catalogue without the assets of an open swap, as real processes."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import pytest
from pydantic import SecretStr

from services.settler.tests.factories import POLYGON, USDC, a_catalogue_document, a_request
from services.settler.tests.settler_harness import Settler
from swap_runtime.postgres.database import Engine, create_engine
from swap_runtime.postgres.sql import sql
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork
from tests.plugins.postgres import emptying

pytestmark = pytest.mark.connected
TABLES = "swap, outbox, inbox"
WITHIN_SECONDS = 60
SERVICES: Mapping[str, Mapping[str, str]] = {
    "api": {"PORT": "0", "QUOTER_URL": "http://127.0.0.1:1", "KEY_PEPPER": "a pepper for tests"},
    "chain_watcher": {},
    "settler": {"QUOTER_URL": "http://127.0.0.1:1"},
}


@pytest.fixture
async def engine(migrate_schema: Callable[[str], str]) -> AsyncIterator[Engine]:
    engine = create_engine(SecretStr(migrate_schema("settler")), application_name="test")
    yield engine
    async with engine.begin() as connection:
        await connection.execute(sql(emptying(TABLES)))
    await engine.dispose()


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.fault("M12")
async def test_a_service_says_what_is_open_and_ends(
    engine: Engine, migrate_schema: Callable[[str], str], tmp_path: Path, service: str
) -> None:
    await Settler(PostgresUnitOfWork(engine, consumer="settler")).requests(a_request())
    document = a_catalogue_document()
    document["networks"] = [one for one in document["networks"] if one["name"] != POLYGON]
    catalogue = tmp_path / "catalogue.yaml"
    catalogue.write_text(json.dumps(document))
    prefix = f"SWAP_{service.upper()}__"
    group = {f"{prefix}{name}": value for name, value in SERVICES[service].items()}

    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", f"swap_{service}",
        env={
            **os.environ,
            "SWAP_KAFKA__BOOTSTRAP_SERVERS": "127.0.0.1:1",
            "SWAP_REDIS__URL": "redis://127.0.0.1:1",
            "SWAP_OPERATOR__TOKEN": "an operator's token",
            "SWAP_CATALOGUE": str(catalogue),
            f"{prefix}DATABASE_URL": migrate_schema(service),
            f"{prefix}INTERNAL_PORT": "0",
            **group,
        },
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    async with asyncio.timeout(WITHIN_SECONDS):
        output, _ = await process.communicate()

    log = output.decode()
    assert process.returncode == 1, log
    assert f"does not name: {POLYGON}/{USDC[POLYGON]}" in log
    assert "Traceback" not in log

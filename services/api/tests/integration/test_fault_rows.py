"""Faults of the api that no other file covers, each named after its row."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from api_factories import AT, a_body, a_message, a_swap
from api_harness import Harness, start
from people import an_owner
from pydantic import SecretStr
from redis.asyncio import Redis

from swap_api.admission.adapters.counters import LocalCounters, RedisCounters
from swap_api.admission.decide.rate_limits import Quota
from swap_runtime.clock import utc_now
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected

SOURCES = Path(__file__).parents[4]
CANARY = "canary-7f3b9d"
A_MILLION = 1_000_000


async def all_rows(api: Harness) -> str:
    """Return every row of every table that the service owns."""
    tables = await api.rows(
        "SELECT table_name FROM information_schema.tables"
        " WHERE table_schema = 'api' AND table_type = 'BASE TABLE'"
    )
    return repr([await api.rows(f"SELECT * FROM {row.table_name}") for row in tables])


@pytest.mark.fault("A3")
async def test_a3_a_key_is_in_no_log_and_in_no_table(
    api: Harness, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, app = await an_owner(api), await api.an_app()

    async def fail(*_: Any) -> None:
        raise RuntimeError("the quoter is broken")

    await api.create(app, a_body(), key="order-1")
    await owner.post_ok(f"/organizations/{owner.organization_id}", {"name": "Other"})
    monkeypatch.setattr(api.quoter, "quote", fail)
    failed = await api.create(app, a_body())
    for headers in ({"X-SVC-APIKEY": f"svc_test_{CANARY}"}, {"Authorization": f"Bearer {CANARY}"}):
        await api.client.get("/api/v2/networks", headers=headers)
        await api.client.get("/management/v1/me", headers=headers)

    output = capfd.readouterr()
    stored_text = f"{output.out}{output.err}{await all_rows(api)}"
    assert failed.status_code == 500
    assert "the quoter is broken" in stored_text
    for secret in (app.key.rpartition("_")[2], owner.token.rpartition("_")[2], CANARY):
        assert secret not in stored_text


@pytest.mark.fault("A8")
async def test_a8_a_deposit_address_of_any_swap_belongs_to_the_service(api: Harness) -> None:
    app, other = await api.an_app(), await api.an_app()
    made = await api.create(app, a_body(use_depository=False, use_deposit_address=True))
    own = made.json()["data"]["deposit_actions"][0]["to_address"]

    for field in ("destination_address", "refund_address", "source_address"):
        for spelled in (own, own.lower()):
            answer = await api.create(other, a_body(**{field: spelled}))
            assert answer.json()["error"]["code"] == "INVALID_ADDRESS_ERROR"
            assert set(answer.json()["error"]["metadata"]["field_errors"]) == {field}
    swap_id = (await api.create(other, a_body())).json()["data"]["swap"]["id"]
    later = await api.post(other, f"/swaps/{swap_id}/refund_address", {"refund_address": own})

    assert later.json()["error"]["code"] == "INVALID_ADDRESS_ERROR"


@pytest.mark.fault("A8")
async def test_a8_deposit_addresses_are_found_by_their_index(api: Harness) -> None:
    statement = "SELECT deposit_address FROM swap WHERE deposit_address = ANY($1)"

    assert any("swap_deposit_address" in line for line in await api.plan(statement))


@pytest.mark.parametrize(
    "path",
    [
        "/swaps?page=1000001",
        "/swaps?page=0",
        "/swaps?page_size=101",
        "/swaps?page_size=99999999999999999999",
        "/swaps?" + "&".join(f"address=0x{n}" for n in range(51)),
        "/swaps?" + "&".join(f"x{n}=" for n in range(201)),
        "/networks?network_types=" + ",".join("evm" for _ in range(51)),
        "/swaps?reference_id=" + "x" * 257,
    ],
)
@pytest.mark.fault("A12")
async def test_a12_a_list_has_bounds(api: Harness, path: str) -> None:
    app = await api.an_app()

    answer = await api.get(app, path)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION_ERROR")


@pytest.mark.fault("A12")
async def test_a12_a_body_of_a_million_elements_is_not_read(api: Harness) -> None:
    app = await api.an_app()
    content = b'{"amount": [' + b"1," * A_MILLION + b"1]}"

    answer = await api.client.post(
        "/api/v2/swaps",
        content=content,
        headers={**app.headers, "content-type": "application/json"},
    )

    assert answer.json()["error"]["code"] == "PAYLOAD_TOO_LARGE"


@pytest.mark.fault("A13")
async def test_a13_private_nodes_are_in_no_answer(
    database_url: str,
    valkey: Any,
    catalogue_file: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SWAP_NODES", f'{{"ETHEREUM_DEVNET": ["http://127.0.0.1:1/{CANARY}"]}}')
    api = start(database_url, f"redis://127.0.0.1:{valkey.port}/0", catalogue_file)
    app = await api.an_app()

    answers = [
        await api.get(app, "/networks"),
        await api.get(app, "/sources"),
        await api.create(app, a_body()),
        await api.create(app, a_body(use_depository=False, use_gasless=True)),
        await api.client.get("/openapi.json"),
    ]

    assert api.service.settings.node_urls()["ETHEREUM_DEVNET"] != []
    assert answers[0].json()["data"][0]["node_url"]
    assert not [answer.request.url for answer in answers if CANARY in answer.text]
    await api.stop()


@pytest.mark.fault("R2r")
async def test_r2r_a_flush_costs_no_swap_and_no_key(api: Harness, valkey: Any) -> None:
    app = await api.an_app(is_lifted=False, creates=1, ceiling_factor=1)
    first = await api.create(app, a_body(), key="order-1")
    await api.create(app, a_body())
    refused = await api.create(app, a_body())

    redis = Redis(host="127.0.0.1", port=valkey.port)
    await redis.flushall()
    await redis.aclose()
    again = await api.create(app, a_body(), key="order-1")

    assert refused.status_code == 429
    assert (again.status_code, again.headers["idempotent-replayed"]) == (200, "true")
    assert again.content == first.content
    assert len(await api.rows("SELECT id FROM swap")) == 2


@pytest.fixture
async def silent_redis() -> AsyncIterator[tuple[str, list[bytes]]]:
    """A Redis that executes commands and closes the connection before it answers."""
    received: list[bytes] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.read(65_536))
        writer.close()

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0", received
    server.close()


@pytest.mark.fault("R3r")
async def test_r3r_what_redis_may_have_counted_is_not_counted_there_again(
    silent_redis: tuple[str, list[bytes]],
) -> None:
    url, received = silent_redis
    counters = RedisCounters(SecretStr(url), fallback=LocalCounters(clock=utc_now))

    (count,) = await counters.add([Quota("app/read", 5, timedelta(minutes=1))])

    assert (count.is_over, count.remaining) == (False, 4)
    assert len(received) == 1
    await counters.close()


@pytest.mark.fault("R4r")
def test_r4r_redis_counts_requests_and_holds_no_lock() -> None:
    """No lock can be lost while its holder works, because there is no lock."""
    importers = {
        path.relative_to(SOURCES).as_posix()
        for folder in ("libs", "services", "cli")
        for path in (SOURCES / folder).glob("**/src/**/*.py")
        if "redis" in _imported(path)
    }

    assert importers == {"services/api/src/swap_api/admission/adapters/counters.py"}


def _imported(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    modules = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    modules += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return {module.partition(".")[0] for module in modules}


@pytest.mark.fault("M14")
async def test_m14_swaps_of_a_deleted_app_reach_their_end(api: Harness, database: Database) -> None:
    app = await api.an_app()
    created = (await api.create(app, a_body())).json()["data"]["swap"]
    with psycopg.connect(database.superuser_url) as connection:
        for table in ("api_key", "app"):
            connection.execute(f"DELETE FROM api.{table}".encode())

    swap = a_swap(
        app_id=app.id,
        swap_id=created["id"],
        sequence_number=created["metadata"]["sequence_number"],
        sequence=5,
        status="refunded",
        closed_at=AT,
    )
    await api.parts.swaps.store_swaps([a_message(swap)])

    [row] = await api.rows("SELECT status FROM swap")
    assert row.status == "refunded"
    [sent] = await api.rows("SELECT topic FROM outbox")
    assert sent.topic == "swap.requests.v1"

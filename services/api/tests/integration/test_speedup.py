"""A hint that a transaction pays: sent to the chain-watcher once, and limited in number."""

from __future__ import annotations

from uuid import uuid4

import pytest
from api_factories import a_body
from api_harness import App, Harness

from swap_api.swaps.store.hints import PostgresHints

pytestmark = pytest.mark.connected

HINTS = "SELECT payload FROM outbox WHERE topic = 'deposit.hinted.v1' ORDER BY id"


@pytest.fixture
async def app(api: Harness) -> App:
    return await api.an_app()


async def a_swap(api: Harness, app: App) -> str:
    answer = await api.create(app, a_body())
    return str(answer.json()["data"]["swap"]["id"])


async def hint(api: Harness, app: App, swap_id: str, transaction: str) -> tuple[int, object]:
    path = f"/swaps/{swap_id}/deposit_speedup"
    answer = await api.post(app, path, {"transaction_id": transaction})
    return answer.status_code, answer.json()


async def test_a_repeated_hint_is_published_once(api: Harness, app: App) -> None:
    swap_id = await a_swap(api, app)

    for transaction in ("0x" + "ab" * 32, "0x" + "AB" * 32):
        assert await hint(api, app, swap_id, transaction) == (200, {"error": None})

    [row] = await api.rows(HINTS)
    assert b"0x" + b"ab" * 32 in bytes(row.payload)
    assert b"ETHEREUM_DEVNET" in bytes(row.payload)


async def test_a_swap_has_ten_hints_and_more_are_ignored(api: Harness, app: App) -> None:
    swap_id = await a_swap(api, app)

    for number in range(12):
        assert await hint(api, app, swap_id, f"0x{number:064x}") == (200, {"error": None})

    assert len(await api.rows(HINTS)) == 10


async def test_a_hint_for_an_unknown_swap_is_not_found(api: Harness, app: App) -> None:
    other = await api.an_app()
    swap_id = await a_swap(api, app)

    assert (await hint(api, app, str(uuid4()), "0x" + "ab" * 32))[0] == 404
    assert (await hint(api, other, swap_id, "0x" + "ab" * 32))[0] == 404
    assert (await hint(api, app, swap_id, "nonsense"))[0] == 400
    assert await api.rows(HINTS) == []


async def test_old_hints_are_deleted_and_may_be_given_again(api: Harness, app: App) -> None:
    swap_id = await a_swap(api, app)
    await hint(api, app, swap_id, "0x" + "aa" * 32)
    async with api.service.engine.begin() as connection:
        await connection.execute(
            "UPDATE deposit_hint SET created_at = created_at - interval '31 days'"
        )
    await hint(api, app, swap_id, "0x" + "bb" * 32)
    hints = PostgresHints(api.service.engine, clock=api.service.clock)

    assert not await hints.delete_old()

    remaining = await api.rows("SELECT transaction_hash FROM deposit_hint")
    assert [row.transaction_hash for row in remaining] == ["0x" + "bb" * 32]
    assert await hint(api, app, swap_id, "0x" + "aa" * 32) == (200, {"error": None})
    assert len(await api.rows(HINTS)) == 3

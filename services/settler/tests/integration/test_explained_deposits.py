"""The transaction of coins at a deposit address comes in a later version, and credits nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from services.settler.tests.factories import (
    DEPOSIT_ADDRESSES,
    REQUESTED,
    USER,
    a_deposit_message,
    a_request,
    funding,
)
from services.settler.tests.settler_harness import Settler
from swap_chains.evm.deposit_addresses import deposit_address
from swap_runtime.postgres.database import Engine
from swap_runtime.postgres.sql import sql
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork

pytestmark = pytest.mark.connected

ADDRESS = deposit_address(DEPOSIT_ADDRESSES["factory"], DEPOSIT_ADDRESSES["init_code_hash"], 7)
HASH = "0x" + "9" * 64
UNKNOWN: dict[str, Any] = {"transaction_hash": None, "from_address": None}
KNOWN: dict[str, Any] = {"transaction_hash": HASH, "from_address": USER}


async def came(run: Settler, state: str, version: int, source: dict[str, Any]) -> None:
    await run.deposits(
        a_deposit_message(
            state, version=version, number=None, kind="balance_rose", to_address=ADDRESS, **source
        )
    )


async def shown(engine: Engine) -> dict[str, Any]:
    """Return the deposit in the last message about the swap."""
    async with engine.connect() as connection:
        payload = await connection.scalar(
            sql("SELECT payload FROM outbox WHERE topic LIKE 'swap.changed%' ORDER BY id DESC"
                " LIMIT 1")
        )  # fmt: skip
    [found] = [t for t in json.loads(payload)["body"]["transactions"] if t["type"] == "input"]
    return {name: found[name] for name in ("status", "transaction_hash", "from_address")}


async def postings(engine: Engine) -> int:
    async with engine.connect() as connection:
        return int(await connection.scalar(sql("SELECT count(*) FROM posting")) or 0)


async def test_the_transaction_of_coins_is_shown_once_it_is_known(engine: Engine) -> None:
    run = Settler(PostgresUnitOfWork(engine, consumer="settler"))
    await run.deposits(funding(units=10 * REQUESTED))
    await run.requests(a_request(method="deposit_address"))

    await came(run, "seen", 1, UNKNOWN)
    assert await shown(engine) == {"status": "initiated", **UNKNOWN}

    await came(run, "seen", 2, KNOWN)
    assert await shown(engine) == {"status": "initiated", **KNOWN}

    async with engine.connect() as connection:
        stored = await connection.execute(
            sql("SELECT transaction_hash, from_address FROM deposit WHERE to_address = :address"),
            {"address": ADDRESS},
        )
    assert tuple(stored.one_or_none() or ()) == (HASH, USER)

    await came(run, "confirmed", 3, KNOWN)
    assert await shown(engine) == {"status": "completed", **KNOWN}


@pytest.mark.parametrize("is_paid_out", [True, False], ids=["paid out", "without inventory"])
async def test_a_transaction_that_is_known_after_the_credit_changes_no_money(
    engine: Engine, is_paid_out: bool
) -> None:
    run = Settler(PostgresUnitOfWork(engine, consumer="settler"))
    if is_paid_out:
        await run.deposits(funding(units=10 * REQUESTED))
    await run.requests(a_request(method="deposit_address"))
    await came(run, "confirmed", 1, UNKNOWN)
    before = await postings(engine)

    await came(run, "confirmed", 2, KNOWN)

    assert await shown(engine) == {"status": "completed", **KNOWN}
    assert await postings(engine) == before

"""Refuels on a real Postgres: bought, ordered, sent, or claimable, and the swap completes."""

from __future__ import annotations

from datetime import timedelta

import pytest

from services.settler.tests.factories import (
    NOON,
    POLYGON,
    RECIPIENT,
    REFUEL,
    a_deposit_message,
    a_payout_message,
    a_request,
    funding,
)
from services.settler.tests.integration.postgres_books import PostgresBooks
from services.settler.tests.settler_harness import Settler
from swap_domain.catalogue import NATIVE
from swap_domain.lifecycle import Status
from swap_runtime.postgres.database import Engine
from swap_runtime.postgres.sql import sql
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork
from swap_settler.model.swap import Intent, IntentState

pytestmark = pytest.mark.connected

HASHES = {"output": "0x" + "11" * 32, "refuel": "0x" + "22" * 32}
CLAIMS = sql("SELECT network, token, -balance AS units FROM account WHERE kind = 'claimable'")


@pytest.fixture
async def run(engine: Engine) -> Settler:
    """Return a settler whose only swap has bought a refuel."""
    run = Settler(PostgresUnitOfWork(engine, consumer="settler"))
    await run.deposits(funding(), funding(units=2 * REFUEL, token=NATIVE))
    await run.requests(a_request(refuel=True))
    await run.deposits(a_deposit_message())
    return run


@pytest.fixture
def books(engine: Engine, watcher: Engine) -> PostgresBooks:
    return PostgresBooks(engine, watcher)


async def paid(run: Settler, books: PostgresBooks, intent: Intent | None) -> None:
    assert intent is not None
    await books.sign(intent, HASHES[intent.kind.value])
    log = a_payout_message(
        "confirmed",
        transaction_hash=HASHES[intent.kind.value],
        intent_id=str(intent.paid_id),
        token=intent.token,
        base_units=str(intent.base_units),
    )
    await run.payouts(log)


async def test_refuel_is_sent_after_the_output(run: Settler, books: PostgresBooks) -> None:
    await paid(run, books, (await books.swap()).output)
    swap = await books.swap()
    assert swap.status is Status.PAYOUT_PENDING
    assert swap.refuel is not None
    refuel = swap.refuel
    assert (refuel.network, refuel.token, refuel.to_address) == (POLYGON, NATIVE, RECIPIENT)

    await paid(run, books, refuel)

    swap = await books.swap()
    assert swap.status is Status.COMPLETED
    assert swap.refuel is not None
    assert (swap.refuel.state, swap.refuel.base_units) == (IntentState.CONFIRMED, REFUEL)


async def test_refuel_that_is_not_sent_in_time_is_claimable(
    run: Settler, books: PostgresBooks, engine: Engine
) -> None:
    await paid(run, books, (await books.swap()).output)
    assert await run.complete_swaps() is False
    assert (await books.swap()).status is Status.PAYOUT_PENDING

    run.now = NOON + timedelta(minutes=2)
    await run.complete_swaps()

    swap = await books.swap()
    assert (swap.status, swap.refuel, swap.quote.refuel) == (Status.COMPLETED, None, None)
    assert swap.quote.spent_on_refuel > 0
    async with engine.connect() as connection:
        claims = await connection.execute(CLAIMS, {})
    assert [(c.network, c.token, int(c.units)) for c in claims] == [(POLYGON, NATIVE, REFUEL)]


async def test_refuel_is_decided_once(run: Settler, books: PostgresBooks, engine: Engine) -> None:
    await paid(run, books, (await books.swap()).output)
    run.now = NOON + timedelta(minutes=2)

    await run.complete_swaps()
    sequence = (await books.swap()).sequence
    await run.complete_swaps()

    assert (await books.swap()).sequence == sequence
    async with engine.connect() as connection:
        assert await connection.scalar(sql("SELECT count(*) FROM completion_due")) == 0

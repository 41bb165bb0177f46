"""Requotes on a real Postgres: requested outside any transaction, applied once, also
after crashes.
"""

from __future__ import annotations

import asyncio

import pytest

from services.settler.tests.factories import (
    LATER,
    PAYOUT,
    REQUESTED,
    a_deposit_message,
    a_request,
    funding,
)
from services.settler.tests.integration.postgres_books import PostgresBooks
from services.settler.tests.integration.test_expiring import NUMBER, end_parked, park
from services.settler.tests.settler_harness import Quoter, Settler
from swap_contracts.quoting import QuoteAnswer, QuoteQuestion
from swap_domain.lifecycle import Status
from swap_runtime.postgres.database import Engine
from swap_runtime.postgres.sql import sql
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork
from swap_settler.settling.decide.requotes import RequoteRefusal
from swap_settler.settling.store.due_requotes import PostgresDueRequotes
from swap_settler.settling.usecases import requote_swaps
from tests.support.crashes import ProcessKilled, killed_at

pytestmark = pytest.mark.connected
QUOTES = sql("""
SELECT revision, quote ->> 'receive_base_units' AS receive FROM swap_quote ORDER BY revision
""")


@pytest.fixture
async def run(engine: Engine) -> Settler:
    """Return a settler whose only swap got its money late."""
    run = Settler(
        PostgresUnitOfWork(engine, consumer="settler"),
        requotes=PostgresDueRequotes(engine, consumer="settler"),
    )
    await run.deposits(funding())
    await run.requests(a_request())
    run.now = LATER
    await run.deposits(a_deposit_message(block_time=LATER))
    return run


@pytest.fixture
def books(engine: Engine, watcher: Engine) -> PostgresBooks:
    return PostgresBooks(engine, watcher)


async def due(engine: Engine) -> int:
    return len(await PostgresDueRequotes(engine, consumer="settler").due(limit=10))


async def test_s1_requote_is_requested_again_after_a_crash(
    run: Settler, books: PostgresBooks, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_at(monkeypatch, "settler.before_requote", requote_swaps)
    with pytest.raises(ProcessKilled):
        await run.requote_swaps()
    assert await due(engine) == 1

    await run.requote_swaps()

    swap = await books.swap()
    assert (swap.status, swap.quote.revision) == (Status.PAYOUT_PENDING, 1)
    assert [intent.base_units for intent in swap.intents.values()] == [PAYOUT]
    assert await due(engine) == 0


async def test_concurrent_requotes_are_applied_once(run: Settler, books: PostgresBooks) -> None:
    await asyncio.gather(*(run.requote_swaps() for _ in range(4)))

    swap = await books.swap()
    assert (swap.quote.revision, len(swap.intents)) == (1, 1)


async def test_stores_the_quote_that_was_replaced(run: Settler, engine: Engine) -> None:
    run.quoter.share_ppm = 995_000

    await run.requote_swaps()

    async with engine.connect() as connection:
        found = await connection.execute(QUOTES)
        quotes = [(row.revision, row.receive) for row in found]
    assert quotes == [(0, str(PAYOUT)), (1, "995000")]


async def test_requote_stores_the_quote_that_is_paid(run: Settler, books: PostgresBooks) -> None:
    run.quoter.share_ppm = 995_000

    await run.requote_swaps()

    swap = await books.swap()
    assert swap.output is not None
    assert swap.quote.payout_base_units == swap.output.base_units == 995_000
    assert swap.quote.last_requoted_at == swap.quote.locked_at == LATER
    assert swap.quote.expires_at > LATER


async def test_requote_waits_while_a_deposit_of_the_swap_is_parked(engine: Engine) -> None:
    run = Settler(PostgresUnitOfWork(engine, consumer="settler"), now=LATER)
    await run.requests(a_request(NUMBER))
    await run.deposits(a_deposit_message(number=NUMBER, block_time=LATER))
    await park(engine, "deposit.changed.v1", a_deposit_message("seen", nth=1, number=NUMBER))
    assert await due(engine) == 0

    await end_parked(engine, "released")
    assert await due(engine) == 1


class Interrupted(Quoter):
    """A quoter during whose call another deposit arrives."""

    def __init__(self, run: Settler) -> None:
        super().__init__()
        self._run = run

    async def quote(self, question: QuoteQuestion) -> QuoteAnswer | RequoteRefusal:
        if not self.quoted:
            more = a_deposit_message(nth=1, units=REQUESTED, block_time=LATER)
            await self._run.deposits(more)
        return await super().quote(question)


async def test_an_answer_about_a_sum_that_is_there_no_more_is_not_applied(
    run: Settler, books: PostgresBooks
) -> None:
    quoter = Interrupted(run)
    run.requote_swaps._pricing = quoter

    await run.requote_swaps()
    assert (await books.swap()).status is Status.DEPOSIT_PENDING
    await run.requote_swaps()

    assert [int(q.base_units) for q in quoter.quoted] == [REQUESTED, 2 * REQUESTED]
    swap = await books.swap()
    assert (swap.quote.revision, swap.quote.payout_base_units) == (1, 2 * PAYOUT)


async def test_unavailable_quoter_is_asked_again_after_a_pause(
    run: Settler, books: PostgresBooks, engine: Engine
) -> None:
    run.quoter.refused = RequoteRefusal.NO_ANSWER

    await run.requote_swaps()

    assert (await books.swap()).status is Status.DEPOSIT_PENDING
    assert await due(engine) == 0
    async with engine.connect() as connection:
        assert await connection.scalar(sql("SELECT due_at > now() FROM requote_due")) is True

"""One suite for the fake and for Postgres; then what only Postgres can show."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from uuid import UUID

import pytest
from pydantic import SecretStr
from services.settler.tests.factories import (
    ETHEREUM,
    NOON,
    PAYOUT,
    POLYGON,
    REQUESTED,
    SIGNER,
    USDC,
    a_deposit,
    a_deposit_message,
    a_payout_message,
    a_request,
    a_swap,
    funding,
    swap_id,
)
from services.settler.tests.fakes import FakeUnitOfWork
from services.settler.tests.settlers import settler
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from swap_domain.lifecycle import Status
from swap_runtime.database import create_engine
from swap_settler.adapters.unit_of_work import PostgresUnitOfWork
from swap_settler.domain.changes import Changes
from swap_settler.domain.ledger import LedgerTransaction, Posting, received
from swap_settler.domain.swap import Swap
from swap_settler.ports import UnitOfWork

MESSAGE = UUID(int=9)
HUGE = 10**77 + 1
HASH = "0x" + "11" * 32
ASSETS = {(ETHEREUM, USDC[ETHEREUM]), (POLYGON, USDC[POLYGON])}

WATCHER = """
INSERT INTO chain_watcher.watch_cursor SELECT :network, :number
"""


@pytest.fixture
async def engine(migrated: Callable[[str], str]) -> AsyncIterator[AsyncEngine]:
    watcher = create_engine(SecretStr(migrated("chain-watcher")), application_name="test")
    async with watcher.begin() as connection:
        await connection.execute(text("TRUNCATE watch_cursor, outbox"))
    await watcher.dispose()
    engine = create_engine(SecretStr(migrated("settler")), application_name="test", pool_size=10)
    async with engine.begin() as connection:
        await connection.execute(
            text("TRUNCATE swap, account, inventory, inbox, outbox, signer CASCADE")
        )
    yield engine
    await engine.dispose()


@pytest.fixture(params=["fake", pytest.param("postgres", marks=pytest.mark.connected)])
def unit_of_work(request: pytest.FixtureRequest) -> UnitOfWork:
    if request.param == "fake":
        return FakeUnitOfWork()
    return PostgresUnitOfWork(request.getfixturevalue("engine"), consumer="settler")


async def loaded(unit_of_work: UnitOfWork, number: int = 7) -> Swap:
    async with unit_of_work() as work:
        return (await work.lock_swaps_by_id([swap_id(number)]))[swap_id(number)]


def plain(swap: Swap) -> Swap:
    """Return the swap with its quote spelled in one way: a database spells JSON its own way."""
    document = json.dumps(json.loads(swap.quote.document), sort_keys=True)
    return replace(swap, quote=replace(swap.quote, document=document))


class TestUnitOfWork:
    async def test_marks_a_message_once(self, unit_of_work: UnitOfWork) -> None:
        async with unit_of_work() as work:
            assert await work.mark_seen([MESSAGE, MESSAGE]) == {MESSAGE}
        async with unit_of_work() as work:
            assert await work.mark_seen([MESSAGE]) == frozenset()

    async def test_forgets_what_a_failed_transaction_did(self, unit_of_work: UnitOfWork) -> None:
        async def fail() -> None:
            async with unit_of_work() as work:
                await work.mark_seen([MESSAGE])
                await work.flush([Changes(swap=a_swap())], [])
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await fail()

        async with unit_of_work() as work:
            assert await work.mark_seen([MESSAGE]) == {MESSAGE}
            assert await work.lock_swaps_by_id([swap_id(7)]) == {}

    async def test_loads_what_was_flushed(self, unit_of_work: UnitOfWork) -> None:
        swap = a_swap(7, requested=HUGE, fee=0, payout=HUGE)
        deposit = replace(
            a_deposit("seen", units=HUGE), swap_id=swap.id, heard_at=NOON, memo="0xmemo"
        )
        told = swap.on(NOON).with_deposit(deposit)
        async with unit_of_work() as work:
            await work.flush([Changes(swap=swap)], [])
        async with unit_of_work() as work:
            changes = Changes(swap=told, previous_status=swap.status, deposits=(deposit,))
            await work.flush([changes], [])

        assert plain(await loaded(unit_of_work)) == plain(told)
        async with unit_of_work() as work:
            await work.lock_keys({swap.match_key, "elsewhere"})
            found = await work.lock_swaps({swap.match_key, "elsewhere"})
        assert set(found) == {swap.match_key}

    async def test_finds_deposits_without_a_swap(self, unit_of_work: UnitOfWork) -> None:
        waiting = a_deposit("seen")
        nobodys = replace(a_deposit("seen", number=None, nth=1), heard_at=NOON)
        async with unit_of_work() as work:
            await work.flush([Changes(deposits=(waiting, nobodys))], [])
        async with unit_of_work() as work:
            both = await work.unmatched_deposits([nobodys.id], [waiting.match_key or ""])
            none = await work.unmatched_deposits([], [])
        assert both == {waiting.id: waiting, nobodys.id: nobodys}
        assert none == {}

    async def test_makes_inventory_rows_and_moves_them_with_the_bookings(
        self, unit_of_work: UnitOfWork
    ) -> None:
        deposit = replace(a_deposit("confirmed", number=None, units=HUGE), is_booked=True)
        async with unit_of_work() as work:
            before = await work.lock_inventory(ASSETS)
            change = Changes(deposits=(deposit,), ledger=(received(deposit),), trace_id="t")
            await work.flush([change], [])
        async with unit_of_work() as work:
            rows = await work.lock_inventory(ASSETS)

        assert {row.version for row in before.values()} == {0}
        row = rows[ETHEREUM, USDC[ETHEREUM]]
        assert (row.held_base_units, row.owed_base_units, row.version) == (HUGE, HUGE, 1)
        assert rows[POLYGON, USDC[POLYGON]].version == 0

    async def test_refuses_to_owe_more_than_is_held(self, unit_of_work: UnitOfWork) -> None:
        run = settler(unit_of_work)
        await run.request(a_request())

        with pytest.raises(Exception, match="inventory|owes more"):
            await self._overspend(unit_of_work)

    async def _overspend(self, unit_of_work: UnitOfWork) -> None:
        deposit = replace(a_deposit("confirmed", number=None), is_booked=True)
        entry = received(deposit)
        back = tuple(Posting(p.account, -p.base_units) for p in entry.postings)
        reverse = LedgerTransaction("test", "test/1", None, None, None, back)
        owing = LedgerTransaction(
            "test", "test/2", None, None, None,
            tuple(replace(p, base_units=p.base_units) for p in entry.postings),
        )  # fmt: skip
        async with unit_of_work() as work:
            await work.flush([Changes(ledger=(owing,))], [])
        async with unit_of_work() as work:
            moved = replace(
                reverse,
                postings=(
                    Posting(entry.postings[0].account, -REQUESTED),
                    Posting(
                        replace(entry.postings[1].account, kind=_equity(), deposit_id=None),
                        REQUESTED,
                    ),
                ),
            )
            await work.flush([Changes(ledger=(moved,))], [])

    async def test_finds_whose_payment_it_is(self, unit_of_work: UnitOfWork) -> None:
        run = settler(unit_of_work)
        await run.paid_for()
        output = (await loaded(unit_of_work)).output
        assert output is not None
        assert output.paid_id is not None
        async with unit_of_work() as work:
            key = (POLYGON, output.paid_id)
            assert await work.swaps_paid_by([key, (ETHEREUM, output.paid_id)]) == {key: swap_id(7)}
            assert await work.swaps_paid_by([]) == {}

    async def test_settles_a_swap_from_request_to_final_payout(
        self, unit_of_work: UnitOfWork
    ) -> None:
        run = settler(unit_of_work)
        await run.deposits(funding())
        await run.request(a_request())
        await run.deposits(a_deposit_message("seen"), a_deposit_message("confirmed"))
        await sign(unit_of_work, HASH)
        await run.payouts(a_payout_message("seen"), a_payout_message("confirmed"))

        swap = await loaded(unit_of_work)
        assert (swap.status, swap.sequence) == (Status.COMPLETED, 5)
        async with unit_of_work() as work:
            rows = await work.lock_inventory(ASSETS)
        source, destination = rows[ETHEREUM, USDC[ETHEREUM]], rows[POLYGON, USDC[POLYGON]]
        assert (source.held_base_units, source.owed_base_units) == (REQUESTED, 0)
        assert destination.available_base_units == 10**12 - PAYOUT
        assert destination.owed_base_units == 0


def _equity() -> object:
    from swap_settler.domain.ledger import AccountKind

    return AccountKind.EQUITY


async def sign(unit_of_work: UnitOfWork, transaction_hash: str, number: int = 7) -> None:
    """Do what the sender lane does: a slot, and signed bytes for it."""
    output = (await loaded(unit_of_work, number)).output
    assert output is not None
    if isinstance(unit_of_work, FakeUnitOfWork):
        unit_of_work.sign(output.id, transaction_hash)
        return
    assert isinstance(unit_of_work, PostgresUnitOfWork)
    async with unit_of_work._engine.begin() as connection:
        await put_on_slot(connection, output.id, number)
        await connection.execute(
            text("INSERT INTO attempt VALUES (:hash, :network, :signer, :nonce, 'x', 1, 1, false,"
                 " now())"),
            {"hash": transaction_hash, "network": POLYGON, "signer": SIGNER, "nonce": number},
        )  # fmt: skip


async def put_on_slot(connection: AsyncConnection, intent_id: UUID, nonce: int) -> None:
    values = {"network": POLYGON, "signer": SIGNER, "nonce": nonce, "id": intent_id}
    for statement in (
        "INSERT INTO nonce_slot VALUES (:network, :signer, :nonce, now())",
        "INSERT INTO slot_intent VALUES (:network, :signer, :nonce, :id)",
        "UPDATE intent SET state = 'assigned', slot_at = now() WHERE id = :id",
    ):
        await connection.execute(text(statement), values)


async def rows(engine: AsyncEngine, statement: str, **values: object) -> Sequence[tuple[object]]:
    async with engine.connect() as connection:
        return [tuple(row) for row in await connection.execute(text(statement), values)]

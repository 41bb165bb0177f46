"""One suite for the fake and for Postgres, so that other tests may use the fake alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from uuid import UUID

import pytest

from services.settler.tests.factories import (
    ETHEREUM,
    NOON,
    PAYOUT,
    PLENTY,
    POLYGON,
    REQUESTED,
    USDC,
    USER,
    a_deposit,
    a_deposit_message,
    a_payout_message,
    a_request,
    a_swap,
    funding,
    swap_id,
)
from services.settler.tests.fakes import FakeUnitOfWork
from services.settler.tests.integration.lanes import sign
from services.settler.tests.settler_harness import Settler
from swap_domain.lifecycle import Status
from swap_runtime.postgres.database import Engine
from swap_runtime.postgres.sql import sql
from swap_settler.model.change_cause import ChangeCause
from swap_settler.model.changes import Changes
from swap_settler.model.ledger.inventory import Inventory
from swap_settler.model.ledger.ledger import deposit_received, receipt_reversed
from swap_settler.model.ports import UnitOfWork
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork
from swap_settler.model.swap import DepositState, Swap
from swap_settler.settling.decide.requests import begin
from swap_settler.settling.ports import DepositWork, PayoutWork, RequestWork
from tests.support.locks import until_blocked

MESSAGE = UUID(int=9)
HUGE = 10**77 + 1
SOURCE, DESTINATION = (ETHEREUM, USDC[ETHEREUM]), (POLYGON, USDC[POLYGON])


@pytest.fixture(params=["fake", pytest.param("postgres", marks=pytest.mark.connected)])
def unit_of_work(request: pytest.FixtureRequest) -> UnitOfWork:
    if request.param == "fake":
        return FakeUnitOfWork()
    return PostgresUnitOfWork(request.getfixturevalue("engine"), consumer="settler")


async def loaded(unit_of_work: UnitOfWork, number: int = 7) -> Swap:
    async with unit_of_work() as work:
        return (await work.lock_swaps_by_id([swap_id(number)]))[swap_id(number)]


async def inventory(unit_of_work: UnitOfWork) -> tuple[Inventory, Inventory]:
    async with unit_of_work() as work:
        rows = await work.lock_inventory({SOURCE, DESTINATION})
    return rows[SOURCE], rows[DESTINATION]


async def with_deposits(work: DepositWork, *messages: UUID) -> frozenset[UUID]:
    return (await work.open_deposits(messages, keys=(), deposit_ids=())).fresh


async def with_payouts(work: PayoutWork, *messages: UUID) -> frozenset[UUID]:
    return (await work.open_payouts(messages, payments=())).fresh


async def with_requests(work: RequestWork, *messages: UUID) -> frozenset[UUID]:
    return (await work.open_requests(messages, keys=(), swap_ids=(), deposit_ids=())).fresh


OPENED = (with_deposits, with_payouts, with_requests)


async def attachments(unit_of_work: UnitOfWork) -> Mapping[UUID, tuple[str, str]]:
    """Return who attached each attached deposit, and why, which no port reads."""
    if isinstance(unit_of_work, FakeUnitOfWork):
        return unit_of_work.proofs
    assert isinstance(unit_of_work, PostgresUnitOfWork)
    query = "SELECT id, attached_by, attached_because FROM deposit WHERE attached_by IS NOT NULL"
    async with unit_of_work._engine.connect() as connection:
        rows = await connection.execute(sql(query))
        return {row.id: (row.attached_by, row.attached_because) for row in rows}


def plain(swap: Swap) -> Swap:
    """Return the swap with its quote in one spelling, because Postgres reformats JSON."""
    document = json.dumps(json.loads(swap.quote.document), sort_keys=True)
    return replace(swap, quote=replace(swap.quote, document=document))


class TestUnitOfWork:
    @pytest.mark.parametrize("opened", OPENED, ids=lambda opened: opened.__name__)
    async def test_marks_a_message_once(
        self, unit_of_work: UnitOfWork, opened: Callable[..., Awaitable[frozenset[UUID]]]
    ) -> None:
        async with unit_of_work() as work:
            assert await opened(work, MESSAGE, MESSAGE) == {MESSAGE}
        async with unit_of_work() as work:
            assert await opened(work, MESSAGE) == frozenset()

    async def test_drops_the_changes_of_a_failed_transaction(
        self, unit_of_work: UnitOfWork
    ) -> None:
        async def fail() -> None:
            async with unit_of_work() as work:
                await with_deposits(work, MESSAGE)
                await work.flush([begin(a_swap())], [])
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await fail()

        async with unit_of_work() as work:
            assert await with_deposits(work, MESSAGE) == {MESSAGE}
            assert await work.lock_swaps_by_id([swap_id(7)]) == {}

    @pytest.mark.breaks_invariants("I-22")  # the use cases decide which messages are published
    async def test_loads_what_was_flushed_to_the_last_of_78_digits(
        self, unit_of_work: UnitOfWork
    ) -> None:
        swap = a_swap(7, requested=HUGE, fee=0, payout=HUGE)
        deposit = replace(a_deposit("seen", units=HUGE, memo="0xmemo"), swap_id=swap.id)
        updated_swap = swap.on(NOON).with_deposit(deposit)
        async with unit_of_work() as work:
            await work.flush([begin(swap)], [])
        async with unit_of_work() as work:
            change = Changes(
                swap=updated_swap,
                previous_status=swap.status,
                cause=ChangeCause.DEPOSIT_SEEN,
                deposits=(deposit,),
            )
            await work.flush([change], [])

        assert plain(await loaded(unit_of_work)) == plain(updated_swap)
        async with unit_of_work() as work:
            keys = {swap.match_key, "elsewhere"}
            opened = await work.open_deposits([MESSAGE], keys=keys, deposit_ids={deposit.id})
            assert {key: plain(one) for key, one in opened.swaps.items()} == {
                swap.match_key: plain(updated_swap)
            }

    @pytest.mark.breaks_invariants("I-22")
    async def test_opens_the_swaps_that_have_the_deposits(self, unit_of_work: UnitOfWork) -> None:
        """One was attached. The messages of both may name other swaps."""
        mine, other = a_swap(7), a_swap(8)
        attached = replace(a_deposit("seen", number=8), swap_id=mine.id, attached_at=NOON)
        named = replace(a_deposit("seen", number=8, nth=1), swap_id=other.id)
        async with unit_of_work() as work:
            await work.flush([begin(mine), begin(other)], [])
            await work.flush([Changes(deposits=(attached, named))], [])

        async with unit_of_work() as work:
            ids = {attached.id, named.id}
            opened = await work.open_deposits([MESSAGE], keys={"none"}, deposit_ids=ids)

        assert {key: swap.deposits for key, swap in opened.swaps.items()} == {
            mine.match_key: {attached.id: attached},
            other.match_key: {named.id: named},
        }

    async def test_stores_again_what_a_deposit_names(self, unit_of_work: UnitOfWork) -> None:
        first = a_deposit("seen", number=7)
        again = replace(first, version=first.version + 1, sequence_number=8, memo="0x08")
        async with unit_of_work() as work:
            await work.flush([Changes(deposits=(first,))], [])
        async with unit_of_work() as work:
            await work.flush([Changes(deposits=(again,))], [])

        async with unit_of_work() as work:
            keys = [first.match_key or "", again.match_key or ""]
            assert await work.unmatched_deposits([], keys[:1]) == {}
            assert await work.unmatched_deposits([], keys[1:]) == {again.id: again}

    @pytest.mark.breaks_invariants("I-22")
    async def test_opens_what_requests_are_about(self, unit_of_work: UnitOfWork) -> None:
        swap, waiting = a_swap(7), a_deposit("seen", number=8)
        unmatched = a_deposit("seen", number=None, nth=1)
        async with unit_of_work() as work:
            await work.flush([begin(swap), Changes(deposits=(waiting, unmatched))], [])

        async with unit_of_work() as work:
            opened = await work.open_requests(
                [MESSAGE],
                keys={waiting.match_key or ""},
                swap_ids={swap.id, swap_id(8)},
                deposit_ids={unmatched.id},
            )

        assert opened.fresh == {MESSAGE}
        assert {id: plain(one) for id, one in opened.swaps.items()} == {swap.id: plain(swap)}
        assert opened.waiting == {waiting.id: waiting, unmatched.id: unmatched}

    @pytest.mark.connected
    @pytest.mark.breaks_invariants("I-22")
    async def test_opens_what_it_holds_already(self, engine: Engine) -> None:
        """Of Postgres alone: use cases that run on the fake hold no keys."""
        unit_of_work = PostgresUnitOfWork(engine, consumer="settler")
        swap = a_swap(7)
        async with unit_of_work() as work:
            await work.flush([begin(swap)], [])

        async with unit_of_work() as work:
            await work.lock_keys({swap.match_key, "elsewhere"})
            await work.lock_keys(())
            opened = await work.open_deposits([MESSAGE], keys={swap.match_key}, deposit_ids=())

        assert set(opened.swaps) == {swap.match_key}

    @pytest.mark.connected
    async def test_holds_keys_until_its_end(self, engine: Engine) -> None:
        """Of Postgres alone: transactions of the fake do not wait for each other."""
        unit_of_work = PostgresUnitOfWork(engine, consumer="settler")
        has_keys, may_end, order = asyncio.Event(), asyncio.Event(), list[str]()

        async def first() -> None:
            async with unit_of_work() as work:
                await work.lock_keys({"a", "b"})
                await with_deposits(work, MESSAGE)
                has_keys.set()
                await may_end.wait()
                order.append("first")

        async def second() -> None:
            async with unit_of_work() as work:
                await work.lock_keys({"b"})
                await with_deposits(work, UUID(int=10))
                order.append("second")

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(first())
            await has_keys.wait()
            tasks.create_task(second())
            await until_blocked(engine, "pg_advisory_xact_lock")
            may_end.set()

        assert order == ["first", "second"]

    @pytest.mark.parametrize("fails", [False, True])
    async def test_stores_who_attached_a_deposit_and_why(
        self, unit_of_work: UnitOfWork, *, fails: bool
    ) -> None:
        deposit, other = a_deposit("seen", number=None), a_deposit("seen", number=None, nth=1)
        async with unit_of_work() as work:
            await work.flush([Changes(deposits=(deposit, other))], [])
            await work.store_attachment(deposit.id, by=USER, because="signed")

        with suppress(ZeroDivisionError):
            async with unit_of_work() as work:
                await work.flush([], [])
                await work.store_attachment(deposit.id, by="ann", because="asked")
                if fails:
                    raise ZeroDivisionError

        last = (USER, "signed") if fails else ("ann", "asked")
        assert await attachments(unit_of_work) == {deposit.id: last}

    async def test_finds_deposits_without_a_swap(self, unit_of_work: UnitOfWork) -> None:
        waiting, unmatched = a_deposit("seen"), a_deposit("seen", number=None, nth=1)
        async with unit_of_work() as work:
            await work.flush([Changes(deposits=(waiting, unmatched))], [])
        async with unit_of_work() as work:
            both = await work.unmatched_deposits([unmatched.id], [waiting.match_key or ""])
            assert both == {waiting.id: waiting, unmatched.id: unmatched}
            assert await work.unmatched_deposits([], []) == {}

    async def test_makes_inventory_rows_and_moves_them_with_the_bookings(
        self, unit_of_work: UnitOfWork
    ) -> None:
        deposit = replace(a_deposit(number=None, units=HUGE), is_booked=True)
        before = await inventory(unit_of_work)
        async with unit_of_work() as work:
            await work.flush(
                [Changes(deposits=(deposit,), ledger=(deposit_received(deposit),))], []
            )

        source, destination = await inventory(unit_of_work)
        assert source == Inventory(*SOURCE, HUGE, HUGE, version=1)
        assert destination == before[1] == Inventory(*DESTINATION)

    async def test_refuses_to_give_away_more_than_there_is(self, unit_of_work: UnitOfWork) -> None:
        never_booked = replace(a_deposit(number=None), is_booked=True)
        entry = receipt_reversed(never_booked, version=1)

        with pytest.raises(Exception, match=r"is at|account"):
            async with unit_of_work() as work:
                await work.flush([Changes(ledger=(entry,))], [])

    async def test_books_the_same_thing_once(self, unit_of_work: UnitOfWork) -> None:
        deposit = replace(a_deposit(number=None), is_booked=True)
        async with unit_of_work() as work:
            await work.flush([Changes(ledger=(deposit_received(deposit),))], [])

        with pytest.raises(Exception, match=r"was booked|ledger_transaction"):
            async with unit_of_work() as work:
                await work.flush([Changes(ledger=(deposit_received(deposit),))], [])

    async def test_finds_whose_payment_it_is(self, unit_of_work: UnitOfWork) -> None:
        await Settler(unit_of_work).paid_for()
        output = (await loaded(unit_of_work)).output
        assert output is not None
        assert output.paid_id is not None

        async with unit_of_work() as work:
            key = (POLYGON, output.paid_id)
            keys = {key, (ETHEREUM, output.paid_id)}
            opened = await work.open_payouts([MESSAGE], payments=keys)
        assert (opened.owners, opened.standalone_intents) == ({key: swap_id(7)}, {})

    async def test_settles_a_swap_from_request_to_final_payout(
        self, unit_of_work: UnitOfWork
    ) -> None:
        run = Settler(unit_of_work)
        await run.deposits(funding())
        await run.requests(a_request())
        await run.deposits(a_deposit_message("seen"), a_deposit_message("confirmed"))
        await sign(unit_of_work)
        await run.payouts(a_payout_message("seen"), a_payout_message("confirmed"))

        swap = await loaded(unit_of_work)
        assert (swap.status, swap.sequence) == (Status.COMPLETED, 5)
        source, destination = await inventory(unit_of_work)
        assert (source.held_base_units, source.owed_base_units) == (REQUESTED, 0)
        assert (destination.available_base_units, destination.owed_base_units) == (
            PLENTY - PAYOUT,
            0,
        )

    async def test_takes_a_payout_back_and_pays_the_re_mined_deposit_within_one_batch(
        self, unit_of_work: UnitOfWork
    ) -> None:
        run = Settler(unit_of_work)
        await run.paid_for()
        first = (await loaded(unit_of_work)).output

        await run.deposits(
            a_deposit_message("reverted"),
            a_deposit_message("seen", version=4),
            a_deposit_message("confirmed", version=5),
        )

        swap = await loaded(unit_of_work)
        assert swap.status is Status.PAYOUT_PENDING
        assert swap.output is not None
        assert first is not None
        assert swap.output.id != first.id
        assert swap.sequence == 5

    async def test_matches_a_deposit_received_before_its_swap(
        self, unit_of_work: UnitOfWork
    ) -> None:
        run = Settler(unit_of_work)
        await run.deposits(funding(), a_deposit_message("seen"), a_deposit_message("confirmed"))
        source, _ = await inventory(unit_of_work)
        assert source.owed_base_units == REQUESTED

        await run.requests(a_request())

        swap = await loaded(unit_of_work)
        assert (swap.status, swap.sequence) == (Status.PAYOUT_PENDING, 2)
        assert [d.state for d in swap.deposits.values()] == [DepositState.CREDITED]
        assert swap.credited_base_units == REQUESTED

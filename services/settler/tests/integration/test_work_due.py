"""Work due after a batch: one suite for the unit of work in memory and the one on Postgres.

Each of the first tests applies the same facts in separate batches, and all in one batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import uuid5

import pytest

from services.settler.tests.factories import (
    DEADLINE,
    ETHEREUM,
    HOUR,
    LATER,
    MINUTE,
    NOON,
    POLYGON,
    REFUEL,
    REQUESTED,
    SIGNER,
    USER,
    a_deposit_message,
    a_payout_message,
    a_refund_address,
    a_request,
    a_swap,
    an_attachment,
    funding,
    swap_id,
)
from services.settler.tests.fakes import FakeRequotes, FakeUnitOfWork
from services.settler.tests.integration.lanes import sign
from services.settler.tests.settler_harness import Settler
from swap_contracts.envelope import Envelope
from swap_contracts.swaps import SwapRequest
from swap_domain.catalogue import NATIVE
from swap_domain.lifecycle import Status
from swap_runtime.postgres.database import Engine
from swap_runtime.postgres.sql import sql
from swap_settler.model.ports import UnitOfWork
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork
from swap_settler.model.swap import Intent, IntentKind, IntentState, Swap
from swap_settler.model.work_due import WAITS_FOR
from swap_settler.settling.decide.requests import begin
from swap_settler.settling.decide.requotes import RequoteRefusal
from swap_settler.settling.ports import DueRefunds, DueRequotes
from swap_settler.settling.store.due_refunds import PostgresDueRefunds
from swap_settler.settling.store.due_requotes import PostgresDueRequotes

BOTH = [pytest.param("fake"), pytest.param("postgres", marks=pytest.mark.connected)]
A_SIGNER = "INSERT INTO signer (network, address, next_nonce) VALUES (:network, :address, 0)"
AGES = (
    "UPDATE requote_due SET since = since - CAST(:by AS interval),"
    " due_at = due_at - CAST(:by AS interval)",
    "UPDATE refund_due SET since = since - CAST(:by AS interval),"
    " due_at = due_at - CAST(:by AS interval)",
)
WATCHED = """
INSERT INTO watch_cursor (network, number, hash, parent_hash, time, finalized_number, start_number,
                          checked_number, last_outbox_id)
VALUES (:network, 9, '0x1', '0x2', :time, 9, 0, 0, 0)
"""


class Subject:
    """A unit of work, and the ports that show its due work."""

    def __init__(
        self, unit_of_work: UnitOfWork, refunds: DueRefunds, requotes: DueRequotes
    ) -> None:
        self.unit_of_work = unit_of_work
        self.refunds = refunds
        self.requotes = requotes
        self.run = Settler(unit_of_work, refunds, requotes=requotes)

    async def swap(self) -> Swap:
        async with self.unit_of_work() as work:
            return (await work.lock_swaps_by_id([swap_id(7)]))[swap_id(7)]

    async def requests(self, *messages: Envelope[SwapRequest], together: bool) -> None:
        if together:
            await self.run.requests(*messages)
            return
        for message in messages:
            await self.run.requests(message)

    async def due_requotes(self) -> Sequence[timedelta]:
        return [one.waited for one in await self.requotes.due(limit=10)]

    async def due_refunds(self) -> int:
        return len(await self.refunds.due(ETHEREUM, limit=10))

    async def overdue(self, at: datetime) -> Sequence[Swap]:
        async with self.unit_of_work() as work:
            return list(await work.lock_overdue(at, limit=10))

    async def wait(self, duration: timedelta) -> None:
        if isinstance(self.unit_of_work, FakeUnitOfWork):
            self.unit_of_work.wait(duration)
            return
        assert isinstance(self.unit_of_work, PostgresUnitOfWork)
        async with self.unit_of_work._engine.begin() as connection:
            for statement in AGES:
                await connection.execute(sql(statement), {"by": duration})

    async def halted(self) -> str | None:
        """Return why the signers of the destination network stopped."""
        if isinstance(self.unit_of_work, FakeUnitOfWork):
            return self.unit_of_work.halted.get(POLYGON)
        assert isinstance(self.unit_of_work, PostgresUnitOfWork)
        async with self.unit_of_work._engine.connect() as connection:
            reason = await connection.scalar(sql("SELECT halted_reason FROM signer"))
        return str(reason)

    async def advance_watcher(self, at: datetime, request: pytest.FixtureRequest) -> None:
        """Advance the chain-watcher to a time, with all its messages received."""
        if isinstance(self.unit_of_work, FakeUnitOfWork):
            self.unit_of_work.block_times[ETHEREUM] = at
            return
        watcher: Engine = request.getfixturevalue("watcher")
        async with watcher.begin() as connection:
            await connection.execute(sql(WATCHED), {"network": ETHEREUM, "time": at})


@pytest.fixture(params=BOTH)
def subject(request: pytest.FixtureRequest) -> Subject:
    if request.param == "fake":
        work = FakeUnitOfWork()
        return Subject(work, work, FakeRequotes(work))
    engine = request.getfixturevalue("engine")
    return Subject(
        PostgresUnitOfWork(engine, consumer="settler"),
        PostgresDueRefunds(engine),
        PostgresDueRequotes(engine, consumer="settler"),
    )


BATCHES = pytest.mark.parametrize("together", [False, True], ids=["batch by batch", "in one"])


@BATCHES
async def test_a_requote_stays_due_when_a_later_fact_changes_no_sum(
    subject: Subject, together: bool
) -> None:
    run = subject.run
    transfer = a_deposit_message(number=None, kind="token_transfer", memo=None)
    await run.deposits(funding(), transfer)
    await run.requests(a_request())
    run.now = LATER

    attached = an_attachment(transfer, at=LATER)
    await subject.requests(attached, a_refund_address(), together=together)

    assert len(await subject.due_requotes()) == 1
    await run.requote_swaps()
    swap = await subject.swap()
    assert (swap.status, swap.quote.revision) == (Status.PAYOUT_PENDING, 1)
    assert await subject.due_requotes() == []


@BATCHES
async def test_a_requote_is_due_for_a_swap_requested_after_its_deposit(
    subject: Subject, together: bool
) -> None:
    run = subject.run
    await run.deposits(funding(), a_deposit_message(units=REQUESTED + 5))
    run.now = LATER

    await subject.requests(a_request(), a_refund_address(), together=together)

    assert len(await subject.due_requotes()) == 1


@pytest.mark.parametrize("last", ["reverted", "seen"])
async def test_a_requote_is_not_due_when_the_batch_takes_the_sum_away_again(
    subject: Subject, last: str
) -> None:
    run = subject.run
    await run.deposits(funding())
    await run.requests(a_request())
    run.now = LATER

    late = a_deposit_message(block_time=LATER)
    await run.deposits(late, a_deposit_message(last, version=3, block_time=LATER))

    assert await subject.due_requotes() == []


@BATCHES
async def test_a_later_fact_about_the_same_sum_asks_no_second_time(
    subject: Subject, together: bool
) -> None:
    run = subject.run
    await run.requests(a_request())
    run.now = LATER
    run.quoter.refused = RequoteRefusal.BELOW_MINIMUM
    await run.deposits(a_deposit_message(units=5, block_time=LATER))
    await run.requote_swaps()
    assert await subject.due_requotes() == []

    more = a_deposit_message("seen", nth=1, block_time=LATER)
    if together:
        await run.deposits(more, a_deposit_message("reverted", nth=1, version=2))
    else:
        await run.deposits(more)

    assert await subject.due_requotes() == []


async def test_a_requote_that_is_put_off_is_due_after_its_pause(subject: Subject) -> None:
    run = subject.run
    await run.deposits(funding())
    await run.requests(a_request())
    run.now = LATER
    await run.deposits(a_deposit_message(block_time=LATER))
    run.quoter.refused = RequoteRefusal.NO_ANSWER

    await run.requote_swaps()
    assert await subject.due_requotes() == []

    await subject.wait(2 * MINUTE)
    [waited] = await subject.due_requotes()
    assert 2 * MINUTE <= waited < 3 * MINUTE

    # Another amount is due at once, without a wait.
    await run.requote_swaps()
    await run.deposits(a_deposit_message(nth=1, block_time=LATER))
    [waited] = await subject.due_requotes()
    assert waited < MINUTE


async def test_requotes_are_dropped_or_put_off_as_the_quoter_answered(subject: Subject) -> None:
    run = subject.run
    await run.requests(*map(a_request, (7, 8, 9)))
    run.now = LATER
    await run.deposits(*(a_deposit_message(number=n, block_time=LATER) for n in (7, 8, 9)))

    async with subject.unit_of_work() as work:
        await work.settle_requotes_due([swap_id(7)], [swap_id(8)], pause=MINUTE)
        await work.settle_requotes_due([], [], pause=MINUTE)
    assert [one.swap_id for one in await subject.requotes.due(limit=10)] == [swap_id(9)]

    await subject.wait(MINUTE)
    waiting = await subject.requotes.due(limit=10)
    assert [one.swap_id for one in waiting] == [swap_id(9), swap_id(8)]
    assert all(MINUTE <= one.waited < 2 * MINUTE for one in waiting)


@BATCHES
async def test_a_refund_is_due_once(subject: Subject, together: bool) -> None:
    run = subject.run
    await run.requests(a_request())
    await run.requests(a_refund_address())
    first, second = a_deposit_message(), a_deposit_message("seen", nth=1)

    # No inventory is left for the payout, so the money is refunded.
    if together:
        await run.deposits(first, second)
    else:
        await run.deposits(first)
        await run.deposits(second)

    assert (await subject.swap()).status is Status.REFUND_PENDING
    assert await subject.due_refunds() == 1


async def test_a_refund_is_not_due_when_the_batch_takes_its_deposit_away_again(
    subject: Subject,
) -> None:
    run = subject.run
    await run.requests(a_request())
    await run.requests(a_refund_address())

    await run.deposits(a_deposit_message(), a_deposit_message("reverted"))

    assert (await subject.swap()).status is Status.DEPOSIT_PENDING
    assert await subject.due_refunds() == 0


async def test_a_refund_that_is_put_off_is_due_after_its_pause(subject: Subject) -> None:
    run = subject.run
    await run.requests(a_request())
    await run.requests(a_refund_address())
    await run.deposits(a_deposit_message())
    [due] = await subject.refunds.due(ETHEREUM, limit=10)

    async with subject.unit_of_work() as work:
        await work.postpone_refunds([due.id], pause=HOUR)
    assert await subject.due_refunds() == 0

    await subject.wait(HOUR)
    [again] = await subject.refunds.due(ETHEREUM, limit=10)
    assert again.id == due.id
    assert HOUR <= again.waited < HOUR + MINUTE
    async with subject.unit_of_work() as work:
        await work.drop_refunds_due([due.id])
    assert await subject.due_refunds() == 0


async def test_a_refund_that_is_put_off_goes_behind_the_others(subject: Subject) -> None:
    for number in (7, 8):
        await subject.run.requests(a_request(number))
        await subject.run.requests(a_refund_address(number))
        await subject.run.deposits(a_deposit_message(number=number))
    first, second = await subject.refunds.due(ETHEREUM, limit=10)
    assert [first.swap_id, second.swap_id] == [swap_id(7), swap_id(8)]

    async with subject.unit_of_work() as work:
        await work.postpone_refunds([first.id], pause=MINUTE)
    await subject.wait(HOUR)

    due = await subject.refunds.due(ETHEREUM, limit=10)
    assert [one.id for one in due] == [second.id, first.id]
    assert [one.id for one in await subject.refunds.due(ETHEREUM, limit=1)] == [second.id]


async def paid_with_refuel(subject: Subject) -> None:
    """Create a swap with a sent output and a refuel."""
    run = subject.run
    await run.deposits(funding(), funding(POLYGON, REFUEL * 10, token=NATIVE))
    await run.requests(a_request(refuel=True))
    await run.deposits(a_deposit_message())
    await sign(subject.unit_of_work)


@BATCHES
async def test_a_completion_is_due_once_the_output_is_final(
    subject: Subject, together: bool
) -> None:
    await paid_with_refuel(subject)
    seen, final = a_payout_message("seen"), a_payout_message("confirmed")

    if together:
        await subject.run.payouts(seen, final)
    else:
        await subject.run.payouts(seen)
        assert await subject.overdue(NOON + HOUR) == []
        await subject.run.payouts(final)

    assert await subject.overdue(NOON + WAITS_FOR - MINUTE) == []
    assert [swap.id for swap in await subject.overdue(NOON + WAITS_FOR)] == [swap_id(7)]
    subject.run.now = NOON + WAITS_FOR
    await subject.run.complete_swaps()
    assert (await subject.swap()).status is Status.COMPLETED
    assert await subject.overdue(DEADLINE) == []


async def test_swap_without_a_refuel_is_complete_with_its_final_output(
    subject: Subject,
) -> None:
    await subject.run.paid_for()
    await sign(subject.unit_of_work)

    await subject.run.payouts(a_payout_message("seen"), a_payout_message("confirmed"))

    assert (await subject.swap()).status is Status.COMPLETED
    assert await subject.overdue(DEADLINE) == []


def a_relay(swap: Swap) -> Intent:
    source = swap.terms.source
    return Intent(
        id=uuid5(swap.id, "gasless/1"),
        paid_id=None,
        swap_id=swap.id,
        deposit_id=None,
        kind=IntentKind.GASLESS,
        network=source.network,
        token=source.token,
        to_address=SIGNER,
        base_units=REQUESTED,
        charged_base_units=0,
        usd_micros=1,
        state=IntentState.RESERVED,
        due_at=NOON,
        created_at=NOON,
        payer=USER,
        call_data=b"x",
        not_after=DEADLINE,
    )


async def test_every_reason_of_a_batch_to_halt_a_network_is_stored(subject: Subject) -> None:
    if isinstance(subject.unit_of_work, PostgresUnitOfWork):
        async with subject.unit_of_work._engine.begin() as connection:
            await connection.execute(sql(A_SIGNER), {"network": POLYGON, "address": SIGNER})
    await subject.run.deposits(funding())

    await subject.run.payouts(a_payout_message(intent_id="5"), a_payout_message(intent_id="6"))

    halted = await subject.halted()
    assert halted is not None
    assert "payment 5 in " in halted
    assert "payment 6 in " in halted


class TestExpiring:
    """The swaps that a unit of work returns for expiry."""

    async def expiring(self, subject: Subject, now: datetime) -> Sequence[Swap]:
        async with subject.unit_of_work() as work:
            return list(await work.lock_expiring(now, limit=10))

    @pytest.mark.parametrize(
        ("clock", "block_time", "is_over"),
        [(HOUR, HOUR, True), (HOUR, timedelta(0), False), (timedelta(0), HOUR, False)],
        ids=["both", "the chain's is not", "ours is not"],
    )
    async def test_waits_for_both_clocks(
        self,
        subject: Subject,
        request: pytest.FixtureRequest,
        clock: timedelta,
        block_time: timedelta,
        is_over: bool,
    ) -> None:
        await subject.run.requests(a_request())
        await subject.advance_watcher(DEADLINE + block_time, request)

        assert bool(await self.expiring(subject, DEADLINE + clock)) is is_over

    async def test_waits_for_a_deposit_that_was_seen(
        self, subject: Subject, request: pytest.FixtureRequest
    ) -> None:
        await subject.run.requests(a_request())
        await subject.run.deposits(a_deposit_message("seen"))
        await subject.advance_watcher(DEADLINE + HOUR, request)

        assert await self.expiring(subject, DEADLINE + HOUR) == []

    @pytest.mark.breaks_invariants("I-22")  # the use cases decide which messages are published
    async def test_waits_for_a_signature_that_may_deposit(
        self, subject: Subject, request: pytest.FixtureRequest
    ) -> None:
        swap = a_swap()
        await subject.run.requests(a_request(8))
        async with subject.unit_of_work() as work:
            await work.flush([replace(begin(swap), intents=(a_relay(swap),))], [])
        await subject.advance_watcher(DEADLINE + HOUR, request)

        found = await self.expiring(subject, DEADLINE + HOUR)
        assert [one.id for one in found] == [swap_id(8)]

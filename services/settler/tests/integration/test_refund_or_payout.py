"""Schedules at random on a real Postgres: each leg is paid out or back once, or is owed.

The same test as in memory, for the statements, the constraints and the invariants.
`SCHEDULES` is the number of schedules, `SCHEDULES_SEED` their seed.
"""

from __future__ import annotations

import os
from collections import Counter
from contextlib import suppress
from datetime import timedelta
from random import Random
from typing import Final

import pytest

from services.settler.tests.factories import (
    DEADLINE,
    ETHEREUM,
    HOUR,
    LATER,
    NOON,
    PAYOUT,
    POLYGON,
    REFUEL,
    REQUESTED,
    a_deposit_message,
    a_payout_message,
    a_refund_address,
    a_request,
    funding,
)
from services.settler.tests.integration.postgres_books import PostgresBooks
from services.settler.tests.settler_harness import Settler
from swap_domain.catalogue import NATIVE
from swap_domain.lifecycle import Status
from swap_runtime.postgres.database import Engine
from swap_settler.model.ledger.accounts import AccountKind
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork
from swap_settler.model.swap import Intent, IntentKind, IntentState, Leg
from swap_settler.settling.decide import payouts
from swap_settler.settling.decide.deposits import NotReversible
from swap_settler.settling.decide.requotes import RequoteRefusal
from swap_settler.settling.store.due_refunds import PostgresDueRefunds
from swap_settler.settling.store.due_requotes import PostgresDueRequotes

pytestmark = pytest.mark.connected

SCHEDULES: Final = int(os.environ.get("SCHEDULES", "15"))
SEED: Final = int(os.environ.get("SCHEDULES_SEED", "1"))
UNITS: Final = (REQUESTED, REQUESTED // 2, 2 * REQUESTED, 100)
STEPS: Final = (
    "deposit", "deposit", "deposit", "reorg", "address", "start_refunds", "start_refunds",
    "requote", "requote", "sign", "sign", "sign", "mined", "mined", "final", "final", "unmined",
    "abandon", "deadline", "wait_for_the_refuel",
)  # fmt: skip
LENGTH_MAX: Final = 24
ROUNDS_MAX: Final = 20


class SwapSchedule:
    """One swap of a settler, with the facts that its chains would report."""

    def __init__(self, engine: Engine, watcher: Engine, number: int, random: Random) -> None:
        self.work = PostgresUnitOfWork(engine, consumer="settler")
        self.settler = Settler(
            self.work,
            PostgresDueRefunds(engine),
            requotes=PostgresDueRequotes(engine, consumer="settler"),
        )
        self.books = PostgresBooks(engine, watcher, number=number)
        self.number = number
        self.random = random
        self.versions: Counter[object] = Counter()
        self.units: dict[int, int] = {}
        self.paid: Counter[tuple[Leg, bool]] = Counter()

    async def begin(self) -> None:
        await self.settler.requests(a_request(self.number, refuel=self.random.random() < 0.5))
        if self.random.random() < 0.5:
            await self.address()

    async def deposit(self) -> None:
        nth = self.random.randrange(3)
        state = self.random.choice(("seen", "confirmed", "confirmed"))
        await self.report(state, nth, LATER if self.random.random() < 0.3 else NOON)

    async def reorg(self) -> None:
        if self.units:
            await self.report("reverted", self.random.choice(list(self.units)), NOON)

    async def report(self, state: str, nth: int, at: object) -> None:
        self.versions[nth] += 1
        units = self.units.setdefault(nth, self.random.choice(UNITS))
        message = a_deposit_message(
            state,
            number=self.number,
            nth=nth,
            units=units,
            version=self.versions[nth],
            block_time=at,
        )
        with suppress(NotReversible):  # cases for an operator
            await self.settler.deposits(message)

    async def address(self) -> None:
        await self.settler.requests(a_refund_address(self.number))

    async def start_refunds(self) -> None:
        self.settler.chain.base_fee = self.random.choice((10**9, 10**9, 10**10))
        await self.settler.start_refunds()

    async def requote(self) -> None:
        quoter = self.settler.quoter
        quoter.refused = self.random.choice((None, None, None, *RequoteRefusal))
        quoter.share_ppm = self.random.choice((998_000, 990_000, 500_000))
        await self.settler.requote_swaps()

    async def sign(self) -> None:
        intent = await self.chosen(IntentState.RESERVED)
        if intent is not None:
            await self.books.sign(intent, _hash(intent))
            swap = await self.books.swap()
            change = payouts.mark_sent(swap, intent.id, at=self.settler.now)
            await self.flush(change)

    async def mined(self) -> None:
        await self.log("seen")

    async def final(self) -> None:
        await self.log("confirmed")

    async def unmined(self) -> None:
        await self.log("reverted")

    async def log(self, state: str) -> None:
        intent = await self.chosen(IntentState.BROADCAST, IntentState.MINED)
        if intent is None:
            return
        self.versions[intent.paid_id] += 1
        message = a_payout_message(
            state,
            version=self.versions[intent.paid_id],
            transaction_hash=_hash(intent),
            intent_id=str(intent.paid_id),
            network=intent.network,
            token=intent.token,
            to_address=intent.to_address,
            base_units=str(intent.base_units),
        )
        await self.settler.payouts(message)
        if state == "confirmed":
            self.paid[intent.deposit_id, intent.kind is IntentKind.REFUEL] += 1

    async def abandon(self) -> None:
        intent = await self.chosen(IntentState.RESERVED, IntentState.BROADCAST)
        if intent is not None:
            await self.books.close(intent)
            swap = await self.books.swap()
            change = payouts.abandon_payment(
                swap, intent.id, at=self.settler.now, because="", failures=1
            )
            await self.flush(change)

    async def deadline(self) -> None:
        before, self.settler.now = self.settler.now, DEADLINE + 48 * HOUR
        await self.books.advance_watcher(self.settler.now)
        await self.settler.expire_swaps()
        self.settler.now = before

    async def wait_for_the_refuel(self) -> None:
        before, self.settler.now = self.settler.now, self.settler.now + timedelta(minutes=3)
        await self.settler.complete_swaps()
        self.settler.now = before

    async def flush(self, change: object) -> None:
        assert isinstance(change, payouts.Changes)
        if change == payouts.NOTHING:
            return
        swap_messages = self.settler.swap_messages
        async with self.work() as work:
            await work.flush([change], swap_messages.outgoing([change], at=self.settler.now))

    async def chosen(self, *states: IntentState) -> Intent | None:
        swap = await self.books.swap()
        there = sorted((i for i in swap.intents.values() if i.state in states), key=lambda i: i.id)
        return self.random.choice(there) if there else None

    async def run_until_idle(self) -> None:
        quoter = self.settler.quoter
        for _ in range(ROUNDS_MAX):
            quoter.refused, quoter.share_ppm = None, 998_000
            await self.books.exceed_quoter_patience(timedelta(0))
            await self.settler.requote_swaps()
            self.settler.chain.base_fee = 10**9
            await self.settler.start_refunds()
            await self.wait_for_the_refuel()
            while await self.chosen(IntentState.RESERVED):
                await self.sign()
            while await self.chosen(IntentState.BROADCAST, IntentState.MINED):
                await self.final()
            swap = await self.books.swap()
            is_open = any(i.confirmed_at is None for i in swap.intents.values())
            # A partial deposit below the minimum waits for the rest.
            is_asked_about = swap.asks_for_another_quote and not swap.lacks_base_units
            if not is_open and not is_asked_about:
                return
        raise AssertionError("it never comes to rest")


def _hash(intent: Intent) -> str:
    return f"0x{intent.id.hex:0>64}"


async def check(schedule_run: SwapSchedule) -> None:
    swap = await schedule_run.books.swap()
    assert swap.status not in (Status.PAYOUT_PENDING, Status.REFUND_PENDING)
    legs: list[tuple[Leg, int]] = [(None, sum(d.main_base_units for d in swap.booked))]
    legs += [(d.id, d.returned_base_units) for d in swap.deposits.values() if d.is_booked]
    spent = swap.credited_base_units - swap.refundable_base_units
    for leg, held in legs:
        is_waiting = leg is None and swap.status is Status.DEPOSIT_PENDING
        kind = AccountKind.SWAP_LIABILITY if is_waiting else AccountKind.CLAIMABLE
        owed = held - (spent if leg is None else 0)
        # Exactly one of payout and refund.
        assert schedule_run.paid[leg, False] <= 1
        is_paid = schedule_run.paid[leg, False] == 1
        assert await schedule_run.books.balance(kind, leg) == (0 if is_paid else owed)
    assert schedule_run.paid[None, True] <= 1
    is_over = swap.status in (Status.COMPLETED, Status.REFUNDED)
    assert (schedule_run.paid[None, False] == 1) is is_over
    assert set((await schedule_run.books.sums()).values()) <= {0}


@pytest.mark.parametrize("schedule", range(SCHEDULES))
async def test_every_leg_is_paid_out_or_back_or_owed(
    engine: Engine, watcher: Engine, schedule: int
) -> None:
    random = Random(f"{SEED}/{schedule}")
    schedule_run = SwapSchedule(engine, watcher, 7, random)
    await schedule_run.settler.deposits(
        funding(units=4 * PAYOUT),
        funding(POLYGON, 4 * REFUEL, token=NATIVE),
        funding(ETHEREUM),
    )
    await schedule_run.begin()
    for _ in range(random.randrange(LENGTH_MAX)):
        await getattr(schedule_run, random.choice(STEPS))()
    await schedule_run.run_until_idle()

    await check(schedule_run)

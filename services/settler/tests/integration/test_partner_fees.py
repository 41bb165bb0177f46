"""What apps earn by their own fees: owed with the final output, and each unit paid once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from services.settler.tests.fakes import FixedPrices
from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.lane_harness import (
    DESTINATION,
    IDS,
    NOW,
    QUOTE,
    SOURCE,
    World,
    a_recipient,
    a_request,
)
from swap_domain.catalogue import NATIVE
from swap_runtime.errors import RequestRefused
from swap_settler.model.swap import Intent
from swap_settler.operator.decide.stakes import CapLimit, CapName
from swap_settler.operator.store.caps import PostgresCaps
from swap_settler.operator.store.partner_fees import PostgresFeeUnitOfWork
from swap_settler.operator.usecases.manage_caps import ManageCaps
from swap_settler.operator.usecases.pay_claimable import PaymentOrder
from swap_settler.operator.usecases.pay_partner_fees import PayPartnerFees

pytestmark = pytest.mark.connected

PARTNER = a_recipient(77)
FEE = 25 * 10**14
NO_PRICES = FixedPrices()
SHARED = QUOTE.model_copy(
    update={"partner_fee_basis_points": 25, "partner_fee_base_units": str(FEE)}
)
OWED = """
SELECT account.kind, -account.balance AS units FROM account
WHERE account.app_id IS NOT NULL AND account.balance <> 0 ORDER BY account.kind
"""

LISTED = "SELECT * FROM partner_fee_earned ORDER BY at, id"
BALANCE = "SELECT waiting, pending, completed FROM partner_fee_balance"
PAYOUTS = "SELECT state, base_units, to_address, transaction_hash FROM partner_fee_payout"


class Worlds:
    """The network of payouts and the network of fees, on one database."""

    def __init__(self, there: World, here: World) -> None:
        self.there = there
        self.here = here

    async def earned(self, number: int) -> None:
        """Bring a swap to its final output."""
        there, before = self.there, await self.owed()
        await there.confirmed_swaps(1, first=number, quote=SHARED)
        await there.send_everything()
        there.chain.mine()
        results = await self.last_hash("output")
        await there.payout("seen", version=1, transaction_hash=results, is_first=False)
        assert await self.owed() == before
        await there.payout("confirmed", version=2, transaction_hash=results, is_first=False)

    async def paid(self) -> None:
        await self.here.send_everything()
        self.here.chain.mine()
        results = await self.last_hash("partner_fee")
        await self.here.payout("seen", version=1, transaction_hash=results, is_first=False)
        await self.here.payout("confirmed", version=2, transaction_hash=results, is_first=False)

    def paying(
        self, *, later: timedelta = timedelta(0), prices: FixedPrices = NO_PRICES
    ) -> PayPartnerFees:
        return PayPartnerFees(
            PostgresFeeUnitOfWork(self.here.engine, consumer="settler"),
            catalogue=self.here.catalogue,
            clock=lambda: NOW + later,
            swap_messages=self.here.swap_messages,
            prices=prices,
        )

    async def ordered(
        self,
        *,
        to: str = PARTNER,
        units: int = FEE,
        later: timedelta = timedelta(0),
        prices: FixedPrices = NO_PRICES,
    ) -> Intent:
        pay = self.paying(later=later, prices=prices)
        [fee] = await pay.list_owed(limit=20)
        return await pay(PaymentOrder(fee.id, units, to, by="ann", reason="their contract"))

    async def owed(self) -> list[tuple[str, int]]:
        return [(row.kind, int(row.units)) for row in await self.here.rows(OWED)]

    async def last_hash(self, kind: str) -> str:
        query = f"""
            SELECT attempt.transaction_hash FROM attempt
            JOIN slot_intent USING (network, signer, nonce)
            JOIN intent ON intent.id = slot_intent.intent_id
            WHERE intent.kind = '{kind}' ORDER BY attempt.nonce DESC LIMIT 1
        """
        [attempt] = await self.here.rows(query)
        return str(attempt.transaction_hash)


@asynccontextmanager
async def both(url: str) -> AsyncIterator[Worlds]:
    async with (
        opened_world(url, DESTINATION) as there,
        opened_world(url, SOURCE, beside_another=True) as here,
    ):
        yield Worlds(there, here)


@pytest.fixture
async def worlds(migrate_schema: Callable[[str], str]) -> AsyncIterator[Worlds]:
    async with both(migrate_schema("settler")) as worlds:
        yield worlds


async def test_fee_is_owed_to_the_app_once_the_output_is_final(worlds: Worlds) -> None:
    await worlds.earned(1)

    assert await worlds.owed() == [("partner_fee", FEE)]
    [fee] = await worlds.paying().list_owed(limit=20)
    assert (fee.app_id, fee.network, fee.token, fee.base_units) == (IDS, SOURCE, NATIVE, FEE)
    [entry] = await worlds.here.rows(
        "SELECT swap_id FROM ledger_transaction WHERE kind = 'partner_fee_earned'"
    )
    assert entry.swap_id == a_request(1).body.swap_id


async def test_fee_is_shown_among_the_postings_of_its_swap(worlds: Worlds) -> None:
    await worlds.earned(1)
    await worlds.earned(2)

    shown = await worlds.here.rows(
        f"""
        SELECT account, base_units FROM swap_posting
        WHERE swap_id = '{a_request(1).body.swap_id}' AND reason = 'partner_fee_earned' ORDER BY n
        """
    )

    assert [(row.account, int(row.base_units)) for row in shown] == [
        ("fee_income", FEE),
        ("partner_fee", -FEE),
    ]


async def test_fee_is_listed_for_its_app_with_its_swap_and_its_posting(worlds: Worlds) -> None:
    await worlds.earned(1)
    await worlds.earned(2)

    listed = await worlds.here.rows(LISTED)

    assert [(row.swap_id, int(row.base_units)) for row in listed] == [
        (a_request(number).body.swap_id, FEE) for number in (1, 2)
    ]
    assert {(row.app_id, row.network, row.token) for row in listed} == {(IDS, SOURCE, NATIVE)}
    booked = await worlds.here.rows(
        "SELECT id, at FROM ledger_transaction WHERE kind = 'partner_fee_earned' ORDER BY at, id"
    )
    assert [(row.id, row.at) for row in listed] == [(row.id, row.at) for row in booked]


async def test_the_shown_balance_waits_is_on_its_way_and_is_paid(worlds: Worlds) -> None:
    async def shown() -> list[int]:
        [row] = await worlds.here.rows(BALANCE)
        return [int(row.waiting), int(row.pending), int(row.completed)]

    await worlds.earned(1)
    assert await shown() == [FEE, 0, 0]
    await worlds.ordered()
    await worlds.earned(2)
    assert await shown() == [FEE, FEE, 0]
    await worlds.paid()
    assert await shown() == [FEE, 0, FEE]

    [payout] = await worlds.here.rows(PAYOUTS)
    assert (payout.state, int(payout.base_units), payout.to_address) == ("confirmed", FEE, PARTNER)
    assert payout.transaction_hash == await worlds.last_hash("partner_fee")


async def test_fee_is_paid_in_full_and_the_next_payment_has_another_id(worlds: Worlds) -> None:
    await worlds.earned(1)
    first = await worlds.ordered()
    assert await worlds.owed() == [("in_flight", FEE)]

    await worlds.paid()

    assert worlds.here.chain.world.balances[PARTNER, NATIVE] == FEE
    assert await worlds.owed() == []
    await worlds.earned(2)
    second = await worlds.ordered(later=timedelta(seconds=1))
    assert second.paid_id != first.paid_id
    await worlds.paid()
    assert worlds.here.chain.world.balances[PARTNER, NATIVE] == 2 * FEE


@pytest.mark.fault("M8")
async def test_fee_ordered_many_times_is_paid_once(worlds: Worlds) -> None:
    await worlds.earned(1)
    pay = worlds.paying()
    [fee] = await pay.list_owed(limit=20)
    order = PaymentOrder(fee.id, FEE, PARTNER, by="ann", reason="their contract")

    results = await asyncio.gather(*(pay(order) for _ in range(5)), return_exceptions=True)

    assert sum(isinstance(one, Intent) for one in results) == 1
    assert sum(isinstance(one, RequestRefused) for one in results) == 4
    await worlds.paid()
    assert worlds.here.chain.world.balances[PARTNER, NATIVE] == FEE


@pytest.mark.parametrize("units", [0, FEE + 1])
async def test_order_of_zero_or_more_than_owed_is_refused(worlds: Worlds, units: int) -> None:
    await worlds.earned(1)

    with pytest.raises(RequestRefused, match="list it again"):
        await worlds.ordered(units=units)


async def test_listed_fee_is_paid_before_the_fee_earned_since(
    worlds: Worlds,
) -> None:
    await worlds.earned(1)
    pay = worlds.paying()
    [listed] = await pay.list_owed(limit=20)
    await worlds.earned(2)

    first = await pay(PaymentOrder(listed.id, FEE, PARTNER, by="ann", reason="their contract"))

    assert (first.base_units, first.charged_base_units) == (FEE, FEE)
    assert await worlds.owed() == [("in_flight", FEE), ("partner_fee", FEE)]
    with pytest.raises(RequestRefused, match="on its way"):
        await worlds.ordered(later=timedelta(seconds=1))
    await worlds.paid()
    second = await worlds.ordered(later=timedelta(seconds=2))
    assert second.paid_id != first.paid_id
    await worlds.paid()
    assert worlds.here.chain.world.balances[PARTNER, NATIVE] == 2 * FEE
    assert await worlds.owed() == []


async def test_fee_that_its_recipient_refuses_is_owed_again_with_its_id(worlds: Worlds) -> None:
    await worlds.earned(1)
    worlds.here.chain.refuse(PARTNER)
    refused = await worlds.ordered()
    for _ in range(2):
        await worlds.here.send_everything()
    assert await worlds.owed() == [("partner_fee", FEE)]
    [shown] = await worlds.here.rows(BALANCE)
    assert [int(units) for units in shown] == [FEE, 0, 0]

    again = await worlds.ordered(to=a_recipient(78), later=timedelta(seconds=1))

    assert again.paid_id == refused.paid_id
    await worlds.paid()
    assert worlds.here.chain.world.balances[a_recipient(78), NATIVE] == FEE


async def test_a16_counts_under_the_app_s_cap_in_dollars_and_waits_when_it_is_full(
    worlds: Worlds,
) -> None:
    prices = FixedPrices({(SOURCE, NATIVE): 2_000 * 10**18})
    five_dollars = FEE * 2_000 // 10**12
    caps = PostgresCaps(worlds.here.engine, networks=[SOURCE])
    manage_caps = ManageCaps(caps, catalogue=worlds.here.catalogue)
    of_app, order = CapName(SOURCE, app_id=IDS), {"by": "ann", "reason": "as agreed"}
    await manage_caps.set(of_app, CapLimit(five_dollars, timedelta(days=1)), **order)
    await worlds.earned(1)
    await worlds.ordered(prices=prices)
    await worlds.paid()
    await worlds.earned(2)
    second = await worlds.ordered(later=timedelta(seconds=1), prices=prices)

    await worlds.here.send_everything()

    [waits] = await manage_caps.list_queued(limit=20)
    assert waits["intent_id"] == str(second.id)
    assert waits["reason"] == f"the cap of {IDS} has no room for it yet"

"""The owner's withdrawals from the Treasury: one suite for the fake and for Postgres."""

from __future__ import annotations

from typing import Any
from uuid import uuid5

import pytest

from services.settler.tests.factories import (
    ETHEREUM,
    NOON,
    OWNER,
    SOME,
    TREASURY,
    UNKNOWN_TOKEN,
    USDC,
    a_deposit_message,
    funding,
)
from services.settler.tests.fakes import FakeUnitOfWork
from services.settler.tests.settler_harness import Settler
from swap_contracts.deposits import DepositChanged
from swap_contracts.envelope import Envelope
from swap_settler.model.ledger.inventory import Inventory
from swap_settler.model.ports import UnitOfWork
from swap_settler.model.store.treasury_withdrawals import PostgresWithdrawals
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork
from swap_settler.sweeping.ports import Withdrawals
from swap_settler.sweeping.usecases.book_withdrawals import BookWithdrawals

ASSET = (ETHEREUM, USDC[ETHEREUM])


@pytest.fixture(params=["fake", pytest.param("postgres", marks=pytest.mark.connected)])
def unit_of_work(request: pytest.FixtureRequest) -> UnitOfWork:
    if request.param == "fake":
        return FakeUnitOfWork()
    return PostgresUnitOfWork(request.getfixturevalue("engine"), consumer="settler")


def withdrawals_of(unit_of_work: UnitOfWork) -> Withdrawals:
    if isinstance(unit_of_work, FakeUnitOfWork):
        return unit_of_work
    assert isinstance(unit_of_work, PostgresUnitOfWork)
    return PostgresWithdrawals(unit_of_work._engine)


def booking(unit_of_work: UnitOfWork) -> BookWithdrawals:
    withdrawals = withdrawals_of(unit_of_work)
    return BookWithdrawals(unit_of_work, withdrawals=withdrawals, clock=lambda: NOON)


def withdrawal(
    units: int, *, nth: int = 1, state: str = "confirmed", **more: Any
) -> Envelope[DepositChanged]:
    return a_deposit_message(
        state,
        number=None,
        units=units,
        nth=nth,
        kind="withdrawn",
        from_address=TREASURY[ETHEREUM],
        to_address=OWNER,
        deposit_id=uuid5(SOME, f"withdrawn/{nth}"),
        **more,
    )


async def inventory(unit_of_work: UnitOfWork) -> Inventory:
    async with unit_of_work() as work:
        return (await work.lock_inventory({ASSET}))[ASSET]


class TestAWithdrawal:
    async def test_is_unbooked_from_when_it_is_final_until_it_is_booked(
        self, unit_of_work: UnitOfWork
    ) -> None:
        run, withdrawals = Settler(unit_of_work), withdrawals_of(unit_of_work)
        await run.deposits(funding(ETHEREUM, 100))
        assert not await withdrawals.has_unbooked()

        await run.deposits(withdrawal(30, state="seen"))
        assert not await withdrawals.has_unbooked()
        await run.deposits(withdrawal(30))
        assert await withdrawals.has_unbooked()

        await booking(unit_of_work)()
        assert not await withdrawals.has_unbooked()

    async def test_is_booked_when_it_is_final_and_once(self, unit_of_work: UnitOfWork) -> None:
        run, book = Settler(unit_of_work), booking(unit_of_work)
        await run.deposits(funding(ETHEREUM, 100))

        await run.deposits(withdrawal(30, state="seen"))
        await book()
        assert (await inventory(unit_of_work)).held_base_units == 100
        for _ in range(2):
            await run.deposits(withdrawal(30))
            await book()

        assert (await inventory(unit_of_work)).held_base_units == 70

    async def test_that_arrives_before_the_swept_deposit_waits_for_it(
        self, unit_of_work: UnitOfWork
    ) -> None:
        run, book = Settler(unit_of_work), booking(unit_of_work)
        await run.deposits(withdrawal(30), withdrawal(5, nth=2))
        await book()
        assert (await inventory(unit_of_work)).held_base_units == 0

        await run.deposits(funding(ETHEREUM, 40))
        await book()

        assert (await inventory(unit_of_work)).held_base_units == 5

    async def test_in_the_batch_of_what_it_took_is_booked_behind_it(
        self, unit_of_work: UnitOfWork
    ) -> None:
        run = Settler(unit_of_work)

        await run.deposits(withdrawal(30), funding(ETHEREUM, 40))
        await booking(unit_of_work)()

        assert (await inventory(unit_of_work)).held_base_units == 10

    @pytest.mark.breaks_invariants("I-27")  # the owner does
    async def test_of_owed_money_makes_the_available_amount_negative(
        self, unit_of_work: UnitOfWork
    ) -> None:
        run = Settler(unit_of_work)
        await run.deposits(a_deposit_message(number=99, units=40))

        await run.deposits(withdrawal(40))
        await booking(unit_of_work)()

        row = await inventory(unit_of_work)
        assert (row.held_base_units, row.available_base_units) == (0, -40)

    async def test_of_a_token_outside_the_catalogue_is_not_booked(
        self, unit_of_work: UnitOfWork
    ) -> None:
        run = Settler(unit_of_work)

        await run.deposits(withdrawal(30, token=UNKNOWN_TOKEN, quarantine_reason="unknown_token"))

        assert await booking(unit_of_work)() is False

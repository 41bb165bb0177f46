"""Swaps without a requested sum: the deposit to their address defines it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from services.settler.tests.factories import (
    DEADLINE,
    ETHEREUM,
    HOUR,
    PAYOUT,
    POLYGON,
    REQUESTED,
    USER,
    a_deposit_message,
    a_refund_address,
    a_request,
    funding,
    swap_id,
)
from services.settler.tests.fakes import FakeRequotes, FakeUnitOfWork
from services.settler.tests.money_rows import BY_ADDRESS, NUMBER
from services.settler.tests.settler_harness import PPM, Settler
from swap_domain.lifecycle import Status
from swap_settler.model.swap import FailReason, Swap
from swap_settler.settling.decide.requotes import RequoteRefusal

DUST = 1


class Opened:
    """An open swap with a refund address, and enough inventory to pay it."""

    def __init__(self) -> None:
        self.work = FakeUnitOfWork()
        self.settler = Settler(self.work, self.work, requotes=FakeRequotes(self.work))

    async def begins(self) -> None:
        await self.settler.deposits(funding(POLYGON), funding(ETHEREUM))
        quoted = a_request(NUMBER, method="deposit_address", requested=0, fee=0, payout=0)
        await self.settler.requests(quoted)
        await self.settler.requests(a_refund_address(NUMBER, USER))

    async def comes(self, units: int, *, nth: int = 0) -> None:
        where: dict[str, Any] = {**BY_ADDRESS, "kind": "token_transfer"}
        where["number"] = where.pop("sequence_number")
        await self.settler.deposits(a_deposit_message(units=units, nth=nth, **where))
        await self.settler.requote_swaps()

    @property
    def swap(self) -> Swap:
        return self.work.swap(swap_id(NUMBER))


@pytest.fixture
async def opened() -> Opened:
    self = Opened()
    await self.begins()
    return self


@pytest.mark.fault("W14")
async def test_dust_waits_for_what_it_may_be_a_part_of(opened: Opened) -> None:
    await opened.comes(DUST)
    assert opened.swap.status is Status.DEPOSIT_PENDING

    await opened.comes(REQUESTED, nth=1)

    assert opened.swap.status is Status.PAYOUT_PENDING
    assert opened.swap.quote.requested_base_units == REQUESTED + DUST


async def test_dust_goes_back_at_the_deadline(opened: Opened) -> None:
    await opened.comes(DUST)

    opened.settler.now = DEADLINE + HOUR
    opened.work.block_times[ETHEREUM] = opened.settler.now
    await opened.settler.expire_swaps()

    assert (opened.swap.status, opened.swap.fail_reason) == (
        Status.REFUND_PENDING,
        FailReason.RECEIVED_LESS,
    )


async def test_deposit_above_the_maximum_is_refunded_at_once(opened: Opened) -> None:
    opened.settler.quoter.refused = RequoteRefusal.ABOVE_MAXIMUM
    await opened.comes(REQUESTED)

    assert opened.swap.fail_reason is FailReason.RECEIVED_MORE


async def test_an_unpriced_deposit_is_refunded_without_an_answer(opened: Opened) -> None:
    opened.settler.quoter.refused = RequoteRefusal.NO_ANSWER
    await opened.comes(REQUESTED)
    assert opened.swap.status is Status.DEPOSIT_PENDING

    opened.work.wait(timedelta(hours=1))
    await opened.settler.requote_swaps()

    assert opened.swap.fail_reason is FailReason.ROUTE_UNAVAILABLE


@pytest.mark.fault("M4")
async def test_minimum_payout_is_the_offer_less_the_slippage(opened: Opened) -> None:
    await opened.comes(REQUESTED)

    quote = opened.swap.quote
    share = PPM - quote.slippage_ppm
    assert quote.payout_base_units == PAYOUT
    assert quote.min_payout_base_units == PAYOUT * share // PPM

"""Refunds of unswept money: sent once the Treasury covers them, or claimable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from services.settler.tests.factories import (
    ETHEREUM,
    HOUR,
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
from services.settler.tests.money_rows import ADDRESS, NUMBER
from services.settler.tests.settler_harness import Settler
from swap_domain.lifecycle import Status
from swap_settler.model.ledger.accounts import AccountKind
from swap_settler.model.swap import FailReason, Swap
from swap_settler.settling.decide.requotes import RequoteRefusal
from swap_settler.settling.ports import DueRefund

LONG = 3 * HOUR


class WaitingRefunds:
    """Due refunds, with a wait that the test sets."""

    def __init__(self, work: FakeUnitOfWork) -> None:
        self._work = work
        self.waited = timedelta(0)

    async def due(self, network: str, *, limit: int) -> Sequence[DueRefund]:
        due_refunds = await self._work.due(network, limit=limit)
        return [replace(one, waited=self.waited) for one in due_refunds]


class UnsweptSwap:
    """A swap with a due refund and unswept money: nothing else covers the refund."""

    def __init__(self) -> None:
        self.work = FakeUnitOfWork()
        self.due = WaitingRefunds(self.work)
        self.settler = Settler(self.work, self.due, requotes=FakeRequotes(self.work))
        self.settler.quoter.refused = RequoteRefusal.ABOVE_MAXIMUM

    async def deposit(self, units: int) -> None:
        await self.settler.deposits(funding(POLYGON))
        request = a_request(NUMBER, method="deposit_address", requested=0, fee=0, payout=0)
        await self.settler.requests(request)
        await self.settler.requests(a_refund_address(NUMBER, USER))
        came = {"kind": "token_transfer", "number": None, "to_address": ADDRESS}
        await self.settler.deposits(a_deposit_message(units=units, **came))  # type: ignore[arg-type]
        await self.settler.requote_swaps()
        assert self.swap.status is Status.REFUND_PENDING

    @property
    def swap(self) -> Swap:
        return self.work.swap(swap_id(NUMBER))

    @property
    def claimable(self) -> int:
        kind, swap = AccountKind.CLAIMABLE, self.swap.id
        return -self.work.balance(kind, network=ETHEREUM, swap_id=swap, deposit_id=None)


async def test_a_refund_waits_for_the_sweep() -> None:
    unswept = UnsweptSwap()
    await unswept.deposit(REQUESTED)

    await unswept.settler.start_refunds()

    assert unswept.swap.status is Status.REFUND_PENDING
    assert unswept.work.refunds_due
    assert await unswept.work.due(ETHEREUM, limit=1) == []


async def test_a_refund_that_waits_for_too_long_is_claimable() -> None:
    unswept = UnsweptSwap()
    await unswept.deposit(REQUESTED)
    unswept.due.waited = LONG

    await unswept.settler.start_refunds()

    assert unswept.swap.status is Status.FAILED
    assert unswept.swap.fail_reason is FailReason.RECEIVED_MORE
    assert unswept.claimable == REQUESTED
    assert not unswept.work.refunds_due


async def test_a_refund_that_can_be_sent_is_sent_however_long_it_waited() -> None:
    unswept = UnsweptSwap()
    await unswept.deposit(REQUESTED)
    await unswept.settler.deposits(funding(ETHEREUM))
    unswept.due.waited = LONG

    await unswept.settler.start_refunds()

    assert unswept.swap.refund(None) is not None


async def test_a_refund_that_costs_what_it_returns_does_not_wait() -> None:
    unswept = UnsweptSwap()
    await unswept.deposit(1)

    await unswept.settler.start_refunds()

    assert unswept.swap.fail_reason is FailReason.REFUND_BELOW_COST
    assert unswept.claimable == 1
    assert not unswept.work.refunds_due

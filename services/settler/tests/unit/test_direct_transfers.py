"""Transfers directly to the Treasury: matched only by their memo."""

from __future__ import annotations

from typing import Any

import pytest

from services.settler.tests.factories import (
    ETHEREUM,
    OWNER,
    POLYGON,
    REQUESTED,
    TREASURY,
    USDC,
    a_deposit,
    a_deposit_message,
    a_request,
    funding,
    swap_id,
)
from services.settler.tests.fakes import FakeUnitOfWork
from services.settler.tests.settler_harness import Settler
from swap_chains.evm.memos import encode_memo
from swap_contracts.deposits import DepositChanged
from swap_contracts.envelope import Envelope
from swap_domain.catalogue import NATIVE
from swap_domain.lifecycle import Status
from swap_settler.model.ledger.ledger import AccountKind
from swap_settler.model.swap import Method


def memo(number: int) -> str:
    return "0x" + encode_memo(number).hex()


def a_transfer(state: str = "confirmed", **more: Any) -> Envelope[DepositChanged]:
    terms = {"number": None, "kind": "token_transfer", "memo": memo(7), **more}
    return a_deposit_message(state, **terms)


@pytest.fixture
def world() -> FakeUnitOfWork:
    return FakeUnitOfWork()


@pytest.fixture
def run(world: FakeUnitOfWork) -> Settler:
    return Settler(world)


class TestTheMemo:
    @pytest.mark.parametrize("kind", ["token_transfer", "native_received"])
    def test_names_its_swap(self, kind: str) -> None:
        deposit = a_deposit(number=None, kind=kind, memo=memo(2**53 - 1))

        assert deposit.method is Method.DIRECT
        assert deposit.match_key == f"{ETHEREUM}/{USDC[ETHEREUM]}/{2**53 - 1}"

    def test_is_requested_only_without_a_depository_log(self) -> None:
        deposit = a_deposit(number=8, memo=memo(7))

        assert deposit.sequence_number == 8

    @pytest.mark.parametrize("other", [None, "0x", "0x01", memo(7)[:-2], memo(7) + "00"])
    def test_is_read_only_when_complete(self, other: str | None) -> None:
        deposit = a_deposit(number=None, kind="token_transfer", memo=other)

        assert (deposit.sequence_number, deposit.match_key) == (None, None)


class TestMatching:
    async def test_a_transfer_with_its_memo_funds_the_swap(
        self, world: FakeUnitOfWork, run: Settler
    ) -> None:
        await run.deposits(funding())
        await run.requests(a_request())

        await run.deposits(a_transfer("seen"), a_transfer())

        swap = world.swap(swap_id(7))
        assert swap.status is Status.PAYOUT_PENDING
        assert [d.method for d in swap.deposits.values()] == [Method.DIRECT]
        assert world.balance(AccountKind.SUSPENSE) == 0

    async def test_a_transfer_that_is_faster_than_its_request_waits_for_it(
        self, world: FakeUnitOfWork, run: Settler
    ) -> None:
        await run.deposits(funding(), a_transfer())
        assert world.balance(AccountKind.SUSPENSE) == -REQUESTED

        await run.requests(a_request())

        assert world.swap(swap_id(7)).status is Status.PAYOUT_PENDING
        assert world.balance(AccountKind.SUSPENSE) == 0

    @pytest.mark.fault("W16")
    async def test_w16_one_movement_is_never_two_swaps(
        self, world: FakeUnitOfWork, run: Settler
    ) -> None:
        """Two swaps expect the same amount of the same token."""
        await run.deposits(funding())
        await run.requests(a_request(7), a_request(8))

        await run.deposits(a_transfer())

        statuses = [world.swap(swap_id(n)).status for n in (7, 8)]
        assert statuses == [Status.PAYOUT_PENDING, Status.DEPOSIT_PENDING]

    @pytest.mark.parametrize(
        "wrong",
        [
            pytest.param({"memo": None}, id="no memo"),
            pytest.param({"memo": memo(9)}, id="a memo that nobody knows"),
            pytest.param({"memo": "0x" + "5a" * 32}, id="a memo of somebody else's"),
            pytest.param({"token": NATIVE, "kind": "native_received"}, id="another token"),
            pytest.param(
                {
                    "network": POLYGON,
                    "token": USDC[POLYGON],
                    "to_address": TREASURY[POLYGON],
                },
                id="another network",
            ),
        ],
    )
    @pytest.mark.fault("W22")
    async def test_w22_what_fits_no_swap_is_claimable_and_moves_none(
        self, world: FakeUnitOfWork, run: Settler, wrong: dict[str, Any]
    ) -> None:
        await run.requests(a_request())

        await run.deposits(a_transfer("seen", **wrong), a_transfer(**wrong))

        swap = world.swap(swap_id(7))
        assert (swap.status, swap.sequence, swap.quote.locked_at) == (
            Status.DEPOSIT_PENDING,
            1,
            None,
        )
        network = wrong.get("network", ETHEREUM)
        token = wrong.get("token", USDC[ETHEREUM])
        assert world.balance(AccountKind.SUSPENSE, network=network, token=token) == -REQUESTED

    async def test_the_owners_money_is_funding_whatever_it_carries(
        self, world: FakeUnitOfWork, run: Settler
    ) -> None:
        await run.requests(a_request())

        await run.deposits(a_transfer(from_address=OWNER))

        assert world.swap(swap_id(7)).status is Status.DEPOSIT_PENDING
        assert world.balance(AccountKind.EQUITY) == -REQUESTED

"""The owner's withdrawals: booked in order, and never before the ledger has the amount."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from services.settler.tests.factories import ETHEREUM, NOON, OWNER, POLYGON, TREASURY, USDC
from swap_domain.catalogue import NATIVE
from swap_settler.model.ledger.accounts import (
    Account,
    AccountKind,
    Holder,
    LedgerTransaction,
    Posting,
)
from swap_settler.model.ledger.inventory import AssetKey, Inventory
from swap_settler.model.treasury import Withdrawal
from swap_settler.sweeping.decide.withdrawals import book

TOKEN: AssetKey = (ETHEREUM, USDC[ETHEREUM])
COIN: AssetKey = (ETHEREUM, NATIVE)


def withdrawal(n: int, units: int, asset: AssetKey = TOKEN) -> Withdrawal:
    return Withdrawal(
        id=UUID(int=n),
        version=2,
        state="confirmed",
        network=asset[0],
        token=asset[1],
        treasury=TREASURY[asset[0]],
        to_address=OWNER,
        base_units=units,
        transaction_hash=f"0x{n}",
        block_number=n,
        block_hash=f"0xb{n}",
        block_time=NOON,
    )


def entry(one: Withdrawal) -> LedgerTransaction:
    custody = Account(AccountKind.CUSTODY, *one.asset, holder=Holder.TREASURY, address=one.treasury)
    return LedgerTransaction(
        "withdrawn",
        f"withdrawn/{one.id}",
        None,
        one.network,
        one.block_number,
        (
            Posting(Account(AccountKind.EQUITY, *one.asset), one.base_units),
            Posting(custody, -one.base_units),
        ),
    )


def rows(held: int, owed: int = 0) -> dict[AssetKey, Inventory]:
    return {
        asset: Inventory(*asset, held_base_units=held, owed_base_units=owed)
        for asset in (TOKEN, COIN, (POLYGON, NATIVE))
    }


@pytest.mark.parametrize(
    ("units", "done", "short"),
    [
        ([100], [1], []),
        ([101], [], [1]),
        ([60, 40], [1, 2], []),
        ([60, 41], [1], [2]),
        ([101, 1], [], [1, 2]),  # no later one is admitted first
        ([60, 41, 1], [1], [2, 3]),
        ([], [], []),
    ],
)
def test_withdrawals_are_booked_in_block_order_up_to_the_ledgers_amount(
    units: list[int], done: list[int], short: list[int]
) -> None:
    final = [withdrawal(n, one) for n, one in enumerate(units, 1)]

    booking = book(final, rows(100))

    assert [one.block_number for one in booking.done] == done
    assert [one.block_number for one in booking.short] == short
    assert booking.entries == tuple(entry(one) for one in booking.done)
    assert booking.indebted == ()


def test_an_asset_that_waits_holds_up_no_other() -> None:
    final = [
        withdrawal(1, 101),
        withdrawal(2, 1, COIN),
        withdrawal(3, 1, (POLYGON, NATIVE)),
        withdrawal(4, 1),
    ]

    booking = book(final, rows(100))

    assert [one.block_number for one in booking.done] == [2, 3]
    assert [one.block_number for one in booking.short] == [1, 4]


@pytest.mark.parametrize(("units", "is_indebted"), [(60, False), (61, True)])
def test_withdrawals_above_the_owners_money_are_reported(units: int, *, is_indebted: bool) -> None:
    booking = book([withdrawal(1, units), withdrawal(2, 1, COIN)], rows(100, owed=40))

    assert booking.indebted == ((TOKEN,) if is_indebted else ())
    assert len(booking.done) == 2


def test_debt_without_a_withdrawal_is_not_reported() -> None:
    indebted = {asset: replace(row, owed_base_units=101) for asset, row in rows(100).items()}

    assert book([withdrawal(1, 1, COIN)], indebted).indebted == (COIN,)

from __future__ import annotations

from uuid import NAMESPACE_URL, uuid5

import pytest

from services.settler.tests.factories import ETHEREUM, POLYGON, SIGNER, USDC
from swap_domain.catalogue import NATIVE
from swap_settler.model.ledger.accounts import (
    OWING,
    Account,
    AccountKind,
    Holder,
    LedgerTransaction,
    Posting,
    UnbalancedTransaction,
)
from swap_settler.model.ledger.inventory import Inventory, assets_moved, inventory_after
from swap_settler.model.ledger.ledger import gas_spent, signer_topped_up


def booked(*moves: tuple[Account, int]) -> LedgerTransaction:
    postings = tuple(Posting(account, units) for account, units in moves)
    return LedgerTransaction("test", "test/1", None, None, None, postings)


def account(kind: AccountKind, network: str = ETHEREUM) -> Account:
    return Account(kind, network, USDC[network])


TREASURY = Account(
    AccountKind.CUSTODY, ETHEREUM, USDC[ETHEREUM], holder=Holder.TREASURY, address="0x1"
)


@pytest.mark.parametrize(
    "moves",
    [
        (),
        ((account(AccountKind.LOSS), 1),),
        ((account(AccountKind.LOSS), 2), (account(AccountKind.EQUITY), -1)),
        ((account(AccountKind.LOSS), 1), (account(AccountKind.EQUITY, POLYGON), -1)),
    ],
)
def test_postings_that_do_not_sum_to_zero_per_asset_are_refused(
    moves: tuple[tuple[Account, int]],
) -> None:
    with pytest.raises(UnbalancedTransaction, match=r"^test/1: "):
        booked(*moves)


def test_id_of_a_booking_is_derived_from_its_unique_name() -> None:
    moves = (account(AccountKind.LOSS), 1), (account(AccountKind.EQUITY), -1)

    assert booked(*moves).id == uuid5(NAMESPACE_URL, "ledger/test/1")


def test_gas_is_booked_once_per_nonce_from_the_signers_custody() -> None:
    entry = gas_spent(
        network=ETHEREUM, signer=SIGNER, native=NATIVE, nonce=7, base_units=5, block_number=9
    )

    assert entry.dedupe_key == f"gas/{ETHEREUM}/{SIGNER}/7"
    assert [(p.account.kind, p.account.holder, p.base_units) for p in entry.postings] == [
        (AccountKind.GAS_EXPENSE, None, 5),
        (AccountKind.CUSTODY, Holder.SIGNER, -5),
    ]
    assert entry.effective_block == 9


def test_a_top_up_is_the_owners_money_and_pays_no_swap() -> None:
    entry = signer_topped_up(
        network=ETHEREUM, signer=SIGNER, native=NATIVE, base_units=5, block_number=9
    )

    assert entry.postings[1].account.kind is AccountKind.EQUITY
    assert assets_moved([entry]) == set()
    row = Inventory(ETHEREUM, NATIVE)
    assert inventory_after(row, [entry]) == row


class TestInventory:
    def test_holds_what_the_treasury_received_and_owes_what_has_an_owner(self) -> None:
        owed = account(AccountKind.SWAP_LIABILITY)

        row = inventory_after(
            Inventory(ETHEREUM, USDC[ETHEREUM]), [booked((TREASURY, 5), (owed, -5))]
        )

        assert (row.held_base_units, row.owed_base_units, row.version) == (5, 5, 1)
        assert row.available_base_units == 0

    @pytest.mark.parametrize("kind", sorted(OWING))
    def test_counts_every_kind_of_debt(self, kind: AccountKind) -> None:
        entry = booked((account(AccountKind.POSITION), 3), (account(kind), -3))

        assert (
            inventory_after(Inventory(ETHEREUM, USDC[ETHEREUM], 9), [entry]).available_base_units
            == 6
        )

    def test_is_unchanged_by_other_postings(self) -> None:
        row = Inventory(ETHEREUM, USDC[ETHEREUM], 9, 1, 4)
        there = booked((account(AccountKind.IN_FLIGHT), -1), (account(AccountKind.CLAIMABLE), 1))

        assert inventory_after(row, [there]) is row

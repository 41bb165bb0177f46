"""Every booking to the base unit: the ledger's table of docs/money.md, row by row.

A booking's key makes it unique. Its network and block define up to which block of a chain the
ledger must have been read. So both belong to the row.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from services.settler.tests.factories import (
    ETHEREUM,
    NOON,
    POLYGON,
    RECIPIENT,
    SIGNER,
    SOME,
    TREASURY,
    USDC,
    a_deposit,
    a_payout,
    a_swap,
)
from swap_domain.catalogue import NATIVE
from swap_settler.model.ledger import ledger
from swap_settler.model.ledger.accounts import (
    Account,
    AccountKind,
    Holder,
    LedgerTransaction,
    Posting,
)
from swap_settler.model.swap import Intent, IntentKind, IntentState, Method, Refuel

K = AccountKind
SOURCE, DESTINATION = (ETHEREUM, USDC[ETHEREUM]), (POLYGON, USDC[POLYGON])
COIN = (POLYGON, NATIVE)
REQUESTED, FEE, PAYOUT, REFUEL, CHARGED = 1_000_000, 1_000, 980_000, 10**15, 2_000
SWAPPED = REQUESTED - CHARGED
RETURNED, MAIN = 300, 700  # a deposit that the swap takes in part

SWAP = replace(a_swap(requested=REQUESTED, fee=FEE, payout=PAYOUT, refuel=True), sequence=4)
ID = SWAP.id
BOUGHT = Refuel(REFUEL, CHARGED, 10**18)
DEPOSIT = a_deposit("confirmed", units=REQUESTED)
SPLIT = replace(DEPOSIT, base_units=MAIN + RETURNED, returned_base_units=RETURNED)
AT_ADDRESS = replace(DEPOSIT, method=Method.DEPOSIT_ADDRESS, to_address=RECIPIENT)
FUNDING = replace(DEPOSIT, method=Method.FUNDING)
OWN = SPLIT.id
INTENT = UUID(int=9)


def an_intent(
    kind: IntentKind, asset: tuple[str, str], units: int, *, charged: int = 0, **more: Any
) -> Intent:
    values: dict[str, Any] = {"swap_id": ID, "deposit_id": None, "usd_micros": 0} | more
    return Intent(
        id=INTENT,
        paid_id=5,
        kind=kind,
        network=asset[0],
        token=asset[1],
        to_address=RECIPIENT,
        base_units=units,
        charged_base_units=charged,
        state=IntentState.BROADCAST,
        due_at=NOON,
        created_at=NOON,
        **values,
    )


OUTPUT = an_intent(IntentKind.OUTPUT, DESTINATION, PAYOUT)
SENT_REFUEL = an_intent(IntentKind.REFUEL, COIN, REFUEL, charged=CHARGED)
REFUND = an_intent(IntentKind.REFUND, SOURCE, 900, charged=1_000)
OWN_REFUND = replace(REFUND, deposit_id=OWN)
CLAIM = an_intent(IntentKind.CLAIM, SOURCE, 800, charged=800)
CLAIM_WITHOUT_SWAP = replace(CLAIM, swap_id=None, deposit_id=OWN)
FEES = an_intent(IntentKind.PARTNER_FEE, SOURCE, 70, swap_id=None, app_id=SOME)
PAID = a_payout(base_units=str(PAYOUT))


def of(kind: AccountKind, asset: tuple[str, str] = SOURCE, **more: Any) -> Account:
    return Account(kind, *asset, **more)


def of_swap(kind: AccountKind, asset: tuple[str, str] = SOURCE, leg: UUID | None = None) -> Account:
    return Account(kind, *asset, swap_id=ID, deposit_id=leg)


def custody(
    asset: tuple[str, str] = SOURCE,
    holder: Holder = Holder.TREASURY,
    address: str | None = None,
) -> Account:
    return of(K.CUSTODY, asset, holder=holder, address=address or TREASURY[asset[0]])


def entry(
    key: str,
    *moves: tuple[Account, int],
    swap_id: UUID | None = ID,
    at: tuple[str | None, int | None] = (None, None),
) -> LedgerTransaction:
    postings = tuple(Posting(account, units) for account, units in moves)
    return LedgerTransaction(key.partition("/")[0], key, swap_id, *at, postings)


HERE = (ETHEREUM, 102)  # the deposit's block
SIGNERS = custody((POLYGON, NATIVE), Holder.SIGNER, SIGNER)
AT_THE_ADDRESS = custody(SOURCE, Holder.DEPOSIT_ADDRESS, RECIPIENT)
QUOTE = (
    (of_swap(K.SWAP_LIABILITY), SWAPPED),
    (of(K.POSITION), FEE - SWAPPED),
    (of(K.FEE_INCOME), -FEE),
    (of(K.POSITION, DESTINATION), PAYOUT),
    (of_swap(K.SWAP_LIABILITY, DESTINATION), -PAYOUT),
)
REFUEL_BOUGHT = (
    (of_swap(K.SWAP_LIABILITY), CHARGED),
    (of(K.POSITION), -CHARGED),
    (of(K.POSITION, COIN), REFUEL),
    (of_swap(K.REFUEL_LIABILITY, COIN), -REFUEL),
)


def back(*moves: tuple[Account, int]) -> tuple[tuple[Account, int], ...]:
    return tuple((account, -units) for account, units in moves)


JOURNAL = {
    # Movements without a swap
    "the owner funds the Treasury": (
        lambda: ledger.deposit_received(FUNDING),
        entry(
            f"funded/{DEPOSIT.id}/2",
            (custody(), REQUESTED),
            (of(K.EQUITY), -REQUESTED),
            swap_id=None,
            at=HERE,
        ),
    ),
    "a reorg took the owner's funding": (
        lambda: ledger.receipt_reversed(FUNDING, version=3),
        entry(
            f"unfunded/{DEPOSIT.id}/3",
            (of(K.EQUITY), REQUESTED),
            (custody(), -REQUESTED),
            swap_id=None,
            at=HERE,
        ),
    ),
    "a deposit without a swap": (
        lambda: ledger.deposit_received(DEPOSIT),
        entry(
            f"suspended/{DEPOSIT.id}/2",
            (custody(), REQUESTED),
            (of(K.SUSPENSE, deposit_id=DEPOSIT.id), -REQUESTED),
            swap_id=None,
            at=HERE,
        ),
    ),
    "a reorg took a deposit without a swap": (
        lambda: ledger.receipt_reversed(DEPOSIT, version=3),
        entry(
            f"unsuspended/{DEPOSIT.id}/3",
            (of(K.SUSPENSE, deposit_id=DEPOSIT.id), REQUESTED),
            (custody(), -REQUESTED),
            swap_id=None,
            at=HERE,
        ),
    ),
    "a deposit in suspense is matched, which moves no custody": (
        lambda: ledger.deposit_matched(SWAP, DEPOSIT),
        entry(
            f"matched/{DEPOSIT.id}/2",
            (of(K.SUSPENSE, deposit_id=DEPOSIT.id), REQUESTED),
            (of_swap(K.SWAP_LIABILITY), -REQUESTED),
        ),
    ),
    # Deposits of a swap
    "a deposit is credited": (
        lambda: ledger.deposit_credited(SWAP, DEPOSIT),
        entry(
            f"credited/{DEPOSIT.id}/2",
            (custody(), REQUESTED),
            (of_swap(K.SWAP_LIABILITY), -REQUESTED),
            at=HERE,
        ),
    ),
    "a deposit at an address is held there": (
        lambda: ledger.deposit_credited(SWAP, AT_ADDRESS),
        entry(
            f"credited/{DEPOSIT.id}/2",
            (AT_THE_ADDRESS, REQUESTED),
            (of_swap(K.SWAP_LIABILITY), -REQUESTED),
            at=HERE,
        ),
    ),
    "a credit is reversed by a reorg": (
        lambda: ledger.credit_reversed(SWAP, DEPOSIT, version=3),
        entry(
            f"credit_reversed/{DEPOSIT.id}/3",
            (of_swap(K.SWAP_LIABILITY), REQUESTED),
            (custody(), -REQUESTED),
            at=HERE,
        ),
    ),
    "a reorg took what was paid for": (
        lambda: ledger.deposit_lost(SWAP, SPLIT),
        entry(f"lost/{OWN}/2", (of_swap(K.LOSS), MAIN), (custody(), -MAIN), at=HERE),
    ),
    "a reorg took what was sent back on its own leg": (
        lambda: ledger.deposit_lost(SWAP, SPLIT, OWN),
        entry(
            f"lost/{OWN}/2/own",
            (of_swap(K.LOSS, leg=OWN), RETURNED),
            (custody(), -RETURNED),
            at=HERE,
        ),
    ),
    "what was lost is mined again": (
        lambda: ledger.deposit_recovered(SWAP, SPLIT),
        entry(f"recovered/{OWN}/2", (custody(), MAIN), (of_swap(K.LOSS), -MAIN), at=HERE),
    ),
    "what was lost on its own leg is mined again": (
        lambda: ledger.deposit_recovered(SWAP, SPLIT, OWN),
        entry(
            f"recovered/{OWN}/2/own",
            (custody(), RETURNED),
            (of_swap(K.LOSS, leg=OWN), -RETURNED),
            at=HERE,
        ),
    ),
    "money that cannot be used is claimable": (
        lambda: ledger.claimable(SWAP, 900),
        entry(f"claimable/{ID}/4", (of_swap(K.SWAP_LIABILITY), 900), (of_swap(K.CLAIMABLE), -900)),
    ),
    "so is that of an own leg": (
        lambda: ledger.claimable(SWAP, 900, OWN),
        entry(
            f"claimable/{ID}/4/{OWN}",
            (of_swap(K.SWAP_LIABILITY, leg=OWN), 900),
            (of_swap(K.CLAIMABLE, leg=OWN), -900),
        ),
    ),
    "what was claimable is to be sent back": (
        lambda: ledger.claimable_to_liability(SWAP, 900),
        entry(f"unclaimed/{ID}/4", (of_swap(K.CLAIMABLE), 900), (of_swap(K.SWAP_LIABILITY), -900)),
    ),
    "so is that of an own leg, by the same fact": (
        lambda: ledger.claimable_to_liability(SWAP, 900, OWN),
        entry(
            f"unclaimed/{ID}/4/{OWN}",
            (of_swap(K.CLAIMABLE, leg=OWN), 900),
            (of_swap(K.SWAP_LIABILITY, leg=OWN), -900),
        ),
    ),
    "a reorg took what was claimable": (
        lambda: ledger.claim_reversed(SWAP, SPLIT, None, version=3),
        entry(
            f"claim_reversed/{OWN}/3",
            (of_swap(K.CLAIMABLE), MAIN),
            (of_swap(K.SWAP_LIABILITY), -MAIN),
        ),
    ),
    "a reorg took what was claimable on its own leg": (
        lambda: ledger.claim_reversed(SWAP, SPLIT, OWN, version=3),
        entry(
            f"claim_reversed/{OWN}/3/own",
            (of_swap(K.CLAIMABLE, leg=OWN), RETURNED),
            (of_swap(K.SWAP_LIABILITY), -RETURNED),
        ),
    ),
    "what the swap does not take of a deposit": (
        lambda: ledger.excess_returned(SWAP, DEPOSIT, 300),
        entry(
            f"returned/{DEPOSIT.id}/2/4",
            (of_swap(K.SWAP_LIABILITY), 300),
            (of_swap(K.CLAIMABLE, leg=DEPOSIT.id), -300),
        ),
    ),
    # Quote and payout
    "a quote is executed": (
        lambda: ledger.quote_executed(SWAP, OUTPUT),
        entry(f"quote_executed/{INTENT}", *QUOTE),
    ),
    "a quote is reversed": (
        lambda: ledger.quote_reversed(SWAP, OUTPUT),
        entry(f"quote_reversed/{INTENT}", *back(*QUOTE)),
    ),
    "a payout is reserved": (
        lambda: ledger.payout_reserved(SWAP, OUTPUT),
        entry(
            f"payout_reserved/{INTENT}",
            (of_swap(K.SWAP_LIABILITY, DESTINATION), PAYOUT),
            (of_swap(K.IN_FLIGHT, DESTINATION), -PAYOUT),
        ),
    ),
    "a dead payout is owed again": (
        lambda: ledger.payout_released(SWAP, OUTPUT),
        entry(
            f"payout_released/{INTENT}",
            (of_swap(K.IN_FLIGHT, DESTINATION), PAYOUT),
            (of_swap(K.SWAP_LIABILITY, DESTINATION), -PAYOUT),
        ),
    ),
    "a payout is final": (
        lambda: ledger.payout_final(OUTPUT, block_number=500, treasury=TREASURY[POLYGON]),
        entry(
            f"payout_final/{INTENT}",
            (of_swap(K.IN_FLIGHT, DESTINATION), PAYOUT),
            (custody(DESTINATION), -PAYOUT),
            at=(POLYGON, 500),
        ),
    ),
    "a refund of an own leg is reserved there": (
        lambda: ledger.payout_reserved(SWAP, OWN_REFUND),
        entry(
            f"refund_reserved/{INTENT}",
            (of_swap(K.SWAP_LIABILITY, leg=OWN), 900),
            (of_swap(K.IN_FLIGHT, leg=OWN), -900),
        ),
    ),
    "a refund is charged its gas": (
        lambda: ledger.refund_cost(SWAP, REFUND),
        entry(
            f"refund_cost/{INTENT}", (of_swap(K.SWAP_LIABILITY), 100), (of(K.GAS_RECOVERED), -100)
        ),
    ),
    "a dead refund is charged nothing": (
        lambda: ledger.refund_cost_reversed(SWAP, OWN_REFUND),
        entry(
            f"refund_cost_reversed/{INTENT}",
            (of_swap(K.SWAP_LIABILITY, leg=OWN), -100),
            (of(K.GAS_RECOVERED), 100),
        ),
    ),
    "claimable money is paid by an order": (
        lambda: ledger.claim_reserved(CLAIM),
        entry(
            f"claim_reserved/{INTENT}", (of_swap(K.CLAIMABLE), 800), (of_swap(K.IN_FLIGHT), -800)
        ),
    ),
    "the payment of claimable money is dead": (
        lambda: ledger.claim_released(CLAIM),
        entry(
            f"claim_released/{INTENT}", (of_swap(K.CLAIMABLE), -800), (of_swap(K.IN_FLIGHT), 800)
        ),
    ),
    "suspense is paid by an order": (
        lambda: ledger.claim_reserved(CLAIM_WITHOUT_SWAP),
        entry(
            f"claim_reserved/{INTENT}",
            (of(K.SUSPENSE, deposit_id=OWN), 800),
            (of(K.IN_FLIGHT, deposit_id=OWN), -800),
            swap_id=None,
        ),
    ),
    "the payment of suspense is dead": (
        lambda: ledger.claim_released(CLAIM_WITHOUT_SWAP),
        entry(
            f"claim_released/{INTENT}",
            (of(K.SUSPENSE, deposit_id=OWN), -800),
            (of(K.IN_FLIGHT, deposit_id=OWN), 800),
            swap_id=None,
        ),
    ),
    "the Treasury paid what was not ordered": (
        lambda: ledger.payout_unexplained(
            network=POLYGON,
            token=USDC[POLYGON],
            paid_id=5,
            transaction_hash="0x11",
            base_units=60,
            block_number=500,
            treasury=TREASURY[POLYGON],
        ),
        entry(
            f"payout_unexplained/{POLYGON}/5/0x11",
            (of(K.PAYOUT_SUSPENSE, DESTINATION), 60),
            (custody(DESTINATION), -60),
            swap_id=None,
            at=(POLYGON, 500),
        ),
    ),
    "an operator explained it": (
        lambda: ledger.book_reconciled_payout(PAID, TREASURY[POLYGON]),
        entry(
            f"payout_explained/{POLYGON}/{PAID.paid_id}/{PAID.transaction_hash}",
            (custody(DESTINATION), PAYOUT),
            (of(K.PAYOUT_SUSPENSE, DESTINATION), -PAYOUT),
            swap_id=None,
            at=(POLYGON, 500),
        ),
    ),
    # Refuels
    "a refuel is bought": (
        lambda: ledger.refuel_bought(SWAP, BOUGHT),
        entry(f"refuel_bought/{ID}/4", *REFUEL_BOUGHT),
    ),
    "a refuel is given back with its output": (
        lambda: ledger.refuel_unbought(SWAP, BOUGHT),
        entry(f"refuel_unbought/{ID}/4", *back(*REFUEL_BOUGHT)),
    ),
    "a refuel is ordered": (
        lambda: ledger.payout_reserved(SWAP, SENT_REFUEL),
        entry(
            f"refuel_reserved/{INTENT}",
            (of_swap(K.REFUEL_LIABILITY, COIN), REFUEL),
            (of_swap(K.REFUEL_IN_FLIGHT, COIN), -REFUEL),
        ),
    ),
    "a refuel is final": (
        lambda: ledger.payout_final(SENT_REFUEL, block_number=501, treasury=TREASURY[POLYGON]),
        entry(
            f"refuel_final/{INTENT}",
            (of_swap(K.REFUEL_IN_FLIGHT, COIN), REFUEL),
            (custody(COIN), -REFUEL),
            at=(POLYGON, 501),
        ),
    ),
    "a refuel that cannot be sent is claimable": (
        lambda: ledger.refuel_claimable(SWAP, BOUGHT),
        entry(
            f"refuel_claimable/{ID}/4",
            (of_swap(K.REFUEL_LIABILITY, COIN), REFUEL),
            (of_swap(K.CLAIMABLE, COIN), -REFUEL),
        ),
    ),
    "a refuel was sent for a deposit that a reorg took": (
        lambda: ledger.refuel_lost(SWAP, SENT_REFUEL),
        entry(
            f"refuel_lost/{ID}/4", (of_swap(K.LOSS), CHARGED), (of_swap(K.SWAP_LIABILITY), -CHARGED)
        ),
    ),
    "a refuel that was written off was never sent": (
        lambda: ledger.refuel_charge_retained(SWAP, SENT_REFUEL),
        entry(
            f"refuel_kept/{ID}/4",
            (of_swap(K.REFUEL_LIABILITY, COIN), REFUEL),
            (of(K.POSITION, COIN), -REFUEL),
        ),
    ),
    # Partners' fees
    "a partner's fee is to be paid": (
        lambda: ledger.partner_fee_reserved(FEES),
        entry(
            f"partner_fee_reserved/{INTENT}",
            (of(K.PARTNER_FEE, app_id=SOME), 70),
            (of(K.IN_FLIGHT, app_id=SOME), -70),
            swap_id=None,
        ),
    ),
    "the payment of a partner's fee is dead": (
        lambda: ledger.partner_fee_released(FEES),
        entry(
            f"partner_fee_released/{INTENT}",
            (of(K.PARTNER_FEE, app_id=SOME), -70),
            (of(K.IN_FLIGHT, app_id=SOME), 70),
            swap_id=None,
        ),
    ),
    "a partner's fee is final": (
        lambda: ledger.payout_final(FEES, block_number=8, treasury=TREASURY[ETHEREUM]),
        entry(
            f"partner_fee_final/{INTENT}",
            (of(K.IN_FLIGHT, app_id=SOME), 70),
            (custody(), -70),
            swap_id=None,
            at=(ETHEREUM, 8),
        ),
    ),
    # The signers' gas money
    "gas of a transaction": (
        lambda: ledger.gas_spent(
            network=POLYGON, signer=SIGNER, native=NATIVE, nonce=7, base_units=5, block_number=9
        ),
        entry(
            f"gas/{POLYGON}/{SIGNER}/7",
            (of(K.GAS_EXPENSE, COIN), 5),
            (SIGNERS, -5),
            swap_id=None,
            at=(POLYGON, 9),
        ),
    ),
    "the owner tops a signer up": (
        lambda: ledger.signer_topped_up(
            network=POLYGON, signer=SIGNER, native=NATIVE, base_units=5, block_number=9
        ),
        entry(
            f"topped_up/{POLYGON}/{SIGNER}/9",
            (SIGNERS, 5),
            (of(K.EQUITY, COIN), -5),
            swap_id=None,
            at=(POLYGON, 9),
        ),
    ),
    "gas that a restored ledger has forgotten": (
        lambda: ledger.forgotten_spent(
            network=POLYGON, signer=SIGNER, native=NATIVE, base_units=5, block_number=9
        ),
        entry(
            f"forgotten_spent/{POLYGON}/{SIGNER}/9",
            (of(K.LOSS, COIN), 5),
            (SIGNERS, -5),
            swap_id=None,
            at=(POLYGON, 9),
        ),
    ),
}


@pytest.mark.parametrize("row", JOURNAL)
def test_moves_these_accounts_and_no_other(row: str) -> None:
    book, expected = JOURNAL[row]

    assert book() == expected


@pytest.mark.parametrize(
    ("left", "booked", "moves"),
    [
        pytest.param(60, 100, ((of(K.LOSS, COIN), 60), (SIGNERS, -60)), id="all of it was booked"),
        pytest.param(60, 60, ((of(K.LOSS, COIN), 60), (SIGNERS, -60)), id="exactly it"),
        pytest.param(
            60,
            40,
            ((of(K.LOSS, COIN), 60), (SIGNERS, -40), (of(K.EQUITY, COIN), -20)),
            id="a part was the owner's, topped up since",
        ),
        pytest.param(
            60, 0, ((of(K.LOSS, COIN), 60), (of(K.EQUITY, COIN), -60)), id="all was topped up since"
        ),
    ],
)
def test_an_external_transaction_never_takes_more_from_a_signer_than_is_booked(
    left: int, booked: int, moves: tuple[tuple[Account, int], ...]
) -> None:
    spent = ledger.book_external_spending(
        network=POLYGON,
        signer=SIGNER,
        native=NATIVE,
        nonce=7,
        base_units=left,
        booked=booked,
        block_number=9,
    )

    key = f"foreign_spent/{POLYGON}/{SIGNER}/7"
    assert spent == entry(key, *moves, swap_id=None, at=(POLYGON, 9))


def test_fee_of_zero_has_no_posting() -> None:
    free = replace(SWAP, quote=replace(SWAP.quote, fee_base_units=0))

    kinds = [p.account.kind for p in ledger.quote_executed(free, OUTPUT).postings]

    assert kinds == [K.SWAP_LIABILITY, K.POSITION, K.POSITION, K.SWAP_LIABILITY]


class TestAPartnersFee:
    def swap_with(self, document: str) -> Any:
        return replace(SWAP, quote=replace(SWAP.quote, document=document))

    def test_is_owed_to_the_app_out_of_the_fee_income_once_the_output_is_final(self) -> None:
        swap = self.swap_with('{"partner_fee_base_units": "70", "partner_fee_basis_points": 30}')

        [earned] = ledger.partner_fee_earned(swap, OUTPUT)

        assert earned == entry(
            f"partner_fee_earned/{INTENT}",
            (of(K.FEE_INCOME), 70),
            (of(K.PARTNER_FEE, app_id=swap.terms.app_id), -70),
        )
        assert ledger.partner_fee_of(swap.quote) == 70
        assert ledger.partner_fee_basis_points_of(swap.quote) == 30

    @pytest.mark.parametrize("document", ["{}", '{"partner_fee_base_units": "0"}'])
    def test_of_zero_is_not_booked(self, document: str) -> None:
        swap = self.swap_with(document)

        assert ledger.partner_fee_earned(swap, OUTPUT) == ()
        assert ledger.partner_fee_of(swap.quote) == 0
        assert ledger.partner_fee_basis_points_of(swap.quote) == 0

"""The bookings of what somebody else's transactions took out of a signer, and paid."""

from __future__ import annotations

from swap_settler.model.chain_facts import PayoutFact
from swap_settler.model.ledger.accounts import (
    Account,
    AccountKind,
    Holder,
    LedgerTransaction,
    Posting,
)


def book_external_spending(
    *,
    network: str,
    signer: str,
    native: str,
    nonce: int,
    base_units: int,
    booked: int,
    block_number: int,
) -> LedgerTransaction:
    """Gas and value that left by a transaction we did not sign: our loss.

    :param booked: what the ledger has of the signer. What was topped up while the nonce was not
        explained it does not have yet: beyond it, the owner's money was spent.
    """
    held = min(base_units, booked)
    custody = Account(AccountKind.CUSTODY, network, native, holder=Holder.SIGNER, address=signer)
    moves = (
        (Account(AccountKind.LOSS, network, native), base_units),
        (custody, -held),
        (Account(AccountKind.EQUITY, network, native), held - base_units),
    )
    return LedgerTransaction(
        "foreign_spent",
        f"foreign_spent/{network}/{signer}/{nonce}",
        None,
        network,
        block_number,
        tuple(Posting(account, units) for account, units in moves if units),
    )


def forgotten_spent(
    *, network: str, signer: str, native: str, base_units: int, block_number: int
) -> LedgerTransaction:
    """Gas that transactions took which a restored ledger has forgotten: nothing says for what."""
    custody = Account(AccountKind.CUSTODY, network, native, holder=Holder.SIGNER, address=signer)
    return LedgerTransaction(
        "forgotten_spent",
        f"forgotten_spent/{network}/{signer}/{block_number}",
        None,
        network,
        block_number,
        (
            Posting(Account(AccountKind.LOSS, network, native), base_units),
            Posting(custody, -base_units),
        ),
    )


def book_reconciled_payout(payout: PayoutFact, treasury: str) -> LedgerTransaction:
    """What the Treasury paid and nothing explained was a payment of ours, booked as its own."""
    network, token = payout.network, payout.token
    custody = Account(AccountKind.CUSTODY, network, token, holder=Holder.TREASURY, address=treasury)
    return LedgerTransaction(
        "payout_explained",
        f"payout_explained/{network}/{payout.paid_id}/{payout.transaction_hash}",
        None,
        network,
        payout.block_number,
        (
            Posting(custody, payout.base_units),
            Posting(Account(AccountKind.PAYOUT_SUSPENSE, network, token), -payout.base_units),
        ),
    )

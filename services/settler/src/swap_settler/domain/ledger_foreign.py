"""The booking of what somebody else's transaction took out of a signer."""

from __future__ import annotations

from swap_settler.domain.accounts import (
    Account,
    AccountKind,
    Holder,
    LedgerTransaction,
    Posting,
)


def foreign_spent(
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

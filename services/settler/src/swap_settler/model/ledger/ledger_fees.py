"""What is booked for a partner's fee: earned with the output, on its way, and back."""

from __future__ import annotations

import json

from swap_settler.model.ledger.accounts import Account, AccountKind, LedgerTransaction, Posting
from swap_settler.model.swap import Intent, QuoteTerms, Swap

Move = tuple[Account, int]


def partner_fee_of(quote: QuoteTerms) -> int:
    """Return what of the fee is the partner's, in source base units."""
    return int(json.loads(quote.document).get("partner_fee_base_units", "0"))


def partner_fee_basis_points_of(quote: QuoteTerms) -> int:
    """Return what the swap's app takes of whatever is swapped."""
    return int(json.loads(quote.document).get("partner_fee_basis_points", 0))


def earned(swap: Swap, output: Intent) -> tuple[LedgerTransaction, ...]:
    """The output is final, so that nothing reverses the quote any more: the fee is owed."""
    fee, source = partner_fee_of(swap.quote), swap.terms.source
    if not fee:
        return ()
    income = Account(AccountKind.FEE_INCOME, source.network, source.token)
    owed = Account(AccountKind.PARTNER_FEE, source.network, source.token, app_id=swap.terms.app_id)
    entry = LedgerTransaction(
        kind="partner_fee_earned",
        dedupe_key=f"partner_fee_earned/{output.id}",
        swap_id=swap.id,
        network=None,
        effective_block=None,
        postings=(Posting(income, fee), Posting(owed, -fee)),
    )
    return (entry,)


def reserved(payment: Intent) -> LedgerTransaction:
    """What is owed is on its way."""
    return _booked("partner_fee_reserved", payment, *_moves(payment))


def released(payment: Intent) -> LedgerTransaction:
    """The payment is dead: it is owed again."""
    back = ((account, -units) for account, units in _moves(payment))
    return _booked("partner_fee_released", payment, *back)


def _moves(payment: Intent) -> tuple[Move, ...]:
    owed, on_the_way = (
        Account(kind, payment.network, payment.token, app_id=payment.app_id)
        for kind in (AccountKind.PARTNER_FEE, AccountKind.IN_FLIGHT)
    )
    return (owed, payment.base_units), (on_the_way, -payment.base_units)


def _booked(kind: str, payment: Intent, *moves: Move) -> LedgerTransaction:
    postings = tuple(Posting(account, units) for account, units in moves)
    return LedgerTransaction(kind, f"{kind}/{payment.id}", None, None, None, postings)
